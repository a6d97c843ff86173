# SPDX-License-Identifier: GPL-2.0-only
# The manual.

dist_man_MANS += man/wrb.3
if BUILD_ENGINE
dist_man_MANS += man/fio-rdma_batch.7
else
EXTRA_DIST += man/fio-rdma_batch.7
endif

# SPDX-License-Identifier: GPL-2.0-only
# The manual.

dist_man_MANS += man/wrb.3

# SPDX-License-Identifier: GPL-2.0-only
# fio's job files and what runs them.

EXTRA_DIST += \
	jobs/compare-builtin-rdma.fio \
	jobs/deps.sh \
	jobs/large-chunked.fio \
	jobs/no-timestamps.fio \
	jobs/numjobs.fio \
	jobs/quickstart-guest.sh \
	jobs/quickstart.fio \
	jobs/quickstart.sh \
	jobs/randrw-mixed.fio \
	jobs/read-batched.fio \
	jobs/run.sh \
	jobs/sequential-merge.fio \
	jobs/stripe-lanes.fio \
	jobs/target.fio \
	jobs/verify.fio \
	jobs/write-batched.fio \
	jobs/write-unbatched.fio

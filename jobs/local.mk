# SPDX-License-Identifier: GPL-2.0-only
# fio's job files and what runs them.

EXTRA_DIST += \
	jobs/compare-builtin-rdma.fio \
	jobs/compare.py \
	jobs/compare.sh \
	jobs/deps.sh \
	jobs/hostinfo.sh \
	jobs/large-chunked.fio \
	jobs/measure-lib.sh \
	jobs/no-timestamps.fio \
	jobs/numjobs.fio \
	jobs/plots.py \
	jobs/quickstart-guest.sh \
	jobs/quickstart.fio \
	jobs/quickstart.sh \
	jobs/randrw-mixed.fio \
	jobs/read-batched.fio \
	jobs/report.py \
	jobs/run.sh \
	jobs/sequential-merge.fio \
	jobs/stripe-lanes.fio \
	jobs/sweep.sh \
	jobs/target.fio \
	jobs/verify.fio \
	jobs/write-batched.fio \
	jobs/write-unbatched.fio

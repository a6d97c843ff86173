# SPDX-License-Identifier: GPL-2.0-only
# fio's job files and what runs them. They are installed as they lie here, with
# the engine one folder above.

jobsdir = $(pkgdatadir)/jobs
if BUILD_ENGINE
dist_jobs_DATA = \
	jobs/checkpoint.fio \
	jobs/compare-builtin-rdma.fio \
	jobs/kv-cache.fio \
	jobs/large-chunked.fio \
	jobs/latency.fio \
	jobs/measure-lib.sh \
	jobs/no-timestamps.fio \
	jobs/numjobs.fio \
	jobs/plots.py \
	jobs/quickstart.fio \
	jobs/randrw-mixed.fio \
	jobs/read-batched.fio \
	jobs/sequential-merge.fio \
	jobs/small-message-rate.fio \
	jobs/stripe-lanes.fio \
	jobs/target.fio \
	jobs/verify.fio \
	jobs/write-batched.fio \
	jobs/write-unbatched.fio
dist_jobs_SCRIPTS = \
	jobs/compare.py \
	jobs/compare.sh \
	jobs/hostinfo.sh \
	jobs/report.py \
	jobs/run.sh \
	jobs/sweep.sh
endif

# What works on a source tree stays in it.
EXTRA_DIST += \
	jobs/deps.sh \
	jobs/quickstart-guest.sh \
	jobs/quickstart.sh

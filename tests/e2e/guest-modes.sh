#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# In a guest: some of fio's modes over real verbs, those whose memory, order or
# processes differ from what the transport in memory sees. Sourced by
# guest-verbs.sh, while its target runs; FIO_ARGS reach that.

# shellcheck source=tests/e2e/servers.sh
. "$(dirname "$0")/servers.sh"

# yields FILTER ARG...: a job of 256 I/Os in batches, and what its JSON says
yields() {
	filter=$1
	shift
	# shellcheck disable=SC2086 # words on purpose
	run_fio --bs=4k --size=1m --iodepth=16 --iodepth_batch_submit=8 \
		--iodepth_batch_complete_max=16 --output=json \
		--output-format=json "$@" || return 1
	jq -e "$filter" json >/dev/null && return
	cat json
	echo "expected: $filter"
	return 1
}

same_offsets() {
	rm -f log_* trace
	yields true --rw=randrw --iodepth=1 --write_iolog=trace \
		--write_lat_log=log --log_offset=1 &&
		cut -d , -f 3-5 log_clat.1.log >first &&
		yields true --iodepth=1 --read_iolog=trace --replay_no_stall=1 \
			--write_lat_log=log --log_offset=1 &&
		cut -d , -f 3-5 log_clat.1.log | cmp first
}

# A target and an initiator at the first server, an initiator at the second.
two_servers() {
	start_server || return 1
	a=$port
	start_server || return 1
	b=$port
	{
		section target role=target port=7500 size=8m clients=2
		section one "hostname=$ADDR" port=7500 rw=randwrite bs=4k \
			size=1m verify=crc32c verify_state_save=0
	} >one.fio
	section two "hostname=$ADDR" port=7500 rw=write bs=4k size=1m \
		offset=4m >two.fio
	by_client --client=ip:127.0.0.1,"$a" one.fio \
		--client=ip:127.0.0.1,"$b" two.fio || return 1
	jq -e '.client_stats |
		any(.jobname == "one" and .write.total_ios == 256) and
		any(.jobname == "two" and .write.total_ios == 256) and
		all(.error == 0)' json
}

modes_over_rdma() {
	cd /tmp || return 1
	ok 'modes: group_reporting' yields '(.jobs | length == 1) and
		.jobs[0].write.total_ios == 1024' --rw=write --numjobs=4 \
		--group_reporting
	ok 'modes: loops' yields '.jobs[0].write.io_bytes == 3145728' \
		--rw=randwrite --loops=3
	ok 'modes: io_size' yields '.jobs[0].write.io_bytes == 2097152' \
		--rw=randwrite --io_size=2m
	ok 'modes: ramp_time' yields '.jobs[0].job_runtime < 2000' --rw=write \
		--time_based --ramp_time=1 --runtime=1
	ok 'modes: rate_iops' yields '.jobs[0].job_runtime > 400' --rw=write \
		--rate_iops=500
	ok 'modes: latency_target' yields '.jobs[0].latency_depth >= 1' \
		--rw=randread --norandommap --latency_target=50ms \
		--latency_window=200ms --latency_percentile=90 --time_based \
		--runtime=1
	ok 'modes: serialize_overlap' yields '.jobs[0].error == 0' \
		--rw=randwrite --size=16k --io_size=1m --norandommap \
		--serialize_overlap=1 --qps=4 --stripe=round_robin
	ok 'modes: verify_backlog, verify_async' yields '.jobs[0].error == 0' \
		--rw=randwrite --verify=crc32c --verify_backlog=50 \
		--verify_async=1
	ok 'modes: verify_only' yields '.jobs[0].error == 0' --rw=randwrite \
		--verify=crc32c --verify_only=1
	ok 'modes: bssplit, zipf' yields '.jobs[0].error == 0' --rw=randrw \
		--bssplit=512/30:4k/50:64k/20 --norandommap \
		--random_distribution=zipf:1.2 --size=4m
	ok 'modes: an I/O log is written and replayed' same_offsets
	for kind in mmap shm mmaphuge shmhuge; do
		ok "modes: iomem=$kind" yields '.jobs[0].error == 0' \
			--rw=randwrite --verify=crc32c --iomem=$kind
	done
	ok 'modes: client, two servers, a target at one of them' two_servers
}

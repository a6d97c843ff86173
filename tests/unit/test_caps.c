// SPDX-License-Identifier: GPL-2.0-only
/* What is asked of a device, by what it can do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "caps.h"
#include "heard.h"

struct fixture {
	struct engine_conf conf;
	struct engine_env env;
	struct transport_attr attr;
	struct caps_device dev;
	struct caps caps;
	struct heard heard;
};

/* A job that reads and writes, on a device that takes fewer SGEs of a READ. */
static void start(struct fixture *f)
{
	*f = (struct fixture){
		.conf = { .qps = 2 },
		.dev = {
			.name = "dev0",
			.max_qp = 100,
			.max_qp_wr = 1000,
			.max_cqe = 1000,
			.max_sge = 8,
			.max_sge_rd = 3,
			.max_rd_atomic = 16,
			.max_msg_bytes = 1 << 20,
		},
	};
	f->env = (struct engine_env){ .arg = &f->heard, .error = heard_error };
	f->attr = (struct transport_attr){
		.conf = &f->conf,
		.env = &f->env,
		.nr_ops = 32,
		.max_op_bytes = 4096,
		.need = ACCESS_RW,
	};
}

static int plan(struct fixture *f)
{
	return caps_plan(&f->attr, &f->dev, &f->caps);
}

static void max_sge_of_a_job_that_reads_is_that_of_a_read(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	f.conf.merge = true;
	assert_int_equal(plan(&f), 0);
	assert_int_equal(f.caps.max_sge, 3);
	f.conf.max_sge = 4;
	assert_int_equal(plan(&f), -EINVAL);
	assert_non_null(strstr(f.heard.last, "max_sge=4"));
	assert_non_null(strstr(f.heard.last, "dev0 grants 3"));
}

static void max_sge_of_a_job_that_writes_is_the_devices(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	f.conf.merge = true;
	f.attr.need = ACCESS_WRITE;
	assert_int_equal(plan(&f), 0);
	assert_int_equal(f.caps.max_sge, 8);
	/* The READ of a sync has one. */
	f.attr.need = ACCESS_RW;
	f.attr.reads_to_sync = true;
	assert_int_equal(plan(&f), 0);
	assert_int_equal(f.caps.max_sge, 8);
}

static void max_sge_of_a_device_that_names_none_for_reads(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	f.conf.max_sge = 8;
	f.dev.max_sge_rd = 0;
	assert_int_equal(plan(&f), 0);
	assert_int_equal(f.caps.max_sge, 8);
}

static void slots_are_for_all_pieces_of_all_operations(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	f.conf.chunk_bytes = 1024;
	assert_int_equal(plan(&f), 0);
	assert_int_equal(f.caps.slots, 32 * 4);
	assert_int_equal(f.caps.max_send_wr, 32 * 4 + 1);
	assert_int_equal(f.caps.max_cqe, 2 * (32 * 4 + 1));
	f.conf.max_chunks = 2;
	assert_int_equal(plan(&f), 0);
	assert_int_equal(f.caps.slots, 32 * 2);
	assert_int_equal(f.heard.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(max_sge_of_a_job_that_reads_is_that_of_a_read),
		cmocka_unit_test(max_sge_of_a_job_that_writes_is_the_devices),
		cmocka_unit_test(max_sge_of_a_device_that_names_none_for_reads),
		cmocka_unit_test(slots_are_for_all_pieces_of_all_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only
/* wrb_limits_query() without a device; with one it is tested end to end. */
#include "fixture.h"
#include "verbs_errno.h"

static void limits_query_null_einval(void **state)
{
	struct wrb_limits limits = { .max_send_wr = 7 };
	struct ibv_qp qp = { 0 };

	(void)state;
	assert_int_equal(wrb_limits_query(NULL, 1, &limits), -EINVAL);
	assert_int_equal(limits.max_send_wr, 7);
	assert_int_equal(wrb_limits_query(&qp, 1, NULL), -EINVAL);
}

static void verbs_errno_each_way_to_say_it(void **state)
{
	(void)state;
	errno = EAGAIN;
	assert_int_equal(verbs_errno(ENOMEM), ENOMEM);
	assert_int_equal(verbs_errno(-ENOMEM), ENOMEM);
	assert_int_equal(verbs_errno(-1), EAGAIN);
	errno = 0;
	assert_int_equal(verbs_errno(-1), EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_query_null_einval),
		cmocka_unit_test(verbs_errno_each_way_to_say_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

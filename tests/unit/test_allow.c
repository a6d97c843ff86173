// SPDX-License-Identifier: GPL-2.0-only
/* Lists of addresses and prefixes: what they take in, what is no list. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "allow.h"

static void sockaddr_of(const char *text, struct sockaddr_storage *addr)
{
	struct sockaddr_in *four = (struct sockaddr_in *)addr;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)addr;

	memset(addr, 0, sizeof(*addr));
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		addr->ss_family = AF_INET;
		return;
	}
	assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
	addr->ss_family = AF_INET6;
}

static bool takes(const char *list, const char *text)
{
	struct sockaddr_storage addr;
	struct allow allow = { 0 };
	const char *item;
	int length;

	assert_null(allow_parse(list, &allow, &item, &length));
	sockaddr_of(text, &addr);
	return allow_takes(&allow, (struct sockaddr *)&addr);
}

static void list_that_is_not_there_takes_everyone(void **state)
{
	const struct allow allow = { 0 };
	struct sockaddr_storage addr;

	(void)state;
	sockaddr_of("10.0.0.1", &addr);
	assert_true(allow_takes(&allow, (struct sockaddr *)&addr));
	sockaddr_of("fe80::1", &addr);
	assert_true(allow_takes(&allow, (struct sockaddr *)&addr));
}

static void address_takes_itself_only(void **state)
{
	(void)state;
	assert_true(takes("10.0.0.1", "10.0.0.1"));
	assert_false(takes("10.0.0.1", "10.0.0.2"));
	assert_false(takes("10.0.0.1", "fd00::1"));
	assert_true(takes("fd00::1", "fd00::1"));
	assert_true(takes("fd00::1", "fd00:0::0:1"));
	assert_false(takes("fd00::1", "fd00::2"));
	assert_false(takes("fd00::1", "10.0.0.1"));
}

static void prefix_takes_what_shares_its_bits(void **state)
{
	(void)state;
	assert_true(takes("10.0.0.0/8", "10.255.255.255"));
	assert_false(takes("10.0.0.0/8", "11.0.0.0"));
	assert_true(takes("10.0.0.128/25", "10.0.0.128"));
	assert_false(takes("10.0.0.128/25", "10.0.0.127"));
	assert_true(takes("10.0.0.4/31", "10.0.0.5"));
	assert_false(takes("10.0.0.4/31", "10.0.0.6"));
	assert_true(takes("10.0.0.4/32", "10.0.0.4"));
	assert_false(takes("10.0.0.4/32", "10.0.0.5"));
	assert_true(takes("fd00:1::/33", "fd00:1:7fff::"));
	assert_false(takes("fd00:1::/33", "fd00:1:8000::"));
	assert_true(takes("fd00::4/127", "fd00::5"));
	assert_false(takes("fd00::4/127", "fd00::6"));
	assert_true(takes("fd00::4/128", "fd00::4"));
}

/* A listener on IPv6's any address may show an IPv4 peer either way. */
static void ipv4_mapped_addresses_are_ipv4(void **state)
{
	(void)state;
	assert_true(takes("10.0.0.0/24", "::ffff:10.0.0.7"));
	assert_false(takes("10.0.0.0/24", "::ffff:10.0.1.7"));
	assert_true(takes("::ffff:10.0.0.7", "10.0.0.7"));
	assert_true(takes("::ffff:10.0.0.0/120", "10.0.0.7"));
	assert_false(takes("::ffff:10.0.0.0/120", "10.0.1.7"));
	assert_true(takes("::ffff:0:0/96", "192.0.2.1"));
	assert_false(takes("10.0.0.7", "::10.0.0.7"));
}

static void prefix_of_all_takes_its_own_family(void **state)
{
	(void)state;
	assert_true(takes("0.0.0.0/0", "192.0.2.1"));
	assert_true(takes("0.0.0.0/0", "::ffff:192.0.2.1"));
	assert_false(takes("0.0.0.0/0", "fd00::1"));
	assert_true(takes("::/0", "fd00::1"));
	assert_false(takes("::/0", "192.0.2.1"));
	assert_false(takes("::/0", "::ffff:192.0.2.1"));
	assert_true(takes("::/0,0.0.0.0/0", "192.0.2.1"));
}

static void any_entry_of_a_list_takes(void **state)
{
	static const char list[] = " 10.0.0.1 ,\t192.0.2.0/24, fd00::/8";

	(void)state;
	assert_true(takes(list, "10.0.0.1"));
	assert_true(takes(list, "192.0.2.77"));
	assert_true(takes(list, "fdff::1"));
	assert_false(takes(list, "10.0.0.2"));
	assert_false(takes(list, "fe80::1"));
}

static void address_of_another_family_is_not_taken(void **state)
{
	struct sockaddr odd = { .sa_family = AF_UNIX };
	struct in6_addr six;
	struct allow allow;
	const char *item;
	int length;

	(void)state;
	assert_null(allow_parse("::/0,0.0.0.0/0", &allow, &item, &length));
	assert_false(allow_takes(&allow, &odd));
	assert_false(allow_addr(&odd, &six));
}

static void refuse(const char *list, const char *culprit)
{
	struct allow allow, before;
	const char *item;
	int length;

	memset(&allow, 0x5a, sizeof(allow));
	memcpy(&before, &allow, sizeof(allow));
	assert_non_null(allow_parse(list, &allow, &item, &length));
	assert_memory_equal(&allow, &before, sizeof(allow));
	assert_int_equal(length, strlen(culprit));
	assert_memory_equal(item, culprit, strlen(culprit));
}

static void list_with_a_bad_entry_is_refused(void **state)
{
	(void)state;
	refuse("", "");
	refuse(" ", "");
	refuse(",", "");
	refuse("10.0.0.1,", "");
	refuse("10.0.0.1,,10.0.0.2", "");
	refuse("host", "host");
	refuse("10.0.0", "10.0.0");
	refuse("10.0.0.256", "10.0.0.256");
	refuse("fe80::1%eth0", "fe80::1%eth0");
	refuse("10.0.0.1 10.0.0.2", "10.0.0.1 10.0.0.2");
	refuse("10.0.0.0/33", "10.0.0.0/33");
	refuse("fd00::/129", "fd00::/129");
	refuse("10.0.0.0/", "10.0.0.0/");
	refuse("10.0.0.0/-1", "10.0.0.0/-1");
	refuse("10.0.0.0/8x", "10.0.0.0/8x");
	refuse("10.0.0.0/0000", "10.0.0.0/0000");
	refuse("10.0.0.0/255.0.0.0", "10.0.0.0/255.0.0.0");
	refuse("/8", "/8");
	refuse("fd00::1, 10.0.0.1/24 ,::", "10.0.0.1/24");
	refuse("fd00::1/64", "fd00::1/64");
	refuse("1.2.3.4/0", "1.2.3.4/0");
	refuse("000000000000000000000000000000000000000000000000000000000000000"
	       "0",
	       "000000000000000000000000000000000000000000000000000000000000000"
	       "0");
}

static void list_with_more_entries_than_fit_is_refused(void **state)
{
	char list[(ALLOW_MAX + 1) * 10] = "";
	struct allow allow;
	const char *item;
	size_t at = 0;
	int length;
	int i;

	(void)state;
	for (i = 0; i < ALLOW_MAX; i++)
		at += (size_t)sprintf(list + at, "%s10.0.0.%d", i ? "," : "",
				      i);
	assert_null(allow_parse(list, &allow, &item, &length));
	assert_int_equal(allow.nr, ALLOW_MAX);
	assert_true(takes(list, "10.0.0.63"));
	strcat(list, ",10.1.1.1");
	refuse(list, "10.1.1.1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_that_is_not_there_takes_everyone),
		cmocka_unit_test(address_takes_itself_only),
		cmocka_unit_test(prefix_takes_what_shares_its_bits),
		cmocka_unit_test(ipv4_mapped_addresses_are_ipv4),
		cmocka_unit_test(prefix_of_all_takes_its_own_family),
		cmocka_unit_test(any_entry_of_a_list_takes),
		cmocka_unit_test(address_of_another_family_is_not_taken),
		cmocka_unit_test(list_with_a_bad_entry_is_refused),
		cmocka_unit_test(list_with_more_entries_than_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

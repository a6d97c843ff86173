/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A list of addresses and prefixes that may connect. IPv4 addresses are kept,
 * and compared, as IPv4-mapped IPv6 ones: a listener on IPv6's any address may
 * see either. An IPv6 prefix never takes in IPv4.
 */
#ifndef ENGINE_ALLOW_H
#define ENGINE_ALLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <netinet/in.h>

#define ALLOW_MAX 64

struct allow_entry {
	struct in6_addr addr;
	uint8_t bits; /* of addr that count, 0..128 */
	bool v4;
};

struct allow {
	uint32_t nr; /* 0: everyone */
	struct allow_entry entries[ALLOW_MAX];
};

/*
 * Reads "10.0.0.0/24,fe80::1,...". NULL, or what is wrong with it; *item and
 * *length then tell of which entry.
 */
const char *allow_parse(const char *text, struct allow *allow,
			const char **item, int *length);

/* An IPv4 or IPv6 address as IPv6. False if it is neither. */
bool allow_addr(const struct sockaddr *addr, struct in6_addr *six);

bool allow_takes(const struct allow *allow, const struct sockaddr *addr);

#endif /* ENGINE_ALLOW_H */

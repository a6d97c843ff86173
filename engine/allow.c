// SPDX-License-Identifier: GPL-2.0-only
/* Addresses and prefixes that may connect. */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "allow.h"

#define V4_IN_V6_BITS 96
#define ENTRY_TEXT    64

static void map_v4(const void *four, struct in6_addr *six)
{
	memset(six, 0, sizeof(*six));
	six->s6_addr[10] = 0xff;
	six->s6_addr[11] = 0xff;
	memcpy(&six->s6_addr[12], four, sizeof(struct in_addr));
}

/* The first `bits` of both are the same. */
static bool bits_match(const struct in6_addr *a, const struct in6_addr *b,
		       unsigned int bits)
{
	unsigned int bytes = bits / 8;
	unsigned int mask = 0xff00u >> bits % 8 & 0xff;

	if (memcmp(a->s6_addr, b->s6_addr, bytes))
		return false;
	return bits % 8 == 0 ||
	       !((a->s6_addr[bytes] ^ b->s6_addr[bytes]) & mask);
}

static bool has_bits_behind(const struct allow_entry *entry)
{
	struct in6_addr cut = entry->addr;
	unsigned int i;

	for (i = entry->bits; i < 128; i++)
		cut.s6_addr[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	return memcmp(&cut, &entry->addr, sizeof(cut));
}

/* "0" to "128": digits, and nothing else. */
static bool parse_bits(const char *text, unsigned int most, unsigned int *bits)
{
	size_t nr = strspn(text, "0123456789");

	if (!nr || nr > 3 || text[nr])
		return false;
	*bits = (unsigned int)atoi(text);
	return *bits <= most;
}

static bool parse_addr(const char *text, struct allow_entry *entry)
{
	struct in_addr four;

	if (inet_pton(AF_INET, text, &four) == 1) {
		map_v4(&four, &entry->addr);
		entry->v4 = true;
		return true;
	}
	entry->v4 = false;
	return inet_pton(AF_INET6, text, &entry->addr) == 1;
}

static const char *parse_entry(char *text, struct allow_entry *entry)
{
	char *slash = strchr(text, '/');
	unsigned int bits;

	if (slash)
		*slash = '\0';
	if (!parse_addr(text, entry))
		return "is no IPv4 or IPv6 address (names and zones do not "
		       "count)";
	bits = entry->v4 ? 32 : 128;
	if (slash && !parse_bits(slash + 1, bits, &bits))
		return "has a prefix of no sensible length";
	entry->bits = (uint8_t)(bits + (entry->v4 ? V4_IN_V6_BITS : 0));
	if (has_bits_behind(entry))
		return "has bits behind its prefix: set them to 0, or leave "
		       "the prefix out to name one address";
	/* ::ffff:10.0.0.0/104 is 10.0.0.0/8. */
	entry->v4 = entry->bits >= V4_IN_V6_BITS &&
		    IN6_IS_ADDR_V4MAPPED(&entry->addr);
	return NULL;
}

static const char *add_entry(struct allow *allow, const char *item, int length)
{
	char text[ENTRY_TEXT];
	const char *wrong;

	if (!length)
		return "is empty";
	if ((size_t)length >= sizeof(text))
		return "is too long for an address";
	if (allow->nr == ALLOW_MAX)
		return "is one entry too many: join some to prefixes";
	memcpy(text, item, (size_t)length);
	text[length] = '\0';
	wrong = parse_entry(text, &allow->entries[allow->nr]);
	if (!wrong)
		allow->nr++;
	return wrong;
}

const char *allow_parse(const char *text, struct allow *allow,
			const char **item, int *length)
{
	struct allow made = { 0 };
	const char *wrong;

	for (;; text++) {
		while (isspace((unsigned char)*text))
			text++;
		*item = text;
		*length = (int)strcspn(text, ",");
		text += *length;
		while (*length && isspace((unsigned char)(*item)[*length - 1]))
			--*length;
		wrong = add_entry(&made, *item, *length);
		if (wrong)
			return wrong;
		if (!*text)
			break;
	}
	*allow = made;
	return NULL;
}

bool allow_addr(const struct sockaddr *addr, struct in6_addr *six)
{
	if (addr->sa_family == AF_INET)
		map_v4(&((const struct sockaddr_in *)addr)->sin_addr, six);
	else if (addr->sa_family == AF_INET6)
		*six = ((const struct sockaddr_in6 *)addr)->sin6_addr;
	else
		return false;
	return true;
}

bool allow_takes(const struct allow *allow, const struct sockaddr *addr)
{
	struct in6_addr six;
	uint32_t i;

	if (!allow->nr)
		return true;
	if (!allow_addr(addr, &six))
		return false;
	for (i = 0; i < allow->nr; i++) {
		const struct allow_entry *entry = &allow->entries[i];

		if (entry->v4 == !!IN6_IS_ADDR_V4MAPPED(&six) &&
		    bits_match(&entry->addr, &six, entry->bits))
			return true;
	}
	return false;
}

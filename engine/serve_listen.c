// SPDX-License-Identifier: GPL-2.0-only
/* Where the target listens. */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

#define BACKLOG 1024

/*
 * IPv6's any address serves IPv4 too, whatever net.ipv6.bindv6only says. Where the
 * kernel refuses the option that sysctl decides.
 */
static void serve_both_families(struct rdma_cm_id *id)
{
	int only = 0;

	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only,
			sizeof(only));
}

static int listen_on(struct server *s, struct sockaddr *addr)
{
	int ret;

	ret = cm_result(
		rdma_create_id(s->channel, &s->listener, NULL, RDMA_PS_TCP));
	if (ret) {
		s->listener = NULL;
		return ret;
	}
	serve_both_families(s->listener);
	ret = cm_result(rdma_bind_addr(s->listener, addr));
	if (!ret)
		ret = cm_result(rdma_listen(s->listener, BACKLOG));
	if (ret) {
		rdma_destroy_id(s->listener);
		s->listener = NULL;
	}
	return ret;
}

/* Is it the address that is wrong, or the port that is taken? */
static bool is_local_address(struct server *s, const struct sockaddr *addr)
{
	struct sockaddr_storage copy;
	struct rdma_cm_id *id;
	int ret;

	cm_addr_copy(addr, 0, &copy);
	if (rdma_create_id(s->channel, &id, NULL, RDMA_PS_TCP))
		return false;
	ret = rdma_bind_addr(id, (struct sockaddr *)&copy);
	rdma_destroy_id(id);
	return !ret;
}

static int say_unbound(struct server *s, const struct sockaddr *addr, int err)
{
	char text[CM_ADDR_TEXT];

	cm_addr_text(addr, text);
	/* The kernel says so too when one of the two is the any address. */
	if (err == -EADDRNOTAVAIL && is_local_address(s, addr))
		err = -EADDRINUSE;
	switch (err) {
	case -EADDRINUSE:
		say(s,
		    "cannot listen on %s: the port is in use, by another "
		    "RDMA listener ('rdma resource show cm_id') or by a TCP "
		    "one ('ss -ltn'), which share it: choose another port",
		    text);
		break;
	case -EADDRNOTAVAIL:
		say(s,
		    "cannot listen on %s: it is not an address of this "
		    "host; see 'ip addr'",
		    text);
		break;
	case -ENODEV:
		say(s,
		    "cannot listen on %s: it lies on no RDMA device; see "
		    "'rdma link', or leave bindname= out",
		    text);
		break;
	default:
		say(s, "cannot listen on %s: %s", text, strerror(-err));
	}
	return err;
}

/* Both families, or IPv4 where there is no IPv6. */
static int listen_on_any(struct server *s)
{
	struct sockaddr_in6 six = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(s->conf->port),
		.sin6_addr = IN6ADDR_ANY_INIT,
	};
	struct sockaddr_in four = {
		.sin_family = AF_INET,
		.sin_port = htons(s->conf->port),
	};
	int ret;

	ret = listen_on(s, (struct sockaddr *)&six);
	if (ret == -EAFNOSUPPORT || ret == -EADDRNOTAVAIL)
		ret = listen_on(s, (struct sockaddr *)&four);
	return ret ? say_unbound(s, (struct sockaddr *)&six, ret) : 0;
}

/*
 * Not every address that a name has need be this host's, or lie on an RDMA device.
 * One that is taken ends the search: it was the right one.
 */
static int listen_on_one_of(struct server *s, struct cm_addrs *addrs)
{
	struct sockaddr *addr = (struct sockaddr *)&addrs->addr[0];
	int ret = -EADDRNOTAVAIL;
	uint32_t i;

	for (i = 0; i < addrs->nr && ret && ret != -EADDRINUSE; i++) {
		addr = (struct sockaddr *)&addrs->addr[i];
		ret = listen_on(s, addr);
	}
	return ret ? say_unbound(s, addr, ret) : 0;
}

static int start_listening(struct server *s)
{
	const struct engine_conf *conf = s->conf;
	struct cm_addrs addrs;
	int ret;

	if (!conf->bindname)
		return listen_on_any(s);
	ret = cm_lookup(s->env, "bindname", conf->bindname, conf->port,
			cm_now_ms() + conf->connect_timeout_ms, &addrs);
	return ret ? ret : listen_on_one_of(s, &addrs);
}

static void say_listening(struct server *s)
{
	char text[CM_ADDR_TEXT];

	cm_addr_text(rdma_get_local_addr(s->listener), text);
	info(s, "listening on %s, region %" PRIu64 " bytes, access=%s%s", text,
	     s->mem->bytes, access_text(s->conf->access),
	     s->conf->token.nr_bytes ? ", with a token" : "");
}

int serve_listen(struct server *s)
{
	int ret = start_listening(s);

	/* Before the first client finds out. */
	if (!ret)
		ret = cm_set_ack_timeout(s->env, s->listener,
					 s->conf->ack_timeout);
	if (!ret)
		say_listening(s);
	return ret;
}

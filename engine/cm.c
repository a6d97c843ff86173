// SPDX-License-Identifier: GPL-2.0-only
/* librdmacm without waiting; names, addresses and hints as text. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cm.h"

int64_t cm_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

int cm_result(int ret)
{
	if (ret == -1)
		return errno ? -errno : -EIO;
	return ret > 0 ? -ret : ret;
}

static socklen_t addr_bytes(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in);
}

void cm_addr_text(const struct sockaddr *addr, char text[CM_ADDR_TEXT])
{
	bool v6 = addr->sa_family == AF_INET6;
	char host[CM_ADDR_TEXT - 10], port[8];

	if (getnameinfo(addr, addr_bytes(addr), host, sizeof(host), port,
			sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		snprintf(text, CM_ADDR_TEXT, "unknown address");
	else
		snprintf(text, CM_ADDR_TEXT, "%s%s%s:%s", v6 ? "[" : "", host,
			 v6 ? "]" : "", port);
}

bool cm_addr_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
			       &((const struct sockaddr_in6 *)b)->sin6_addr,
			       sizeof(struct in6_addr));
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

void cm_addr_copy(const struct sockaddr *addr, uint16_t port,
		  struct sockaddr_storage *copy)
{
	memset(copy, 0, sizeof(*copy));
	memcpy(copy, addr, addr_bytes(addr));
	if (addr->sa_family == AF_INET6)
		((struct sockaddr_in6 *)copy)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)copy)->sin_port = htons(port);
}

/*
 * A look-up runs in a thread of its own, since getaddrinfo() has no deadline.
 * Whoever comes second, the thread or a waiter that has given up, frees it.
 */
struct lookup {
	atomic_int parties; /* that still use it */
	atomic_bool done;
	int gai_error;
	int sys_error;
	struct addrinfo *found;
	char name[];
};

static int lookup_run(struct lookup *lookup, int flags)
{
	struct addrinfo hints = {
		.ai_flags = flags,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	int ret = getaddrinfo(lookup->name, NULL, &hints, &lookup->found);

	lookup->sys_error = errno;
	lookup->gai_error = ret;
	return ret;
}

static void lookup_put(struct lookup *lookup)
{
	if (atomic_fetch_sub(&lookup->parties, 1) > 1)
		return;
	if (lookup->found)
		freeaddrinfo(lookup->found);
	free(lookup);
}

static void *lookup_thread(void *arg)
{
	struct lookup *lookup = arg;

	lookup_run(lookup, 0);
	atomic_store(&lookup->done, true);
	lookup_put(lookup);
	return NULL;
}

static int lookup_start(struct lookup *lookup)
{
	pthread_t thread;
	int ret;

	atomic_store(&lookup->parties, 2);
	ret = pthread_create(&thread, NULL, lookup_thread, lookup);
	if (ret) {
		atomic_store(&lookup->parties, 1);
		return -ret;
	}
	pthread_detach(thread);
	return 0;
}

static int lookup_wait(const struct engine_env *env, struct lookup *lookup,
		       int64_t deadline)
{
	while (!atomic_load(&lookup->done)) {
		if (env->stopping(env->arg))
			return -ECANCELED;
		if (cm_now_ms() >= deadline)
			return -ETIMEDOUT;
		poll(NULL, 0, 5);
	}
	return 0;
}

static struct lookup *lookup_new(const char *name)
{
	size_t bytes = strlen(name) + 1;
	struct lookup *lookup = calloc(1, sizeof(*lookup) + bytes);

	if (!lookup)
		return NULL;
	atomic_init(&lookup->parties, 1);
	atomic_init(&lookup->done, false);
	memcpy(lookup->name, name, bytes);
	return lookup;
}

/* An address needs no thread; a name may have to ask a server. */
static int lookup_do(const struct engine_env *env, struct lookup *lookup,
		     int64_t deadline)
{
	int ret;

	if (!lookup_run(lookup, AI_NUMERICHOST))
		return 0;
	lookup->found = NULL;
	ret = lookup_start(lookup);
	return ret ? ret : lookup_wait(env, lookup, deadline);
}

static void lookup_take(const struct lookup *lookup, uint16_t port,
			struct cm_addrs *addrs)
{
	const struct addrinfo *ai;

	for (ai = lookup->found; ai && addrs->nr < CM_MAX_ADDRS;
	     ai = ai->ai_next) {
		if (ai->ai_family != AF_INET && ai->ai_family != AF_INET6)
			continue;
		cm_addr_copy(ai->ai_addr, port, &addrs->addr[addrs->nr++]);
	}
}

static const char *lookup_text(const struct lookup *lookup, int err)
{
	if (err != -EHOSTUNREACH)
		return strerror(-err);
	if (lookup->gai_error == EAI_SYSTEM)
		return strerror(lookup->sys_error);
	return lookup->gai_error ? gai_strerror(lookup->gai_error)
				 : "it has no IPv4 or IPv6 address";
}

static int lookup_name(const struct engine_env *env, struct lookup *lookup,
		       uint16_t port, int64_t deadline, struct cm_addrs *addrs)
{
	int ret = lookup_do(env, lookup, deadline);

	if (ret)
		return ret;
	if (!lookup->gai_error)
		lookup_take(lookup, port, addrs);
	return lookup->gai_error || !addrs->nr ? -EHOSTUNREACH : 0;
}

int cm_lookup(const struct engine_env *env, const char *option,
	      const char *name, uint16_t port, int64_t deadline,
	      struct cm_addrs *addrs)
{
	struct lookup *lookup = lookup_new(name);
	int ret = -ENOMEM;

	addrs->nr = 0;
	if (lookup)
		ret = lookup_name(env, lookup, port, deadline, addrs);
	if (ret)
		env->error(env->arg, "cannot resolve %s=%s: %s", option, name,
			   lookup_text(lookup, ret));
	if (lookup)
		lookup_put(lookup);
	return ret;
}

int cm_channel_open(const struct engine_env *env,
		    struct rdma_event_channel **channel)
{
	struct rdma_event_channel *made = rdma_create_event_channel();
	int err = errno;

	if (!made) {
		env->error(env->arg,
			   "no RDMA connection manager (%s): is an RDMA device "
			   "there ('rdma link') and the module rdma_ucm loaded "
			   "('modprobe rdma_ucm')? Without a device 'rdma link "
			   "add rxe0 type rxe netdev eth0' makes a soft-RoCE "
			   "one, and an initiator runs with transport=memory",
			   strerror(err));
		return err ? -err : -ENODEV;
	}
	if (fcntl(made->fd, F_SETFL, fcntl(made->fd, F_GETFL) | O_NONBLOCK)) {
		err = errno;
		env->error(env->arg,
			   "cannot make the CM's event fd "
			   "non-blocking: %s",
			   strerror(err));
		rdma_destroy_event_channel(made);
		return -err;
	}
	*channel = made;
	return 0;
}

int cm_set_ack_timeout(const struct engine_env *env, struct rdma_cm_id *id,
		       uint8_t timeout)
{
	int ret;

	if (!timeout)
		return 0;
	ret = cm_result(rdma_set_option(id, RDMA_OPTION_ID,
					RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
					sizeof(timeout)));
	if (ret)
		env->error(env->arg,
			   "ack_timeout=%u is refused by the kernel's CM: %s; "
			   "leave it out",
			   timeout, strerror(-ret));
	return ret;
}

static void copy_private(const struct rdma_conn_param *param,
			 struct cm_event *event)
{
	event->responder_resources = param->responder_resources;
	event->initiator_depth = param->initiator_depth;
	if (!param->private_data)
		return;
	event->private_len = param->private_data_len;
	memcpy(event->private_data, param->private_data, event->private_len);
}

int cm_next_event(struct rdma_event_channel *channel, struct cm_event *event)
{
	struct rdma_cm_event *got;
	int ret;

	ret = cm_result(rdma_get_cm_event(channel, &got));
	if (ret == -EAGAIN || ret == -EINTR)
		return 0;
	if (ret)
		return ret;
	memset(event, 0, sizeof(*event));
	event->type = got->event;
	event->status = got->status;
	event->id = got->id;
	copy_private(&got->param.conn, event);
	rdma_ack_cm_event(got);
	return 1;
}

static void limit_text(rlim_t limit, char *text, size_t bytes)
{
	if (limit == RLIM_INFINITY)
		snprintf(text, bytes, "unlimited");
	else
		snprintf(text, bytes, "%" PRIu64 " KiB",
			 (uint64_t)limit / 1024);
}

const char *cm_memlock_hint(int err, char text[CM_HINT_TEXT])
{
	char soft[32], hard[32];
	struct rlimit limit;

	text[0] = '\0';
	if (abs(err) != ENOMEM || getrlimit(RLIMIT_MEMLOCK, &limit) ||
	    limit.rlim_cur == RLIM_INFINITY)
		return text;
	limit_text(limit.rlim_cur, soft, sizeof(soft));
	limit_text(limit.rlim_max, hard, sizeof(hard));
	snprintf(text, CM_HINT_TEXT,
		 " (locked memory is limited to %s soft, %s hard: see "
		 "'ulimit -l', raise it with 'ulimit -l unlimited' or in "
		 "/etc/security/limits.conf)",
		 soft, hard);
	return text;
}

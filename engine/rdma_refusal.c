// SPDX-License-Identifier: GPL-2.0-only
/* The sentences for what a target refuses. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "rdma.h"

static int refusal_errno(const struct refusal *refusal)
{
	switch (refusal->reason) {
	case REFUSED_SIZE:
		return -ENOSPC;
	case REFUSED_ACCESS:
		return -EACCES;
	case REFUSED_RESOURCES:
		return -EAGAIN;
	case REFUSED_ENDING:
		return -ECONNREFUSED;
	case REFUSED_ADDRESS:
	case REFUSED_NO_TOKEN:
	case REFUSED_TOKEN:
	case REFUSED_TOKENLESS:
		return -EACCES;
	case REFUSED_CLIENTS:
	case REFUSED_QPS:
		return -EBUSY;
	default:
		return -EPROTO;
	}
}

void rdma_say_too_small(struct rdma *r, uint64_t bytes)
{
	say(r,
	    "the job needs %" PRIu64 " bytes (offset + size), but the "
	    "region of %s has %" PRIu64 ": lower size, or give the target a "
	    "larger size",
	    r->attr.region_bytes, r->peer, bytes);
}

void rdma_say_no_access(struct rdma *r, uint64_t access)
{
	if (access == ACCESS_WRITE && r->attr.reads_to_sync) {
		say(r,
		    "the job's syncs need READ access, but %s allows "
		    "access=wo: start the target with access=rw, or leave "
		    "fsync=, fdatasync= and end_fsync= out",
		    r->peer);
		return;
	}
	say(r,
	    "the job %s, but %s allows access=%s: change rw, or start the "
	    "target with access=rw",
	    r->attr.need == ACCESS_RW	   ? "reads and writes"
	    : r->attr.need == ACCESS_WRITE ? "writes"
					   : "reads",
	    r->peer, access_text((enum conf_access)access));
}

void rdma_say_version(struct rdma *r, uint16_t version)
{
	say(r,
	    "%s speaks version %u of the handshake, this engine version "
	    "%u: use the same release on both sides",
	    r->peer, version, HANDSHAKE_VERSION);
}

static const char *refusal_text(uint16_t reason)
{
	switch (reason) {
	case REFUSED_MAGIC:
		return "takes this engine for something else (wrong magic): "
		       "use the same release on both sides";
	case REFUSED_FIELD:
		return "finds a field of the handshake out of range: use the "
		       "same release on both sides";
	case REFUSED_ENDING:
		return "is about to end, having served its clients=N: start "
		       "the target again";
	case REFUSED_ADDRESS:
		return "does not let this host's address in: add it to the "
		       "target's allow=";
	case REFUSED_NO_TOKEN:
		return "wants a token: set token_file= as at the target";
	case REFUSED_TOKEN:
		return "has another token: use the same token_file= on both "
		       "sides";
	case REFUSED_TOKENLESS:
		return "has no token and so cannot prove that it is the right "
		       "target: set token_file= there, or leave it out here";
	default:
		return "refuses for a reason that this release does not know: "
		       "use the same release on both sides";
	}
}

int rdma_say_refusal(struct rdma *r, const struct lane *lane,
		     const struct refusal *refusal)
{
	uint32_t nr = lane_index(r, lane) + 1;

	switch (refusal->reason) {
	case REFUSED_VERSION:
		rdma_say_version(r, refusal->version);
		break;
	case REFUSED_LANE:
		say(r,
		    "%s refuses QP %u of %u: its number is out of range or "
		    "taken",
		    r->peer, nr, r->t.nr_qps);
		break;
	case REFUSED_SIZE:
		rdma_say_too_small(r, refusal->value);
		break;
	case REFUSED_ACCESS:
		rdma_say_no_access(r, refusal->value);
		break;
	case REFUSED_RESOURCES:
		say(r,
		    "%s has no resources for QP %u of %u (%s there): lower "
		    "qps, or see what the target says",
		    r->peer, nr, r->t.nr_qps,
		    strerror((int)(refusal->value & INT16_MAX)));
		break;
	case REFUSED_CLIENTS:
		say(r,
		    "%s serves max_clients=%" PRIu64 " initiators already: "
		    "wait for one to end, or raise it there",
		    r->peer, refusal->value);
		break;
	case REFUSED_QPS:
		say(r,
		    "%s has no room for %u more QPs under its max_qps=%" PRIu64
		    ": lower qps, or raise it there",
		    r->peer, r->t.nr_qps, refusal->value);
		break;
	default:
		say(r, "%s %s", r->peer, refusal_text(refusal->reason));
	}
	return refusal_errno(refusal);
}

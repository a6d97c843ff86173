/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef WRB_VERBS_ERRNO_H
#define WRB_VERBS_ERRNO_H

#include <errno.h>

/*
 * Why a verbs call failed that returned rc. Providers return an errno, or one
 * with its sign changed, or -1 and set errno.
 */
static inline int verbs_errno(int rc)
{
	if (rc == -1 && errno)
		return errno;
	return rc < 0 ? -rc : rc;
}

#endif /* WRB_VERBS_ERRNO_H */

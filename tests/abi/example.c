// SPDX-License-Identifier: GPL-2.0-only
/* A program of someone who has installed libwrb. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <wrb.h>

int main(void)
{
	struct wrb_queue *queue = NULL;
	struct wrb_limits limits;
	struct wrb_attr attr;
	char version[32];

	wrb_attr_init(&attr);
	attr.max_ops = 64;
	snprintf(version, sizeof(version), "%d.%d.%d", WRB_VERSION_MAJOR,
		 WRB_VERSION_MINOR, WRB_VERSION_PATCH);
	if (strcmp(wrb_version(), version))
		return 1;
	if (wrb_queue_create(&attr, &queue) != -EINVAL || queue)
		return 2;
	if (wrb_limits_query(NULL, 1, &limits) != -EINVAL)
		return 3;
	wrb_queue_destroy(queue);
	return puts(version) < 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Maps a target's region; each kind of memory fails with its own advice. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "quiet.h"
#include "region_mem.h"

/* Between two tries to lock a file. */
#define LOCK_US 10000

static int round_up(uint64_t bytes, uint64_t unit, uint64_t *rounded)
{
	if (!unit || bytes > SIZE_MAX - (unit - 1))
		return -EFBIG;
	*rounded = (bytes + unit - 1) / unit * unit;
	return 0;
}

static int map(struct region_mem *mem, int flags, int fd)
{
	void *addr = mmap(NULL, mem->mapped_bytes, PROT_READ | PROT_WRITE,
			  flags, fd, 0);

	if (addr == MAP_FAILED)
		return -errno;
	mem->addr = addr;
	return 0;
}

static int map_malloc(const struct engine_env *env, struct region_mem *mem)
{
	int ret;

	ret = round_up(mem->bytes, (uint64_t)sysconf(_SC_PAGESIZE),
		       &mem->mapped_bytes);
	if (!ret)
		ret = map(mem, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (ret)
		env->error(env->arg,
			   "no memory for a region of %" PRIu64 " bytes: %s; "
			   "lower size",
			   mem->bytes, strerror(-ret));
	return ret;
}

/* A number of /proc/meminfo; 0 if it is not there. */
static uint64_t meminfo(const char *name)
{
	size_t length = strlen(name);
	unsigned long long value = 0;
	char line[128];
	FILE *file = fopen("/proc/meminfo", "re");

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && line[length] == ':' &&
		    sscanf(line + length + 1, "%llu", &value) == 1)
			break;
	fclose(file);
	return value;
}

static int say_hugepages(const struct engine_env *env, uint64_t needed,
			 uint64_t page_bytes, int err)
{
	uint64_t left = meminfo("HugePages_Free");
	uint64_t more = needed > left ? needed - left : 1;

	env->error(env->arg,
		   "region_mem=hugepage needs %" PRIu64
		   " huge pages of %" PRIu64 " KiB, %" PRIu64
		   " are free (%s): reserve them with 'sysctl "
		   "vm.nr_hugepages=%" PRIu64 "', or use region_mem=malloc",
		   needed, page_bytes / 1024, left, strerror(-err),
		   meminfo("HugePages_Total") + more);
	return err;
}

static int map_hugepages(const struct engine_env *env, struct region_mem *mem)
{
	uint64_t page_bytes = meminfo("Hugepagesize") * 1024;
	int ret;

	if (!page_bytes) {
		env->error(env->arg, "this kernel has no huge pages: use "
				     "region_mem=malloc");
		return -EOPNOTSUPP;
	}
	ret = round_up(mem->bytes, page_bytes, &mem->mapped_bytes);
	if (ret) {
		env->error(env->arg, "size is too large for memory");
		return ret;
	}
	ret = map(mem, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	if (ret)
		return say_hugepages(env, mem->mapped_bytes / page_bytes,
				     page_bytes, ret);
	return 0;
}

static int say_file(const struct engine_env *env, const char *path,
		    const char *what, int err)
{
	env->error(env->arg, "region_mem=%s: cannot %s: %s", path, what,
		   strerror(-err));
	return err;
}

/* On hugetlbfs lengths are whole huge pages. */
static int file_length(int fd, const struct stat *stat, struct region_mem *mem)
{
	uint64_t unit = (uint64_t)sysconf(_SC_PAGESIZE);
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return -errno;
	if ((unsigned long)fs.f_type == HUGETLBFS_MAGIC)
		unit = (uint64_t)stat->st_blksize;
	return round_up(mem->bytes, unit, &mem->mapped_bytes);
}

/*
 * Blocks for all of it, or the first access to a page that finds none is the
 * end of the process. Some file systems cannot promise them.
 */
static int file_allocate(int fd, off_t old_bytes, off_t bytes)
{
	int rc;

	do
		rc = fallocate(fd, 0, 0, bytes) ? -errno : 0;
	while (rc == -EINTR);
	if (rc == -EOPNOTSUPP)
		return old_bytes < bytes && ftruncate(fd, bytes) ? -errno : 0;
	/* What there was room for is given back. */
	if (rc && ftruncate(fd, old_bytes))
		return -errno;
	return rc;
}

/* A file that is long enough stays as long as it is. */
static int file_grow(int fd, const struct stat *stat,
		     const struct region_mem *mem)
{
	const bool fits = (uint64_t)stat->st_size >= mem->bytes;
	const uint64_t bytes = fits ? mem->bytes : mem->mapped_bytes;
	struct quiet quiet;
	int rc;

	if (bytes > INT64_MAX)
		return -EFBIG;
	quiet_begin(&quiet);
	rc = file_allocate(fd, stat->st_size, (off_t)bytes);
	quiet_end(&quiet);
	return rc;
}

static int map_open_file(const struct engine_env *env, const char *path, int fd,
			 struct region_mem *mem)
{
	struct stat stat;
	int ret;

	if (fstat(fd, &stat))
		return say_file(env, path, "look at it", -errno);
	if (!S_ISREG(stat.st_mode)) {
		env->error(env->arg,
			   "region_mem=%s is no regular file: name a file, "
			   "best on /dev/shm or hugetlbfs",
			   path);
		return -EINVAL;
	}
	ret = file_length(fd, &stat, mem);
	if (!ret)
		ret = file_grow(fd, &stat, mem);
	if (ret)
		return say_file(env, path, "make room for it", ret);
	ret = map(mem, MAP_SHARED, fd);
	return ret ? say_file(env, path, "map it", ret) : 0;
}

/*
 * Jobs that share the file must not cut what another has grown. Who holds it
 * for long can be waited for, and interrupted. Not all file systems have locks.
 */
static int lock_file(const struct engine_env *env, int fd)
{
	while (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		if (env->stopping(env->arg))
			return -EINTR;
		usleep(LOCK_US);
	}
	return 0;
}

/* Non-blocking: a FIFO must not hold up whoever names one by mistake. */
static int map_file(const struct engine_env *env, const char *path,
		    struct region_mem *mem)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
	int ret;

	if (fd < 0)
		return say_file(env, path, "open it", -errno);
	ret = lock_file(env, fd);
	if (ret)
		say_file(env, path, "lock it", ret);
	else
		ret = map_open_file(env, path, fd, mem);
	close(fd);
	return ret;
}

int region_mem_map(const struct engine_conf *conf, const struct engine_env *env,
		   uint64_t bytes, struct region_mem *mem)
{
	struct region_mem made = { .bytes = bytes };
	int ret;

	if (!bytes) {
		env->error(env->arg, "a region of 0 bytes is of no use: set "
				     "size");
		return -EINVAL;
	}
	switch (conf->region_mem) {
	case REGION_HUGEPAGE:
		ret = map_hugepages(env, &made);
		break;
	case REGION_FILE:
		ret = map_file(env, conf->region_path, &made);
		break;
	default:
		ret = map_malloc(env, &made);
	}
	if (!ret)
		*mem = made;
	return ret;
}

void region_mem_unmap(struct region_mem *mem)
{
	if (mem->addr)
		munmap(mem->addr, mem->mapped_bytes);
	*mem = (struct region_mem){ 0 };
}

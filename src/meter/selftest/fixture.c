/* SPDX-License-Identifier: MIT */
#include "selftest/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "selftest/selftest.h"

#define RESULTS_BYTES (SELFTEST_CASES_MAX * sizeof(long))
#define SHARED_BYTES (RESULTS_BYTES + sizeof(struct selftest_talk))

/* Where a file on storage may be made. */
static const char *const storage_dirs[] = { "/var/tmp", "/tmp", "/" };

/* File systems on a machine's own devices, whose pages come and go as the hooks on mappings know
 * it. */
static const long storage_types[] = { EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
				      F2FS_SUPER_MAGIC };

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Of blocks no larger than a page, so that one page is what a fault brings. */
static bool is_storage(const char *dir)
{
	struct statfs fs;

	if (statfs(dir, &fs) < 0 || (size_t)fs.f_bsize > page_size())
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(storage_types); i++) {
		if (fs.f_type == storage_types[i])
			return true;
	}
	return false;
}

/* A hole, so that nothing is ever read or written: the file has no name, and goes with its mapping.
 */
static char *map_storage_page(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(storage_dirs); i++) {
		_cleanup_close_ int fd = is_storage(storage_dirs[i])
						 ? open(storage_dirs[i],
							O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
						 : -EBADF;
		char *page;

		if (fd < 0 || ftruncate(fd, (off_t)page_size()) < 0)
			continue;
		page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (page != MAP_FAILED)
			return page;
	}
	return NULL;
}

static int map_results(struct fixture *s, struct error *err)
{
	void *results = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			     -1, 0);

	if (results == MAP_FAILED)
		return error_set_errno(err, errno, "cannot share memory with a process");
	s->results = results;
	s->talk = (struct selftest_talk *)(s->results + SELFTEST_CASES_MAX);
	for (size_t i = 0; i < SELFTEST_CASES_MAX; i++)
		s->results[i] = CASE_NOT_RUN;
	return 0;
}

int fixture_open(bool with_storage, struct fixture *ret, struct error *err)
{
	int ends[2], r;

	*ret = (struct fixture){ .dir = SCRATCH_NONE,
				 .has_proc = access("/proc/self/fd", X_OK) == 0 };
	for (size_t i = 0; i < FIXTURE_FILES; i++)
		ret->files[i] = -EBADF;
	r = map_results(ret, err);
	if (r < 0)
		return r;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "cannot make a pipe");
	ret->files[FIXTURE_PIPE_OUT] = ends[0];
	ret->files[FIXTURE_PIPE_IN] = ends[1];
	snprintf(ret->own, sizeof(ret->own), "file");
	r = scratch_make("/dev/shm/jobmeter-selftest-", &ret->dir);
	if (r < 0)
		return error_set_errno(err, r, "cannot make a directory in /dev/shm");
	ret->page = with_storage ? map_storage_page() : NULL;
	return 0;
}

void fixture_close(struct fixture *s)
{
	scratch_remove(&s->dir);
	closep(&s->files[FIXTURE_PIPE_OUT]);
	closep(&s->files[FIXTURE_PIPE_IN]);
	if (s->page)
		munmap(s->page, page_size());
	if (s->results)
		munmap(s->results, SHARED_BYTES);
}

// SPDX-License-Identifier: MIT
/*
 * copy-range FROM TO BYTES - copy by one copy_file_range(2), from the beginning of FROM to that of
 * TO; print what it returned, and by how much this task's own counters grew meanwhile.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct counters {
	long long rchar, wchar, syscr, syscw;
	long long own; /* bytes of this very reading, which the next one has in rchar */
};

static struct counters read_counters(void)
{
	struct counters c = {};
	char text[512] = "";
	int fd = open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC);

	c.own = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (sscanf(text, "rchar: %lld wchar: %lld syscr: %lld syscw: %lld", &c.rchar, &c.wchar,
		   &c.syscr, &c.syscw) != 4)
		errx(1, "cannot read this task's counters");
	close(fd);
	return c;
}

int main(int argc, char **argv)
{
	struct counters before, after;
	loff_t from_at = 0, to_at = 0;
	ssize_t copied;
	int from, to, e;

	if (argc != 4)
		errx(2, "usage: copy-range FROM TO BYTES");
	from = open(argv[1], O_RDONLY | O_CLOEXEC);
	to = open(argv[2], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (from < 0 || to < 0)
		err(1, "cannot open the files");

	before = read_counters();
	copied = copy_file_range(from, &from_at, to, &to_at, strtoul(argv[3], NULL, 10), 0);
	e = copied < 0 ? errno : 0;
	after = read_counters();

	printf("{\"copied\": %zd, \"error\": \"%s\", ", copied, e ? strerrorname_np(e) : "");
	printf("\"rchar\": %lld, \"wchar\": %lld, \"syscr\": %lld, \"syscw\": %lld}\n",
	       after.rchar - before.rchar - before.own, after.wchar - before.wchar,
	       after.syscr - before.syscr - 1, after.syscw - before.syscw);
	return copied < 0;
}

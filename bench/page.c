/* SPDX-License-Identifier: MIT */
#include "page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"

#define FILE_MAX_BYTES (1u << 20)

static bool is_virtual(void)
{
	_cleanup_free_ char *text = NULL;

	return file_read(AT_FDCWD, "/proc/cpuinfo", FILE_MAX_BYTES, &text, NULL) >= 0 &&
	       strstr(text, " hypervisor");
}

void page_print_machine(FILE *out)
{
	struct utsname u;

	uname(&u);
	u.release[strspn(u.release, "0123456789")] = ' '; /* "6.18.3" -> "6 18.3" -> "6.18" */
	u.release[strspn(u.release, "0123456789 ")] = '\0';
	u.release[strcspn(u.release, " ")] = '.';
	fprintf(out, "A %ld-CPU %s, Linux %s, %s", sysconf(_SC_NPROCESSORS_ONLN),
		is_virtual() ? "virtual machine" : "machine", u.release, u.machine);
}

static int put(const char *path, const char *mark, const char *text, struct error *err)
{
	_cleanup_free_ char *old = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	char begin_line[128], end_line[128];
	const char *begin, *end;
	int r = file_read(AT_FDCWD, path, FILE_MAX_BYTES, &old, NULL);

	if (r < 0)
		return error_set_errno(err, r, "cannot read '%s'", path);
	snprintf(begin_line, sizeof(begin_line), "<!-- begin: %s -->\n", mark);
	snprintf(end_line, sizeof(end_line), "<!-- end: %s -->\n", mark);
	begin = strstr(old, begin_line);
	end = begin ? strstr(begin, end_line) : NULL;
	if (!end)
		return error_set(err, -EINVAL, "'%s' has no place for the table", path);
	file = fopen(path, "we");
	if (!file)
		return error_set_errno(err, errno, "cannot write '%s'", path);
	fprintf(file, "%.*s%s\n%s%s", (int)(begin - old), old, begin_line, text, end);
	return ferror(file) ? error_set_errno(err, EIO, "cannot write '%s'", path) : 0;
}

int page_begin(struct page *ret)
{
	*ret = (struct page){};
	ret->out = open_memstream(&ret->text, &ret->size);
	return ret->out ? 0 : -ENOMEM;
}

int page_end(struct page *page, const char *path, const char *mark, struct error *err)
{
	int r = fclose(page->out) == 0 ? 0 : -ENOMEM;

	if (r == 0)
		fputs(page->text, stdout);
	if (r == 0 && path)
		r = put(path, mark, page->text, err);
	free(page->text);
	return r;
}

/* SPDX-License-Identifier: MIT */
#include "node/job_state.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "test.h"
#include "tree.h"

static const char *name_of(const char *manager, const char *id)
{
	static char names[4][STATE_NAME_SIZE];
	static int next;
	char *name = names[next++ % 4];

	ASSERT_OK(state_name(manager, id, -1, name));
	return name;
}

TEST(names_are_readable_and_safe)
{
	ASSERT_STREQ(name_of("slurm", "42"), "slurm-42.json");
	ASSERT_STREQ(name_of("kubernetes", "a-b.c_D"), "kubernetes-a-b.c_D.json");
	ASSERT_STREQ(name_of("x", "../../etc/passwd"), "x-..%2f..%2fetc%2fpasswd.json");
	ASSERT_STREQ(name_of("x", "a\n\"\xff"), "x-a%0a%22%ff.json");
	ASSERT_STREQ(name_of("", ""), "-.json");
	ASSERT_STREQ(name_of(".", "1"), "%2e-1.json");
}

TEST(no_two_jobs_share_a_name)
{
	char a[256], b[256];

	ASSERT(strcmp(name_of("a", "b-c"), name_of("a-b", "c")) != 0);
	ASSERT(strcmp(name_of("a", "%2f"), name_of("a", "/")) != 0);
	ASSERT(strcmp(name_of("~a", "b"), name_of("a", "b")) != 0);
	ASSERT_OK(state_name("podman", "ab", 1000, a)); /* another user may choose that id, too */
	ASSERT_STREQ(a, "podman-ab~1000.json");
	ASSERT(strcmp(name_of("podman", "ab~1000"), a) != 0);
	memset(a, '/', 130);
	a[130] = '\0';
	for (size_t i = 0; i < 130; i++) { /* packed names differ in each byte, and by length */
		strcpy(b, a);
		b[i]++;
		ASSERT(strcmp(name_of("slurm", a), name_of("slurm", b)) != 0);
		b[i] = '\0';
		ASSERT(strcmp(name_of("slurm", a), name_of("slurm", b)) != 0);
	}
	ASSERT(strlen(name_of("slurm", a)) < STATE_NAME_SIZE);
}

TEST(an_id_of_any_length_has_a_name_of_its_own)
{
	char id[256], name[STATE_NAME_SIZE], other[STATE_NAME_SIZE], manager[256];

	memset(id, '/', 255);
	id[255] = '\0';
	ASSERT_OK(state_name("slurm", id, -1, name));
	ASSERT(*name == '=');
	id[254] = ':';
	ASSERT_OK(state_name("slurm", id, -1, other));
	ASSERT(strcmp(name, other) != 0);
	ASSERT_OK(state_name("pbs", id, -1, name));
	ASSERT(strcmp(name, other) != 0);
	ASSERT_OK(state_name("slurm", id, UINT32_MAX, name));
	ASSERT(strlen(name) < STATE_NAME_SIZE);
	memset(manager, 'm', 255);
	manager[255] = '\0';
	ASSERT_ERR(state_name(manager, "1", -1, name), -ENAMETOOLONG);
}

/* ---- the store ---- */

static struct state *open_new(const char *name, char path[256])
{
	struct state *s = NULL;
	struct error err = {};

	snprintf(path, 256, "%s/%s", test_dir(), name);
	ASSERT_OK(state_open(path, geteuid(), getegid(), &s, &err));
	return s;
}

struct seen {
	char text[1024];
	const char *refused; /* a text that is not taken */
	int result;
};

static int see(void *context, const char *name, const char *text, size_t length, struct error *err)
{
	struct seen *seen = context;

	ASSERT_EQ(strlen(text), length);
	if (seen->refused && strcmp(text, seen->refused) == 0)
		return error_set(err, seen->result, "it is refused");
	snprintf(seen->text + strlen(seen->text), sizeof(seen->text) - strlen(seen->text), "%s=%s;",
		 name, text);
	return 0;
}

static void write_state(struct state *s, const char *name, const char *text)
{
	struct error err;

	ASSERT_OK(state_write(s, name, text, strlen(text), false, &err));
}

TEST(what_was_written_comes_back_and_what_was_removed_does_not)
{
	char path[256];
	_cleanup_(state_closep) struct state *s = open_new("a", path);
	struct seen seen = {};
	struct stat st;
	struct error err;

	ASSERT_OK(stat(path, &st));
	ASSERT_EQ(st.st_mode & 0777, 0700U);
	write_state(s, "x-1.json", "one");
	write_state(s, "x-2.json", "two");
	ASSERT_OK(state_write(s, "x-1.json", "more", 4, true, &err));
	ASSERT_OK(state_remove(s, "x-2.json", &err));
	ASSERT_OK(state_remove(s, "x-2.json", &err));
	ASSERT_OK(state_read_all(s, see, &seen, &err));
	ASSERT_STREQ(seen.text, "x-1.json=more;");
	strcat(path, "/x-1.json");
	ASSERT_OK(stat(path, &st));
	ASSERT_EQ(st.st_mode & 0777, 0600U);
	ASSERT_EQ(state_get_counts(s).errors + state_get_counts(s).set_aside, UINT64_C(0));
}

TEST(names_that_lead_elsewhere_are_refused)
{
	char path[256];
	_cleanup_(state_closep) struct state *s = open_new("names", path);
	struct error err;

	ASSERT_ERR(state_write(s, "../x.json", "1", 1, false, &err), -EINVAL);
	ASSERT_ERR(state_write(s, ".x.json", "1", 1, false, &err), -EINVAL);
	ASSERT_ERR(state_write(s, "", "1", 1, false, &err), -EINVAL);
	ASSERT_ERR(state_remove(s, "../a", &err), -EINVAL);
	ASSERT_EQ(state_get_counts(s).errors, UINT64_C(3));
	ASSERT(!state_has_news(s, &err));
}

static bool is_there(const char *dir, const char *name)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return lstat(path, &st) == 0;
}

/* One line of those that are told now has both. */
static bool is_told(char lines[][sizeof(struct error)], size_t count, const char *name,
		    const char *why)
{
	for (size_t i = 0; i < count; i++) {
		if (strstr(lines[i], name) && strstr(lines[i], why))
			return true;
	}
	return false;
}

static void expect_reasons(struct state *s)
{
	static const char *const reasons[][2] = {
		{ "/foreign/x-torn.json' was rejected, and is kept as .bad: ", ": it is refused" },
		{ "x-empty.json'", ": it is empty" },
		{ "README'", ": it has no name of a state" },
		{ "x-open.json'", ": others may write to it" },
		{ "x-link.json'", ": it is a link" },
		{ "x-directory.json'", ": it is no plain file" },
		{ "x-pipe.json'", ": it is no plain file" },
		{ "x-two.json'", ": it is linked elsewhere, too" },
	};
	char lines[16][sizeof(struct error)];
	struct error line;
	size_t count = 0;

	while (count < ARRAY_SIZE(lines) && state_has_news(s, &line))
		memcpy(lines[count++], line.text, sizeof(line.text));
	ASSERT_EQ(count, ARRAY_SIZE(reasons));
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		ASSERT(is_told(lines, count, reasons[i][0], reasons[i][1]));
}

TEST(what_is_not_ours_is_set_aside_once)
{
	_cleanup_close_ int root = tree_open("foreign");
	char path[256];
	_cleanup_(state_closep) struct state *s = open_new("foreign", path);
	struct seen seen = { .refused = "{torn", .result = -EINVAL };
	struct error err;

	write_state(s, "x-good.json", "good");
	tree_write(root, "x-torn.json", "{torn");
	tree_write(root, "x-empty.json", "");
	tree_write(root, "README", "hello");
	tree_write(root, "x-open.json", "open");
	ASSERT_OK(fchmodat(root, "x-open.json", 0666, 0));
	tree_link(root, "x-link.json", "/etc/passwd");
	tree_write(root, "x-directory.json/inside", "1");
	ASSERT_OK(mkfifoat(root, "x-pipe.json", 0600));
	tree_write(root, ".x-1.json.new", "half");
	ASSERT_OK(linkat(root, "README", root, "x-two.json", 0));
	ASSERT_OK(state_read_all(s, see, &seen, &err));
	ASSERT_STREQ(seen.text, "x-good.json=good;");
	ASSERT_EQ(state_get_counts(s).set_aside, UINT64_C(8));
	ASSERT(is_there(path, "x-torn.json.bad") && !is_there(path, "x-torn.json"));
	ASSERT(is_there(path, "x-link.json.bad") && is_there(path, "README.bad"));
	ASSERT(is_there(path, "x-directory.json.bad") && !is_there(path, ".x-1.json.new"));
	expect_reasons(s);

	seen.text[0] = '\0';
	ASSERT_OK(state_read_all(s, see, &seen, &err));
	ASSERT_STREQ(seen.text, "x-good.json=good;");
	ASSERT_EQ(state_get_counts(s).set_aside, UINT64_C(8));
	ASSERT(!state_has_news(s, &err));
}

/* ---- the last ones, before a kernel side ends ---- */

static void write_last(struct state *s, const char *name, uint32_t kernel_side, const char *text)
{
	struct error err;

	ASSERT_OK(state_write_last(s, name, kernel_side, text, strlen(text), &err));
}

/* Of all kernel sides one is there. */
static bool is_that_one(void *context, uint32_t kernel_side)
{
	const uint32_t *there = context;

	return kernel_side == *there;
}

static const char *settled(struct state *s, uint32_t there, struct seen *seen)
{
	struct error err;

	*seen = (struct seen){};
	ASSERT_OK(state_settle(s, is_that_one, &there, &err));
	ASSERT_OK(state_read_all(s, see, seen, &err));
	return seen->text;
}

TEST(a_last_state_counts_for_nothing_until_its_kernel_side_is_gone)
{
	char path[256];
	_cleanup_(state_closep) struct state *s = open_new("last", path);
	struct seen seen = {};
	struct error err;

	write_state(s, "x-1.json", "old");
	write_last(s, "x-1.json", UINT32_MAX, "new");
	ASSERT(is_there(path, ".x-1.json.4294967295.last"));
	ASSERT_OK(state_read_all(s, see, &seen, &err));
	ASSERT_STREQ(seen.text, "x-1.json=old;");
	ASSERT_STREQ(settled(s, 7, &seen), "x-1.json=new;");
	ASSERT_STREQ(settled(s, UINT32_MAX, &seen), "x-1.json=new;"); /* nothing is left to settle
								       */
	ASSERT(!is_there(path, ".x-1.json.4294967295.last"));
}

TEST(a_last_state_of_a_kernel_side_that_goes_on_is_removed)
{
	char path[256];
	_cleanup_(state_closep) struct state *s = open_new("kept", path);
	struct seen seen = {};

	write_state(s, "x-1.json", "old");
	write_last(s, "x-1.json", 7, "new");
	write_last(s, "x-2.json", 7, "new");
	ASSERT_STREQ(settled(s, 7, &seen), "x-1.json=old;");
	ASSERT_STREQ(settled(s, 8, &seen), "x-1.json=old;");
}

TEST(settling_that_was_cut_off_goes_on)
{
	_cleanup_close_ int root = tree_open("cut");
	char path[256], longest[STATE_NAME_SIZE], id[225];
	_cleanup_(state_closep) struct state *s = open_new("cut", path);
	struct seen seen = {};

	memset(id, 'x', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	ASSERT_OK(state_name("x", id, -1, longest));
	write_state(s, "x-1.json", "settled");
	write_last(s, longest, 7, "long");
	ASSERT_CONTAINS(settled(s, 0, &seen), "=long;");
	ASSERT_CONTAINS(seen.text, "x-1.json=settled;");
	ASSERT(is_there(path, longest));
	tree_write(root, ".x-1.json.last", "odd");
	tree_write(root, ".last", "odd");
	tree_write(root, "..0000000007.last", "odd");
	tree_write(root, "...0000000007.last", "odd");
	tree_write(root, ".x-1.json.000000007x.last", "odd");
	tree_write(root, ".x-1.json.9999999999.last", "odd");
	tree_write(root, ".x-1.jsonx0000000007.last", "odd");
	ASSERT_CONTAINS(settled(s, 0, &seen), "x-1.json=settled;");
	ASSERT(!strstr(seen.text, "odd"));
	ASSERT(!is_there(path, ".x-1.json.last") && !is_there(path, ".x-1.json.9999999999.last"));
}

/* ---- what is not ours ---- */

TEST(of_what_is_set_aside_a_bounded_number_is_kept)
{
	_cleanup_close_ int root = tree_open("many");
	char path[256], name[32];
	_cleanup_(state_closep) struct state *s = open_new("many", path);
	struct seen seen = { .refused = "torn", .result = -EBADMSG };
	struct error err;
	int kept = 0, told = 0;

	for (int i = 0; i < STATE_BAD_MAX + 23; i++) {
		snprintf(name, sizeof(name), "x-%d.json", i);
		tree_write(root, name, "torn");
	}
	ASSERT_OK(state_read_all(s, see, &seen, &err));
	ASSERT_EQ(state_get_counts(s).set_aside, UINT64_C(39));
	for (int i = 0; i < STATE_BAD_MAX + 23; i++) {
		snprintf(name, sizeof(name), "x-%d.json", i);
		ASSERT(!is_there(path, name));
		strcat(name, ".bad");
		kept += is_there(path, name);
	}
	ASSERT_EQ(kept, STATE_BAD_MAX);
	while (state_has_news(s, &err))
		told++;
	ASSERT_EQ(told, 17);
	ASSERT_CONTAINS(err.text, "23 more were like '");
}

TEST(a_reader_who_fails_for_a_reason_of_his_own_sets_nothing_aside)
{
	char path[256];
	_cleanup_(state_closep) struct state *s = open_new("own", path);
	struct seen seen = { .refused = "one", .result = -ENOMEM };
	struct error err;

	write_state(s, "x-1.json", "one");
	ASSERT_ERR(state_read_all(s, see, &seen, &err), -ENOMEM);
	ASSERT(is_there(path, "x-1.json"));
}

TEST(a_directory_of_anothers_is_not_taken)
{
	struct state *s = NULL;
	struct error err;
	const char *path = test_path("elsewhere");

	ASSERT_OK(symlink("/tmp", path));
	ASSERT_ERR(state_open(path, geteuid(), getegid(), &s, &err), -ENOTDIR);
	ASSERT_ERR(state_open("/nonexistent/jobs", geteuid(), getegid(), &s, &err), -ENOENT);
	if (geteuid() == 0) {
		path = test_path("anothers");
		ASSERT_OK(mkdir(path, 0700));
		ASSERT_OK(chown(path, 12345, 12345));
		ASSERT_ERR(state_open(path, 23456, 23456, &s, &err), -EPERM);
		ASSERT_CONTAINS(err.text, "belongs to another user (UID 12345)");
	}
	ASSERT(s == NULL);
}

/* ---- a disk that is full or read-only: in a mount of this test's own ---- */

static void fill(const char *dir)
{
	static const char block[4096];
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/fill", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, block, sizeof(block)) > 0)
		;
	close(fd);
}

static void expect_failure(struct state *s, int error, const char *words)
{
	static char large[8192];
	struct error err = {};

	memset(large, 'x', sizeof(large));
	ASSERT_ERR(state_write(s, "x-1.json", large, sizeof(large), false, &err), error);
	ASSERT_CONTAINS(err.text, "/jobs/x-1.json': ");
	ASSERT_CONTAINS(err.text, words);
	ASSERT_ERR(state_write(s, "x-1.json", large, sizeof(large), false, &err), error);
	ASSERT(state_has_news(s, &err)); /* twice it failed, once it is said */
	ASSERT_CONTAINS(err.text, "the state of jobs cannot be written to '");
	ASSERT_CONTAINS(err.text, words);
	ASSERT(!state_has_news(s, &err));
}

static void try_full_disk(const char *dir)
{
	_cleanup_(state_closep) struct state *s = NULL;
	struct seen seen = {};
	char jobs[300], path[512];
	struct error err;

	snprintf(jobs, sizeof(jobs), "%s/jobs", dir);
	ASSERT_OK(state_open(jobs, geteuid(), getegid(), &s, &err));
	write_state(s, "x-1.json", "old");
	fill(dir);
	expect_failure(s, -ENOSPC, "No space left on device");
	ASSERT_OK(mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL));
	expect_failure(s, -EROFS, "Read-only file system");
	ASSERT_OK(state_read_all(s, see, &seen, &err));
	ASSERT_STREQ(seen.text, "x-1.json=old;"); /* what was there stands */
	ASSERT_OK(mount(NULL, dir, NULL, MS_REMOUNT, NULL));
	snprintf(path, sizeof(path), "%s/fill", dir);
	ASSERT_OK(unlink(path));
	write_state(s, "x-1.json", "new");
	ASSERT(state_has_news(s, &err));
	ASSERT_CONTAINS(err.text, "is written to");
	ASSERT(!state_has_news(s, &err));
	ASSERT_EQ(state_get_counts(s).errors, UINT64_C(4));
}

TEST(a_full_disk_is_said_once_and_what_was_there_stands)
{
	const char *dir = test_path("full");

	ASSERT_OK(mkdir(dir, 0700));
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("jobmeter-test", dir, "tmpfs", 0, "size=64k") < 0) {
		printf("  (no right to mount: not tried)\n");
		return;
	}
	try_full_disk(dir);
	ASSERT_OK(umount2(dir, MNT_DETACH));
}

/* SPDX-License-Identifier: MIT */
#include "spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "model/node_values.h"
#include "model/record.h"
#include "test.h"

#define MANY (UINT64_C(1) << 30)

/* A directory of its own for each test. */
static const char *new_dir(void)
{
	static char path[256];
	static unsigned int number;

	snprintf(path, sizeof(path), "%s/spool-%u", test_dir(), number++);
	ASSERT_OK(spool_make_dirs(path, geteuid(), getegid(), NULL));
	return path;
}

static struct spool *open_spool(const char *path, uint64_t max_bytes)
{
	struct spool *s = NULL;

	ASSERT_OK(spool_open(path, max_bytes, &s, NULL));
	return s;
}

static struct record *make(const char *id, bool is_final)
{
	struct record *r = record_new();

	ASSERT(r);
	r->node = strdup("n1");
	r->boot_id = strdup("b");
	r->job.manager = strdup("made");
	r->job.id = strdup(id);
	r->time.start_ns = 1009;
	r->is_final = is_final;
	return r;
}

/* Its sequence. */
static uint64_t put(struct spool *s, const char *id, bool is_final)
{
	_cleanup_(record_freep) struct record *r = make(id, is_final);

	ASSERT_OK(spool_write(s, r, NULL));
	return r->sequence;
}

static struct spool_list list(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct spool_list files = {};

	ASSERT(fd >= 0);
	ASSERT_OK(spool_list_read(fd, true, &files));
	return files;
}

static size_t count(const char *path)
{
	_cleanup_(spool_list_clear) struct spool_list files = list(path);

	return files.count;
}

TEST(other_names_are_none_of_the_spools)
{
	static const char *const names[] = {
		"0123456789abcdef0000000000000007.00001774000000000001.x.gz",
		"0123456789abcdef0000000000000007.00001774000000000001.f.gz.reason",
		"0123456789ABCDEF0000000000000007.00001774000000000001.f.gz",
		"0123456789abcdef0000000000000007.0000177400000000000x.f.gz",
		"0123456789abcdef0000000000000007.99999999999999999999.f.gz",
		"0123456789abcdef0000000000000007-00001774000000000001.f.gz",
		"0123456789abcdef0000000000000007.00001774000000000001.f.gz",
	};
	const char *path = new_dir();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *whole = NULL;
		int fd;

		ASSERT_EQ(count(path), (size_t)0);
		ASSERT(asprintf(&whole, "%s/%s", path, names[i]) > 0);
		fd = open(whole, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		ASSERT(fd >= 0);
		close(fd);
	}
	ASSERT_EQ(count(path), (size_t)1);
}

TEST(what_is_written_is_one_line_of_json_with_its_sequence)
{
	const char *path = new_dir();
	_cleanup_(spool_closep) struct spool *s = open_spool(path, MANY);
	uint64_t sequence = put(s, "7", true);
	_cleanup_(spool_list_clear) struct spool_list files = list(path);
	char whole[512], text[65536] = "", wanted[64];
	gzFile file;
	int length;

	ASSERT_EQ(files.count, (size_t)1);
	ASSERT(files.files[0].is_final);
	ASSERT_EQ(files.files[0].sequence, sequence);
	snprintf(wanted, sizeof(wanted), ".%020" PRIu64 ".f.gz", sequence);
	ASSERT_STREQ(files.files[0].name + 32, wanted);
	snprintf(whole, sizeof(whole), "%s/%s", path, files.files[0].name);
	file = gzopen(whole, "rb");
	ASSERT(file);
	length = gzread(file, text, sizeof(text) - 1);
	gzclose(file);
	ASSERT(length > 0 && strchr(text, '\n') == text + length - 1);
	snprintf(wanted, sizeof(wanted), "%" PRIu64 ",", sequence);
	ASSERT_CONTAINS(strstr(text, "\"sequence\""), wanted);
	ASSERT(sequence <= clock_now_ns(CLOCK_REALTIME) / 1000);
	ASSERT(sequence > clock_now_ns(CLOCK_REALTIME) / 1000 - 60000000);
}

TEST(how_a_node_is_is_one_line_of_its_last_word_and_goes_with_the_agent)
{
	const char *path = new_dir();
	_cleanup_(spool_closep) struct spool *s = open_spool(path, MANY), *next = NULL;
	_cleanup_(record_freep) struct record *about = make("7", true);
	struct node_values values = {
		.values = { [NODE_CPUS] = { 64, true }, [NODE_LOAD_1] = { 1725, true } }
	};
	_cleanup_free_ char *text = NULL;

	ASSERT_OK(spool_write_node(s, about, &values));
	values.values[NODE_LOAD_1].number = 1701;
	ASSERT_OK(strings_add(&about->coverage.missing, "files"));
	ASSERT_OK(spool_write_node(s, about, &values));
	ASSERT_EQ(count(path), (size_t)0);
	ASSERT_OK(file_read(s->dir_fd, SPOOL_NODE, 1000, &text, NULL));
	ASSERT_STREQ(
		text,
		"{\"schema\":\"jobmeter.node/1\",\"cluster\":null,\"node\":\"n1\","
		"\"missing\":1,\"lost_events\":0,\"cpus\":64,\"load\":17.01,\"not_measured\":[\"files\"]}");
	for (int i = 1; i < 60; i++)
		ASSERT_OK(strings_add(&about->coverage.missing, "energy of \"part\" %099d", i));
	ASSERT_OK(spool_write_node(s, about, &values));
	free(TAKE_PTR(text));
	ASSERT_OK(file_read(s->dir_fd, SPOOL_NODE, NODE_LINE_MAX, &text, NULL));
	ASSERT_CONTAINS(text, "\"missing\":60,");
	ASSERT_CONTAINS(text, "\"not_measured\":[\"files\",\"energy of \\\"part");
	next = open_spool(path, MANY);
	ASSERT_ERR(file_read(next->dir_fd, SPOOL_NODE, 1000, &text, NULL), -ENOENT);
}

TEST(a_newer_record_takes_the_place_of_the_older_one_of_its_job)
{
	const char *path = new_dir();
	_cleanup_(spool_closep) struct spool *s = open_spool(path, MANY);
	uint64_t last = 0;

	for (size_t i = 0; i < 5; i++) {
		uint64_t sequence = put(s, "7", false);

		ASSERT(sequence > last);
		last = sequence;
		put(s, "8", false);
		ASSERT_EQ(count(path), (size_t)2);
	}
	put(s, "7", true);
	ASSERT_EQ(count(path), (size_t)2);
	ASSERT_EQ(s->counts.written[false], (uint64_t)10);
	ASSERT_EQ(s->counts.written[true], (uint64_t)1);
	ASSERT_EQ(s->counts.dropped[false], (uint64_t)0);
}

TEST(also_of_one_that_was_written_before_us)
{
	const char *path = new_dir();
	uint64_t first, second;

	{
		_cleanup_(spool_closep) struct spool *s = open_spool(path, MANY);

		first = put(s, "7", false);
	}
	_cleanup_(spool_closep) struct spool *s = open_spool(path, MANY);

	second = put(s, "7", false);
	ASSERT(second > first);
	ASSERT_EQ(count(path), (size_t)1);
}

TEST(a_sequence_never_falls_though_the_clock_does_and_the_spool_is_empty)
{
	const char *path = new_dir();
	uint64_t ahead = clock_now_ns(CLOCK_REALTIME) / 1000 + UINT64_C(3600000000);
	_cleanup_free_ char *file = NULL;
	FILE *out;

	ASSERT(asprintf(&file, "%s/sequence", path) > 0);
	out = fopen(file, "w");
	ASSERT(out && fprintf(out, "%" PRIu64 "\n", ahead) > 0 && fclose(out) == 0);
	for (uint64_t i = 1; i <= 3; i++) {
		_cleanup_(spool_closep) struct spool *s = open_spool(path, MANY);

		ASSERT_EQ(put(s, "7", true), ahead + i);
	}
	out = fopen(file, "w");
	ASSERT(out && fputs("torn", out) >= 0 && fclose(out) == 0);
	_cleanup_(spool_closep) struct spool *s = open_spool(path, MANY);

	ASSERT_EQ(put(s, "7", true), ahead + 4); /* a record that is there knows it, too */
}

TEST(a_final_record_stays_before_a_checkpoint_of_what_went_on)
{
	const char *path = new_dir();
	_cleanup_(spool_closep) struct spool *s = open_spool(path, MANY);
	_cleanup_(spool_list_clear) struct spool_list files = {};

	put(s, "7", true);
	put(s, "7", false);
	files = list(path);
	ASSERT(files.count == 1 && files.files[0].is_final);
	put(s, "7", true);
	ASSERT_EQ(count(path), (size_t)1);
}

static uint64_t size_of_one(void)
{
	const char *path = new_dir();
	_cleanup_(spool_closep) struct spool *s = open_spool(path, MANY);
	_cleanup_(spool_list_clear) struct spool_list files = {};

	put(s, "100", true);
	files = list(path);
	return files.bytes;
}

TEST(beyond_the_bound_checkpoints_go_before_final_records_and_what_went_is_counted)
{
	uint64_t one = size_of_one() + 16; /* sequences pack differently */
	const char *path = new_dir();
	_cleanup_(spool_closep) struct spool *s = open_spool(path, 100 * one);
	_cleanup_(spool_list_clear) struct spool_list files = {};
	uint64_t dropped;
	size_t finals = 0;
	char id[16];

	for (unsigned int i = 0; i < 240; i++) {
		snprintf(id, sizeof(id), "%u", 100 + i);
		put(s, id, i % 4 == 0); /* 60 of them final */
	}
	files = list(path);
	ASSERT(files.bytes <= 100 * one);
	for (size_t i = 0; i < files.count; i++)
		finals += files.files[i].is_final;
	ASSERT_EQ(finals, (size_t)60);
	ASSERT_EQ(s->counts.dropped[true], (uint64_t)0);
	ASSERT_EQ(s->counts.dropped[false] + files.count, (uint64_t)240);
	for (unsigned int i = 0; i < 80; i++) {
		snprintf(id, sizeof(id), "%u", 500 + i);
		put(s, id, true);
	}
	dropped = s->counts.dropped[true];
	ASSERT(dropped > 0 && dropped < 60);
	ASSERT_EQ(dropped + count(path), (uint64_t)(60 + 80)); /* of all finals; no checkpoint is
								  left */
	put(s, "late", false); /* final records do not go for it */
	ASSERT_EQ(s->counts.dropped[true], dropped);
	spool_list_clear(&files);
	files = list(path);
	ASSERT(files.bytes <= 100 * one);
}

TEST(what_was_sent_meanwhile_makes_room)
{
	uint64_t one = size_of_one() + 16;
	const char *path = new_dir();
	_cleanup_(spool_closep) struct spool *s = open_spool(path, 10 * one);
	char id[16];

	for (unsigned int i = 0; i < 200; i++) {
		_cleanup_(spool_list_clear) struct spool_list files = {};
		char whole[512];

		snprintf(id, sizeof(id), "%u", 100 + i);
		put(s, id, true);
		files = list(path);
		snprintf(whole, sizeof(whole), "%s/%s", path, files.files[0].name);
		ASSERT_OK(unlink(whole));
	}
	ASSERT_EQ(s->counts.dropped[true], (uint64_t)0);
}

TEST(what_cannot_be_written_is_told_and_counted_and_can_be_tried_again)
{
	const char *path = new_dir();
	_cleanup_(spool_closep) struct spool *s = open_spool(path, MANY);
	_cleanup_(record_freep) struct record *r = make("7", true);
	_cleanup_free_ char *obstacle = NULL;
	struct error err = {};

	ASSERT(asprintf(&obstacle, "%s/.new", path) > 0);
	ASSERT_OK(mkdir(obstacle, 0700));
	ASSERT_ERR(spool_write(s, r, &err), -EISDIR);
	ASSERT_CONTAINS(err.text, path);
	ASSERT_ERR(spool_write(s, r, &err), -EISDIR);
	ASSERT_EQ(s->counts.errors, (uint64_t)2);
	ASSERT_OK(rmdir(obstacle));
	ASSERT_OK(spool_write(s, r, &err));
	ASSERT_EQ(count(path), (size_t)1);
}

TEST(half_written_and_foreign_files_are_passed_over)
{
	const char *path = new_dir();
	static const char *const names[] = {
		".new", "x.gz", "0123456789abcdef0000000000000007.00001774000000000001.f.gz"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *whole = NULL;

		ASSERT(asprintf(&whole, "%s/%s", path, names[i]) > 0);
		if (i < 2) {
			int fd = open(whole, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

			ASSERT(fd >= 0);
			close(fd);
		} else {
			ASSERT_OK(symlink("/etc/passwd", whole));
		}
	}
	ASSERT_EQ(count(path), (size_t)0);
	_cleanup_(spool_closep) struct spool *s = open_spool(path, MANY);

	put(s, "7", true);
	ASSERT_EQ(count(path), (size_t)1);
}

TEST(keys_tell_jobs_apart_by_each_part_and_records_of_one_are_alike)
{
	_cleanup_(record_freep) struct record *a = make("7", true), *b = make("7", false);
	struct spool_key key = spool_key_of(a), other;
	char **const parts[] = { &b->cluster, &b->node, &b->boot_id, &b->job.manager, &b->job.id };

	other = spool_key_of(b);
	ASSERT_EQ(memcmp(&key, &other, sizeof(key)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		char *before = *parts[i];

		*parts[i] = (char *)"another";
		other = spool_key_of(b);
		*parts[i] = before;
		ASSERT(key.halves[0] != other.halves[0] && key.halves[1] != other.halves[1]);
	}
	b->time.start_ns++;
	other = spool_key_of(b);
	ASSERT(memcmp(&key, &other, sizeof(key)) != 0);
}

TEST(a_directory_that_others_may_open_is_closed_to_them)
{
	const char *path = new_dir();
	struct stat st;

	ASSERT_OK(chmod(path, 0755));
	ASSERT_OK(spool_make_dirs(path, geteuid(), getegid(), NULL));
	ASSERT_OK(stat(path, &st));
	ASSERT_EQ(st.st_mode & 07777, 0700u);
}

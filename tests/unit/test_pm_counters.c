/* SPDX-License-Identifier: MIT */
/* Trees of files as HPE's documentation of Cray EX and XC describes them: layouts, not captured. */
#include "sources/pm_counters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/record.h"
#include "sources/sources.h"
#include "test.h"
#include "tree.h"

#define DIR "sys/cray/pm_counters/"
#define S UINT64_C(1000000000)

extern const struct source source_pm_counters;

static void count(int root_fd, const char *file, uint64_t number, const char *unit)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), DIR "%s", file);
	snprintf(text, sizeof(text), "%lu%s%s%s\n", number, *unit ? " " : "", unit,
		 *unit ? " 1700000000000000 us" : "");
	tree_write(root_fd, path, text);
}

static int made_ex(const char *name)
{
	int fd = tree_open(name);

	count(fd, "freshness", 41, "");
	count(fd, "startup", 1699000000, "");
	count(fd, "energy", 100003, "J");
	count(fd, "power", 983, "W");
	count(fd, "cpu_energy", 20011, "J");
	count(fd, "memory_energy", 3001, "J");
	count(fd, "accel0_energy", 30011, "J");
	count(fd, "accel1_energy", 0, "J"); /* there is none */
	count(fd, "accel_energy", 30011, "J");
	return fd;
}

static struct sources *open_them(int root_fd)
{
	static const struct source *const list[] = { &source_pm_counters };
	const struct source_options options = { .root_fd = root_fd };
	struct sources *s = NULL;

	ASSERT_OK(sources_open((struct source_list){ list, 1 }, NULL, &options, &s));
	return s;
}

static struct energy_reading sample(struct sources *s, uint64_t boot_ns, const char *name,
				    size_t *ret_count)
{
	struct energy_readings list = {};
	struct energy_reading found = {};

	ASSERT_OK(sources_sample(s, boot_ns));
	ASSERT_OK(sources_put_energy(s, &list));
	for (size_t i = 0; i < list.count; i++) {
		if (strcmp(list.items[i].sensor.name, name) == 0)
			found = list.items[i];
	}
	*ret_count = list.count;
	energy_readings_clear(&list);
	return found;
}

TEST(a_number_has_its_unit_or_none)
{
	uint64_t number = 7;

	ASSERT_OK(pm_counter_parse("36084 J 1427313093433457 us\n", "J", &number));
	ASSERT_EQ(number, UINT64_C(36084));
	ASSERT_OK(pm_counter_parse("36087 J", "J", &number));
	ASSERT_EQ(number, UINT64_C(36087));
	ASSERT_OK(pm_counter_parse("41\n", "J", &number));
	ASSERT_EQ(number, UINT64_C(41));
	ASSERT_ERR(pm_counter_parse("36084 W 1 us", "J", &number), -EINVAL);
	ASSERT_ERR(pm_counter_parse("36084 Joule", "J", &number), -EINVAL);
	ASSERT_ERR(pm_counter_parse("-3 J", "J", &number), -EINVAL);
	ASSERT_ERR(pm_counter_parse("", "J", &number), -EINVAL);
	ASSERT_ERR(pm_counter_parse("99999999999999999999 J", "J", &number), -ERANGE);
	ASSERT_EQ(number, UINT64_C(41));
}

TEST(the_node_contains_its_components_and_an_accelerator_is_one)
{
	_cleanup_close_ int fd = made_ex("made-cray-levels");
	_cleanup_(sources_freep) struct sources *s = open_them(fd);
	struct energy_reading r;
	size_t count;

	r = sample(s, 10 * S, "energy", &count);
	ASSERT_EQ(count, UINT64_C(4)); /* energy, cpu, memory, accel0 */
	ASSERT_EQ((unsigned int)r.sensor.level, (unsigned int)ENERGY_NODE);
	ASSERT_EQ(r.total.total_uj, UINT64_C(0)); /* since when it counts, others know */
	r = sample(s, 10 * S, "accel0_energy", &count);
	ASSERT_EQ((unsigned int)r.sensor.part, (unsigned int)ENERGY_GPU);
	ASSERT_EQ(r.sensor.socket, 0u);
	r = sample(s, 10 * S, "memory_energy", &count);
	ASSERT_EQ((unsigned int)r.sensor.part, (unsigned int)ENERGY_MEMORY);
}

TEST(what_came_since_is_the_difference)
{
	_cleanup_close_ int fd = made_ex("made-cray-difference");
	_cleanup_(sources_freep) struct sources *s = open_them(fd);
	struct energy_reading r;
	size_t n;

	sample(s, 10 * S, "energy", &n);
	count(fd, "freshness", 51, "");
	count(fd, "energy", 101020, "J"); /* 1,017 more */
	r = sample(s, 11 * S, "energy", &n);
	ASSERT_EQ(r.total.total_uj, UINT64_C(1017000000));
	ASSERT_EQ(r.total.power_uw, UINT64_C(1017000000));
	ASSERT(!r.is_stale);
}

TEST(numbers_that_stand_still_are_stale_and_said_so)
{
	_cleanup_close_ int fd = made_ex("made-cray-stale");
	_cleanup_(sources_freep) struct sources *s = open_them(fd);
	struct energy_reading r;
	struct record record = {};
	size_t n;

	sample(s, 10 * S, "energy", &n);
	r = sample(s, 13 * S, "energy", &n);
	ASSERT(r.is_stale);
	ASSERT_EQ(r.boot_ns, 10 * S);
	ASSERT_OK(sources_describe(s, &record));
	ASSERT_EQ(record.coverage.missing.count, UINT64_C(1));
	ASSERT_CONTAINS(record.coverage.missing.items[0], "does not update them any more");
	strings_clear(&record.coverage.missing);
}

TEST(counters_that_began_anew_make_a_gap_and_no_energy)
{
	_cleanup_close_ int fd = made_ex("made-cray-startup");
	_cleanup_(sources_freep) struct sources *s = open_them(fd);
	struct energy_reading r;
	size_t n;

	sample(s, 10 * S, "energy", &n);
	count(fd, "freshness", 51, "");
	count(fd, "startup", 1699000777, "");
	count(fd, "energy", 900007, "J"); /* greater, and yet no difference */
	r = sample(s, 13 * S, "energy", &n);
	ASSERT_EQ(r.total.total_uj, UINT64_C(0));
	ASSERT_EQ(r.total.gap_ns, 3 * S);
}

TEST(a_node_without_them_says_nothing)
{
	_cleanup_close_ int fd = tree_open("made-cray-none");
	_cleanup_(sources_freep) struct sources *s = open_them(fd);
	struct record record = {};
	size_t n;

	sample(s, 10 * S, "energy", &n);
	ASSERT_EQ(n, UINT64_C(0));
	ASSERT_OK(sources_describe(s, &record));
	ASSERT_EQ(record.coverage.missing.count, UINT64_C(0));
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "test.h"
#include "trace/callers.h"
#include "trace/probe.h"
#include "trace/row.h"

#define HEAD                                                      \
	"[set made]\nabout = a test\n[map types]\nentries = 97\n" \
	"[table widths]\nrows = 1 2 0 8\n[library one]\nfile = libone.so*\n[probe write_it]\n"

static const struct row_base base = { .group = 3, .maps = { 5 }, .tables = { 700 } };

static int make(const char *text, const struct row_options *options, const char *usdt,
		struct trace_row *ret)
{
	_cleanup_(probe_set_freep) struct probe_set *set = NULL;
	struct error err = {};

	ASSERT_OK(probe_set_parse(text, strlen(text), "made.probe", &set, &err));
	return row_make(set, set->probes[0], &base, options, usdt, ret, &err);
}

static const struct row_options sums = { .sums = true }, events = { .sends_events = true };

TEST(values_know_their_registers_slots_and_offsets)
{
	struct trace_row row;

	ASSERT_OK(make(HEAD "exit = return\ncap.count = p2:u32\ncap.size = *(p4+24):u64\n"
			    "cap.stack = s1:u64\ncap.moved = *(p6+16):u64 at return\n",
		       &events, NULL, &row));
	ASSERT_EQ(row.value_count, 4u);
	ASSERT_EQ(row.group, 3u);
	ASSERT_EQ(row.values[0].index, (unsigned int)TRACE_SI);
	ASSERT_EQ(row.values[0].width, 4u);
	ASSERT_EQ(row.values[1].index, (unsigned int)TRACE_CX);
	ASSERT_EQ(row.values[1].deref_count, 1u);
	ASSERT_EQ(row.values[1].offsets[0], 24);
	ASSERT_EQ(row.values[2].source, (unsigned int)TRACE_SLOT);
	ASSERT_EQ(row.values[2].index, 1u);
	ASSERT_EQ(row.values[3].index, (unsigned int)TRACE_R9);
	ASSERT_EQ(row.values[3].flags & TRACE_AT_RETURN, (unsigned int)TRACE_AT_RETURN);
	ASSERT_EQ(row.flags, (unsigned int)(TRACE_SENDS_EVENTS | TRACE_RETURNS));
	ASSERT_EQ(row.generation, 0u);
}

TEST(sums_take_what_they_need_alone)
{
	static const char text[] = HEAD
		"exit = return\ncap.a = p1\ncap.kind = p2:u32\ncap.b = p3\n"
		"cap.type = p4:u32\ncap.count = p5:u32 | p6:u32\ncap.new = p1\n"
		"key = kind\nbytes = count * widths(type)\n"
		"map.put = types[new] = bytes\n";
	static const unsigned int of[] = { TRACE_SI, TRACE_CX, TRACE_R8, TRACE_R9, TRACE_DI };
	struct trace_row row;

	ASSERT_OK(make(text, &sums, NULL, &row));
	ASSERT_EQ(row.value_count, 5u);
	for (size_t i = 0; i < 5; i++)
		ASSERT_EQ(row.values[i].index, of[i]);
	ASSERT_EQ(row.values[0].capture, 1u);
	ASSERT_EQ(row.keys[0], 1u);
	ASSERT_OK(make(text, &events, NULL, &row));
	ASSERT_EQ(row.value_count, 7u);
}

TEST(what_is_silent_sends_only_names)
{
	struct trace_row row;

	ASSERT_OK(make(HEAD "silent = yes\nsleepable = yes\ncap.way = 3\ncap.text = str(p2, 64)\n"
			    "names = way\n",
		       &sums, NULL, &row));
	ASSERT_EQ(row.flags, (unsigned int)(TRACE_SENDS_EVENTS | TRACE_IS_LONG));
	ASSERT_EQ(row.values[0].source, (unsigned int)TRACE_FIXED);
	ASSERT_EQ(row.values[0].offsets[0], 3);
	ASSERT_OK(make(HEAD "silent = yes\ncap.n = p1\nmap.delete = types[n]\n", &events, NULL,
		       &row));
	ASSERT_EQ(row.flags, 0u);
}

TEST(maps_and_tables_are_counted_from_the_sets_first)
{
	struct trace_row row;

	ASSERT_OK(make(HEAD "cap.type = p2:u32\ncap.count = p3:u64\nbytes = count * widths(type)\n",
		       &events, NULL, &row));
	ASSERT_EQ(row.bytes[0].factor_count, 2u);
	ASSERT_EQ(row.bytes[0].factors[1].table_first, 700u);
	ASSERT_EQ(row.bytes[0].factors[1].table_count, 4u);
	ASSERT_EQ(row.bytes[1].factor_count, 0u);
	ASSERT_EQ(row.flags, (unsigned int)TRACE_SENDS_EVENTS);
}

TEST(who_is_shown_by_a_string_sends_the_first_of_each_key)
{
	static const char set[] = HEAD "fails = below-0\nsleepable = yes\nshown = text\n"
				       "cap.name = p1:u64\ncap.text = str(p1, 9)\nkey = name\n";
	struct trace_row row;

	ASSERT_OK(make(set, &sums, NULL, &row));
	ASSERT_EQ(row.flags, (unsigned int)(TRACE_SUMS | TRACE_SENDS_EVENTS | TRACE_EVENT_IF_FIRST |
					    TRACE_FAILS_BELOW_0 | TRACE_IS_LONG));
	ASSERT_OK(make(set, &events, NULL, &row));
	ASSERT_EQ(row.flags,
		  (unsigned int)(TRACE_SENDS_EVENTS | TRACE_FAILS_BELOW_0 | TRACE_IS_LONG));
}

#define USDT                                                             \
	"[set made]\nabout = a test\n[library one]\nfile = libone.so*\n" \
	"[probe it]\nusdt = one:it\ncap.a = p1:s64\ncap.b = p2:s64\ncap.c = p3:s64\n"

TEST(arguments_of_usdt_stand_where_the_note_says)
{
	struct trace_row row;

	ASSERT_OK(make(USDT, &events, "8@%rdi -4@-12(%rbp) 4@$1997", &row));
	ASSERT_EQ(row.values[0].index, (unsigned int)TRACE_DI);
	ASSERT_EQ(row.values[1].index, (unsigned int)TRACE_BP);
	ASSERT_EQ(row.values[1].deref_count, 1u);
	ASSERT_EQ(row.values[1].offsets[0], -12);
	ASSERT_EQ(row.values[1].width, 4u);
	ASSERT_EQ(row.values[1].flags & TRACE_SIGNED, (unsigned int)TRACE_SIGNED);
	ASSERT_EQ(row.values[2].source, (unsigned int)TRACE_FIXED);
	ASSERT_EQ(row.values[2].offsets[0], 1997);
	ASSERT_ERR(make(USDT, &events, "8@%rdi -4@-12(%rbp,%rax,4) 4@$1", &row), -ENOTSUP);
	ASSERT_ERR(make(USDT, &events, "8@%rdi", &row), -ENOTSUP);
	ASSERT_ERR(make(USDT, &events, "", &row), -ENOTSUP);
}

TEST(a_rank_is_what_the_environment_names_first)
{
	static const char open_mpi[] = "HOME=/\0SLURM_PROCID=0\0OMPI_COMM_WORLD_RANK=3";
	static const char broken[] = "PMI_RANK=x\0PMIX_RANK=-1\0RANK=5";
	static const char torchrun[] = "LOCAL_RANK=1\0RANK=5\0WORLD_SIZE=8";

	ASSERT_EQ(callers_parse_rank(open_mpi, sizeof(open_mpi)), 3);
	ASSERT_EQ(callers_parse_rank(open_mpi, sizeof(open_mpi) - 1), 0); /* cut: not whole */
	ASSERT_EQ(callers_parse_rank(broken, sizeof(broken)), -1);
	ASSERT_EQ(callers_parse_rank(torchrun, sizeof(torchrun)), 5);
	ASSERT_EQ(callers_parse_rank("", 0), -1);
}

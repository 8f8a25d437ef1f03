/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "test.h"
#include "trace/probe.h"

#define HEAD                                                             \
	"[set made]\nabout = a test\n[map types]\nentries = 97\n"        \
	"[table widths]\nrows = 1 2 0 8\n[library one]\n"                \
	"file = libone.so* /opt/*/libone.so\nvalue.size = *(%+24):u64\n" \
	"value.where = %:u32 bits 8..15 if bits 24..31 = 0x4c | types[%:u32] at return\n"
#define PROBE HEAD "[probe write_it]\n"
#define PROBE_LINE 12 /* of what follows PROBE */

static struct probe_set *read_set(const char *text)
{
	struct probe_set *set = NULL;
	struct error err = {};

	if (probe_set_parse(text, strlen(text), "made.probe", &set, &err) < 0)
		test_string(err.text, "", text, __FILE__, __LINE__);
	return set;
}

static const char *refuse(const char *text)
{
	static struct error err;
	struct probe_set *set = NULL;

	err.text[0] = '\0';
	test_int(probe_set_parse(text, strlen(text), "made.probe", &set, &err), -EINVAL, text,
		 "-EINVAL", __FILE__, __LINE__);
	ASSERT(!set);
	return err.text;
}

static struct probe_set *read_argument(const char *text)
{
	struct probe_set *set = NULL;
	struct error err = {};

	if (probe_set_parse_argument(text, &set, &err) < 0)
		test_string(err.text, "", text, __FILE__, __LINE__);
	return set;
}

TEST(a_probe_has_what_its_lines_say)
{
	_cleanup_(probe_set_freep) struct probe_set *set = read_set(
		PROBE "symbol = write_it pwrite_it\nexit = return\ninner = skip\nlevel = trace\n"
		      "kind = write\ncap.fh = p1:ptr\ncap.count = p3:s32\nkey = fh\n"
		      "event.if = dur > 5ms or failed\n");
	const struct probe *probe = set->probes[0];

	ASSERT_STREQ(set->name, "made");
	ASSERT_STREQ(set->about, "a test");
	ASSERT_EQ((uint64_t)set->probe_count, (uint64_t)1);
	ASSERT_EQ(probe->line, (unsigned int)PROBE_LINE - 1);
	ASSERT_STREQ(probe->name, "write_it");
	ASSERT_EQ((uint64_t)probe->symbol_count, (uint64_t)2);
	ASSERT_STREQ(probe->symbols[1], "pwrite_it");
	ASSERT_STREQ(probe->library->patterns[1], "/opt/*/libone.so");
	ASSERT(probe->exit == PROBE_EXIT_RETURN && probe->is_inner_skipped);
	ASSERT(probe->level == PROBE_LEVEL_TRACE && probe->kind == PROBE_WRITE);
	ASSERT(!probe->is_throwing && !probe->is_sleepable && !probe->is_silent);
	ASSERT_EQ((uint64_t)probe->condition.over_ns, (uint64_t)5000000);
	ASSERT(probe->condition.is_failed && !probe->condition.is_always);
	ASSERT_EQ((uint64_t)probe->key_count, (uint64_t)1);
	ASSERT_EQ(probe_find_capture(probe, "count"), 1);
	ASSERT_ERR(probe_find_capture(probe, "size"), -ENOENT);
	ASSERT_EQ(probe->values[1].width, 4);
	ASSERT(probe->values[1].is_signed && !probe->values[0].is_signed);
}

TEST(values_of_the_library_stand_for_their_text)
{
	_cleanup_(probe_set_freep) struct probe_set *set =
		read_set(PROBE "exit = return\ncap.size = size(p4)\ncap.type = where(*(*p5-8))\n");
	const struct probe_value *v = set->probes[0]->values;

	ASSERT_EQ((uint64_t)set->probes[0]->value_count, (uint64_t)3);
	ASSERT(v[0].source == PROBE_ARGUMENT && v[0].index == 4 && v[0].deref_count == 1);
	ASSERT_EQ(v[0].offsets[0], 24);
	ASSERT(!v[0].is_at_return && v[0].map == -1 && v[0].width == 8);
	ASSERT(v[1].index == 5 && v[1].deref_count == 2 && v[1].width == 4);
	ASSERT_EQ(v[1].offsets[0], 0);
	ASSERT_EQ(v[1].offsets[1], -8);
	ASSERT(v[1].low_bit == 8 && v[1].bit_count == 8 && !v[1].is_at_return);
	ASSERT(v[1].if_low_bit == 24 && v[1].if_count == 8 && v[1].if_equal == 0x4c);
	ASSERT(v[2].map == 0 && v[2].is_at_return && v[2].capture == 1);
	ASSERT(set->probes[0]->captures[1].is_at_return);
	ASSERT_EQ(set->probes[0]->captures[1].first_value, 1);
	ASSERT_EQ(set->probes[0]->captures[1].value_count, 2);
}

TEST(a_probe_stands_for_each_library_and_each_name)
{
	_cleanup_(probe_set_freep) struct probe_set *set = read_set(
		"[set made]\nabout = a test\nexit = return\nalias = P%\n"
		"[library one]\nfile = a.so\nvalue.n = p1:u32\n"
		"[library two]\nfile = b.so\nvalue.n = p2:u8\n"
		"[probe f g]\ncap.n = n(x)\n[probe h]\nexit = none\nlibrary = two\n");

	ASSERT_EQ((uint64_t)set->probe_count, (uint64_t)5);
	ASSERT_STREQ(set->probes[1]->name, "f");
	ASSERT_STREQ(set->probes[1]->symbols[1], "Pf");
	ASSERT_STREQ(set->probes[1]->library->name, "two");
	ASSERT(set->probes[0]->values[0].width == 4 && set->probes[1]->values[0].width == 1);
	ASSERT_STREQ(set->probes[2]->name, "g");
	ASSERT_STREQ(set->probes[4]->name, "h");
	ASSERT(set->probes[4]->exit == PROBE_EXIT_NONE && set->probes[3]->exit);
}

TEST(bytes_are_products_in_their_order)
{
	_cleanup_(probe_set_freep) struct probe_set *set = read_set(
		PROBE "cap.moved = *p1:u64\ncap.count = p2:s32\ncap.width = p3:u32\n"
		      "bytes = moved | 3 * count * widths(width)\n");
	const struct probe *probe = set->probes[0];
	const struct probe_factor *factors = probe->bytes[1].factors;

	ASSERT_EQ((uint64_t)probe->bytes_count, (uint64_t)2);
	ASSERT_EQ((uint64_t)probe->bytes[0].factor_count, (uint64_t)1);
	ASSERT(probe->bytes[0].factors[0].kind == PROBE_FACTOR_CAPTURE &&
	       probe->bytes[0].factors[0].capture == 0);
	ASSERT_EQ((uint64_t)probe->bytes[1].factor_count, (uint64_t)3);
	ASSERT(factors[0].kind == PROBE_FACTOR_CONSTANT && factors[0].constant == 3);
	ASSERT(factors[1].kind == PROBE_FACTOR_CAPTURE && factors[1].capture == 1);
	ASSERT(factors[2].kind == PROBE_FACTOR_TABLE && factors[2].capture == 2);
	ASSERT_EQ((uint64_t)set->tables[factors[2].table].rows[3], (uint64_t)8);
}

TEST(what_could_end_a_program_is_refused_with_file_and_line)
{
	ASSERT_STREQ(
		refuse(PROBE "throws = yes\nexit = return\n"),
		"made.probe:11: write_it: an exception may cross it, and a return probe would "
		"end the program: 'exit = ret-insn' or 'none', or 'throws = no' where that is certain");
	ASSERT_CONTAINS(refuse(HEAD "[probe _ZN2at3addE]\nexit = return\n"), "an exception may");
	ASSERT_CONTAINS(refuse(PROBE "symbol = *add\nexit = return\n"), "an exception may cross");
	ASSERT_CONTAINS(refuse(HEAD "[probe vfork]\nexit = return\n"), "does not return as others");
	ASSERT_CONTAINS(refuse(HEAD "[probe f]\nsymbol = g __sigsetjmp\nexit = return\n"),
			"does not return as others");
	ASSERT_CONTAINS(refuse(HEAD "[probe dlsym]\nexit = return\n"), "looks at who called it");
	ASSERT_CONTAINS(refuse(HEAD "[probe _dl_sym]\nexit = return\n"), "looks at who called it");
	ASSERT_CONTAINS(refuse(HEAD "[probe _set*]\nexit = return\n"), "does not return as others");
	ASSERT_CONTAINS(refuse(HEAD "[probe _Unwind_RaiseException]\nexit = return\n"),
			"does not return as others");
}

TEST(a_certain_author_may_say_that_nothing_is_thrown)
{
	_cleanup_(probe_set_freep) struct probe_set *set = read_set(
		HEAD "[probe _ZN2at3addE]\nexit = return\nthrows = no\n"
		     "[probe _ZN2at3subE]\nexit = ret-insn\n[probe vfork]\n");

	ASSERT(!set->probes[0]->is_throwing && set->probes[1]->is_throwing);
	ASSERT(set->probes[1]->exit == PROBE_EXIT_RET_INSN);
}

TEST(what_makes_no_sense_is_refused)
{
	static const struct {
		const char *text, *complaint;
	} cases[] = {
		{ PROBE "cap.a = p7\n", "made.probe:12: cap.a: there are p1 to p6; the seventh" },
		{ PROBE "cap.a = p0\n", "there are p1 to p6" },
		{ PROBE "cap.a = s33\n", "there are s1 to s32" },
		{ PROBE "cap.a = rdi\n", "p1 (an argument), s1 (a stack slot) or ret" },
		{ PROBE "cap.a = p1:u24\n", "a width (u8" },
		{ PROBE "cap.a = ***p1\n", "at most 2 dereferences" },
		{ PROBE "cap.a = *(p1+4\n", "')' is missing at the end" },
		{ PROBE "cap.a = p1:u32 bits 8..32\n", "a bit is outside of 8 to 31" },
		{ PROBE "cap.a = p1:u32 if bits 0..3 = 16\n", "outside of 0 to 15" },
		{ PROBE "cap.a = none[p1]\n", "no map is called 'none'" },
		{ PROBE "cap.a = size(p9)\n", "there are p1 to p6" },
		{ PROBE "cap.a = sizes(p1)\n", "the library has no value called 'sizes'" },
		{ PROBE "cap.A = p1\n", "a name is small letters" },
		{ PROBE "cap.a = p1\ncap.a = p2\n", "made.probe:13: 'cap.a' stands here a second" },
		{ PROBE "cap.a = ret\n", "a value is read at the return" },
		{ PROBE "cap.a = p1 | p2 | p3 | p4 | p5 | p6 | s1 | s2 | s3 | s4 | s5 | s6 | s7\n",
		  "at most 12 ways" },
		{ PROBE "cap.a = p1\ncap.b = p1\ncap.c = p1\ncap.d = p1\ncap.e = p1\ncap.f = p1\n"
			"cap.g = p1\ncap.h = p1\ncap.i = p1\ncap.j = p1\ncap.k = p1\n",
		  "made.probe:22: cap.k: a probe can take at most 10 values" },
		{ PROBE "cap.a = str(p1, 64)\n", "reads empty unless 'sleepable = yes'" },
		{ PROBE "cap.a = str(p1, 129)\n", "the length of a string is outside" },
		{ PROBE "cap.a = str(p1, 9)\ncap.b = str(p1, 9)\n", "one string" },
		{ PROBE "sleepable = yes\n", "it takes none" },
		{ HEAD "[probe f]\nkernel = f\nsleepable = yes\n", "'sleepable' is for functions" },
		{ HEAD "[probe f]\nkernel = f\nexit = ret-insn\n", "'ret-insn' is for functions" },
		{ HEAD "[probe f]\nkernel = vfs_*\n", "only functions of libraries can be named" },
		{ HEAD "[probe f]\nusdt = f\n", "NAME:NAME must stand here" },
		{ HEAD "[probe f]\nusdt = f:g\nexit = return\n", "it has no return" },
		{ HEAD "[probe f]\ntracepoint = f:g\ncap.a = p1\n", "'rec' must stand where 'p1'" },
		{ HEAD "[probe f]\nkernel = f\ncap.a = s1\n", "only functions of libraries have" },
		{ HEAD "[probe f g]\nkernel = f\n", "it is one probe's, and 2 stand here" },
		{ PROBE "symbol = ??*\n", "this pattern stands for almost every symbol" },
		{ PROBE "shown = name\n", "'name' is none of: symbol class probe text" },
		{ PROBE "cap.a = p1\nshown = text\nkey = a\n", "'shown = text' wants a string" },
		{ PROBE "sleepable = yes\ncap.a = str(p1, 9)\nshown = text\n",
		  "and keys by which" },
		{ PROBE "hist = dur\n", "'hist' wants durations" },
		{ PROBE "hist = bytes\n", "'hist' wants bytes" },
		{ PROBE "hist = time\n", "'bytes', 'dur', both or 'none'" },
		{ PROBE "bytes = size\n", "no capture is called 'size'" },
		{ PROBE "bytes = 0 * 3\n", "a factor is outside of 1 to" },
		{ PROBE "bytes = 2 * 3 * 4 * 5 * 6\n", "at most 4 factors" },
		{ PROBE "bytes = 2 | 3 | 4\n", "at most 2 ways" },
		{ PROBE "bytes = 2 +\n", "the end must stand where '+'" },
		{ PROBE "cap.a = p1\nbytes = none(a)\n", "no table is called 'none'" },
		{ PROBE "event.if = dur > 5\n", "a unit (ns us ms s) is missing" },
		{ PROBE "event.if = failed\n", "wants what is known at the return" },
		{ PROBE "silent = yes\n", "nothing would come of it" },
		{ PROBE "kind = open\n", "'kind = open' wants a string" },
		{ PROBE "alias = %_a b\n", "words with a %" },
		{ PROBE "cap.a = p1\nnames = a\n", "'names' wants a string" },
		{ PROBE "names = a\n", "no capture is called 'a'" },
		{ PROBE "async = maybe\n", "'maybe' is none of: no yes" },
		{ PROBE "cap.a = *5\n", "a number is no address" },
		{ PROBE "cap.a = 2147483648\n", "a number is outside of 0 to" },
		{ HEAD "[words w]\n", "[words] wants 'rows'" },
		{ HEAD "[words 7]\nrows = a\n", "[words] wants the name of a value" },
		{ "[set s]\nabout = x\ngroup = a b\n", "a set has no field 'group'" },
		{ PROBE "kind = opens\n", "'opens' is none of: call send receive" },
		{ PROBE "cap.a = p1\nmap.put = types[a] = bytes\n", "wants bytes" },
		{ PROBE "cap.a = p1\nmap.put = types[a] = b\n", "no capture is called 'b'" },
		{ PROBE "cap.a = p1\nmap.delete = types[a\n", "']' is missing" },
		{ PROBE "alias = P\n", "words with a %" },
		{ PROBE "colour = red\n", "made.probe:12: a probe has no field 'colour'" },
		{ PROBE "library = two\n", "library: no [library] is called 'two'" },
		{ PROBE "exit\n", "KEY = VALUE or [SECTION]" },
		{ PROBE "exit =\n", "nothing stands behind the '='" },
		{ HEAD "[probe]\n", "[probe] wants a name" },
		{ HEAD "[probe f\n", "']' is missing at the end" },
		{ HEAD "[probes f]\n", "no section is called 'probes'" },
		{ HEAD, "there is no probe in it" },
		{ HEAD "[library two]\nprogram = a\n", "[library] wants 'file'" },
		{ HEAD "[library two]\nfile = a\nparts = 1 2 3 4 5 6 7 8 9\n",
		  "parts: at most 8 patterns" },
		{ HEAD "[library one]\nfile = a\n",
		  "made.probe:11: [library] wants one name of its" },
		{ PROBE "[library two]\nfile = a\n", "must stand above all probes" },
		{ HEAD "[table t]\nrows = 1 x\n", "rows: 'x' is no number" },
		{ HEAD "[map m]\nentries = 65537\n", "of 1 to 65536" },
		{ "[probe f]\n", "made.probe:1: [set] must stand first" },
		{ "[set s]\n", "[set] wants 'about'" },
		{ "[set s]\nabout = x\n[probe f]\n", "a [library] must stand above" },
		{ "exit = none\n", "a [set] must stand above" },
		{ "[]\n", "a section has a name" },
		{ "# \x01\n", "made.probe:1: a control character" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ASSERT_CONTAINS(refuse(cases[i].text), cases[i].complaint);
}

TEST(what_values_are_called_is_said_by_words_and_names)
{
	_cleanup_(probe_set_freep) struct probe_set *set = read_set(
		"[set made]\nabout = a test\ngroup = gpu\nalias = %_a P%_b\n"
		"[library one]\nfile = a.so\n[words way]\nrows = to from\n"
		"[probe f]\nsilent = yes\nsleepable = yes\nasync = yes\n"
		"kind = launch\ncap.way = 1\ncap.handle = p1:u64\n"
		"cap.name = str(p2, 64)\nnames = handle\n");
	const struct probe *probe = set->probes[0];

	ASSERT_STREQ(set->group, "gpu");
	ASSERT_EQ((uint64_t)probe->symbol_count, (uint64_t)3);
	ASSERT_STREQ(probe->symbols[1], "f_a");
	ASSERT_STREQ(probe->symbols[2], "Pf_b");
	ASSERT(probe->is_silent && probe->is_async && probe->is_naming && probe->named == 1);
	ASSERT(probe->kind == PROBE_LAUNCH && probe->values[0].source == PROBE_CONSTANT);
	ASSERT_EQ(probe->values[0].offsets[0], 1);
	ASSERT_STREQ(probe_set_find_word(set, "way", 1), "from");
	ASSERT(!probe_set_find_word(set, "way", 2) && !probe_set_find_word(set, "way", -1) &&
	       !probe_set_find_word(set, "handle", 1));
}

TEST(too_much_text_and_a_nul_are_refused)
{
	size_t length = 300 * 1024;
	_cleanup_free_ char *text = malloc(length);
	struct probe_set *set = NULL;
	struct error err = {};

	ASSERT(text);
	memset(text, '\n', length);
	ASSERT_ERR(probe_set_parse(text, length, "made.probe", &set, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "longer than 256 KiB");
	ASSERT_ERR(probe_set_parse("[set\0 x]", 8, "made.probe", &set, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "a NUL stands in it");
	memset(text, 'x', 2000);
	text[2000] = '\0';
	ASSERT_ERR(probe_set_parse(text, 2000, "made.probe", &set, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "made.probe:1: this line is longer than");
}

TEST(only_root_probes_the_kernel)
{
	_cleanup_(probe_set_freep) struct probe_set *set =
		read_set(PROBE "[probe f]\nkernel = vfs_read\n[probe g]\ntracepoint = a:b\n");
	const struct probe_rights user = { .is_root = false }, root = { .is_root = true };
	struct error err = {};

	ASSERT_OK(probe_lint(set, set->probes[0], &user, &err));
	ASSERT_ERR(probe_lint(set, set->probes[1], &user, &err), -EPERM);
	ASSERT_STREQ(err.text, "made.probe:12: f: only root may probe the kernel");
	ASSERT_ERR(probe_lint(set, set->probes[2], &user, &err), -EPERM);
	ASSERT_OK(probe_lint(set, set->probes[1], &root, &err));
}

TEST(an_argument_is_a_set_of_one)
{
	_cleanup_(probe_set_freep) struct probe_set *a = read_argument("libz.so*:compress2");
	_cleanup_(probe_set_freep) struct probe_set *b = read_argument(
		"/opt/lib/libz.so:deflate(first=*(p1+8):u32, n=p2, bytes=n, exit=return)");
	_cleanup_(probe_set_freep) struct probe_set *c = read_argument("kernel:vfs_read(n=p3)");
	_cleanup_(probe_set_freep) struct probe_set *d =
		read_argument("tracepoint:sched:sched_switch(pid=*(rec+24):s32)");
	_cleanup_(probe_set_freep) struct probe_set *e =
		read_argument("usdt:libpython3*:python:gc__done(n=p1)");

	ASSERT_STREQ(a->probes[0]->symbols[0], "compress2");
	ASSERT_STREQ(a->probes[0]->library->patterns[0], "libz.so*");
	ASSERT(a->probes[0]->exit == PROBE_EXIT_NONE);
	ASSERT_EQ((uint64_t)b->probes[0]->capture_count, (uint64_t)2);
	ASSERT_EQ((uint64_t)b->probes[0]->bytes_count, (uint64_t)1);
	ASSERT(b->probes[0]->exit == PROBE_EXIT_RETURN);
	ASSERT(c->probes[0]->site == PROBE_KERNEL && !c->probes[0]->library);
	ASSERT(d->probes[0]->site == PROBE_TRACEPOINT);
	ASSERT_STREQ(d->probes[0]->symbols[0], "sched:sched_switch");
	ASSERT(e->probes[0]->site == PROBE_USDT);
	ASSERT_STREQ(e->probes[0]->library->patterns[0], "libpython3*");
}

TEST(a_wrong_argument_is_one_line)
{
	static const char *const wrong[] = {
		"",	     "x",	  ":f",	   "lib:",   "a:b(",
		"a:b(c)",    "a:b)",	  "a:b c", "a:b\nc", "a:_ZfE(exit=return)",
		"a:b(c=p7)", "kernel:a*",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct probe_set *set = NULL;
		struct error err = {};

		test_int(probe_set_parse_argument(wrong[i], &set, &err), -EINVAL, wrong[i],
			 "-EINVAL", __FILE__, __LINE__);
		ASSERT(strncmp(err.text, "--probe: ", 9) == 0 && !strchr(err.text, '\n'));
	}
}

TEST(a_function_is_shown_by_its_class_where_that_is_asked_for)
{
	static const struct {
		const char *symbol, *shown;
	} cases[] = {
		{ "_ZN2at4_ops10add_Tensor4callERKNS_6TensorES4_RKN3c106ScalarE", "add_Tensor" },
		{ "_ZNK3one3two5threeEv", "two" },
		{ "_ZN3oneE", "_ZN3oneE" },
		{ "_ZN3one9999999999two4callEv", "_ZN3one9999999999two4callEv" },
		{ "_ZN3one3twoI3intE4callEv", "_ZN3one3twoI3intE4callEv" },
		{ "_Z3onev", "_Z3onev" },
		{ "_ZN", "_ZN" },
		{ "plain", "plain" },
	};
	size_t length;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *shown = probe_shown_name(PROBE_SHOWN_CLASS, cases[i].symbol, &length);

		ASSERT_EQ(length, strlen(cases[i].shown));
		ASSERT(strncmp(shown, cases[i].shown, length) == 0);
		ASSERT(probe_shown_name(PROBE_SHOWN_SYMBOL, cases[i].symbol, &length) ==
		       cases[i].symbol);
		ASSERT_EQ(length, strlen(cases[i].symbol));
	}
}

TEST(the_sets_that_come_with_it_are_right)
{
	static const char *const sets[] = {
		"cuda-driver", "cuda-runtime", "hdf5",	 "hip",	 "mpi",
		"mpi-io",      "nccl",	       "python", "rccl", "torch"
	};

	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		_cleanup_(probe_set_freep) struct probe_set *set = NULL;
		struct error err = {};

		if (probe_set_read(TEST_SETS, sets[i], &set, &err) < 0)
			test_string(err.text, "", sets[i], __FILE__, __LINE__);
		ASSERT_STREQ(set->name, sets[i]);
	}
}

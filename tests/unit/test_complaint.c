/* SPDX-License-Identifier: MIT */
#include "load/complaint.h"

#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "test.h"

/* What libbpf says of one refused program, in its order; the verifier's log is a capture,
 * shortened. */
static const char *const refused[] = {
	"libbpf: prog 'count_dirtied': BPF program load failed: Permission denied\n",
	"libbpf: prog 'count_dirtied': -- BEGIN PROG LOAD LOG --\n"
	"reg type unsupported for arg#0 function count_dirtied#43\n"
	"0: R1=ctx(off=0,imm=0) R10=fp0\n"
	"; int BPF_PROG(count_dirtied, struct folio *folio)\n"
	"0: (79) r1 = *(u64 *)(r1 +0)\n"
	"1: (79) r2 = *(u64 *)(r1 +8)          ; R1_w=scalar()\n"
	"R1 invalid mem access 'scalar'\n"
	"processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n"
	"-- END PROG LOAD LOG --\n",
	"libbpf: prog 'count_dirtied': failed to load: -13\n",
	"libbpf: failed to load object 'files_bpf'\n",
	"libbpf: failed to load BPF skeleton 'files_bpf': -13\n",
};

TEST(the_verifiers_last_line_before_its_statistics_is_kept)
{
	struct complaint c = {};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		complaint_hear(&c, refused[i]);
	ASSERT_STREQ(c.text, "prog 'count_dirtied': R1 invalid mem access 'scalar'");
}

TEST(a_relocation_that_failed_is_kept_and_not_what_follows_from_it)
{
	struct complaint c = {};

	complaint_hear(
		&c,
		"libbpf: prog 'p': -- BEGIN PROG LOAD LOG --\n"
		"5: <invalid CO-RE relocation>\n"
		"failed to resolve CO-RE relocation <byte_off> [7] struct file.f_none (0:1 @ offset 8)\n"
		"-- END PROG LOAD LOG --\n");
	ASSERT_STREQ(c.text, "prog 'p': failed to resolve CO-RE relocation <byte_off> [7] struct "
			     "file.f_none (0:1 @ offset 8)");
}

TEST(without_a_log_the_first_warning_is_kept)
{
	struct complaint c = {};

	complaint_hear(&c,
		       "libbpf: map 'file_rows': failed to create: Cannot allocate memory(-12)\n");
	complaint_hear(&c, "libbpf: failed to load object 'files_bpf'\n");
	ASSERT_STREQ(c.text, "map 'file_rows': failed to create: Cannot allocate memory(-12)");
}

TEST(a_log_that_tells_nothing_is_passed_over)
{
	struct complaint c = {};

	complaint_hear(&c, "libbpf: prog 'p': BPF program load failed: Invalid argument\n");
	complaint_hear(&c, "libbpf: prog 'p': -- BEGIN PROG LOAD LOG --\n"
			   "processed 0 insns (limit 1000000) max_states_per_insn 0\n"
			   "-- END PROG LOAD LOG --\n");
	ASSERT_STREQ(c.text, "prog 'p': BPF program load failed: Invalid argument");
}

TEST(broken_and_overlong_messages_are_cut)
{
	static const char begin[] = "prog 'p': -- BEGIN PROG LOAD LOG --\n";
	struct complaint c = {};
	_cleanup_free_ char *message = malloc(100000);

	complaint_hear(&c, "");
	ASSERT_STREQ(c.text, "");
	complaint_hear(&c, begin); /* it ends there */
	ASSERT_CONTAINS(c.text, "prog 'p'");
	c = (struct complaint){};
	memset(message, 'x', 100000);
	memcpy(message, begin, strlen(begin));
	message[99999] = '\0';
	complaint_hear(&c, message);
	ASSERT_EQ(strlen(c.text), (size_t)159);
	c = (struct complaint){};
	memset(message, 'x', 99999);
	complaint_hear(&c, message);
	ASSERT_EQ(strlen(c.text), (size_t)159);
}

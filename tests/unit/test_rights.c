/* SPDX-License-Identifier: MIT */
#include "selftest/rights.h"

#include <linux/capability.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "test.h"
#include "tree.h"

#define STATUS(uids, bits) "Name:\tx\nUid:\t" uids "\nCapPrm:\t0\nCapEff:\t" bits "\nSeccomp:\t0\n"

TEST(root_has_all_rights)
{
	struct rights r = {};

	ASSERT_OK(rights_parse_status(STATUS("0\t0\t0\t0", "000001ffffffffff"), &r));
	ASSERT(r.is_known);
	ASSERT_EQ(r.uid, 0u);
	ASSERT(rights_has(&r, CAP_BPF));
	ASSERT(rights_has_bpf(&r));
}

TEST(the_effective_user_and_capabilities_count)
{
	struct rights r = {};

	ASSERT_OK(rights_parse_status(STATUS("0\t1000\t0\t0", "000000c000000000"), &r));
	ASSERT_EQ(r.uid, 1000u);
	ASSERT(rights_has(&r, CAP_BPF));
	ASSERT(rights_has(&r, CAP_PERFMON));
	ASSERT(!rights_has(&r, CAP_SYS_ADMIN));
	ASSERT(rights_has_bpf(&r));
	ASSERT_OK(rights_parse_status(STATUS("1\t1\t1\t1", "0000008000000000"), &r));
	ASSERT(!rights_has_bpf(&r)); /* BPF without PERFMON reads nothing of the kernel */
}

TEST(a_broken_status_says_nothing)
{
	static const char *const texts[] = {
		"",
		"Name:\tx\n",
		STATUS("0", "0"),
		STATUS("0\tx\t0\t0", "0"),
		STATUS("0\t0\t0\t0", ""),
		STATUS("0\t0\t0\t0", "xyz"),
		STATUS("0\t0\t0\t0", "00000000000000000"),
		STATUS("0\t99999999999\t0\t0", "0"),
	};
	struct rights r = {};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		ASSERT(rights_parse_status(texts[i], &r) < 0);
	ASSERT(!r.is_known);
	ASSERT(!rights_has(&r, CAP_BPF));
}

TEST(lockdown_is_the_word_in_brackets)
{
	static const struct {
		const char *text, *lockdown;
	} cases[] = {
		/* one after the other into the same: what is odd leaves nothing of the one before
		 */
		{ "none integrity [confidentiality]\n", "confidentiality" },
		{ "[none] integrity confidentiality\n", "none" },
		{ "none [inte\ngrity]", "" },
		{ "none", "" },
		{ "[a word that is longer than any of them could be]", "" },
	};
	struct rights r = {};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		rights_parse_lockdown(cases[i].text, &r);
		ASSERT_STREQ(r.lockdown, cases[i].lockdown);
	}
}

TEST(rights_are_read_below_the_root)
{
	_cleanup_close_ int root = tree_open("node");
	struct rights r;

	rights_read(root, &r);
	ASSERT(!r.is_known);
	ASSERT_EQ(r.unprivileged_bpf_disabled, -1);
	ASSERT_EQ(r.perf_event_paranoid, RIGHTS_UNKNOWN_PARANOIA);
	tree_write(root, "proc/self/status", STATUS("7\t7\t7\t7", "0"));
	tree_write(root, "proc/self/uid_map", "         0     100000      65536\n");
	tree_write(root, "proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
	tree_write(root, "proc/sys/kernel/perf_event_paranoid", "-1\n");
	rights_read(root, &r);
	ASSERT_EQ(r.uid, 7u);
	ASSERT(r.is_in_user_namespace);
	ASSERT_EQ(r.unprivileged_bpf_disabled, 2);
	ASSERT_EQ(r.perf_event_paranoid, -1);
	tree_write(root, "proc/self/uid_map", "         0          0 4294967295\n");
	rights_read(root, &r);
	ASSERT(!r.is_in_user_namespace);
}

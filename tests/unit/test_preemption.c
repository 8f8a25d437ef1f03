/* SPDX-License-Identifier: MIT */
#include "sources/preemption.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "test.h"
#include "tree.h"

#define DYNAMIC "CONFIG_PREEMPT_DYNAMIC=y\n"

TEST(the_schedulers_word_is_the_one_in_brackets)
{
	struct preemption p = {};

	ASSERT_OK(preemption_parse_debug("none voluntary (full) lazy\n", &p));
	ASSERT_STREQ(p.mode, "full");
	ASSERT_OK(preemption_parse_debug("(none)", &p));
	ASSERT_STREQ(p.mode, "none");
}

TEST(a_broken_word_of_the_scheduler_leaves_the_result_alone)
{
	static const char *const texts[] = {
		"",   "none full",   "none (full", "none )full(",
		"()", "(two words)", "(a\nb)",	   "(a mode that is far too long to be one)"
	};
	struct preemption p = { .mode = "as was" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		ASSERT_ERR(preemption_parse_debug(texts[i], &p), -EINVAL);
	ASSERT_STREQ(p.mode, "as was");
}

TEST(the_configuration_says_the_default)
{
	static const struct {
		const char *config, *mode;
	} cases[] = {
		{ "CONFIG_PREEMPT_NONE=y\n# CONFIG_PREEMPT is not set\n", "none" },
		{ "CONFIG_PREEMPT_BUILD=y\nCONFIG_PREEMPT_VOLUNTARY=y\n", "voluntary" },
		{ "CONFIG_PREEMPT=y\n", "full" },
		{ "CONFIG_PREEMPT_LAZY=y", "lazy" },
		{ "CONFIG_PREEMPT=y\nCONFIG_PREEMPT_RT=y\n", "rt" },
	};
	struct preemption p = {};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_OK(preemption_parse_config(cases[i].config, "preempt=full", &p));
		ASSERT_STREQ(p.mode, cases[i].mode); /* not dynamic: the boot option is not heard */
	}
	ASSERT_ERR(preemption_parse_config("CONFIG_PREEMPT_COUNT=y\n", "", &p), -ENOENT);
	ASSERT_ERR(preemption_parse_config("", "", &p), -ENOENT);
}

TEST(a_dynamic_kernel_hears_the_last_boot_option)
{
	const char *config = DYNAMIC "CONFIG_PREEMPT_VOLUNTARY=y\n";
	struct preemption p = {};

	ASSERT_OK(preemption_parse_config(config, "ro preempt=none quiet preempt=full\n", &p));
	ASSERT_STREQ(p.mode, "full");
	ASSERT_STREQ(p.source, "the boot command line");
	ASSERT_OK(preemption_parse_config(config, "ro rcu.xpreempt=none", &p));
	ASSERT_STREQ(p.mode, "voluntary");
}

TEST(the_version_says_what_is_certain_and_no_more)
{
	static const struct {
		const char *version, *mode;
	} cases[] = {
		{ "#1 SMP PREEMPT_RT Debian", "rt" },
		{ "#1 SMP PREEMPT Debian", "full" },
		{ "#1 SMP PREEMPT_DYNAMIC Debian", "" },
		{ "#1 SMP Debian", "" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct preemption p;

		preemption_parse_version(cases[i].version, &p);
		ASSERT_STREQ(p.mode, cases[i].mode);
	}
}

static void write_gzipped(int root, const char *path, const char *text)
{
	gzFile file;

	tree_write(root, path, "");
	file = gzdopen(openat(root, path, O_WRONLY | O_CLOEXEC), "w");
	ASSERT_EQ(gzwrite(file, text, (unsigned int)strlen(text)), (int)strlen(text));
	ASSERT_OK(gzclose(file));
}

TEST(sources_are_asked_in_their_order)
{
	_cleanup_close_ int root = tree_open("order");
	struct preemption p;

	preemption_read(root, &p);
	ASSERT_STREQ(p.mode, "");
	tree_write(root, "proc/sys/kernel/version", "#1 SMP PREEMPT Debian\n");
	preemption_read(root, &p);
	ASSERT_STREQ(p.mode, "full");
	tree_write(root, "proc/sys/kernel/osrelease", "6.1.0-1\n");
	tree_write(root, "boot/config-6.1.0-1", "CONFIG_PREEMPT_VOLUNTARY=y\n");
	preemption_read(root, &p);
	ASSERT_STREQ(p.mode, "voluntary");
	write_gzipped(root, "proc/config.gz", "CONFIG_PREEMPT_NONE=y\n");
	preemption_read(root, &p);
	ASSERT_STREQ(p.mode, "none");
	tree_write(root, "sys/kernel/debug/sched/preempt", "none voluntary full (lazy)\n");
	preemption_read(root, &p);
	ASSERT_STREQ(p.mode, "lazy");
}

TEST(a_broken_archive_is_no_configuration)
{
	_cleanup_close_ int root = tree_open("broken");
	struct preemption p;

	tree_write(root, "proc/config.gz", "\x1f\x8b\x08rubbish");
	preemption_read(root, &p);
	ASSERT_STREQ(p.mode, "");
}

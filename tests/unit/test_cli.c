/* SPDX-License-Identifier: MIT */
#include "basic/cli.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "basic/error.h"
#include "cli/output.h"
#include "test.h"

struct settings {
	bool is_loud, is_merged;
	const char *file;
};

static const struct cli_option rows[] = {
	{ "loud", 'l', NULL, "", offsetof(struct settings, is_loud), NULL },
	{ "merge", 0, NULL, "", offsetof(struct settings, is_merged), NULL },
	{ "output", 'o', "FILE", "", offsetof(struct settings, file), NULL },
};

static const struct cli_command report = { .name = "report" };
static const struct cli_command run = { .name = "run", .is_for_command = true };

/* Parse a line of words; the operands that are left, joined by blanks. */
static int parse(const struct cli_command *command, const char *line, struct settings *settings,
		 char operands[256], struct error *err)
{
	static char copy[256];
	const struct cli_options group = { rows, sizeof(rows) / sizeof(rows[0]), settings };
	char *argv[32], *save = NULL;
	int argc = 0, r;

	strcpy(copy, line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	argv[argc] = NULL;
	r = cli_parse(command, &group, 1, &argc, argv, err);
	operands[0] = '\0';
	for (int i = 0; r > 0 && i < argc; i++)
		strcat(strcat(operands, i ? " " : ""), argv[i]);
	return r;
}

TEST(options_and_operands_may_stand_in_any_order)
{
	struct settings s = {};
	struct error err;
	char operands[256];

	ASSERT_EQ(parse(&report, "report a --loud b -o x - --output=y c", &s, operands, &err), 1);
	ASSERT_STREQ(operands, "a b - c");
	ASSERT(s.is_loud && !s.is_merged);
	ASSERT_STREQ(s.file, "y");
}

TEST(letters_may_be_joined)
{
	struct settings s = {};
	struct error err;
	char operands[256];

	ASSERT_EQ(parse(&report, "report -lofile", &s, operands, &err), 1);
	ASSERT(s.is_loud);
	ASSERT_STREQ(s.file, "file");
	ASSERT_EQ(parse(&report, "report -lo other", &s, operands, &err), 1);
	ASSERT_STREQ(s.file, "other");
}

TEST(two_dashes_end_the_options)
{
	struct settings s = {};
	struct error err;
	char operands[256];

	ASSERT_EQ(parse(&report, "report -- --loud -- x", &s, operands, &err), 1);
	ASSERT_STREQ(operands, "--loud -- x");
	ASSERT(!s.is_loud);
}

TEST(the_options_behind_anothers_command_are_its_own)
{
	struct settings s = {};
	struct error err;
	char operands[256];

	ASSERT_EQ(parse(&run, "run -o x make --loud -o y -- z", &s, operands, &err), 1);
	ASSERT_STREQ(operands, "make --loud -o y -- z");
	ASSERT_STREQ(s.file, "x");
	ASSERT_EQ(parse(&run, "run -- make --help", &s, operands, &err), 1);
	ASSERT_STREQ(operands, "make --help");
	ASSERT(!s.is_loud);
}

TEST(a_wrong_option_gets_one_line)
{
	static const struct row {
		const char *line, *reason;
	} broken[] = {
		{ "report --lod", "there is no option '--lod'; did you mean '--loud'?" },
		{ "report --outptu=x", "there is no option '--outptu'; did you mean '--output'?" },
		{ "report --something", "there is no option '--something'; --help lists them" },
		{ "report -x", "there is no option '-x'; --help lists them" },
		{ "report --loud=yes", "'--loud' takes no argument" },
		{ "report --output", "'--output' needs its FILE" },
		{ "report -lo", "'--output' needs its FILE" },
	};

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct settings s = {};
		struct error err = { "" };
		char operands[256];

		ASSERT_ERR(parse(&report, broken[i].line, &s, operands, &err), -EINVAL);
		ASSERT_STREQ(err.text, broken[i].reason);
	}
}

static int settle(struct output *output, const char *format, struct error *err)
{
	if (format) {
		int r = output_options[0].parse(format, &output->format, err);

		if (r < 0)
			return r;
	}
	return output_settle(output, err);
}

TEST(the_format_comes_from_the_option_or_the_ending)
{
	static const struct row {
		const char *format, *file;
		bool is_json;
		enum record_rows rows;
		enum output_format wanted;
	} good[] = {
		{ NULL, NULL, false, ROWS_RECORD, OUTPUT_TEXT },
		{ NULL, NULL, true, ROWS_RECORD, OUTPUT_JSON },
		{ "yaml", NULL, false, ROWS_RECORD, OUTPUT_YAML },
		{ NULL, "a.b/x.jsonl", false, ROWS_RECORD, OUTPUT_NDJSON },
		{ NULL, "x.csv", false, ROWS_SYSCALL, OUTPUT_CSV },
		{ "yaml", "x.json", false, ROWS_RECORD, OUTPUT_YAML },
		{ NULL, NULL, false, ROWS_MOUNT, OUTPUT_CSV },
		{ NULL, "/dev/stdout", true, ROWS_RECORD, OUTPUT_JSON },
		{ NULL, "x.txt", false, ROWS_RECORD, OUTPUT_TEXT },
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct output output = { .file = good[i].file,
					 .is_json = good[i].is_json,
					 .rows = good[i].rows };
		struct error err;

		ASSERT_OK(settle(&output, good[i].format, &err));
		ASSERT_EQ(output.format, (unsigned int)good[i].wanted);
	}
}

TEST(what_does_not_agree_is_refused)
{
	static const struct row {
		const char *format, *file;
		bool is_json;
		enum record_rows rows;
		const char *reason;
	} bad[] = {
		{ "jsn", NULL, false, ROWS_RECORD,
		  "there is no format 'jsn'; did you mean 'json'?" },
		{ "xml", NULL, false, ROWS_RECORD, "there is no format 'xml'" },
		{ "csv", NULL, true, ROWS_RECORD,
		  "'--json' and another '--format' exclude each other" },
		{ NULL, "x.dat", false, ROWS_RECORD,
		  "the ending of 'x.dat' is no known format; add '--format'" },
		{ NULL, NULL, true, ROWS_MOUNT, "'--by mount' needs '--format csv'" },
		{ NULL, NULL, true, ROWS_SOCKET, "'--by socket' needs '--format csv'" },
		{ NULL, NULL, true, ROWS_SYSCALL, "'--by syscall' needs '--format csv'" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct output output = { .file = bad[i].file,
					 .is_json = bad[i].is_json,
					 .rows = bad[i].rows };
		struct error err = { "" };

		ASSERT_ERR(settle(&output, bad[i].format, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, bad[i].reason);
	}
}

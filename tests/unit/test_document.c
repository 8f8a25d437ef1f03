/* SPDX-License-Identifier: MIT */
#include "model/document.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "basic/cleanup.h"
#include "made.h"
#include "test.h"

enum form { FORM_JSON, FORM_LINE, FORM_YAML };

static struct document *open_form(enum form form, FILE *out)
{
	if (form == FORM_YAML)
		return document_new_yaml(out);
	return document_new_json(out, form == FORM_LINE ? DOCUMENT_ONE_LINE : DOCUMENT_INDENTED);
}

static char *written(enum form form, void (*write)(struct document *d))
{
	struct made_text t = {};
	struct document *d = open_form(form, made_text_stream(&t));

	write(d);
	ASSERT_OK(document_finish(d));
	document_free(d);
	return made_text_end(&t);
}

static void write_all(struct document *d)
{
	document_begin_map(d);
	document_key(d, "name");
	document_string(d, "x");
	document_key(d, "none");
	document_string(d, NULL);
	document_key(d, "list");
	document_begin_list(d);
	document_unsigned(d, UINT64_MAX);
	document_signed(d, -3);
	document_decimal(d, 12345678901, 9);
	document_boolean(d, true);
	document_end_list(d);
	document_key(d, "flat");
	document_begin_flat_list(d);
	document_begin_map(d);
	document_key(d, "a");
	document_unsigned(d, 1);
	document_end_map(d);
	document_null(d);
	document_end_list(d);
	document_key(d, "empty");
	document_begin_map(d);
	document_end_map(d);
	document_end_map(d);
}

TEST(json_is_indented_but_for_what_is_flat)
{
	ASSERT_TEXT(written(FORM_JSON, write_all), "{\n"
						   "  \"name\": \"x\",\n"
						   "  \"none\": null,\n"
						   "  \"list\": [\n"
						   "    18446744073709551615,\n"
						   "    -3,\n"
						   "    12.345678901,\n"
						   "    true\n"
						   "  ],\n"
						   "  \"flat\": [{\"a\": 1}, null],\n"
						   "  \"empty\": {}\n"
						   "}\n");
}

TEST(json_can_stand_on_one_line)
{
	ASSERT_TEXT(written(FORM_LINE, write_all),
		    "{\"name\":\"x\",\"none\":null,\"list\":[18446744073709551615,-3,"
		    "12.345678901,true],\"flat\":[{\"a\":1},null],\"empty\":{}}\n");
}

TEST(yaml_is_blocks_but_for_what_is_flat)
{
	ASSERT_TEXT(written(FORM_YAML, write_all), "name: x\n"
						   "none: null\n"
						   "list:\n"
						   "- 18446744073709551615\n"
						   "- -3\n"
						   "- 12.345678901\n"
						   "- true\n"
						   "flat: [{a: 1}, null]\n"
						   "empty: {}\n");
}

static const char *const nasty[] = {
	"quote \" backslash \\",
	"line\nbreak\ttab",
	"\x1b[31mred",
	"\xff\xfe",
	"caf\xc3\xa9 \xe2\x82\xac",
	"\xf0\x9f\x98\x80",
	"",
	"true",
	"null",
	"~",
	"12",
	"-1.5e3",
	"0x10",
	"yes",
	"No",
	"2026-02-03",
	"2026-02-03T04:05:06Z",
	".inf",
	"- x",
	"a: b",
	"# no comment",
	" spaces ",
	"[x]",
	"{x}",
	"&a",
	"*a",
	"!tag",
	"%x",
	"@x",
	"`x`",
	"|",
	">",
	"'",
	"a #b",
	"\xe2\x80\xae",
	"\x7f",
	"=",
	"<<",
	"?",
	"1_000",
	"012",
	"1:30",
};

static void write_nasty(struct document *d)
{
	document_begin_list(d);
	for (size_t i = 0; i < sizeof(nasty) / sizeof(nasty[0]); i++)
		document_string(d, nasty[i]);
	document_end_list(d);
}

/* What a string comes back as: invalid bytes are replaced. */
static const char *repaired(const char *text)
{
	return strcmp(text, "\xff\xfe") == 0 ? "\uFFFD\uFFFD" : text;
}

TEST(strings_of_any_kind_come_back_from_json)
{
	_cleanup_free_ char *text = written(FORM_JSON, write_nasty);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	ASSERT(root != NULL);
	for (size_t i = 0; i < json_array_size(root); i++)
		ASSERT_STREQ(json_string_value(json_array_get(root, i)), repaired(nasty[i]));
	ASSERT(strchr(text, '\x1b') == NULL && strchr(text, '\x7f') == NULL);
	ASSERT_LACKS(text, "\xe2\x80\xae");
	json_decref(root);
}

/* Whether a reader of YAML 1.1 takes a bare scalar for something else than a string is checked by
 * its first letter alone: a bare one here begins with a letter and is none of the words. */
TEST(strings_of_any_kind_come_back_from_yaml_as_strings)
{
	_cleanup_free_ char *text = written(FORM_YAML, write_nasty);
	yaml_parser_t parser;
	yaml_event_t event;
	size_t i = 0;

	yaml_parser_initialize(&parser);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
	for (bool is_end = false; !is_end; yaml_event_delete(&event)) {
		ASSERT(yaml_parser_parse(&parser, &event));
		is_end = event.type == YAML_STREAM_END_EVENT;
		if (event.type != YAML_SCALAR_EVENT)
			continue;
		ASSERT_STREQ((char *)event.data.scalar.value, repaired(nasty[i]));
		if (strchr("0123456789.-+~", nasty[i][0]) || strcmp(nasty[i], "yes") == 0 ||
		    strcmp(nasty[i], "No") == 0 || strcmp(nasty[i], "true") == 0)
			ASSERT(event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE);
		i++;
	}
	ASSERT_EQ(i, sizeof(nasty) / sizeof(nasty[0]));
	yaml_parser_delete(&parser);
}

TEST(a_full_disk_is_told_once_at_the_end)
{
	for (int form = FORM_JSON; form <= FORM_YAML; form++) {
		FILE *out = fopen("/dev/full", "we");
		struct document *d = open_form((enum form)form, out);

		for (int i = 0; i < 1; i++)
			write_all(d);
		ASSERT(document_finish(d) < 0);
		document_free(d);
		fclose(out);
	}
}

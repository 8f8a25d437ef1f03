/* SPDX-License-Identifier: MIT */
#include "spool/sender.h"

#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "test.h"

TEST(each_line_is_an_answer_in_its_order)
{
	const char *text = "{\"answer\":\"taken\"}\n{\"answer\":\"known\", \"more\": [1]}\n"
			   "{\"answer\":\"refused\",\"reason\":\"no\\u001b[2J\\nsuch\"}\n";
	size_t length = strlen(text);
	struct answer answer = {};

	ASSERT_EQ(answer_next(&text, &length, &answer, NULL), 1);
	ASSERT_EQ((int)answer.kind, (int)ANSWER_TAKEN);
	ASSERT_EQ(answer_next(&text, &length, &answer, NULL), 1);
	ASSERT_EQ((int)answer.kind, (int)ANSWER_KNOWN);
	ASSERT_EQ(answer_next(&text, &length, &answer, NULL), 1);
	ASSERT_EQ((int)answer.kind, (int)ANSWER_REFUSED);
	ASSERT_STREQ(answer.reason, "no [2J such");
	ASSERT_EQ(answer_next(&text, &length, &answer, NULL), 0);
	ASSERT_EQ(length, (size_t)0);
}

TEST(a_line_without_its_end_says_nothing)
{
	const char *text = "{\"answer\":\"taken\"}";
	size_t length = strlen(text);
	struct answer answer = {};

	ASSERT_EQ(answer_next(&text, &length, &answer, NULL), 0);
	ASSERT_EQ(length, strlen(text));
	length = 0;
	ASSERT_EQ(answer_next(&text, &length, &answer, NULL), 0);
}

TEST(what_is_no_answer_is_told)
{
	static const char *const texts[] = {
		"\n",
		"taken\n",
		"[]\n",
		"{}\n",
		"{\"answer\":1}\n",
		"{\"answer\":\"Taken\"}\n",
		"{\"answer\":\"taken\",\"answer\":\"refused\"}\n",
		"{\"answer\":\"taken\"}{\"answer\":\"taken\"}\n",
		"<html>\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *text = texts[i];
		size_t length = strlen(text);
		struct answer answer = { .reason = "before" };
		struct error err = {};

		ASSERT_ERR(answer_next(&text, &length, &answer, &err), -EBADMSG);
		ASSERT(*err.text);
		ASSERT_STREQ(answer.reason, "before");
	}
}

TEST(a_line_that_is_too_long_is_none_and_a_long_reason_is_cut)
{
	static char text[ANSWER_LINE_MAX + 64];
	const char *at = text;
	struct answer answer = {};
	size_t length;

	memset(text, ' ', sizeof(text));
	memcpy(text, "{\"answer\":\"taken\"}", strlen("{\"answer\":\"taken\"}"));
	text[ANSWER_LINE_MAX + 1] = '\n';
	length = sizeof(text);
	ASSERT_ERR(answer_next(&at, &length, &answer, NULL), -EBADMSG);

	memset(text, 'x', sizeof(text));
	memcpy(text, "{\"answer\":\"refused\",\"reason\":\"",
	       strlen("{\"answer\":\"refused\",\"reason\":\""));
	memcpy(text + 1000, "\"}\n", 3);
	at = text;
	length = 1003;
	ASSERT_EQ(answer_next(&at, &length, &answer, NULL), 1);
	ASSERT_EQ(strlen(answer.reason), (size_t)ANSWER_REASON_SIZE - 1);
}

/* SPDX-License-Identifier: MIT */
#include "report/sentence.h"

#include "basic/cleanup.h"
#include "test.h"

TEST(what_a_record_says_of_itself_becomes_sentences)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	sentence_add_whole(&s, "hardware counters: not offered by this machine");
	sentence_add_whole(&s, "GPU: no driver");
	sentence_add_whole(&s, "");
	sentence_add_whole(&s, "3 calls of 32-bit programs not counted.");
	sentence_add_whole(&s, "\xc3\xa9tat");
	ASSERT_STREQ(s.text, "Hardware counters: not offered by this machine. GPU: no driver. "
			     "3 calls of 32-bit programs not counted. \xc3\xa9tat.");
}

TEST(names_that_are_written_small_stay_so)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	sentence_add_whole(&s, "io_uring: switched off");
	sentence_add_whole(&s, "libaio requests not counted");
	sentence_add_whole(&s, "i");
	ASSERT_STREQ(s.text, "io_uring: switched off. libaio requests not counted. I.");
}

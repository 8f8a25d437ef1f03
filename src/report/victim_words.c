/* SPDX-License-Identifier: MIT */
#include "victim_words.h"

#include <time.h>

#include "humanize.h"
#include "sentence.h"
#include "victims.h"

char *victim_words(const struct victim *v)
{
	struct sentence s = {};
	time_t seconds = (time_t)(v->time_ns / 1000000000);
	char clock[16] = "";
	struct tm tm;

	sentence_add(&s, "", "%s (pid %d)", *v->command ? v->command : "-", v->pid);
	if (v->rss.is_known)
		sentence_add(&s, " ", "with %s", humanize_bytes(v->rss.number).text);
	if (v->time_ns && localtime_r(&seconds, &tm) && strftime(clock, sizeof(clock), "%H:%M:%S", &tm))
		sentence_add(&s, " ", "at %s", clock);
	return s.text;
}

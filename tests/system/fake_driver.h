/* SPDX-License-Identifier: MIT */
/*
 * What doubles of drivers' libraries have in common: each says what the file `scenario` beside it
 * says, which may change at any time.  Its lines:
 *
 *   cards N                      how many there are
 *   CARD FUNCTION[.ARGUMENT] A [B [C]]   what the function gives of that card ("*": of all of them)
 *
 * and what the library's own head comment lists.  In place of A stand "!N", an error; "~N", an
 * answer (0) that takes N seconds; and "+N", N more for each millisecond since the library was
 * loaded.  What no line says is not supported.  Before it is included: WELL, NOT_SUPPORTED and
 * card_of(), the card of a handle.
 */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef unsigned long long u64;

static u64 begin_ms;

static u64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (u64)t.tv_sec * 1000 + (u64)t.tv_nsec / 1000000;
}

__attribute__((constructor)) static void begin(void)
{
	begin_ms = now_ms();
}

static FILE *open_scenario(void)
{
	char path[4096];
	Dl_info info;

	if (!dladdr((void *)begin, &info) || strlen(info.dli_fname) + 16 > sizeof(path))
		return NULL;
	strcpy(path, info.dli_fname);
	strcpy(strrchr(path, '/') + 1, "scenario");
	return fopen(path, "re");
}

/* The @nth line (from 0) of @card with @key: the rest of it.  0: none. */
static int find(int card, const char *key, int nth, char rest[256])
{
	char line[512], who[16], what[128];
	FILE *f = open_scenario();
	int is_found = 0, length;

	while (f && !is_found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%15s %127s %n", who, what, &length) < 2 || strcmp(what, key) != 0)
			continue;
		if (strcmp(who, "*") != 0 && atoi(who) != card)
			continue;
		if (nth-- > 0)
			continue;
		snprintf(rest, 256, "%s", line + length);
		rest[strcspn(rest, "\n")] = '\0';
		is_found = 1;
	}
	if (f)
		fclose(f);
	return is_found;
}

static int number_of(const char *text, u64 *ret)
{
	if (*text == '!')
		return atoi(text + 1);
	if (*text == '~')
		sleep((unsigned int)atoi(text + 1));
	*ret = *text == '~' ? 0 : strtoull(text + (*text == '+'), NULL, 10);
	if (*text == '+')
		*ret *= now_ms() - begin_ms;
	return WELL;
}

static int look(const void *device, const char *function, int argument, u64 ret[3])
{
	char key[128], rest[256], *word, *state;
	int r = WELL;

	snprintf(key, sizeof(key), argument < 0 ? "%s" : "%s.%d", function, argument);
	ret[0] = ret[1] = ret[2] = 0;
	if (!find(card_of(device), key, 0, rest))
		return NOT_SUPPORTED;
	word = strtok_r(rest, " ", &state);
	for (int i = 0; r == WELL && word && i < 3; i++, word = strtok_r(NULL, " ", &state))
		r = number_of(word, &ret[i]);
	return r;
}

static int count_cards(unsigned int *ret)
{
	FILE *f = open_scenario();
	char line[512], text[32];
	u64 number = 0;
	int r = WELL;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "cards %31s", text) == 1)
			r = number_of(text, &number);
	}
	if (f)
		fclose(f);
	*ret = (unsigned int)number;
	return r;
}

/* SPDX-License-Identifier: MIT */
/* probe_parts - what those share that read a set: the small language of its values. */
#pragma once

#include "trace/probe.h"

/* A value that a library's section gives a name: "*(%+24):u64", where % is the argument. */
struct probe_named {
	char name[PROBE_NAME_MAX];
	const char *text;
};

/* A probe that is being made, of one name and one library: where a field's text is understood. */
struct probe_scope {
	struct probe_set *set;
	struct probe *probe;
	const struct probe_named *named;
	size_t named_count;
	const char *alias; /* "P%", "%_ptsz %_ptds"; NULL: none */
	bool is_throws_said;
	struct error *err;
};

/* Each: -EINVAL, and *err says what is wrong, without file and line. */

/* A field of a probe.  -ENOENT: there is none of that name. */
int probe_scope_read_field(struct probe_scope *scope, const char *key, const char *value);
/* What its fields leave open: symbols, their aliases, whether it throws. */
int probe_scope_finish(struct probe_scope *scope);

/* "p2:s64", "*(p4+24):u64 at return | types[p4:u32]", "size(p4)", "str(p2, 64)". */
int probe_scope_read_capture(struct probe_scope *scope, const char *name, const char *text);
/* "count * size | moved", "sizes(datatype) * count", "8 * count". */
int probe_scope_read_bytes(struct probe_scope *scope, const char *text);
/* "dur > 1ms or failed", "always". */
int probe_scope_read_condition(struct probe_scope *scope, const char *text);
/* "types[new] = size", "types[new] = bytes" */
int probe_scope_read_put(struct probe_scope *scope, const char *text);
/* "types[old]" */
int probe_scope_read_delete(struct probe_scope *scope, const char *text);

/* Small letters, digits and '_', beginning with a letter; its length, 0: it is none. */
size_t probe_word_length(const char *text);
/* A decimal or 0x number at *@text, which moves behind it. */
int probe_read_number(const char **text, uint64_t *ret);

/* The words of @text, behind the @*count that are there already, of at most @max.  -E2BIG: there
 * are more, or one is not below PROBE_PATTERN_MAX; -ENOMEM. */
int probe_read_words(const char *text, size_t max, char **words, size_t *count);

/* May it stand in [set], for all probes? */
bool probe_is_default_field(const char *key);
/* Is "NAME=..." or "NAME = ..." a field of a probe, and no capture? */
bool probe_is_field(const char *text);

/* An index, or -ENOENT. */
int probe_set_find_table(const struct probe_set *set, const char *name);

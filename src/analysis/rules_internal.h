/* SPDX-License-Identifier: MIT */
/* rules_internal - the reader of files of rules. */
#pragma once

#include "basic/macro.h"
#include "codec/yaml_node.h"
#include "analysis/rules.h"

enum entry {
	ENTRY_RULE = 1,
	ENTRY_CLASS = 2,
	ENTRY_PATTERN = 4,
	ENTRY_ANY = 7,
};

struct rules_reader {
	struct rules *rules;
	struct yaml_node *roots[RULES_LAYERS_MAX]; /* contents of the files, the lowest first */
	size_t first_layer, layer_count; /* those below the first are ignored */
	size_t layer; /* the current file, for errors */
	struct rule *rule; /* the current one */
	enum entry entry; /* and its kind */
	struct error *err;
};

/* The maps of one id in all files; NULL: not in this one. */
struct rule_maps {
	const struct yaml_node *of[RULES_LAYERS_MAX];
};

/* "NAME:LINE: ...".  -EINVAL. */
int rules_refuse(const struct rules_reader *reader, unsigned int line, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* Prefixes an error within a scalar with file and line. */
int rules_refuse_within(const struct rules_reader *reader, const struct yaml_node *o, int r);

/* 0: of that kind; text that is not empty, of bounded length and without control characters. */
int rules_want(const struct rules_reader *reader, const struct yaml_node *o,
	       enum yaml_node_kind kind);
int rules_want_text(const struct rules_reader *reader, const struct yaml_node *o);

/* NULL: none. */
const struct yaml_node *rules_find_child(const struct yaml_node *map, const char *key);

#define RULES_WORD_MAX 64
/* Lower-case letters, digits and those of @others; the first is a letter. */
bool rules_is_word(const char *text, const char *others);

/* "yes"...  @o is text. */
int rules_read_yes_no(const struct rules_reader *reader, const struct yaml_node *o, bool *ret);

/* Read one id into @rule, which begins as {}. */
int rules_read_rule(struct rules_reader *reader, const struct rule_maps *maps, struct rule *rule);

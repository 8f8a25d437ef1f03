/* SPDX-License-Identifier: MIT */
/* rules_parts - what those share that read a file of rules. */
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
	struct yaml_node *roots[RULES_LAYERS_MAX]; /* what the files hold, the lowest first */
	size_t first_layer, layer_count; /* those below the first are left out */
	size_t layer; /* the file that is being read: it is named in errors */
	struct rule *rule; /* the one that is being read */
	enum entry entry; /* and what it is */
	struct error *err;
};

/* What all files say of one id; NULL: this one says nothing. */
struct rule_maps {
	const struct yaml_node *of[RULES_LAYERS_MAX];
};

/* "NAME:LINE: ...".  -EINVAL. */
int rules_refuse(const struct rules_reader *reader, unsigned int line, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* The text of an error within a scalar, with file and line before it. */
int rules_refuse_within(const struct rules_reader *reader, const struct yaml_node *o, int r);

/* 0: it is one; text that is there, of some length, and without control characters. */
int rules_want(const struct rules_reader *reader, const struct yaml_node *o,
	       enum yaml_node_kind kind);
int rules_want_text(const struct rules_reader *reader, const struct yaml_node *o);

/* NULL: there is none. */
const struct yaml_node *rules_find_child(const struct yaml_node *map, const char *key);

#define RULES_WORD_MAX 64
/* Small letters and digits, and what stands in @others; it begins with a letter. */
bool rules_is_word(const char *text, const char *others);

/* "yes"...  @o is text. */
int rules_read_yes_no(const struct rules_reader *reader, const struct yaml_node *o, bool *ret);

/* Read what is said of one id into @rule, which begins as {}. */
int rules_read_rule(struct rules_reader *reader, const struct rule_maps *maps, struct rule *rule);

/* Read each entry of the list or map of that name, file by file; there may be none. */
int rules_read_each(struct rules_reader *reader, const char *name, enum yaml_node_kind kind,
		    int (*read)(struct rules_reader *reader, const struct yaml_node *entry,
				void *context),
		    void *context);

/* Read the sections `variables` and `billing` of all files. */
int rules_read_variables(struct rules_reader *reader);
int rules_read_billing(struct rules_reader *reader);

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "basic/cleanup.h"
#include "model/document_backend.h"
#include "basic/macro.h"
#include "basic/utf8.h"

struct yaml {
	struct document document;
	yaml_emitter_t emitter;
	FILE *out;
	int error; /* the first one; nothing is written after it */
};

static struct yaml *yaml_of(struct document *d)
{
	return (struct yaml *)(void *)d;
}

/* Write an event, which libyaml then frees; @is_made is what its making returned. */
static void emit(struct yaml *yaml, yaml_event_t *event, int is_made)
{
	if (!is_made) {
		yaml->error = yaml->error ? yaml->error : -ENOMEM;
		return;
	}
	if (yaml->error)
		yaml_event_delete(event);
	else if (!yaml_emitter_emit(&yaml->emitter, event))
		yaml->error = yaml->emitter.error == YAML_MEMORY_ERROR ? -ENOMEM : -EIO;
}

/* Whether a reader of YAML takes the bare text for a string, by its first letter and its whole;
 * where a bare text can't stand at all libyaml quotes it by itself. */
static bool is_plainly_a_string(const char *text)
{
	static const char *const others[] = { "null", "true", "false", "yes", "no",
					      "on",   "off",  "y",     "n" };
	char c = *text;

	if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == '_' || c == '('))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strcasecmp(text, others[i]) == 0)
			return false;
	}
	return true;
}

static void scalar(struct yaml *yaml, const char *text, bool is_plain)
{
	yaml_event_t event;
	int is_made = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
						   (int)strlen(text), is_plain, true,
						   YAML_ANY_SCALAR_STYLE);

	emit(yaml, &event, is_made);
}

static void yaml_begin(struct document *d, enum nesting nesting, bool is_flat)
{
	yaml_event_t event;
	int is_made;

	if (nesting == NESTING_MAP)
		is_made = yaml_mapping_start_event_initialize(&event, NULL, NULL, true,
							      is_flat ? YAML_FLOW_MAPPING_STYLE
								      : YAML_BLOCK_MAPPING_STYLE);
	else
		is_made = yaml_sequence_start_event_initialize(&event, NULL, NULL, true,
							       is_flat ? YAML_FLOW_SEQUENCE_STYLE
								       : YAML_BLOCK_SEQUENCE_STYLE);
	emit(yaml_of(d), &event, is_made);
}

static void yaml_end(struct document *d, enum nesting nesting)
{
	yaml_event_t event;
	int is_made = nesting == NESTING_MAP ? yaml_mapping_end_event_initialize(&event)
					     : yaml_sequence_end_event_initialize(&event);

	emit(yaml_of(d), &event, is_made);
}

static void yaml_string(struct document *d, const char *text)
{
	_cleanup_free_ char *repaired = utf8_repair(text);

	if (repaired)
		scalar(yaml_of(d), repaired, is_plainly_a_string(repaired));
	else
		emit(yaml_of(d), NULL, false);
}

static void yaml_literal(struct document *d, const char *text)
{
	scalar(yaml_of(d), text, true);
}

static int yaml_finish(struct document *d)
{
	struct yaml *yaml = yaml_of(d);
	yaml_event_t event;

	emit(yaml, &event, yaml_document_end_event_initialize(&event, true));
	emit(yaml, &event, yaml_stream_end_event_initialize(&event));
	errno = 0;
	if (!yaml->error && (fflush(yaml->out) != 0 || ferror(yaml->out)))
		yaml->error = errno ? -errno : -EIO;
	return yaml->error;
}

static void yaml_free(struct document *d)
{
	yaml_emitter_delete(&yaml_of(d)->emitter);
	free(yaml_of(d));
}

struct document *document_new_yaml(FILE *out)
{
	static const struct document_backend backend = {
		yaml_begin,   yaml_end,	   yaml_string, yaml_string,
		yaml_literal, yaml_finish, yaml_free,
	};
	struct yaml *yaml = calloc(1, sizeof(*yaml));
	yaml_event_t event;

	if (!yaml || !yaml_emitter_initialize(&yaml->emitter)) {
		free(yaml);
		return NULL;
	}
	yaml->document.backend = &backend;
	yaml->out = out;
	yaml_emitter_set_output_file(&yaml->emitter, out);
	yaml_emitter_set_unicode(&yaml->emitter, true);
	yaml_emitter_set_width(&yaml->emitter, -1);
	emit(yaml, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
	emit(yaml, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, true));
	return &yaml->document;
}

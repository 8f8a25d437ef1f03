/* SPDX-License-Identifier: MIT */
#include "config/settings.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/guess.h"
#include "codec/yaml_node.h"

#define NAME_MAX_BYTES 128

struct walk {
	const struct settings *settings;
	void *values;
	struct setting_origin *origins;
	struct setting_origin origin; /* of what is set now; the line is set on the way */
	const char *name; /* of the file */
	struct error *err;
};

int settings_set_defaults(const struct settings *settings, void *values)
{
	assert(settings->count <= SETTINGS_MAX);
	for (size_t i = 0; i < settings->count; i++) {
		int r = setting_parse(&settings->rows[i], settings->rows[i].standard, values);

		assert(r != -EINVAL); /* the table is ours */
		if (r < 0)
			return r;
	}
	return 0;
}

void settings_clear(const struct settings *settings, void *values)
{
	for (size_t i = 0; i < settings->count; i++)
		setting_clear(&settings->rows[i], values);
}

/* ---- YAML ---- */

static void mark(const struct walk *w, const struct setting *setting, unsigned int line)
{
	struct setting_origin *origin = &w->origins[setting - w->settings->rows];

	*origin = w->origin;
	origin->line = line;
}

/* The origin of a value: "agent.yaml:12", or the name of the environment's variable. */
static void name_place(const struct walk *w, unsigned int line, char *text, size_t size)
{
	if (w->origin.source == SETTING_FROM_FILE)
		snprintf(text, size, "%s:%u", w->name, line);
	else
		snprintf(text, size, "%s", w->name);
}

static int refuse_shape(const struct walk *w, const struct setting *setting,
			const struct yaml_node *node)
{
	char place[NAME_MAX_BYTES];

	name_place(w, node->line, place, sizeof(place));
	if (node->kind == YAML_NODE_SCALAR && node->is_null)
		return error_set(w->err, -EINVAL, "%s: %s has no value (allowed: %s)", place,
				 setting->name, setting_allowed(setting).text);
	return error_set(w->err, -EINVAL, "%s: %s cannot be %s (allowed: %s)", place, setting->name,
			 yaml_node_kind_name(node->kind), setting_allowed(setting).text);
}

static int refuse_value(const struct walk *w, const struct setting *setting, unsigned int line,
			const char *text)
{
	char place[NAME_MAX_BYTES];

	name_place(w, line, place, sizeof(place));
	return error_set(w->err, -EINVAL, "%s: %s cannot be '%.64s' (allowed: %s)", place,
			 setting->name, text, setting_allowed(setting).text);
}

static const struct yaml_node *find_key(const struct yaml_node *map, const char *key)
{
	for (const struct yaml_node *o = map->first; o; o = o->next) {
		if (strcmp(o->key, key) == 0)
			return o;
	}
	return NULL;
}

static bool has_word(const char *const *words, const char *wanted)
{
	for (; *words; words++) {
		if (strcmp(*words, wanted) == 0)
			return true;
	}
	return false;
}

/* An entry of several fields: all must be there, and no others. */
static int take_fields(const struct walk *w, const struct setting *setting,
		       const struct yaml_node *entry, char **texts, size_t *count)
{
	char place[NAME_MAX_BYTES];

	if (entry->kind != YAML_NODE_MAP)
		return refuse_shape(w, setting, entry);
	name_place(w, entry->line, place, sizeof(place));
	for (const struct yaml_node *o = entry->first; o; o = o->next) {
		if (!has_word(setting->words, o->key))
			return error_set(w->err, -EINVAL,
					 "%s: '%.64s' is not known in %s (allowed: %s)", place,
					 o->key, setting->name, setting_allowed(setting).text);
	}
	for (size_t i = 0; setting->words[i]; i++) {
		const struct yaml_node *field = find_key(entry, setting->words[i]);

		if (!field)
			return error_set(w->err, -EINVAL, "%s: '%s' is missing in an entry of %s",
					 place, setting->words[i], setting->name);
		if (field->kind != YAML_NODE_SCALAR || field->is_null)
			return refuse_shape(w, setting, field);
		texts[(*count)++] = field->text;
	}
	return 0;
}

/* Texts belong to @node. */
static int take_entries(const struct walk *w, const struct setting *setting,
			const struct yaml_node *node, char **texts, size_t *ret_entries)
{
	size_t count = 0, entries = 0;

	for (const struct yaml_node *o = node->first; o; o = o->next, entries++) {
		int r = 0;

		if (entries >= setting->max)
			return refuse_value(w, setting, o->line, "a list as long as this");
		if (setting->words)
			r = take_fields(w, setting, o, texts, &count);
		else if (o->kind != YAML_NODE_SCALAR || o->is_null)
			r = refuse_shape(w, setting, o);
		else
			texts[count++] = o->text;
		if (r < 0)
			return r;
	}
	*ret_entries = entries;
	return 0;
}

/* Which of the entries it is that may not be. */
static int refuse_entry(const struct walk *w, const struct setting *setting,
			const struct yaml_node *node)
{
	for (const struct yaml_node *o = node->first; o; o = o->next) {
		for (size_t i = 0; setting->words && setting->words[i]; i++) {
			const struct yaml_node *field = find_key(o, setting->words[i]);

			if (setting->is_allowed && !setting->is_allowed(i, field->text))
				return refuse_value(w, setting, field->line, field->text);
		}
		if (!setting->words && setting->is_allowed && !setting->is_allowed(0, o->text))
			return refuse_value(w, setting, o->line, o->text);
	}
	return refuse_value(w, setting, node->line, "a list with control characters");
}

static int set_list(const struct walk *w, const struct setting *setting,
		    const struct yaml_node *node)
{
	_cleanup_free_ char **texts = calloc(setting->max + 1, SETTING_FIELDS_MAX * sizeof(*texts));
	size_t entries = 0;
	int r;

	if (node->kind != YAML_NODE_LIST)
		return refuse_shape(w, setting, node);
	if (!texts)
		return -ENOMEM;
	r = take_entries(w, setting, node, texts, &entries);
	if (r < 0)
		return r;
	r = setting_set_list(setting, texts, entries, w->values);
	return r == -EINVAL ? refuse_entry(w, setting, node) : r;
}

static int set(const struct walk *w, const struct setting *setting, const struct yaml_node *node)
{
	int r;

	if (setting->type == SETTING_LIST) {
		r = set_list(w, setting, node);
	} else if (node->kind != YAML_NODE_SCALAR || node->is_null) {
		return refuse_shape(w, setting, node);
	} else {
		r = setting_parse(setting, node->text, w->values);
		if (r == -EINVAL)
			return refuse_value(w, setting, node->line, node->text);
	}
	if (r >= 0)
		mark(w, setting, node->line);
	return r;
}

static const struct setting *find(const struct settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->count; i++) {
		if (strcmp(settings->rows[i].name, name) == 0)
			return &settings->rows[i];
	}
	return NULL;
}

/* The names allowed in the map @prefix ("tls.", or "" for the whole); each once. */
struct level {
	char *names[SETTINGS_MAX];
	size_t count;
};

static void level_clear(struct level *level)
{
	while (level->count)
		free(level->names[--level->count]);
}

static int level_read(const struct settings *settings, const char *prefix, struct level *ret)
{
	size_t skipped = strlen(prefix);

	for (size_t i = 0; i < settings->count; i++) {
		const char *name = settings->rows[i].name;
		size_t length = strncmp(name, prefix, skipped) == 0 ? strcspn(name + skipped, ".")
								    : 0;
		bool is_there = !length;

		for (size_t j = 0; j < ret->count && !is_there; j++)
			is_there = strlen(ret->names[j]) == length &&
				   strncmp(ret->names[j], name + skipped, length) == 0;
		if (is_there)
			continue;
		ret->names[ret->count] = strndup(name + skipped, length);
		if (!ret->names[ret->count])
			return -ENOMEM;
		ret->count++;
	}
	return 0;
}

/* A name that belongs to another map: "certificate" is "tls.certificate". */
static const char *find_elsewhere(const struct settings *settings, const char *key)
{
	for (size_t i = 0; i < settings->count; i++) {
		const char *dot = strrchr(settings->rows[i].name, '.');

		if (dot && strcmp(dot + 1, key) == 0)
			return settings->rows[i].name;
	}
	return NULL;
}

static int refuse_key(const struct walk *w, const struct yaml_node *node, const char *prefix)
{
	_cleanup_(level_clear) struct level level = {};
	char names[448] = "";
	const char *guess;

	if (level_read(w->settings, prefix, &level) < 0)
		return -ENOMEM;
	guess = guess_nearest(node->key, level.names, level.count, sizeof(level.names[0]));
	guess = guess ? guess : find_elsewhere(w->settings, node->key);
	for (size_t i = 0, used = 0; i < level.count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 level.names[i]);
	return error_set(w->err, -EINVAL, "%s:%u: '%.64s' is not known here%s%s%s (allowed: %s)",
			 w->name, node->line, node->key, guess ? "; did you mean '" : "",
			 guess ? guess : "", guess ? "'?" : "", names);
}

static bool is_map(const struct settings *settings, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < settings->count; i++) {
		if (strncmp(settings->rows[i].name, name, length) == 0 &&
		    settings->rows[i].name[length] == '.')
			return true;
	}
	return false;
}

/* The depth is the table's. */
static int walk_map(const struct walk *w, const struct yaml_node *map, const char *prefix)
{
	for (const struct yaml_node *o = map->first; o; o = o->next) {
		char name[NAME_MAX_BYTES];
		const struct setting *setting;
		int r;

		if ((size_t)snprintf(name, sizeof(name), "%s%s", prefix, o->key) >=
		    sizeof(name) - 1)
			return refuse_key(w, o, prefix);
		setting = strchr(o->key, '.') ? NULL : find(w->settings, name);
		if (setting) {
			r = set(w, setting, o);
		} else if (!*o->key || strchr(o->key, '.') || !is_map(w->settings, name)) {
			r = refuse_key(w, o, prefix);
		} else if (o->kind != YAML_NODE_MAP) {
			r = error_set(w->err, -EINVAL, "%s:%u: %s cannot be %s: it is a map",
				      w->name, o->line, name,
				      o->is_null ? "empty" : yaml_node_kind_name(o->kind));
		} else {
			snprintf(name, sizeof(name), "%s%s.", prefix, o->key);
			r = walk_map(w, o, name);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int settings_parse_yaml(const struct settings *settings, const char *text, size_t length,
			const char *name, void *values, struct setting_origin *origins,
			struct error *err)
{
	_cleanup_(yaml_node_freep) struct yaml_node *root = NULL;
	struct walk w = { .settings = settings,
			  .values = values,
			  .origins = origins,
			  .origin.source = SETTING_FROM_FILE,
			  .name = name,
			  .err = err };
	int r = yaml_node_parse(text, length, name, &root, err);

	if (r < 0)
		return r;
	if (root->is_null) /* "---" and comments */
		return 0;
	if (root->kind != YAML_NODE_MAP)
		return error_set(err, -EINVAL,
				 "%s:%u: lines of 'NAME: VALUE' must stand here, not %s", name,
				 root->line, yaml_node_kind_name(root->kind));
	return walk_map(&w, root, "");
}

/* ---- the environment ---- */

struct setting_words settings_environment_name(const struct settings *settings,
					       const struct setting *setting)
{
	struct setting_words words;
	size_t prefix = strlen(settings->prefix);

	snprintf(words.text, sizeof(words.text), "%s%s", settings->prefix, setting->name);
	for (char *p = words.text + prefix; *p; p++)
		*p = *p == '.' ? '_' : (char)toupper((unsigned char)*p);
	return words;
}

static int set_from_environment(struct walk *w, const struct setting *setting, const char *text)
{
	_cleanup_(yaml_node_freep) struct yaml_node *node = NULL;
	int r;

	if (setting->type == SETTING_LIST && *text == '[') {
		r = yaml_node_parse(text, strlen(text), w->name, &node, w->err);
		return r < 0 ? r : set(w, setting, node);
	}
	r = setting_parse(setting, text, w->values);
	if (r == -EINVAL)
		return refuse_value(w, setting, 0, text);
	if (r >= 0)
		mark(w, setting, 0);
	return r;
}

static void say_unknown(const struct settings *settings, const char *name, struct error *unknown)
{
	struct setting_words words[SETTINGS_MAX];
	const char *names[SETTINGS_MAX], *guess;

	for (size_t i = 0; i < settings->count; i++) {
		words[i] = settings_environment_name(settings, &settings->rows[i]);
		names[i] = words[i].text;
	}
	guess = guess_nearest(name, names, settings->count, sizeof(names[0]));
	error_set(unknown, 0, "'%.64s' in the environment is no setting%s%s%s", name,
		  guess ? "; did you mean '" : "", guess ? guess : "", guess ? "'?" : "");
}

static const struct setting *find_by_environment(const struct settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->count; i++) {
		if (strcmp(settings_environment_name(settings, &settings->rows[i]).text, name) == 0)
			return &settings->rows[i];
	}
	return NULL;
}

int settings_parse_environment(const struct settings *settings, char *const *environment,
			       void *values, struct setting_origin *origins, struct error *unknown,
			       struct error *err)
{
	struct walk w = { .settings = settings,
			  .values = values,
			  .origins = origins,
			  .origin.source = SETTING_FROM_ENVIRONMENT,
			  .err = err };

	if (unknown)
		unknown->text[0] = '\0';
	for (; *environment; environment++) {
		const char *text = strchr(*environment, '=');
		_cleanup_free_ char *name = NULL;
		const struct setting *setting;
		int r = 0;

		if (!text || strncmp(*environment, settings->prefix, strlen(settings->prefix)) != 0)
			continue;
		name = strndup(*environment, (size_t)(text - *environment));
		if (!name)
			return -ENOMEM;
		setting = find_by_environment(settings, name);
		w.name = name;
		if (setting)
			r = set_from_environment(&w, setting, text + 1);
		else
			say_unknown(settings, name, unknown);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- a file ---- */

const char *settings_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int settings_read(const char *path, char **ret, size_t *ret_length, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "cannot read '%s': it is no plain file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return error_set(err, -EPERM,
				 "'%s' is not read: it belongs to another user (UID %u)", path,
				 st.st_uid);
	if (st.st_mode & S_IWOTH)
		return error_set(err, -EPERM,
				 "'%s' is not read: everyone may write to it (chmod o-w)", path);
	r = file_read_fd(fd, YAML_NODE_BYTES_MAX, ret, ret_length);
	if (r == -EFBIG)
		return error_set(err, r, "%s: larger than %u KiB", settings_base_name(path),
				 YAML_NODE_BYTES_MAX >> 10);
	return r < 0 ? error_set_errno(err, r, "cannot read '%s'", path) : 0;
}

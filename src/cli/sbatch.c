/* SPDX-License-Identifier: MIT */
#include "cli/sbatch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "model/json_place.h"

#define MIB (1024.0 * 1024)
#define WORDS_MAX 64 /* of a line of a script */
#define DIRECTIVE "#SBATCH"

/* The options that a prediction uses; 0 or NULL: not given. */
struct asked {
	const char *texts[4]; /* account, partition, qos, name */
	double nodes, tasks, cpus_per_task, tasks_per_node, gpus, gpus_per_node, limit_s;
	double memory, memory_per_cpu, array_tasks;
};
static const char *const text_keys[] = { "account", "partition", "qos", "name" };

/* ---- values ---- */

/* "4", "2-4": the lower bound.  Only a dash may follow the number. */
static bool parse_count(const char *text, double *ret)
{
	uint64_t number;

	if (parse_leading_u64(&text, &number) < 0 || (*text && *text != '-'))
		return false;
	*ret = (double)number;
	return true;
}

/* "16G", "500" of MiB */
static bool parse_memory(const char *text, double *ret)
{
	static const char units[] = "KMGT";
	uint64_t number;
	const char *unit;

	if (parse_leading_u64(&text, &number) < 0)
		return false;
	unit = *text ? strchr(units, toupper((unsigned char)*text)) : &units[1];
	if (!unit || (*text && text[1] && strcasecmp(text + 1, "B") != 0))
		return false;
	*ret = (double)number * 1024 * pow(1024, (double)(unit - units));
	return true;
}

/* "30" minutes, "30:00", "1:30:00", "2-12", "2-12:30", "2-12:30:00" */
static bool parse_limit(const char *text, double *ret)
{
	static const double of_days[] = { 3600, 60, 1 };
	static const double bare[][3] = { { 60 }, { 60, 1 }, { 3600, 60, 1 } };
	const char *dash = strchr(text, '-');
	uint64_t days = 0, parts[3];
	const double *scale = of_days;
	size_t count = 0;

	if (dash && (parse_leading_u64(&text, &days) < 0 || text++ != dash))
		return false;
	do {
		if (count == ARRAY_SIZE(parts) || parse_leading_u64(&text, &parts[count++]) < 0)
			return false;
	} while (*text == ':' && *++text);
	if (*text)
		return false;
	if (!dash)
		scale = bare[count - 1];
	*ret = (double)days * 86400;
	for (size_t i = 0; i < count; i++)
		*ret += (double)parts[i] * scale[i];
	return true;
}

/* "1-10", "0-15:4", "1,3,7%2" */
static bool parse_array(const char *text, double *ret)
{
	*ret = 0;
	do {
		uint64_t first, last, step = 1;

		if (parse_leading_u64(&text, &first) < 0)
			return false;
		last = first;
		if (*text == '-' && (text++, parse_leading_u64(&text, &last) < 0))
			return false;
		if (*text == ':' && (text++, parse_leading_u64(&text, &step) < 0))
			return false;
		if (last < first || !step)
			return false;
		last = (last - first) / step;
		*ret += (double)last + 1;
	} while (*text == ',' && *++text);
	return !*text || *text == '%';
}

/* "gpu:2", "gpu:a100:2,tmpfs:1G", "gpu"; of --gpus "2" and "a100:2" */
static bool parse_gpus(const char *text, double *ret)
{
	const char *gpu = strstr(text, "gpu"), *number;
	size_t length;

	if (!gpu && strpbrk(text, "=/")) /* "tmpfs=1G" */
		return true;
	text = gpu ? gpu : text;
	length = strcspn(text, ",(");
	number = memrchr(text, ':', length);
	number = number ? number + 1 : text;
	*ret = isdigit((unsigned char)*number) ? strtod(number, NULL) : gpu ? 1 : 0;
	return true;
}

#define AT(member) offsetof(struct asked, member)
#define TEXT(i) (offsetof(struct asked, texts) + (i) * sizeof(const char *))
/* clang-format off */
static const struct row {
	const char *name;
	char letter;
	size_t offset;
	bool (*parse)(const char *text, double *ret); /* NULL: it is a text */
} rows[] = {
	{ "account", 'A', TEXT(0), NULL },
	{ "partition", 'p', TEXT(1), NULL },
	{ "qos", 'q', TEXT(2), NULL },
	{ "job-name", 'J', TEXT(3), NULL },
	{ "nodes", 'N', AT(nodes), parse_count },
	{ "ntasks", 'n', AT(tasks), parse_count },
	{ "cpus-per-task", 'c', AT(cpus_per_task), parse_count },
	{ "ntasks-per-node", 0, AT(tasks_per_node), parse_count },
	{ "time", 't', AT(limit_s), parse_limit },
	{ "mem", 0, AT(memory), parse_memory },
	{ "mem-per-cpu", 0, AT(memory_per_cpu), parse_memory },
	{ "array", 'a', AT(array_tasks), parse_array },
	{ "gpus", 'G', AT(gpus), parse_gpus },
	{ "gres", 0, AT(gpus_per_node), parse_gpus },
	{ "gpus-per-node", 0, AT(gpus_per_node), parse_gpus },
};
/* clang-format on */

/* Options of sbatch without a value.  If a newer one is missing here, only the script's name after
 * it is misread. */
static const char flag_letters[] = "HIOQWVhksv";
static const char flag_names[] =
	" contiguous exclusive help hold ignore-pbs no-kill no-requeue overcommit oversubscribe "
	"parsable quiet reboot requeue spread-job test-only usage use-min-nodes verbose version "
	"wait ";

static int take(const struct row *row, const char *value, struct asked *ret, struct error *err)
{
	void *at = (char *)ret + row->offset;

	if (!row->parse) {
		*(const char **)at = value;
		return 0;
	}
	if (row->parse(value, at))
		return 0;
	return error_set(err, -EINVAL, "'%.64s' is no value of sbatch's --%s", value, row->name);
}

static bool is_flag(const char *name)
{
	_cleanup_free_ char *word = NULL;

	if (asprintf(&word, " %s ", name) < 0) {
		word = NULL;
		return true;
	}
	return strstr(flag_names, word);
}

/* Parse the option at @argv, which has @argc words.  *ret_used: how many words it took. */
static int take_option(char **argv, int argc, struct asked *ret, int *ret_used, struct error *err)
{
	const bool is_long = argv[0][1] == '-';
	const char *word = argv[0] + 1 + is_long, *value = NULL;
	size_t length = is_long ? strcspn(word, "=") : 1;

	*ret_used = 1;
	if (word[length])
		value = word + length + (word[length] == '=');
	else if (is_long ? !is_flag(word) : !strchr(flag_letters, *word)) {
		value = argc > 1 ? argv[1] : NULL;
		*ret_used = value ? 2 : 1;
	}
	for (size_t i = 0; value && i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		if (is_long ? strlen(row->name) == length && strncmp(row->name, word, length) == 0
			    : row->letter == *word)
			return take(row, value, ret, err);
	}
	return 0;
}

/* *ret_script: the first word that is not an option; NULL: there is none. */
static int take_words(int argc, char **argv, struct asked *ret, const char **ret_script,
		      struct error *err)
{
	int r = 0, used = 1;

	for (int i = 0; r == 0 && i < argc; i += used) {
		if (argv[i][0] != '-' || !argv[i][1]) {
			*ret_script = argv[i];
			return 0;
		}
		if (strncmp(argv[i], "--wrap", strlen("--wrap")) == 0)
			ret->texts[3] = ret->texts[3] ? ret->texts[3] : "wrap";
		r = take_option(argv + i, argc - i, ret, &used, err);
	}
	return r;
}

/* Like sbatch, read #SBATCH lines up to the first command.  @text is modified. */
static int take_script(char *text, struct asked *ret, struct error *err)
{
	char *line;
	int r = 0;

	while (r == 0 && (line = parse_next_line(&text))) {
		char *words[WORDS_MAX + 1] = {}, *word;
		const char *unused = NULL;
		int count = 0;

		if (*line && *line != '#')
			break;
		if (strncmp(line, DIRECTIVE, strlen(DIRECTIVE)) != 0)
			continue;
		line += strlen(DIRECTIVE);
		while (count < WORDS_MAX && (word = parse_next_word(&line)) && *word != '#')
			words[count++] = word;
		r = take_words(count, words, ret, &unused, err);
	}
	return r;
}

/* ---- the request to the server ---- */

static void put_number(json_t *map, const char *key, double number)
{
	if (number > 0)
		json_object_set_new(map, key, json_integer((json_int_t)llround(number)));
}

static json_t *make_request(const struct asked *a)
{
	const double nodes = MAX(a->nodes, 1.0);
	const double tasks = a->tasks > 0 ? a->tasks : nodes * MAX(a->tasks_per_node, 1.0);
	const double cores = tasks * MAX(a->cpus_per_task, 1.0);
	json_t *map = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(text_keys); i++) {
		if (a->texts[i])
			json_object_set_new(map, text_keys[i], json_string(a->texts[i]));
	}
	put_number(map, "nodes", nodes);
	put_number(map, "tasks", tasks);
	put_number(map, "cores", cores);
	put_number(map, "memory_bytes",
		   a->memory > 0 ? a->memory * nodes : a->memory_per_cpu * cores);
	put_number(map, "gpus", a->gpus > 0 ? a->gpus : a->gpus_per_node * nodes);
	put_number(map, "time_limit_seconds", a->limit_s);
	put_number(map, "array_tasks", a->array_tasks);
	return map;
}

int sbatch_parse(int argc, char **argv, const char *script, json_t **ret, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	const char *named = NULL;
	struct asked asked = {}, unused = {};
	size_t length;
	int r = take_words(argc, argv, &unused, &named, err);

	named = script ? script : named;
	if (r == 0 && named) {
		r = file_read(AT_FDCWD, named, SBATCH_SCRIPT_MAX, &text, &length);
		if (r < 0)
			return error_set_errno(err, r, "cannot read the script '%s'", named);
		asked.texts[3] = strrchr(named, '/') ? strrchr(named, '/') + 1 : named;
		r = take_script(text, &asked, err);
	}
	if (r == 0)
		r = take_words(argc, argv, &asked, &named, err);
	if (r < 0)
		return r;
	*ret = make_request(&asked);
	return *ret ? 0 : error_set_errno(err, ENOMEM, "cannot predict");
}

/* SPDX-License-Identifier: MIT */
#include "analysis/variables.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "analysis/core_time.h"
#include "analysis/expression.h"
#include "analysis/formula.h"
#include "analysis/patterns.h"
#include "analysis/working_time.h"
#include "model/record.h"
#include "model/sections/job_gpus.h"

/* ---- the table ---- */

struct variables *variables_free(struct variables *v)
{
	if (!v)
		return NULL;
	for (size_t i = 0; i < v->count; i++) {
		free(v->items[i].name);
		free(v->items[i].text);
		expression_free(v->items[i].expression);
	}
	free(v->items);
	free(v);
	return NULL;
}

void variables_freep(struct variables **v)
{
	variables_free(*v);
}

static int add(struct variables *v, const struct variable *variable, const char *format, ...)
	PRINTF_LIKE(3, 4);

static int add(struct variables *v, const struct variable *variable, const char *format, ...)
{
	struct variable *larger = reallocarray(v->items, v->count + 1, sizeof(*larger));
	struct variable *added;
	va_list args;
	int r;

	if (!larger)
		return -ENOMEM;
	v->items = larger;
	added = &v->items[v->count];
	*added = *variable;
	va_start(args, format);
	r = vasprintf(&added->name, format, args);
	va_end(args);
	if (r < 0)
		return -ENOMEM;
	v->count++;
	return 0;
}

/* Of rows there are two: the job's, and the mount's. */
static int add_of_rows(struct variables *v, const struct variable *variable, const char *first,
		       const char *second)
{
	struct variable of_mount = *variable;
	int r = add(v, variable, "%s_%s", first, second);

	of_mount.is_mount = true;
	return r < 0 ? r : add(v, &of_mount, MOUNT_PREFIX "%s_%s", first, second);
}

static int add_ops(struct variables *v, struct variable variable, const struct metric *metric)
{
	int r = 0;

	variable.source = VARIABLE_OP;
	for (size_t op = OP_DATA_COUNT; r == 0 && op < OP_COUNT; op++) {
		variable.op = (enum file_op)op;
		r = add_of_rows(v, &variable, file_op_name(variable.op), metric->key);
	}
	return r;
}

static int add_interfaces(struct variables *v, struct variable variable,
			  const struct metric *metric)
{
	int r = 0;

	variable.source = VARIABLE_INTERFACE;
	for (size_t interface = INTERFACE_CALL + 1; r == 0 && interface < INTERFACE_MAPPING;
	     interface++) {
		_cleanup_free_ char *key = NULL;

		if (asprintf(&key, "%s_%s", metric_part(metric), metric->key) < 0) {
			key = NULL; /* undefined after a failure */
			return -ENOMEM;
		}
		variable.interface = (enum file_interface)interface;
		r = add_of_rows(v, &variable, file_interface_name(variable.interface), key);
	}
	return r;
}

static int add_metric(struct variables *v, const struct metric *metric)
{
	enum metric_id id = metric_id_of(metric);
	struct variable variable = { .id = id,
				     .dimension = dimension_of_metric(id),
				     .help = metric->help };
	bool is_at_top;
	int r;

	switch (metric->scope) {
	case SCOPE_JOB:
	case SCOPE_JOB_ENERGY:
		variable.source = VARIABLE_VALUE;
		return add(v, &variable, "%s_%s",
			   id >= cause_metric((enum cause)0) &&
					   id <= cause_metric((enum cause)(CAUSE_COUNT - 1))
				   ? "blocked"
				   : metric->section,
			   metric->key);
	case SCOPE_MOUNT:
		variable.source = VARIABLE_ROWS;
		return add_of_rows(v, &variable, metric->section, metric->key);
	case SCOPE_MOUNT_OP:
		variable.source = VARIABLE_ROWS;
		r = add_of_rows(v, &variable, metric->section, metric->key);
		return r < 0 ? r : add_ops(v, variable, metric);
	case SCOPE_MOUNT_INTERFACE:
		return add_interfaces(v, variable, metric);
	case SCOPE_SOCKET:
		variable.source = VARIABLE_NETWORK;
		return add(v, &variable, "network_%s_%s", metric_part(metric), metric->key);
	case SCOPE_DEVICE:
		variable.source = VARIABLE_BLOCK;
		return add(v, &variable, "block_%s_%s", metric_part(metric), metric->key);
	case SCOPE_GPU:
		variable.source = VARIABLE_GPU;
		return add(v, &variable, "gpu_%s", metric->key);
	case SCOPE_FILE:
		variable.source = VARIABLE_FILES;
		is_at_top = strcmp(metric_part(metric), metric->section) == 0;
		return add(v, &variable, "files_%s%s%s", is_at_top ? "" : metric_part(metric),
			   is_at_top ? "" : "_", metric->key);
	default:
		return 0; /* in no record, or of no fixed names */
	}
}

static int add_blocked(struct variables *v, size_t cause)
{
	struct variable variable = {
		.source = VARIABLE_BLOCKED_SHARE,
		.id = cause_metric((enum cause)cause),
		.cause = cause,
		.dimension = DIMENSION_SHARE,
		.help = "Share of all thread time in which threads were blocked for this cause."
	};

	return add(v, &variable, "blocked_%s_share", lost_name(cause));
}

static int add_lost(struct variables *v, size_t cause)
{
	struct variable variable = { .source = VARIABLE_LOST,
				     .cause = cause,
				     .dimension = DIMENSION_SECONDS,
				     .help = "Core time lost to this cause of waiting." };
	int r = add(v, &variable, "lost_%s_seconds", lost_name(cause));

	variable.source = VARIABLE_LOST_SHARE;
	variable.dimension = DIMENSION_SHARE;
	variable.help = "Share of core time lost to this cause of waiting.";
	if (r == 0)
		r = add(v, &variable, "lost_%s_share", lost_name(cause));
	variable.source = VARIABLE_WORKING_SHARE;
	variable.id = lost_metric(cause);
	variable.help = "Share of working time that is this part of it; of reads, writes, metadata "
			"and sync: inside such calls, on a CPU or blocked.";
	return r < 0 ? r : add(v, &variable, "working_%s_share", lost_name(cause));
}

static int add_formula(struct variables *v, size_t i)
{
	const struct formula *formula = formula_get(i);
	struct variable variable = { .source = VARIABLE_FORMULA,
				     .formula = i,
				     .dimension = formula->dimension,
				     .help = formula->help };
	int r = add(v, &variable, "%s", formula->name);

	if (r < 0 || !formula->is_of_rows)
		return r;
	variable.is_mount = true;
	return add(v, &variable, MOUNT_PREFIX "%s", formula->name);
}

static int fill(struct variables *v)
{
	struct variable *larger;
	int r = 0;

	for (size_t id = 0; r == 0 && id < METRIC_RECORD_END; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);

		if (metric->kind != KIND_HISTOGRAM)
			r = add_metric(v, metric);
	}
	for (size_t cause = 0; r == 0 && cause < CAUSE_COUNT; cause++)
		r = add_blocked(v, cause);
	for (size_t cause = 0; r == 0 && cause < LOST_COUNT; cause++) {
		if (lost_can_be(cause))
			r = add_lost(v, cause);
	}
	for (size_t i = 0; r == 0 && i < formula_count(); i++)
		r = add_formula(v, i);
	for (size_t i = 0; r == 0 && i < PATTERN_NAMES; i++) {
		const struct pattern_name *name = pattern_name(i);

		if (name)
			r = add(v,
				&(struct variable){ .source = VARIABLE_PATTERN,
						    .pattern = i,
						    .dimension = name->dimension,
						    .help = name->help },
				"%s", name->name);
	}
	/* room for a site's own, so that those do not move to which expressions point */
	larger = r < 0 ? NULL
		       : reallocarray(v->items, v->count + VARIABLES_OWN_MAX, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	v->items = larger;
	v->own_begin = v->count;
	return 0;
}

/* When no name moves any more. */
static int read_formulas(struct variables *v)
{
	const struct names names = { .variables = v };
	struct error err;
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->count; i++) {
		struct variable *variable = &v->items[i];

		if (variable->source != VARIABLE_FORMULA ||
		    !formula_get(variable->formula)->expression)
			continue;
		r = expression_parse(formula_get(variable->formula)->expression, EXPRESSION_NUMBER,
				     &names, &variable->expression, &err);
		assert(r != -EINVAL);
	}
	return r;
}

struct variables *variables_new(void)
{
	_cleanup_(variables_freep) struct variables *v = calloc(1, sizeof(*v));

	if (!v || fill(v) < 0 || read_formulas(v) < 0)
		return NULL;
	return TAKE_PTR(v);
}

/* ---- a site's own ---- */

bool variable_is_own(const struct variable *variable)
{
	return variable->source == VARIABLE_OWN;
}

static bool is_of_mount(const struct expression *e)
{
	const struct variable *variable;

	for (size_t i = 0; (variable = expression_variable(e, i)) != NULL; i++) {
		if (variable->is_mount)
			return true;
	}
	return false;
}

int variables_set_own(struct variables *v, const char *name, const char *text, struct expression *e)
{
	_cleanup_free_ char *own_name = strdup(name), *own_text = strdup(text);
	struct variable *at;
	size_t i = v->own_begin;

	if (!own_name || !own_text)
		return -ENOMEM;
	while (i < v->count && strcmp(v->items[i].name, name) != 0)
		i++;
	if (i == v->own_begin + VARIABLES_OWN_MAX)
		return -ENOSPC;
	if (i == v->count)
		v->items[v->count++] = (struct variable){};
	at = &v->items[i];
	free(at->name);
	free(at->text);
	expression_free(at->expression);
	*at = (struct variable){ .name = TAKE_PTR(own_name),
				 .source = VARIABLE_OWN,
				 .is_mount = is_of_mount(e),
				 .dimension = expression_dimension(e),
				 .help = own_text,
				 .expression = e,
				 .text = own_text };
	own_text = NULL;
	return 0;
}

/* ---- finding ---- */

const struct variable *variables_find(const struct variables *v, const char *name, size_t length)
{
	const struct variable *found = NULL;

	for (size_t i = 0; i < v->count; i++) {
		if (strncmp(v->items[i].name, name, length) == 0 && !v->items[i].name[length])
			return &v->items[i];
	}
	for (size_t i = 0; i < v->count; i++) {
		const struct variable *variable = &v->items[i];
		const char *unit = variable->name + length;

		if (variable_is_own(variable) || strncmp(variable->name, name, length) != 0 ||
		    (strcmp(unit, "_seconds") != 0 && strcmp(unit, "_bytes") != 0))
			continue;
		if (found)
			return NULL; /* bytes or seconds? */
		found = variable;
	}
	return found;
}

/* ---- values ---- */

static bool row_number(const struct variable *variable, const struct mount_row *row, uint64_t *ret)
{
	struct mount_row *at = (struct mount_row *)(uintptr_t)row; /* read only */

	if (!mount_row_knows(row, variable->id))
		return false;
	if (variable->source == VARIABLE_OP)
		*ret = *mount_row_op_number_ref(at, variable->id, variable->op);
	else if (variable->source == VARIABLE_INTERFACE)
		*ret = *mount_row_interface_number_ref(at, variable->id, variable->interface);
	else
		*ret = mount_row_number(row, variable->id);
	return true;
}

static struct amount get_of_rows(const struct variable *variable, const struct subject *subject)
{
	const struct reading *reading = &subject->record->reading;
	uint64_t total = 0, number;

	bool is_known = reading->has_mounts;

	if (variable->is_mount)
		is_known = row_number(variable, subject->row, &total);
	else if (variable->source == VARIABLE_ROWS)
		is_known = reading_total(reading, variable->id, &total);
	else
		for (size_t i = 0; is_known && i < reading->mount_count; i++) {
			if (!row_is_own(&reading->mounts[i]))
				continue;
			is_known = row_number(variable, &reading->mounts[i], &number);
			total += is_known ? number : 0;
		}
	return is_known ? amount_of_metric(variable->id, total) : (struct amount){};
}

/* If some files were not followed in detail, the sum is not known. */
static struct amount get_of_files(const struct variable *variable, const struct record *record)
{
	const struct hot_files *files = &record->files;
	bool is_time = metric_get(variable->id)->unit == UNIT_SECONDS;

	if (!files->is_known || (is_time && !files->has_seconds) ||
	    (files->total.lacks_order && hot_file_is_order(variable->id)))
		return (struct amount){};
	return amount_of_metric(variable->id, hot_file_get(&files->total, variable->id));
}

static struct amount get_lost(const struct variable *variable, const struct subject *subject)
{
	struct core_time t = formula_core(subject);
	bool is_share = variable->source == VARIABLE_LOST_SHARE;

	if (!(variable->cause == LOST_STOLEN ? t.knows_stolen : t.has_causes))
		return (struct amount){};
	return amount_of(t.lost[variable->cause] / (is_share ? t.core : 1));
}

static struct amount get_working_share(const struct variable *variable,
				       const struct subject *subject)
{
	struct working_time t = formula_working(subject);

	return t.is_known && subject->record->reading.values[variable->id].is_known
		       ? amount_of(t.parts[variable->cause] / t.seconds)
		       : (struct amount){};
}

static struct amount get_of_formula(const struct variable *variable, const struct subject *subject)
{
	const struct formula *formula = formula_get(variable->formula);
	const struct subject of_job = { .record = subject->record, .times = subject->times };
	const struct value *value;

	if (formula->expression)
		return expression_number(variable->expression, &of_job);
	if (formula->compute)
		return formula->compute(variable->is_mount ? subject : &of_job, formula);
	value = (const struct value *)((const char *)subject->record + formula->value);
	return value->is_known ? amount_of((double)value->number /
					   (formula->divisor > 0 ? formula->divisor : 1))
			       : (struct amount){};
}

struct amount variable_get(const struct variable *variable, const struct subject *subject)
{
	const struct record *record = subject->record;
	const struct reading *reading = &record->reading;
	const enum metric_id id = variable->id;
	struct value v = {};

	if (variable->is_mount && !subject->row)
		return (struct amount){};
	switch (variable->source) {
	case VARIABLE_VALUE:
		return amount_of_value(id, &reading->values[id]);
	case VARIABLE_ROWS:
	case VARIABLE_OP:
	case VARIABLE_INTERFACE:
		return get_of_rows(variable, subject);
	case VARIABLE_FILES:
		return get_of_files(variable, record);
	case VARIABLE_NETWORK: /* all kinds of sockets */
		if (network_knows(&reading->network, id))
			v = (struct value){ network_total(&reading->network, id), true };
		return amount_of_value(id, &v);
	case VARIABLE_BLOCK: /* all devices */
		if (reading->block.is_known)
			v = (struct value){ block_total(&reading->block, id), true };
		return amount_of_value(id, &v);
	case VARIABLE_GPU:
		v = job_gpus_total(job_gpus_of(record), id);
		return amount_of_value(id, &v);
	case VARIABLE_BLOCKED_SHARE:
		return amount_divide(amount_of_value(id, &reading->values[id]),
				     thread_time(record));
	case VARIABLE_LOST:
	case VARIABLE_LOST_SHARE:
		return get_lost(variable, subject);
	case VARIABLE_WORKING_SHARE:
		return get_working_share(variable, subject);
	case VARIABLE_FORMULA:
		return get_of_formula(variable, subject);
	case VARIABLE_PATTERN:
		return pattern_amount(subject->patterns, variable->pattern);
	case VARIABLE_OWN:
		return expression_number(variable->expression, subject);
	}
	return (struct amount){};
}

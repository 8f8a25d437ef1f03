/* SPDX-License-Identifier: MIT */
#include "analysis/template.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/record.h"
#include "analysis/anomalies.h"
#include "analysis/formula.h"
#include "analysis/variables.h"

enum part_format { FORMAT_KIND, FORMAT_MEMORY, FORMAT_WHOLE, FORMAT_SIGNAL };
static const char *const formats[] = { "", ":memory", ":whole", ":signal" };

/* A word of a sentence that is no number. */
struct word {
	const char *name;
	bool is_mount; /* of rules for each mount */
	void (*write)(const struct subject *subject, FILE *out);
};

struct part { /* a text, then a number or a word, if any */
	char *text;
	struct expression *expression; /* NULL: none */
	enum part_format format;
	const struct word *word; /* NULL: none */
};

struct template
{
	char *text;
	struct part parts[TEMPLATE_PARTS_MAX];
	size_t count;
	/* The parts' expressions. */
	const struct expression *expressions[TEMPLATE_PARTS_MAX];
	size_t expression_count;
};

struct template *template_free(struct template *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->count; i++) {
		free(t->parts[i].text);
		expression_free(t->parts[i].expression);
	}
	free(t->text);
	free(t);
	return NULL;
}

void template_freep(struct template **t)
{
	template_free(*t);
}

const char *template_text(const struct template *t)
{
	return t->text;
}

const struct expression *template_expression(const struct template *t, size_t i)
{
	return i < t->expression_count ? t->expressions[i] : NULL;
}

/* ---- reading ---- */

static int refuse(struct error *err, size_t at, const char *what)
{
	return error_set(err, -EINVAL, "column %zu: %s", at + 1, what);
}

/* ---- words ---- */

static void write_mount(const struct subject *subject, FILE *out)
{
	fputs(subject->row->mount, out);
}

/* Nothing where it is not known. */
static void write_on_mount(const struct subject *subject, FILE *out)
{
	if (subject->row->kind == ROW_MOUNT)
		fprintf(out, " on %s", subject->row->mount);
}

/* As it begins a sentence. */
static void write_command(const struct subject *subject, FILE *out)
{
	char *const *command = subject->record->job.command;
	const char *name = command && command[0] ? strrchr(command[0], '/') : NULL;

	fputs(name ? name + 1 : command && command[0] ? command[0] : "The command", out);
}

static void write_oom_command(const struct subject *subject, FILE *out)
{
	const struct oom_kill *kill = oom_list_largest(&subject->record->oom_list);

	fputs(kill && *kill->command ? kill->command : "A process", out);
}

/* Nothing where it is not known. */
static void write_odd_rank_node(const struct subject *subject, FILE *out)
{
	struct deviation d;
	const struct rank_time *rank = formula_odd_rank(subject, &d);

	if (rank && *rank->node)
		fprintf(out, " on %s", rank->node);
}

/* " (3 polls that found nothing, 7 yields of the CPU)"; what is 0 or not known is left out. */
static void write_empty_polls(const struct subject *subject, FILE *out)
{
	static const struct {
		enum metric_id id;
		const char *what;
	} counts[] = { { METRIC_CPU_EMPTY_POLLS, "polls that found nothing" },
		       { METRIC_CPU_YIELDS, "yields of the CPU" } };
	const char *before = " (", *end = "";

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		const struct value *v = &subject->record->reading.values[counts[i].id];

		if (!v->is_known || !v->number)
			continue;
		fprintf(out, "%s%s %s", before,
			amount_format(amount_of((double)v->number), DIMENSION_NUMBER).text,
			counts[i].what);
		before = ", ";
		end = ")";
	}
	fputs(end, out);
}

static const struct word words[] = {
	{ "mount", true, write_mount },
	{ "on_mount", true, write_on_mount },
	{ "command", false, write_command },
	{ "oom_command", false, write_oom_command },
	{ "on_odd_node", false, write_odd_rank_node },
	{ "empty_polls", false, write_empty_polls },
};

/* ---- formats ---- */

/* Cut ":memory" off the text. */
static int take_format(char *text, size_t at, enum part_format *ret, struct error *err)
{
	char *colon = strrchr(text, ':');

	*ret = FORMAT_KIND;
	for (size_t i = FORMAT_MEMORY; colon && i < ARRAY_SIZE(formats); i++) {
		if (strcmp(colon, formats[i]) != 0)
			continue;
		*ret = (enum part_format)i;
		*colon = '\0';
		return 0;
	}
	return colon ? refuse(err, at + (size_t)(colon - text),
			      "there are ':memory', ':whole' and ':signal'")
		     : 0;
}

static int check_format(const struct part *part, size_t at, struct error *err)
{
	struct dimension d = expression_dimension(part->expression);

	if (part->format == FORMAT_MEMORY && !dimension_is_equal(d, DIMENSION_BYTES))
		return refuse(err, at, "':memory' is for bytes");
	if ((part->format == FORMAT_WHOLE || part->format == FORMAT_SIGNAL) &&
	    (!dimension_is_plain(d) || d.is_share))
		return refuse(err, at, "':whole' and ':signal' are for plain numbers");
	return 0;
}

/* The column within the braces becomes that of the whole text. */
static int move_column(size_t by, struct error *err)
{
	struct error moved;
	char *end;
	unsigned long column;

	if (!err || strncmp(err->text, "column ", strlen("column ")) != 0)
		return -EINVAL;
	column = strtoul(err->text + strlen("column "), &end, 10);
	error_set(&moved, 0, "column %lu%s", column + by, end);
	*err = moved;
	return -EINVAL;
}

/* The text in braces, from @at on. */
static int read_number(const char *text, size_t at, size_t length, const struct names *names,
		       struct template *t, struct part *part, struct error *err)
{
	_cleanup_free_ char *copy = strndup(text + at, length);
	int r;

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].name, copy) == 0)
			part->word = &words[i];
	}
	if (part->word)
		return names->has_mount || !part->word->is_mount
			       ? 0
			       : refuse(err, at, "this wants 'each: mount'");
	r = take_format(copy, at, &part->format, err);
	if (r < 0)
		return r;
	r = expression_parse(copy, EXPRESSION_NUMBER, names, &part->expression, err);
	if (r < 0)
		return move_column(at, err);
	t->expressions[t->expression_count++] = part->expression;
	return check_format(part, at, err);
}

static int read_part(const char *text, size_t *at, const struct names *names, struct template *t,
		     struct error *err)
{
	struct part *part = &t->parts[t->count];
	size_t plain = strcspn(text + *at, "{}"), length;
	int r;

	if (t->count >= TEMPLATE_PARTS_MAX)
		return refuse(err, *at, "this has too many parts");
	part->text = strndup(text + *at, plain);
	if (!part->text)
		return -ENOMEM;
	t->count++;
	*at += plain;
	if (!text[*at])
		return 0;
	if (text[*at] == '}')
		return refuse(err, *at, "this '}' has no '{'");
	length = strcspn(text + *at + 1, "{}");
	if (text[*at + 1 + length] != '}')
		return refuse(err, *at, "this '{' has no '}'");
	r = read_number(text, *at + 1, length, names, t, part, err);
	*at += length + 2;
	return r;
}

int template_parse(const char *text, const struct names *names, struct template **ret,
		   struct error *err)
{
	_cleanup_(template_freep) struct template *t = calloc(1, sizeof(*t));
	size_t length = strlen(text);
	int r = 0;

	if (!t)
		return -ENOMEM;
	if (length > TEMPLATE_BYTES_MAX)
		return refuse(err, TEMPLATE_BYTES_MAX, "this is too long");
	t->text = strdup(text);
	if (!t->text)
		return -ENOMEM;
	for (size_t at = 0; r == 0 && at < length;)
		r = read_part(text, &at, names, t, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

/* ---- writing ---- */

/* "SIGSEGV"; one without a name by its number. */
static struct human signal_name(int signal)
{
	const char *name = sigabbrev_np(signal);
	struct human human;

	if (name)
		snprintf(human.text, sizeof(human.text), "SIG%s", name);
	else
		snprintf(human.text, sizeof(human.text), "signal %d", signal);
	return human;
}

static struct human format_number(const struct part *part, struct amount a)
{
	if (part->format == FORMAT_MEMORY)
		return amount_format_memory(a);
	if (part->format == FORMAT_WHOLE && a.is_known)
		a.number = ceil(a.number - 1e-9);
	if (part->format == FORMAT_SIGNAL && a.is_known)
		return signal_name((int)a.number);
	return amount_format(a, expression_dimension(part->expression));
}

/* False: it is not known. */
static bool write_part(const struct part *part, const struct subject *subject, FILE *out)
{
	struct amount a;

	fputs(part->text, out);
	if (part->word) {
		if (part->word->is_mount && !subject->row)
			return false;
		part->word->write(subject, out);
	}
	if (!part->expression)
		return true;
	a = expression_number(part->expression, subject);
	fputs(format_number(part, a).text, out);
	return a.is_known;
}

char *template_format(const struct template *t, const struct subject *subject)
{
	_cleanup_free_ char *text = NULL;
	bool is_known = true;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < t->count; i++)
		is_known &= write_part(&t->parts[i], subject, out);
	if (fclose(out) != 0 || !is_known)
		return NULL;
	return TAKE_PTR(text);
}

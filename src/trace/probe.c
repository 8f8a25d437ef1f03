/* SPDX-License-Identifier: MIT */
#include "trace/probe.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
#include "trace/probe_parts.h"
#include "basic/error.h"

const char *const probe_kinds[] = { "call",	  "send",   "receive",	   "wait",
				    "collective", "rooted", "open",	   "read",
				    "write",	  "launch", "copy",	   "fill",
				    "allocate",	  "free",   "synchronise", NULL };
static_assert(ARRAY_SIZE(probe_kinds) == PROBE_KIND_COUNT + 1, "a name for each");

const char *const probe_levels[] = { "default", "profile", "trace", NULL };

/* Of items that begin with their names. */
static int find_named(const void *items, size_t count, size_t size, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp((const char *)items + i * size, name) == 0)
			return (int)i;
	}
	return -ENOENT;
}

int probe_find_capture(const struct probe *probe, const char *name)
{
	return find_named(probe->captures, probe->capture_count, sizeof(probe->captures[0]), name);
}

int probe_set_find_map(const struct probe_set *set, const char *name)
{
	return find_named(set->maps, set->map_count, sizeof(set->maps[0]), name);
}

int probe_set_find_table(const struct probe_set *set, const char *name)
{
	return find_named(set->tables, set->table_count, sizeof(set->tables[0]), name);
}

const char *probe_set_find_word(const struct probe_set *set, const char *capture, int64_t value)
{
	for (size_t i = 0; i < set->words_count; i++) {
		const struct probe_words *words = &set->words[i];

		if (strcmp(words->name, capture) == 0)
			return value >= 0 && (uint64_t)value < words->row_count ? words->rows[value]
										: NULL;
	}
	return NULL;
}

/* A nested name of the Itanium ABI, "_ZN2at4_ops10add_Tensor4callE...": the parts' lengths, and
 * themselves. */
const char *probe_shown_name(enum probe_shown shown, const char *symbol, size_t *ret_length)
{
	const char *before = NULL, *last = NULL, *at = symbol, *end = symbol + strlen(symbol);
	size_t before_length = 0, length = 0;

	*ret_length = (size_t)(end - symbol);
	if (shown != PROBE_SHOWN_CLASS || strncmp(symbol, "_ZN", 3) != 0)
		return symbol;
	at += 3;
	at += strspn(at, "rVK");
	while (*at >= '1' && *at <= '9') {
		before = last;
		before_length = length;
		length = strtoul(at, (char **)&at, 10);
		if (length > (size_t)(end - at))
			return symbol;
		last = at;
		at += length;
	}
	if (*at != 'E' || !before)
		return symbol;
	*ret_length = before_length;
	return before;
}

int probe_read_words(const char *text, size_t max, char **words, size_t *count)
{
	for (const char *p = text; *p; p += strspn(p, " \t")) {
		const size_t length = strcspn(p, " \t");

		if (*count == max || length >= PROBE_PATTERN_MAX)
			return -E2BIG;
		words[*count] = strndup(p, length);
		if (!words[*count])
			return -ENOMEM;
		++*count;
		p += length;
	}
	return 0;
}

static void texts_free(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
}

struct probe_set *probe_set_free(struct probe_set *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->probe_count; i++) {
		texts_free(s->probes[i]->symbols, s->probes[i]->symbol_count);
		texts_free(s->probes[i]->callbacks, s->probes[i]->callback_count);
		free(s->probes[i]);
	}
	for (size_t i = 0; i < s->library_count; i++) {
		texts_free(s->libraries[i]->patterns, s->libraries[i]->pattern_count);
		texts_free(s->libraries[i]->callbacks, s->libraries[i]->callback_count);
		texts_free(s->libraries[i]->parts, s->libraries[i]->part_count);
		free(s->libraries[i]->program_marker);
		free(s->libraries[i]);
	}
	for (size_t i = 0; i < s->words_count; i++)
		texts_free(s->words[i].rows, s->words[i].row_count);
	free(s->probes);
	free(s->libraries);
	free(s->file);
	free(s->about);
	free(s);
	return NULL;
}

void probe_set_freep(struct probe_set **s)
{
	*s = probe_set_free(*s);
}

/* ---- what must not be attached ---- */

#define PATTERN_LETTERS_MIN 3

/* Functions that return twice, elsewhere, or on another stack, or that inspect their caller: with a
 * return probe the program would crash, or dlsym(RTLD_NEXT) find nothing. */
/* clang-format off */
static const char *const return_otherwise[] = {
	"setjmp", "_setjmp", "__sigsetjmp", "sigsetjmp", "vfork", "__vfork", "clone", "__clone*",
	"clone3", "dlopen", "dlmopen", "dlsym", "dlvsym", "dl_iterate_phdr", "_dl_*", "mcount",
	"_mcount", "__fentry__", "__cyg_profile_func_*", "getcontext", "swapcontext",
	"setcontext", "makecontext", "longjmp", "siglongjmp", "pthread_exit", "__cxa_throw",
	"__cxa_rethrow", "_Unwind_RaiseException", "_Unwind_ForcedUnwind", "_Unwind_Resume",
	"_Unwind_Resume_or_Rethrow",
};
/* clang-format on */

static const char *lint_places(const struct probe *probe)
{
	bool is_function = probe->site == PROBE_FUNCTION;

	for (size_t i = 0; i < probe->symbol_count; i++) {
		size_t letters = 0;

		for (const char *p = probe->symbols[i]; *p; p++)
			letters += !strchr("*?[]_", *p);
		if (strpbrk(probe->symbols[i], "*?[") && letters < PATTERN_LETTERS_MIN)
			return "this pattern stands for almost every symbol";
		if (strpbrk(probe->symbols[i], "*?[") && !is_function)
			return "only functions of libraries can be named by patterns";
		for (size_t k = 0; k < ARRAY_SIZE(return_otherwise); k++) {
			if (probe->exit == PROBE_EXIT_RETURN &&
			    (fnmatch(probe->symbols[i], return_otherwise[k], 0) == 0 ||
			     fnmatch(return_otherwise[k], probe->symbols[i], 0) == 0))
				return "it does not return as others do, or looks at who called it: a return probe would end the program or change its results";
		}
	}
	return NULL;
}

static const char *lint_exit(const struct probe *probe)
{
	bool has_exit = probe->exit != PROBE_EXIT_NONE;
	bool is_at_return = false;

	for (size_t i = 0; i < probe->value_count; i++)
		is_at_return |= probe->values[i].is_at_return;
	if (probe->exit == PROBE_EXIT_RETURN && probe->is_throwing)
		return "an exception may cross it, and a return probe would end the program: 'exit = ret-insn' or 'none', or 'throws = no' where that is certain";
	if (probe->exit == PROBE_EXIT_RET_INSN && probe->site != PROBE_FUNCTION && !*probe->until)
		return "'ret-insn' is for functions of libraries";
	if (has_exit && !*probe->until &&
	    (probe->site == PROBE_USDT || probe->site == PROBE_TRACEPOINT))
		return "it has no return, so that 'exit' must be 'none'";
	if (!has_exit && is_at_return)
		return "a value is read at the return, and 'exit' is 'none'";
	if (!has_exit && probe->has_duration_histogram)
		return "'hist' wants durations, and 'exit' is 'none'";
	if (!has_exit && (probe->condition.over_ns || probe->condition.is_failed))
		return "'event.if' wants what is known at the return, and 'exit' is 'none'";
	return NULL;
}

static const char *lint_rest(const struct probe *probe)
{
	bool is_user = probe->site == PROBE_FUNCTION || probe->site == PROBE_USDT;

	if (probe->is_sleepable && probe->site != PROBE_FUNCTION)
		return "'sleepable' is for functions of libraries";
	if (probe->is_sleepable && !probe->text.max_bytes)
		return "'sleepable' is for strings, and it takes none";
	if (probe->text.max_bytes && probe->site == PROBE_FUNCTION && !probe->is_sleepable)
		return "a string that the program has not touched reads empty unless 'sleepable = yes'";
	if (probe->text.max_bytes && probe->text.pointer.is_at_return)
		return "'at return' is not for strings: their address is the entry's";
	if (probe->shown == PROBE_SHOWN_TEXT && (!probe->text.max_bytes || !probe->key_count))
		return "'shown = text' wants a string, and keys by which strings are told apart";
	if (probe->has_size_histogram && !probe->bytes_count)
		return "'hist' wants bytes, and there are none";
	if (probe->change.action == PROBE_MAP_PUT_BYTES && !probe->bytes_count)
		return "'map.put' wants bytes, and there are none";
	if (probe->is_silent && !probe->change.action && !probe->is_naming)
		return "it is silent, changes no map and names nothing: nothing would come of it";
	if (probe->kind == PROBE_OPEN && !probe->text.max_bytes)
		return "'kind = open' wants a string, the path";
	if (probe->is_naming && !probe->text.max_bytes)
		return "'names' wants a string, and it takes none";
	return is_user && !probe->library ? "it has no library" : NULL;
}

int probe_lint(const struct probe_set *set, const struct probe *probe,
	       const struct probe_rights *rights, struct error *err)
{
	const char *wrong = lint_places(probe);

	if (!wrong)
		wrong = lint_exit(probe);
	if (!wrong)
		wrong = lint_rest(probe);
	if (wrong)
		return error_set(err, -EINVAL, "%s:%u: %s: %s", set->file, probe->line, probe->name,
				 wrong);
	if (rights && !rights->is_root && !probe->library)
		return error_set(err, -EPERM, "%s:%u: %s: only root may probe the kernel",
				 set->file, probe->line, probe->name);
	return 0;
}

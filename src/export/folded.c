/* SPDX-License-Identifier: MIT */
#include "export/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "basic/idmap.h"
#include "basic/macro.h"
#include "trace/call.h"

#define DEPTH_MAX 16
#define STACK_BYTES 4096

struct folded_function { /* at one place of a stack */
	char *name;
	uint64_t ns; /* with what it called */
	struct folded_function *first_called, *next;
};

/* levels[n]: what ended in a call of depth n - 1 that has not; levels[0]: what is complete. */
struct folded_thread {
	struct trace_process process;
	struct folded_function *levels[DEPTH_MAX + 1];
};

struct folded {
	struct idmap threads;
};

static struct folded_function *functions_free(struct folded_function *f)
{
	while (f) {
		struct folded_function *next = f->next;

		functions_free(f->first_called);
		free(f->name);
		free(f);
		f = next;
	}
	return NULL;
}

/* The one of that name in the list *@first, where it is added if it is new; NULL: no memory. */
static struct folded_function *function_in(struct folded_function **first, const char *name)
{
	struct folded_function *f = *first;

	while (f && strcmp(f->name, name) != 0)
		f = f->next;
	if (f)
		return f;
	f = calloc(1, sizeof(*f));
	if (!f || !(f->name = strdup(name))) {
		free(f);
		return NULL;
	}
	f->next = *first;
	*first = f;
	return f;
}

/* Add @from, with what it called, to the list *@to. */
static int functions_merge(struct folded_function **to, const struct folded_function *from)
{
	for (; from; from = from->next) {
		struct folded_function *f = function_in(to, from->name);

		if (!f || functions_merge(&f->first_called, from->first_called) < 0)
			return -ENOMEM;
		f->ns += from->ns;
	}
	return 0;
}

static struct folded_thread *folded_thread(struct folded *f, const struct trace_call *call)
{
	struct folded_thread *thread = idmap_get(&f->threads, call->tid);

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread || idmap_put(&f->threads, call->tid, thread) < 0) {
		free(thread);
		return NULL;
	}
	thread->process = *call->process;
	return thread;
}

bool folded_has_any(const struct folded *f)
{
	return f->threads.count > 0;
}

struct folded *folded_new(void)
{
	return calloc(1, sizeof(struct folded));
}

int folded_add(struct folded *f, const struct trace_call *call)
{
	struct folded_thread *thread;
	struct folded_function *function;
	uint32_t depth = MIN(call->depth, DEPTH_MAX - 1U);
	int r;

	if (!call->has_returned)
		return 0;
	thread = folded_thread(f, call);
	function = thread ? function_in(&thread->levels[depth], call->name) : NULL;
	if (!function)
		return -ENOMEM;
	function->ns += call->duration_ns;
	r = functions_merge(&function->first_called, thread->levels[depth + 1]);
	thread->levels[depth + 1] = functions_free(thread->levels[depth + 1]);
	return r;
}

static void write_functions(const struct folded_function *f, char *stack, size_t length, FILE *out)
{
	for (; f; f = f->next) {
		size_t more = (size_t)snprintf(stack + length, STACK_BYTES - length, ";%s",
					       f->name);
		uint64_t called_ns = 0;

		for (const struct folded_function *c = f->first_called; c; c = c->next)
			called_ns += c->ns;
		if (f->ns > called_ns)
			fprintf(out, "%s %" PRIu64 "\n", stack, f->ns - called_ns);
		if (length + more < STACK_BYTES)
			write_functions(f->first_called, stack, length + more, out);
		stack[length] = '\0';
	}
}

int folded_write(const struct folded *f, FILE *out)
{
	const struct folded_thread *thread;
	size_t at = 0;

	while ((thread = idmap_next(&f->threads, &at))) {
		const struct trace_process *process = &thread->process;
		char stack[STACK_BYTES];
		int length = process->rank >= 0
				     ? snprintf(stack, sizeof(stack), "rank %d", process->rank)
				     : snprintf(stack, sizeof(stack), "%s", process->task);

		for (size_t i = 0; i <= DEPTH_MAX; i++)
			write_functions(thread->levels[i], stack, (size_t)length, out);
	}
	errno = 0;
	if (fflush(out) != 0 || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}

struct folded *folded_free(struct folded *f)
{
	struct folded_thread *thread;
	size_t at = 0;

	if (!f)
		return NULL;
	while ((thread = idmap_next(&f->threads, &at))) {
		for (size_t i = 0; i <= DEPTH_MAX; i++)
			functions_free(thread->levels[i]);
		free(thread);
	}
	idmap_clear(&f->threads);
	free(f);
	return NULL;
}

void folded_freep(struct folded **f)
{
	*f = folded_free(*f);
}

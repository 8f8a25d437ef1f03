/* SPDX-License-Identifier: MIT */
#include "export/otlp.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/fnv.h"
#include "basic/idmap.h"
#include "basic/macro.h"
#include "model/document.h"
#include "trace/call.h"
#include "trace/names.h"

#define ID_SIZE 17 /* hexadecimal digits, as all ids */
#define TRACE_ID_SIZE 33
#define PARENT "\"parentSpanId\":\"" /* its value is known later */
#define WAITING_MAX 16384 /* spans whose callers have not returned, of all threads */
#define REQUEST_SPANS 512
#define REQUEST_NS UINT64_C(1000000000) /* a request's oldest span waits so long for others */

enum { KIND_INTERNAL = 1 }; /* Span.SpanKind */
enum { STATUS_ERROR = 2 }; /* Status.StatusCode */

static const bool kinds_sent[PROBE_KIND_COUNT] = {
	[PROBE_COLLECTIVE] = true, [PROBE_ROOTED] = true, [PROBE_OPEN] = true,
	[PROBE_READ] = true,	   [PROBE_WRITE] = true,
};

struct otlp_span { /* of a call, whose caller has not returned */
	uint64_t start_ns;
	uint32_t depth;
	char *text; /* owned */
};

struct otlp_process {
	const struct trace_process *process;
	uint64_t span; /* its id */
	uint64_t start_ns, end_ns; /* of its first call and its last */
	bool has_spans;
	char *head; /* of its spans in a request; NULL: none is made yet */
	FILE *out; /* the spans for the next request, into .text; NULL: there are none */
	char *text;
	size_t length;
};

struct otlp_thread {
	struct otlp_process *process;
	struct otlp_span *waiting; /* by their ends */
	size_t count, room;
};

struct otlp {
	struct otlp_options options;
	char *manager, *id, *name, *host;
	char trace_id[TRACE_ID_SIZE];
	uint64_t root, next_span; /* ids */
	uint64_t start_ns;
	struct idmap processes, threads;
	size_t waiting; /* spans of all threads */
	size_t ready; /* spans for the next request */
	uint64_t ready_ns; /* the end of the first of them */
	struct otlp_counts counts;
};

/* ---- ids ---- */

static uint64_t hash_job(const struct otlp_options *job, uint64_t begin)
{
	return fnv_text(fnv_text(fnv_text(begin, job->manager), job->scope), job->id);
}

static int otlp_make_ids(struct otlp *o)
{
	uint64_t random[3]; /* so that they differ from those of all other traces */

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	o->next_span = random[0];
	if (o->options.id) {
		random[1] = hash_job(&o->options, FNV_BEGIN);
		random[2] = hash_job(&o->options, random[1]);
	}
	snprintf(o->trace_id, sizeof(o->trace_id), "%016" PRIx64 "%016" PRIx64, random[1],
		 random[2]);
	return 0;
}

static uint64_t otlp_next_span(struct otlp *o)
{
	if (++o->next_span == 0)
		o->next_span = 1;
	return o->next_span;
}

/* ---- what a span says ---- */

static void put_id(struct document *doc, const char *key, uint64_t id)
{
	char text[ID_SIZE];

	snprintf(text, sizeof(text), "%016" PRIx64, id);
	document_put_string(doc, key, text);
}

/* Numbers of 64 bits are texts in this encoding. */
static void put_number(struct document *doc, const char *key, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	document_put_string(doc, key, text);
}

static void begin_attribute(struct document *doc, const char *key)
{
	document_begin_map(doc);
	document_put_string(doc, "key", key);
	document_begin_map_of(doc, "value");
}

static void end_attribute(struct document *doc)
{
	document_end_map(doc);
	document_end_map(doc);
}

static void put_text_attribute(struct document *doc, const char *key, const char *text)
{
	if (!text)
		return;
	begin_attribute(doc, key);
	document_put_string(doc, "stringValue", text);
	end_attribute(doc);
}

static void put_number_attribute(struct document *doc, const char *key, int64_t number)
{
	begin_attribute(doc, key);
	put_number(doc, "intValue", number);
	end_attribute(doc);
}

/* Who made the spans: a process, or NULL: the trace itself. */
static void put_resource(const struct otlp *o, struct document *doc,
			 const struct trace_process *process)
{
	document_begin_map_of(doc, "resource");
	document_begin_list_of(doc, "attributes");
	put_text_attribute(doc, "service.name", "jobmeter");
	put_text_attribute(doc, "host.name", o->host);
	put_text_attribute(doc, "jobmeter.job.manager", o->manager);
	put_text_attribute(doc, "jobmeter.job.id", o->id);
	if (process) {
		put_number_attribute(doc, "process.pid", process->pid);
		put_text_attribute(doc, "process.executable.name", process->task);
		if (process->rank >= 0)
			put_number_attribute(doc, "mpi.rank", process->rank);
	}
	document_end_list(doc);
	document_end_map(doc);
}

/* From here to its attributes, whose list has begun.  @parent 0: none. */
static void begin_span(const struct otlp *o, struct document *doc, uint64_t id, uint64_t parent,
		       const char *name, uint64_t start_ns, uint64_t end_ns)
{
	const uint64_t offset = (uint64_t)o->options.unix_offset_ns;

	document_begin_map(doc);
	document_put_string(doc, "traceId", o->trace_id);
	put_id(doc, "spanId", id);
	if (parent)
		put_id(doc, "parentSpanId", parent);
	document_put_string(doc, "name", name);
	document_put_unsigned(doc, "kind", KIND_INTERNAL);
	put_number(doc, "startTimeUnixNano", (int64_t)(start_ns + offset));
	put_number(doc, "endTimeUnixNano", (int64_t)(end_ns + offset));
	document_begin_list_of(doc, "attributes");
}

/* Of functions of which nothing is known, no result is a failure. */
static bool has_failed(const struct trace_call *call)
{
	return call->probe->kind != PROBE_CALL && call_has_failed(call);
}

static void put_status(struct document *doc, const struct trace_call *call)
{
	char message[48];

	if (!has_failed(call))
		return;
	snprintf(message, sizeof(message), "returned %" PRId32, (int32_t)call->result);
	document_begin_map_of(doc, "status");
	document_put_string(doc, "message", message);
	document_put_unsigned(doc, "code", STATUS_ERROR);
	document_end_map(doc);
}

static void put_arguments(struct document *doc, const struct trace_call *call)
{
	const struct probe *probe = call->probe;
	char key[PROBE_NAME_MAX + 32];

	for (size_t i = 0; i < probe->capture_count; i++) {
		snprintf(key, sizeof(key), "jobmeter.argument.%s", probe->captures[i].name);
		if (call->have & 1U << i)
			put_number_attribute(doc, key, call->values[i]);
	}
	if (call->text && probe->kind != PROBE_OPEN) {
		snprintf(key, sizeof(key), "jobmeter.argument.%s", probe->text.name);
		put_text_attribute(doc, key, call->text);
	}
}

/* The file that a call is about: it is opened, or was. */
static const char *path_of(const struct trace_call *call)
{
	const int handle = probe_find_capture(call->probe, "fh");

	if (call->probe->kind == PROBE_OPEN && call->text)
		return call->text;
	return handle >= 0 && call->have & 1U << handle
		       ? names_find(call->names, call->set, "fh", call->process,
				    call->values[handle])
		       : NULL;
}

static void put_call(const struct otlp *o, struct document *doc, const struct trace_call *call,
		     uint64_t id, uint64_t parent)
{
	begin_span(o, doc, id, parent, call->name, call->start_ns,
		   call->start_ns + call->duration_ns);
	put_text_attribute(doc, "jobmeter.set", call->set->name);
	put_text_attribute(doc, "jobmeter.kind", probe_kinds[call->probe->kind]);
	put_text_attribute(doc, "code.function.name", call->name);
	put_number_attribute(doc, "thread.id", call->tid);
	put_number_attribute(doc, "cpu.logical_number", call->cpu);
	if (call->has_bytes)
		put_number_attribute(doc, "jobmeter.bytes", (int64_t)call->bytes);
	put_text_attribute(doc, "file.path", path_of(call));
	put_arguments(doc, call);
	if (call->has_returned)
		put_number_attribute(doc, "jobmeter.return", call->result);
	document_end_list(doc);
	put_status(doc, call);
	document_end_map(doc);
}

/* ---- texts of spans ---- */

struct writer { /* of one text; begins as {} */
	char *text;
	size_t length;
	FILE *out;
	struct document *doc;
};

static struct document *writer_begin(struct writer *w)
{
	w->out = open_memstream(&w->text, &w->length);
	w->doc = w->out ? document_new_json(w->out, DOCUMENT_ONE_LINE) : NULL;
	return w->doc;
}

/* The caller frees it; NULL: no memory. */
static char *writer_end(struct writer *w)
{
	bool is_whole = w->doc && document_finish(w->doc) == 0;

	document_free(w->doc);
	if (w->out)
		is_whole &= fclose(w->out) == 0;
	if (!is_whole) {
		free(w->text);
		return NULL;
	}
	w->text[strcspn(w->text, "\n")] = '\0';
	return w->text;
}

/* ---- requests ---- */

/* What precedes the spans of a resource. */
static char *format_head(const struct otlp *o, const struct trace_process *process)
{
	struct writer w = {};
	struct document *doc = writer_begin(&w);
	char *text, *head = NULL;

	if (doc) {
		document_begin_map(doc);
		put_resource(o, doc, process);
		document_end_map(doc);
	}
	text = writer_end(&w);
	if (text && asprintf(&head,
			     "%.*s,\"scopeSpans\":[{\"scope\":{\"name\":\"jobmeter\","
			     "\"version\":\"%s\"},\"spans\":[",
			     (int)strlen(text) - 1, text, JOBMETER_VERSION) < 0)
		head = NULL;
	free(text);
	return head;
}

/* @span is for the next request, and is freed; NULL: there was no memory for it. */
static int otlp_ready(struct otlp *o, struct otlp_process *p, char *span)
{
	_cleanup_free_ char *text = span;

	if (!p->head)
		p->head = format_head(o, p->process);
	if (!text || !p->head)
		return -ENOMEM;
	if (p->out) {
		fputc(',', p->out);
	} else {
		p->out = open_memstream(&p->text, &p->length);
		if (!p->out)
			return -ENOMEM;
		fputs(p->head, p->out);
	}
	fputs(text, p->out);
	p->has_spans = true;
	o->ready++;
	return 0;
}

static int process_end_spans(struct otlp_process *p, bool is_first, FILE *request)
{
	bool is_whole;

	fputs("]}]}", p->out);
	is_whole = fclose(p->out) == 0;
	p->out = NULL;
	if (is_whole)
		fprintf(request, "%s%s", is_first ? "" : ",", p->text);
	free(p->text);
	p->text = NULL;
	return is_whole ? 0 : -ENOMEM;
}

static int otlp_send(struct otlp *o)
{
	struct otlp_process *p;
	const size_t spans = o->ready;
	char *text = NULL;
	size_t length, at = 0;
	FILE *request = spans ? open_memstream(&text, &length) : NULL;
	bool is_first = true;
	int r = request || !spans ? 0 : -ENOMEM;

	if (!request)
		return r;
	fputs("{\"resourceSpans\":[", request);
	while ((p = idmap_next(&o->processes, &at)) && r == 0) {
		if (!p->out)
			continue;
		r = process_end_spans(p, is_first, request);
		is_first = false;
	}
	fputs("]}", request);
	if (fclose(request) != 0 || r < 0) {
		free(text);
		return -ENOMEM;
	}
	o->ready = 0;
	o->counts.spans += spans;
	return o->options.take(o->options.context, text, length, spans);
}

/* ---- calls ---- */

/* Those of @t that ended in a call of @depth since @start_ns have @parent, and wait no more. */
static int otlp_place(struct otlp *o, struct otlp_thread *t, uint32_t depth, uint64_t start_ns,
		      uint64_t parent)
{
	size_t first = t->count, kept;
	char id[ID_SIZE];
	int r = 0;

	snprintf(id, sizeof(id), "%016" PRIx64, parent);
	/* They wait in the order of their ends: what began since is last. */
	while (first > 0 && t->waiting[first - 1].start_ns >= start_ns)
		first--;
	kept = first;
	for (size_t i = first; i < t->count; i++) {
		struct otlp_span *span = &t->waiting[i];

		if (r < 0 || span->depth <= depth) {
			t->waiting[kept++] = *span;
			continue;
		}
		memcpy(strstr(span->text, PARENT) + strlen(PARENT), id, ID_SIZE - 1);
		r = otlp_ready(o, t->process, span->text);
		assert(o->waiting > 0);
		o->waiting--;
	}
	t->count = kept;
	return r;
}

/* Nothing is around them that becomes a span. */
static int otlp_place_all(struct otlp *o, struct otlp_thread *t)
{
	int r = 0;

	for (size_t i = 0; i < t->count; i++) {
		if (r == 0)
			r = otlp_ready(o, t->process, t->waiting[i].text);
		else
			free(t->waiting[i].text);
	}
	o->waiting -= t->count;
	t->count = 0;
	return r;
}

static int otlp_wait(struct otlp *o, struct otlp_thread *t, const struct trace_call *call,
		     char *text)
{
	int r = 0;

	if (o->waiting >= WAITING_MAX) { /* more, where other threads wait alone */
		o->counts.misplaced += t->count;
		r = otlp_place_all(o, t);
	}
	if (r == 0 && !text)
		r = -ENOMEM;
	if (r == 0)
		r = array_reserve(&t->waiting, &t->room, t->count, sizeof(*t->waiting));
	if (r < 0) {
		free(text);
		return r;
	}
	t->waiting[t->count++] = (struct otlp_span){ call->start_ns, call->depth, text };
	o->waiting++;
	return 0;
}

static struct otlp_process *otlp_process(struct otlp *o, uint32_t pid,
					 const struct trace_process *process)
{
	struct otlp_process *p = idmap_get(&o->processes, pid);

	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p || idmap_put(&o->processes, pid, p) < 0) {
		free(p);
		return NULL;
	}
	p->process = process;
	p->span = otlp_next_span(o);
	p->start_ns = UINT64_MAX;
	return p;
}

static struct otlp_thread *otlp_thread(struct otlp *o, uint32_t tid)
{
	struct otlp_thread *t = idmap_get(&o->threads, tid);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (t && idmap_put(&o->threads, tid, t) == 0)
		return t;
	free(t);
	return NULL;
}

static int otlp_add_span(struct otlp *o, struct otlp_thread *t, const struct trace_call *call)
{
	const uint64_t id = otlp_next_span(o);
	struct writer w = {};
	struct document *doc = writer_begin(&w);
	char *text;
	int r = otlp_place(o, t, call->depth, call->start_ns, id);

	if (doc)
		put_call(o, doc, call, id, t->process->span);
	text = writer_end(&w);
	o->counts.call_spans++;
	if (r < 0) {
		free(text);
		return r;
	}
	return call->depth ? otlp_wait(o, t, call, text) : otlp_ready(o, t->process, text);
}

static bool is_wanted(const struct otlp *o, const struct trace_call *call)
{
	return kinds_sent[call->probe->kind] || call->duration_ns >= o->options.slow_ns ||
	       has_failed(call);
}

int otlp_add(struct otlp *o, const struct trace_call *call)
{
	const uint64_t end_ns = call->start_ns + call->duration_ns;
	struct otlp_process *p = otlp_process(o, call->process->pid, call->process);
	struct otlp_thread *t = otlp_thread(o, call->tid);
	int r = 0;

	if (!p || !t)
		return -ENOMEM;
	if (t->process != p) /* another one had that number */
		r = otlp_place_all(o, t);
	t->process = p;
	o->counts.calls++;
	o->start_ns = MIN(o->start_ns, call->start_ns);
	p->start_ns = MIN(p->start_ns, call->start_ns);
	p->end_ns = MAX(p->end_ns, end_ns);
	if (r == 0 && is_wanted(o, call))
		r = otlp_add_span(o, t, call);
	if (r == 0 && !call->depth)
		r = otlp_place_all(o, t);
	if (o->ready && !o->ready_ns)
		o->ready_ns = end_ns;
	if (r == 0 &&
	    (o->ready >= REQUEST_SPANS || (o->ready && end_ns >= o->ready_ns + REQUEST_NS))) {
		o->ready_ns = 0;
		r = otlp_send(o);
	}
	return r;
}

int otlp_flush(struct otlp *o)
{
	o->ready_ns = 0;
	return otlp_send(o);
}

/* ---- its beginning and end ---- */

static char *copy_text(const char *text)
{
	return text ? strdup(text) : NULL;
}

int otlp_open(const struct otlp_options *options, struct otlp **ret, struct error *err)
{
	_cleanup_(otlp_freep) struct otlp *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return error_set_errno(err, ENOMEM, "cannot trace");
	o->options = *options;
	o->start_ns = options->start_ns;
	o->manager = copy_text(options->manager);
	o->id = copy_text(options->id);
	o->name = copy_text(options->name);
	o->host = copy_text(options->host);
	if (!o->manager != !options->manager || !o->id != !options->id || !o->name ||
	    !o->host != !options->host)
		return error_set_errno(err, ENOMEM, "cannot trace");
	r = otlp_make_ids(o);
	if (r < 0)
		return error_set_errno(err, r, "cannot make ids");
	o->root = otlp_next_span(o);
	*ret = TAKE_PTR(o);
	return 0;
}

static int otlp_add_process(struct otlp *o, struct otlp_process *p)
{
	struct writer w = {};
	struct document *doc = writer_begin(&w);
	char name[32];

	snprintf(name, sizeof(name), "rank %d", p->process->rank);
	if (doc) {
		begin_span(o, doc, p->span, o->root, p->process->rank < 0 ? p->process->task : name,
			   p->start_ns, p->end_ns);
		document_end_list(doc);
		document_end_map(doc);
	}
	return otlp_ready(o, p, writer_end(&w));
}

/* The trace's own resource is kept among those of processes, under 0, which is no PID. */
static int otlp_add_root(struct otlp *o, uint64_t end_ns)
{
	struct otlp_process *p = otlp_process(o, 0, NULL);
	struct writer w = {};
	struct document *doc = writer_begin(&w);
	char *text;

	if (doc) {
		begin_span(o, doc, o->root, 0, o->name, o->start_ns, end_ns);
		put_number_attribute(doc, "jobmeter.calls", (int64_t)o->counts.calls);
		document_end_list(doc);
		document_end_map(doc);
	}
	text = writer_end(&w);
	if (p)
		return otlp_ready(o, p, text);
	free(text);
	return -ENOMEM;
}

int otlp_finish(struct otlp *o, uint64_t end_ns, struct otlp_counts *ret)
{
	struct otlp_process *p;
	struct otlp_thread *t;
	size_t at = 0;
	int r = 0;

	while (r == 0 && (t = idmap_next(&o->threads, &at)))
		r = otlp_place_all(o, t); /* their callers have not returned */
	for (at = 0; r == 0 && (p = idmap_next(&o->processes, &at));) {
		end_ns = MAX(end_ns, p->end_ns);
		if (r == 0 && p->has_spans)
			r = otlp_add_process(o, p);
	}
	if (r == 0)
		r = otlp_add_root(o, end_ns);
	if (r == 0)
		r = otlp_send(o);
	*ret = o->counts;
	return r;
}

static void process_free(struct otlp_process *p)
{
	if (p->out)
		fclose(p->out);
	free(p->head);
	free(p->text);
	free(p);
}

static void thread_free(struct otlp_thread *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->waiting[i].text);
	free(t->waiting);
	free(t);
}

struct otlp *otlp_free(struct otlp *o)
{
	struct otlp_process *p;
	struct otlp_thread *t;
	size_t at = 0;

	if (!o)
		return NULL;
	while ((p = idmap_next(&o->processes, &at)))
		process_free(p);
	for (at = 0; (t = idmap_next(&o->threads, &at));)
		thread_free(t);
	idmap_clear(&o->processes);
	idmap_clear(&o->threads);
	free(o->manager);
	free(o->id);
	free(o->name);
	free(o->host);
	free(o);
	return NULL;
}

void otlp_freep(struct otlp **o)
{
	*o = otlp_free(*o);
}

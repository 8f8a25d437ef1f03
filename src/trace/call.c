/* SPDX-License-Identifier: MIT */
#include "trace/call.h"

#include <stdio.h>

#include "bpf/trace_rows.h"
#include "model/document.h"
#include "trace/names.h"

void call_decode(const struct trace_event *event, const struct probe_set *set,
		 const struct probe *probe, const char *name, struct trace_call *ret)
{
	const struct trace_event_long *tail = NULL;

	if (event->size >= sizeof(*tail))
		tail = (const struct trace_event_long *)(const void *)event;
	*ret = (struct trace_call){
		.set = set,
		.probe = probe,
		.name = name,
		.tid = event->tid,
		.cpu = event->cpu,
		.depth = event->depth,
		.start_ns = event->start_ns,
		.has_returned = event->flags & TRACE_HAS_RETURNED,
		.duration_ns = event->duration_ns,
		.result = *probe->until ? 0 : event->result, /* which is no function's */
		.has_bytes = event->flags & TRACE_HAS_BYTES,
		.bytes = event->bytes,
		.have = event->has,
		.text = tail && event->flags & TRACE_HAS_TEXT ? tail->text : NULL,
	};
	for (size_t i = 0; i < PROBE_CAPTURES_MAX; i++) {
		if (i < TRACE_SHORT_CAPTURES)
			ret->values[i] = event->captures[i];
		else if (tail)
			ret->values[i] = tail->captures[i - TRACE_SHORT_CAPTURES];
		else
			ret->have &= ~(1U << i);
	}
}

bool call_has_failed(const struct trace_call *call)
{
	const int32_t result = (int32_t)call->result;

	if (!call->has_returned || call->probe->fails == PROBE_FAILS_NEVER)
		return false;
	return call->probe->fails == PROBE_FAILS_BELOW_0 ? result < 0 : result != 0;
}

void call_format_arguments(const struct trace_call *call, struct document *doc)
{
	const struct probe *probe = call->probe;

	for (size_t i = 0; i < probe->capture_count; i++) {
		const struct probe_capture *capture = &probe->captures[i];
		char key[PROBE_NAME_MAX + sizeof("_name")];
		const char *name;

		if (!(call->have & 1U << i))
			continue;
		/* 64 bits without a sign are too many for most readers of JSON. */
		document_put_signed(doc, capture->name, call->values[i]);
		name = names_find(call->names, call->set, capture->name, call->process,
				  call->values[i]);
		snprintf(key, sizeof(key), "%s_name", capture->name);
		if (name)
			document_put_string(doc, key, name);
	}
	if (call->text)
		document_put_string(doc, probe->text.name, call->text);
}

/* SPDX-License-Identifier: MIT */
#include "export/call_line.h"

#include <errno.h>
#include <stdbool.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "trace/call.h"

static void put_known(struct document *doc, const char *key, bool is_known, int64_t number)
{
	document_key(doc, key);
	if (is_known)
		document_signed(doc, number);
	else
		document_null(doc);
}

int call_line_write(const struct trace_call *call, const char *job, int64_t unix_offset_ns,
		    FILE *out)
{
	_cleanup_(document_freep) struct document *doc = document_new_json(out,
									   DOCUMENT_LINE_OF_MANY);
	const struct trace_process *process = call->process;
	char probe[2 * PROBE_NAME_MAX + PROBE_PATTERN_MAX];

	if (!doc)
		return -ENOMEM;
	snprintf(probe, sizeof(probe), "%s:%s", call->set->name, call->name);
	document_begin_map(doc);
	document_put_string(doc, "task", process->task);
	put_known(doc, "rank", process->rank >= 0, process->rank);
	document_put_unsigned(doc, "pid", process->pid);
	document_put_unsigned(doc, "tid", call->tid);
	document_put_unsigned(doc, "cpu", call->cpu);
	document_put_unsigned(doc, "timestamp_ns", call->start_ns + (uint64_t)unix_offset_ns);
	document_put_string(doc, "job", job);
	document_put_string(doc, "probe", probe);
	document_begin_flat_map_of(doc, "arguments");
	call_format_arguments(call, doc);
	document_end_map(doc);
	put_known(doc, "bytes", call->has_bytes, (int64_t)call->bytes);
	put_known(doc, "duration_ns", call->has_returned, (int64_t)call->duration_ns);
	put_known(doc, "return", call->has_returned, call->result);
	if (call->withheld && !call->has_returned)
		document_put_string(doc, "return_not_traced", call->withheld);
	document_end_map(doc);
	return document_finish(doc);
}

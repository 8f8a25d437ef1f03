/* SPDX-License-Identifier: MIT */
#include "server/ingest.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "codec/gzip_member.h"
#include "codec/ledger.h"
#include "codec/records.h"
#include "model/document.h"
#include "model/record.h"
#include "server/store/store.h"
#include "service/credential.h"

#define VALUES_MAX (1u << 20) /* of a line: a quarter of a GB at most */

/* What a line may be, by the schema that it names. */
static const struct schema {
	const char *name;
	int (*put)(struct store *s, const struct store_line *line, enum store_answer *ret,
		   struct error *reason);
} schemas[] = {
	{ RECORD_SCHEMA, store_put_record },
	{ LEDGER_SCHEMA, store_put_ledger },
};

struct batch {
	struct store *store;
	const struct ingest_request *request;
	struct ingest_counts counts; /* as they are if it is taken */
	bool has_taken;
	FILE *out;
};

static void put_answer(struct batch *b, enum store_answer answer, const struct error *reason)
{
	static const char *const words[] = {
		[STORE_TAKEN] = "taken", [STORE_KNOWN] = "known", [STORE_REFUSED] = "refused"
	};
	struct document *d = document_new_json(b->out, DOCUMENT_ONE_LINE);

	document_begin_map(d);
	document_put_string(d, "answer", words[answer]);
	if (answer == STORE_REFUSED)
		document_put_string(d, "reason", reason->text);
	document_end_map(d);
	(void)document_finish(d); /* the stream remembers what fails */
	document_free(d);
	b->counts.answers[answer]++;
	b->has_taken |= answer == STORE_TAKEN;
}

/* An upper bound of the number of values, without parsing: each may take 250 bytes of memory. */
static size_t count_values(const char *text, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += text[i] == ',' || text[i] == '[' || text[i] == '{';
	return count;
}

static json_t *parse(const char *text, size_t length, struct error *reason)
{
	json_error_t error = {};
	json_t *root = NULL;

	if (length > RECORD_FILE_MAX)
		error_set(reason, 0, "the line has %zu bytes, and may have %d", length,
			  RECORD_FILE_MAX);
	else if (count_values(text, length) > VALUES_MAX)
		error_set(reason, 0, "the line has more than %u values", VALUES_MAX);
	else if (!(root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error)))
		error_set(reason, 0, "column %d: %s", error.column, error.text);
	return root;
}

static const struct schema *find_schema(const json_t *root, struct error *reason)
{
	const char *name = json_string_value(json_object_get(root, "schema"));

	for (size_t i = 0; i < ARRAY_SIZE(schemas) && name; i++) {
		if (strcmp(schemas[i].name, name) == 0)
			return &schemas[i];
	}
	error_set(reason, -EINVAL,
		  name ? "the schema '%.60s' is not known here" : "it names no schema", name);
	return NULL;
}

/* Whether it is of the node that the credential names. */
static bool is_senders(const struct batch *b, const json_t *root, struct error *reason)
{
	const struct credential *sender = b->request->sender;
	const char *node = json_string_value(json_object_get(root, "node"));

	if (!sender || credential_is_of_host(sender, node ? node : ""))
		return true;
	error_set(reason, -EPERM, "it is of node '%.64s', and its credential of %.128s%s",
		  node ? node : "", *sender->host ? sender->host : "no machine that is known here",
		  *sender->host ? "(the machine's names as the server knows them)" : "");
	return false;
}

static void note_lag(struct batch *b, const json_t *root)
{
	json_int_t made_us = json_integer_value(json_object_get(root, "sequence"));
	uint64_t made_ns = made_us > 0 && made_us < INT64_MAX / 1000 ? (uint64_t)made_us * 1000 : 0;

	b->counts.lag_ns = b->request->now_ns > made_ns ? b->request->now_ns - made_ns : 0;
}

static int put_line(struct batch *b, const char *text, size_t length, struct error *err)
{
	struct error reason = {};
	json_t *root = parse(text, length, &reason);
	const struct schema *schema = root ? find_schema(root, &reason) : NULL;
	const struct store_line line = { .text = text,
					 .length = length,
					 .root = root,
					 .arrived_ns = b->request->now_ns,
					 .clock_offset_ns = b->request->clock_offset_ns,
					 .is_clock_told = b->request->is_clock_told };
	enum store_answer answer = STORE_REFUSED;
	int r = schema && is_senders(b, root, &reason)
			? schema->put(b->store, &line, &answer, &reason)
			: 0;

	if (r < 0)
		*err = reason;
	else
		put_answer(b, answer, &reason);
	if (r >= 0 && answer == STORE_TAKEN)
		note_lag(b, root);
	json_decref(root);
	return r;
}

/* Failures are not reported: the next batch carries a newer one. */
static int put_node(struct batch *b, struct error *err)
{
	const char *text = b->request->node;
	struct error unused = {};
	json_t *root = text ? parse(text, strlen(text), &unused) : NULL;
	bool is_taken = false;
	int r = root && is_senders(b, root, &unused)
			? store_put_node(b->store, root, b->request->now_ns, &is_taken, err)
			: 0;

	b->has_taken |= is_taken;
	json_decref(root);
	return r;
}

static int put_lines(struct batch *b, const char *text, size_t length, struct error *err)
{
	size_t count = 0, line;
	int r = store_begin(b->store, err);

	for (size_t at = 0; at < length && r >= 0; at += line + 1) {
		const char *end = memchr(text + at, '\n', length - at);

		line = end ? (size_t)(end - text) - at : length - at; /* the last one need have none
								       */
		r = ++count > INGEST_LINES_MAX
			    ? error_set(err, -EFBIG, "it has more than %d lines", INGEST_LINES_MAX)
			    : put_line(b, text + at, line, err);
	}
	if (r >= 0)
		r = put_node(b, err);
	if (r >= 0 && b->has_taken)
		r = store_commit(b->store, err);
	store_abandon(b->store); /* what is committed stays */
	return r;
}

static int unpack(const struct ingest_request *request, char **ret, const char **ret_text,
		  size_t *ret_length, struct error *err)
{
	int r;

	*ret_text = request->body;
	*ret_length = request->length;
	if (!request->encoding || strcasecmp(request->encoding, "identity") == 0)
		return 0;
	if (strcasecmp(request->encoding, "gzip") != 0)
		return error_set(err, -EPROTO,
				 "the content coding '%.40s' is not known here: gzip is",
				 request->encoding);
	r = gzip_members_unpack(request->body, request->length, INGEST_TEXT_MAX, ret, ret_length);
	if (r == -EFBIG)
		return error_set(err, r, "unpacked it has more than %u bytes", INGEST_TEXT_MAX);
	if (r < 0)
		return error_set(err, r == -ENOMEM ? r : -EPROTO, "it is no gzip, or not whole");
	*ret_text = *ret;
	return 0;
}

int ingest_take(struct store *s, const struct ingest_request *request, struct ingest_counts *counts,
		char **ret, size_t *ret_length, struct error *err)
{
	_cleanup_free_ char *unpacked = NULL, *answers = NULL;
	struct batch b = { .store = s, .request = request };
	const char *text = NULL;
	size_t length = 0, size = 0;
	int r = unpack(request, &unpacked, &text, &length, err);

	counts->batches++;
	counts->failed_batches++;
	b.counts = *counts;
	b.out = open_memstream(&answers, &size);
	if (r >= 0)
		r = b.out ? put_lines(&b, text, length, err) : -ENOMEM;
	if (r == -EBADMSG || r == -EINVAL) { /* a job has no row: its records are stored yet */
		rewind(b.out);
		b.counts = *counts;
		store_fold_later(s);
		r = put_lines(&b, text, length, err);
	}
	if (b.out && fclose(b.out) != 0 && r >= 0)
		r = -ENOMEM; /* it is stored, and said again it will be known */
	if (r < 0)
		return r;
	*counts = b.counts;
	counts->failed_batches--;
	counts->bytes += length;
	*ret = TAKE_PTR(answers);
	*ret_length = size;
	return 0;
}

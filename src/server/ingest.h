/* SPDX-License-Identifier: MIT */
/*
 * ingest - what nodes push: NDJSON, plain or as gzip, each line judged by itself, all of them in
 * one transaction.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INGEST_BODY_MAX (8u << 20) /* as sent */
#define INGEST_TEXT_MAX (64u << 20) /* unpacked */
#define INGEST_LINES_MAX 1024

struct credential;
struct error;
struct store;

struct ingest_counts { /* of lines, since the start */
	uint64_t answers[3]; /* by enum store_answer */
	uint64_t batches, failed_batches, bytes; /* bytes: unpacked, of what was judged */
	uint64_t lag_ns; /* between the making and the arrival of the record taken last */
};

struct ingest_request {
	const char *body;
	size_t length;
	const char *encoding; /* Content-Encoding; NULL: none */
	uint64_t now_ns; /* since the epoch */
	int64_t clock_offset_ns; /* as of struct store_line */
	bool is_clock_told;
	const struct credential *sender; /* only its records are taken; NULL: all */
	const char *node; /* state of the node, a line of NODE_SCHEMA; NULL: none */
};

/*
 * The answer's lines, which the caller frees: {"answer":"taken"}...  Where it fails nothing is
 * stored: -EFBIG: more than the bounds; -EPROTO: it is no gzip, or another coding; else as store.h
 * says.
 */
int ingest_take(struct store *s, const struct ingest_request *request, struct ingest_counts *counts,
		char **ret, size_t *ret_length, struct error *err);

/* SPDX-License-Identifier: MIT */
#include "model/document.h"

#include <inttypes.h>

#include "basic/decimal.h"
#include "model/document_backend.h"
#include "model/record.h"
#include "basic/timestamp.h"

struct document *document_free(struct document *d)
{
	if (d)
		d->backend->free(d);
	return NULL;
}

void document_freep(struct document **d)
{
	document_free(*d);
}

void document_begin_map(struct document *d)
{
	d->backend->begin(d, NESTING_MAP, false);
}

void document_begin_flat_map(struct document *d)
{
	d->backend->begin(d, NESTING_MAP, true);
}

void document_end_map(struct document *d)
{
	d->backend->end(d, NESTING_MAP);
}

void document_begin_list(struct document *d)
{
	d->backend->begin(d, NESTING_LIST, false);
}

void document_begin_flat_list(struct document *d)
{
	d->backend->begin(d, NESTING_LIST, true);
}

void document_end_list(struct document *d)
{
	d->backend->end(d, NESTING_LIST);
}

void document_key(struct document *d, const char *key)
{
	d->backend->key(d, key);
}

void document_string(struct document *d, const char *text)
{
	if (text)
		d->backend->string(d, text);
	else
		document_null(d);
}

void document_unsigned(struct document *d, uint64_t number)
{
	document_decimal(d, number, 0);
}

void document_signed(struct document *d, int64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, number);
	d->backend->literal(d, text);
}

void document_decimal(struct document *d, uint64_t number, unsigned int places)
{
	char text[DECIMAL_SIZE];

	d->backend->literal(d, decimal_format(text, number, places));
}

void document_signed_decimal(struct document *d, int64_t number, unsigned int places)
{
	char digits[DECIMAL_SIZE], text[DECIMAL_SIZE + 1];
	uint64_t size = number < 0 ? -(uint64_t)number : (uint64_t)number;

	snprintf(text, sizeof(text), "%s%s", number < 0 ? "-" : "",
		 decimal_format(digits, size, places));
	d->backend->literal(d, text);
}

void document_time(struct document *d, uint64_t ns)
{
	char text[TIMESTAMP_SIZE];

	document_string(d, ns ? timestamp_format(text, ns) : NULL);
}

void document_boolean(struct document *d, bool is_true)
{
	d->backend->literal(d, is_true ? "true" : "false");
}

void document_null(struct document *d)
{
	d->backend->literal(d, "null");
}

void document_put_string(struct document *d, const char *key, const char *text)
{
	document_key(d, key);
	document_string(d, text);
}

void document_put_unsigned(struct document *d, const char *key, uint64_t number)
{
	document_key(d, key);
	document_unsigned(d, number);
}

void document_put_signed(struct document *d, const char *key, int64_t number)
{
	document_key(d, key);
	document_signed(d, number);
}

void document_put_known(struct document *d, const char *key, bool is_known, uint64_t number,
			unsigned int places)
{
	document_key(d, key);
	if (is_known)
		document_decimal(d, number, places);
	else
		document_null(d);
}

void document_put_time(struct document *d, const char *key, uint64_t ns)
{
	document_key(d, key);
	document_time(d, ns);
}

void document_put_boolean(struct document *d, const char *key, bool is_true)
{
	document_key(d, key);
	document_boolean(d, is_true);
}

void document_put_strings(struct document *d, const char *key, const struct strings *list)
{
	document_begin_list_of(d, key);
	for (size_t i = 0; i < list->count; i++)
		document_string(d, list->items[i]);
	document_end_list(d);
}

void document_begin_map_of(struct document *d, const char *key)
{
	document_key(d, key);
	document_begin_map(d);
}

void document_begin_flat_map_of(struct document *d, const char *key)
{
	document_key(d, key);
	document_begin_flat_map(d);
}

void document_begin_list_of(struct document *d, const char *key)
{
	document_key(d, key);
	document_begin_list(d);
}

void document_begin_flat_list_of(struct document *d, const char *key)
{
	document_key(d, key);
	document_begin_flat_list(d);
}

int document_finish(struct document *d)
{
	return d->backend->finish(d);
}

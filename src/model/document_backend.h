/* SPDX-License-Identifier: MIT */
/* document_backend - what a way of writing documents has to offer; for document_*.c only. */
#pragma once

#include "model/document.h"

enum nesting { NESTING_MAP, NESTING_LIST };

struct document_backend {
	void (*begin)(struct document *d, enum nesting nesting, bool is_flat);
	void (*end)(struct document *d, enum nesting nesting);
	void (*key)(struct document *d, const char *key);
	void (*string)(struct document *d, const char *text);
	void (*literal)(struct document *d, const char *text); /* a number, true, false or null */
	int (*finish)(struct document *d);
	void (*free)(struct document *d);
};

struct document { /* the first member of what a backend allocates */
	const struct document_backend *backend;
};

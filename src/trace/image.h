/* SPDX-License-Identifier: MIT */
/*
 * image - a program or library file: where its functions and USDT probes are, and what a probe
 * there costs.
 *
 * Files come from other users: nothing that lies outside the file is believed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct image;

/* What the kernel does with the instruction under a probe. */
enum image_cost {
	IMAGE_EMULATED, /* push, nop, jump, call: some 0.6 us */
	IMAGE_STEPPED, /* anything else: it is stepped over, at some 9 us on a virtual machine */
};

struct image_site {
	const char *name; /* of the symbol, or "provider:name"; lives as long as the image */
	uint64_t offset; /* in the file, where the probe goes: behind an endbr64 */
	uint64_t size; /* of the function, as its symbol says; 0: unknown */
	enum image_cost cost;
	uint64_t semaphore; /* USDT: its offset in the file; 0: none */
	const char *arguments; /* USDT: "8@%rdi -4@-12(%rbp)"; NULL: of a function */
};

/* @fd stays the caller's, and open as long as the image.  -ENOEXEC: no program or library of this
 * machine. */
int image_open(int fd, struct image **ret, struct error *err);
/* The same of a file in memory, that stays the caller's. */
int image_open_memory(char *bytes, size_t size, struct image **ret, struct error *err);
struct image *image_free(struct image *image); /* NULL is fine; returns NULL */
void image_freep(struct image **image);

bool image_is_stripped(const struct image *image); /* of all symbols but those for linking */
bool image_is_static(const struct image *image); /* it needs no dynamic linker */

bool image_defines(const struct image *image, const char *symbol); /* of any kind */
bool image_has_section(const struct image *image, const char *name);

/* Each name of its symbols, those for linking first: of its own, or (@is_import) another file's. */
void image_visit_names(const struct image *image,
		       void (*visit)(void *context, const char *name, bool is_import),
		       void *context);
/* Each library that it needs, as it names it.  A negative return ends the visit, and is its result.
 */
int image_visit_needed(const struct image *image, int (*visit)(void *context, const char *name),
		       void *context);

/* Directories where it has its libraries looked for, separated by colons; NULL: none. */
const char *image_run_path(const struct image *image);

/* A negative return ends the visit, and is its result. */
typedef int (*image_visitor)(void *context, const struct image_site *site);

/* Each function that the file defines and whose name is @pattern, or matches it as by fnmatch() if
 * it contains one of *?[.  A place may come under several names, and twice under one. */
int image_visit_functions(const struct image *image, const char *pattern, image_visitor visit,
			  void *context);
/* USDT probes of a "provider:name". */
int image_visit_usdt(const struct image *image, const char *name, image_visitor visit,
		     void *context);
/* Each `ret` of the function at @site.  -ENODATA: its code cannot be followed. */
int image_visit_returns(const struct image *image, const struct image_site *site,
			image_visitor visit, void *context);

/* The first bytes of an instruction. */
enum image_cost image_cost_of(const unsigned char *code, size_t size);

/* ---- x86-64's instructions, one by one ---- */

/* Bytes of the instruction that begins at @code; 0: it is none, or more than the @size bytes. */
size_t instruction_length(const unsigned char *code, size_t size);

bool instruction_is_return(const unsigned char *code, size_t length);

/* SPDX-License-Identifier: MIT */
/*
 * probe - what is probed, and what is taken of it: a set, read from a file of share/probes or made
 * of one --probe argument.
 *
 * A set is data and knows no address, process or kernel: whoever attaches looks its symbols up.
 * docs/sites/probe-sets.md has the format.  A probe that stands for several libraries (MPI of two
 * ABIs) is one struct probe for each.
 *
 * Values are computed in a fixed order: the word of the source; each dereference but the last reads
 * the 8 bytes at word + offset, the last `width` bytes there (without one the word is cut to
 * `width`); where `if_count` is not 0 and those bits are not `if_equal` the value is absent; the
 * bits kept; the sign; the map.  What cannot be read is absent, never 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define PROBES_MAX 1024 /* of one set */
#define PROBE_NAME_MAX 64 /* with its NUL, as all that follow */
#define PROBE_PATTERNS_MAX 8 /* symbols of a probe, and libraries */
#define PROBE_PATTERN_MAX 256
#define PROBE_CALLBACKS_MAX 24 /* functions that give a library functions to call */
#define PROBE_CAPTURES_MAX 10 /* values that an event shows */
#define PROBE_VALUES_MAX 12 /* ways to get them: a capture may have a second */
#define PROBE_DEREFS_MAX 2
#define PROBE_FACTORS_MAX 4
#define PROBE_PRODUCTS_MAX 2
#define PROBE_KEYS_MAX 2
#define PROBE_MAPS_MAX 4
#define PROBE_TABLES_MAX 8
#define PROBE_TABLE_ROWS 64
#define PROBE_WORDS_MAX 8 /* lists of words */
#define PROBE_TEXT_MAX 128 /* bytes of a string, with its NUL */
#define PROBE_ARGUMENTS 6 /* registers of x86-64: p1 to p6 */
#define PROBE_USDT_ARGUMENTS 12
#define PROBE_STACK_SLOTS 32

enum probe_site {
	PROBE_FUNCTION, /* of a library or program */
	PROBE_USDT,
	PROBE_KERNEL, /* a function of the kernel */
	PROBE_TRACEPOINT,
};

enum probe_exit {
	PROBE_EXIT_NONE, /* the entry alone: no duration and no result */
	PROBE_EXIT_RETURN, /* a return probe: fatal for an exception that crosses the frame */
	PROBE_EXIT_RET_INSN, /* a probe on each `ret`: none after a tail call, slower, harmless */
};

enum probe_fails {
	PROBE_FAILS_NOT_0,
	PROBE_FAILS_BELOW_0,
	PROBE_FAILS_NEVER
}; /* what a result says, as 32 bits */

/* What a function is called if a pattern covers many. */
enum probe_shown {
	PROBE_SHOWN_SYMBOL,
	PROBE_SHOWN_CLASS, /* of C++: what the function is a member of */
	PROBE_SHOWN_PROBE, /* as the probe, all together */
	PROBE_SHOWN_TEXT, /* each that its keys keep apart by the string that comes with it */
};

enum probe_level { PROBE_LEVEL_DEFAULT, PROBE_LEVEL_PROFILE, PROBE_LEVEL_TRACE };

/* What a call does; summaries group by it. */
enum probe_kind {
	PROBE_CALL, /* nothing of what follows */
	PROBE_SEND,
	PROBE_RECEIVE,
	PROBE_WAIT,
	PROBE_COLLECTIVE, /* none of its group leaves before all have entered */
	PROBE_ROOTED, /* of a group too, but some may leave early: broadcast, reduce */
	PROBE_OPEN,
	PROBE_READ,
	PROBE_WRITE,
	PROBE_LAUNCH, /* work for a GPU; keys by what is launched */
	PROBE_COPY, /* to, from or in a GPU's memory; keys by the direction */
	PROBE_FILL,
	PROBE_ALLOCATE,
	PROBE_FREE,
	PROBE_SYNCHRONISE, /* waits for a GPU */
	PROBE_KIND_COUNT,
};

enum probe_source {
	PROBE_ARGUMENT, /* index from 1: p1 to p6 */
	PROBE_STACK, /* index from 1: the 8 bytes at sp + 8 * index on entry */
	PROBE_RESULT, /* the return value; index 0 */
	PROBE_RECORD, /* the address of a tracepoint's record, which alone has it; index 0 */
	PROBE_CONSTANT, /* offsets[0] itself; index 0 */
};

struct probe_value {
	uint8_t capture; /* index in captures[] */
	uint8_t source; /* enum probe_source */
	uint8_t index;
	bool is_at_return; /* read when the call returns; arguments are those of the entry */
	uint8_t deref_count;
	uint8_t width; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
	uint8_t low_bit, bit_count; /* what is kept of it; 0, 0: all */
	uint8_t if_low_bit, if_count; /* what must be if_equal, before; 0, 0: nothing */
	int8_t map; /* index of the set's maps[]: the value is what the map holds of it; -1 */
	int32_t offsets[PROBE_DEREFS_MAX];
	uint64_t if_equal;
};

/* Values of one capture are adjacent in values[]; the first present one counts. */
struct probe_capture {
	char name[PROBE_NAME_MAX];
	uint8_t first_value, value_count;
	bool is_at_return; /* one of its values is */
};

/* Bytes at a pointer up to a NUL; empty (max_bytes 0): the probe takes none. */
struct probe_text {
	char name[PROBE_NAME_MAX];
	struct probe_value pointer; /* capture: unused */
	uint8_t max_bytes;
};

enum probe_factor_kind { PROBE_FACTOR_CONSTANT, PROBE_FACTOR_CAPTURE, PROBE_FACTOR_TABLE };

struct probe_factor {
	uint8_t kind; /* enum probe_factor_kind */
	uint8_t capture; /* also the one that is looked up in the table */
	uint8_t table; /* index of the set's tables[] */
	uint64_t constant;
};

/* Absent where one of its captures is, where one is negative, or outside its table, or where the
 * product has more than 63 bits. */
struct probe_product {
	struct probe_factor factors[PROBE_FACTORS_MAX];
	uint8_t factor_count;
};

/* Of one process: key and value are captures.  When the call returns and has not failed if the
 * probe has an exit, on entry else. */
enum probe_map_action { PROBE_MAP_NONE, PROBE_MAP_PUT, PROBE_MAP_PUT_BYTES, PROBE_MAP_DELETE };

struct probe_map_change {
	uint8_t action; /* enum probe_map_action; PUT_BYTES: the value is the probe's bytes */
	uint8_t map;
	uint8_t key, value; /* captures */
};

/* Which events are made where events are not all wanted; neither: none. */
struct probe_condition {
	bool is_always;
	bool is_failed; /* as `fails` says */
	uint64_t over_ns; /* the call took longer; 0: not asked */
};

struct probe_library {
	char name[PROBE_NAME_MAX]; /* of the ABI: "openmpi"; "" */
	/* Patterns as of fnmatch(), of the file's name; of its whole path where a '/' is in it. */
	char *patterns[PROBE_PATTERNS_MAX];
	size_t pattern_count;
	char *program_marker; /* the main program too, if it defines this symbol: static linking;
				 NULL: never */
	/* By what of it a file gives it functions to call, as fnmatch() without case; those of
	 * files that are parts of it do not count. */
	bool has_callbacks; /* that is known: it calls none but these */
	char *callbacks[PROBE_CALLBACKS_MAX];
	char *parts[PROBE_PATTERNS_MAX];
	size_t callback_count, part_count;
};

struct probe {
	char name[PROBE_NAME_MAX]; /* as shown; with a pattern for many functions each shows its
				      symbol */
	const struct probe_set *set; /* that it is of */
	unsigned int line; /* of the file */
	enum probe_site site;
	const struct probe_library *library; /* NULL: of the kernel */
	/* Function: exact, or a pattern as of fnmatch() where one of *?[ stands in it.  Two that
	 * are at one address count once.  USDT: "provider:name"; kernel: the function's name;
	 * tracepoint: "group:name"; one of these. */
	char *symbols[PROBE_PATTERNS_MAX];
	size_t symbol_count;
	/* Like its library's, and in addition to them. */
	char *callbacks[PROBE_PATTERNS_MAX];
	size_t callback_count;

	enum probe_exit exit;
	char until[PROBE_NAME_MAX]; /* the USDT probe that ends it, instead of a return; or "" */
	bool is_throwing; /* an exception may cross it */
	bool is_never_throwing; /* and that none does is said */
	bool is_sleepable; /* may fault pages in: for texts, of rare calls */
	bool is_inner_skipped; /* not counted within another probe of its set, on one thread */
	bool is_silent; /* changes its map, or names what it names: neither counted nor shown */
	bool is_async; /* only begins what goes on after its return: its time is not that work's */
	bool is_naming; /* its text is the name of what its capture `named` holds */
	uint8_t named;
	enum probe_shown shown;
	enum probe_fails fails;
	enum probe_level level;
	enum probe_kind kind;

	struct probe_value values[PROBE_VALUES_MAX];
	size_t value_count;
	struct probe_capture captures[PROBE_CAPTURES_MAX];
	size_t capture_count;
	struct probe_text text;

	struct probe_product bytes[PROBE_PRODUCTS_MAX]; /* the first that is there */
	size_t bytes_count; /* 0: it moves no bytes */
	uint8_t keys[PROBE_KEYS_MAX]; /* captures that divide the sums */
	size_t key_count;
	bool has_size_histogram, has_duration_histogram;
	struct probe_condition condition;
	struct probe_map_change change;
};

struct probe_table {
	char name[PROBE_NAME_MAX];
	uint64_t rows[PROBE_TABLE_ROWS]; /* 0: none */
	size_t row_count;
};

/* What the numbers of captures of this name mean: row 1 of "direction": "host-to-device". */
struct probe_words {
	char name[PROBE_NAME_MAX];
	char *rows[PROBE_TABLE_ROWS];
	size_t row_count;
};

/* (process, 64-bit key) -> 64-bit value; those of one name are one over all sets. */
struct probe_map {
	char name[PROBE_NAME_MAX];
	unsigned int max_entries;
};

struct probe_set {
	char name[PROBE_NAME_MAX]; /* "mpi-io" */
	char *file; /* as given, for messages */
	char *about; /* one sentence */
	/* Sets of one group are layers of one library: what is within a probe of another set of it
	 * is an inner one, and what one names the others show by that name.  Else its own name. */
	char group[PROBE_NAME_MAX];
	struct probe **probes; /* in the file's order */
	size_t probe_count;
	struct probe_library **libraries;
	size_t library_count;
	struct probe_table tables[PROBE_TABLES_MAX];
	size_t table_count;
	struct probe_map maps[PROBE_MAPS_MAX];
	size_t map_count;
	struct probe_words words[PROBE_WORDS_MAX];
	size_t words_count;
};

struct probe_rights {
	bool is_root; /* may probe the kernel */
};

/*
 * Read a set from @text, NUL-ended; nothing of it is kept.  @name stands before line numbers.
 * -EINVAL: *err says "NAME:LINE: what is wrong".  What was read has also passed probe_lint() but
 * for rights.
 */
int probe_set_parse(const char *text, size_t length, const char *name, struct probe_set **ret,
		    struct error *err);

/* The same from a file; @set is a path if there is a '/' in it, else a name below @directory. */
int probe_set_read(const char *directory, const char *set, struct probe_set **ret,
		   struct error *err);

/*
 * One --probe argument, as if it stood in a file: LIB:SYMBOL, kernel:FUNCTION,
 * tracepoint:GROUP:NAME or usdt:LIB:PROVIDER:NAME, then perhaps (NAME=VALUE, ...): captures, and
 * fields by their own names, as in "libz.so*:compress2(size=p4, bytes=size, exit=return)".
 */
int probe_set_parse_argument(const char *argument, struct probe_set **ret, struct error *err);

struct probe_set *probe_set_free(struct probe_set *s); /* NULL is fine; returns NULL */
void probe_set_freep(struct probe_set **s);

/* What must not be attached: *err names file and line.  -EINVAL; -EPERM: @rights do not suffice. */
int probe_lint(const struct probe_set *set, const struct probe *probe,
	       const struct probe_rights *rights, struct error *err);

/* -ENOENT: there is none of that name. */
int probe_set_find_map(const struct probe_set *set, const char *name);
int probe_find_capture(const struct probe *probe, const char *name);

/* NULL: the set has no word for that value of captures of this name. */
const char *probe_set_find_word(const struct probe_set *set, const char *capture, int64_t value);

/* What a function of @symbol is shown as, *length bytes within it: all of it, or as @shown says;
 * all of it also where that is not known, as of a template. */
const char *probe_shown_name(enum probe_shown shown, const char *symbol, size_t *ret_length);

extern const char *const probe_kinds[]; /* "collective"..., by enum probe_kind; NULL-ended */
extern const char *const probe_levels[];

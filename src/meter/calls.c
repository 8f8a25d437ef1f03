/* SPDX-License-Identifier: MIT */
#include "calls.h"

#include <assert.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "macro.h"
#include "reading.h"

static_assert(FILES_BUCKETS == HISTOGRAM_BUCKETS, "the kernel side fills the model's histograms");
static_assert(OP_COUNT <= FILES_OPS, "the kernel side has room for each operation");

#define DATA(op) { CALL_BY_DESCRIPTOR, op, op, 1 }
#define FILE_CALL(op) { CALL_BY_DESCRIPTOR, op, op, 0 }
#define OPENS { CALL_BY_RESULT, OP_OPEN, OP_CREATE, 0 }
#define EXECS { CALL_EXEC, OP_READ, OP_READ, 0 }

/* clang-format off */
static const struct {
	long nr;
	struct call_kind kind;
} calls[] = {
	{ SYS_read,      DATA(OP_READ) },
	{ SYS_pread64,   DATA(OP_READ) },
	{ SYS_readv,     DATA(OP_READ) },
	{ SYS_preadv,    DATA(OP_READ) },
	{ SYS_preadv2,   DATA(OP_READ) },
	{ SYS_write,     DATA(OP_WRITE) },
	{ SYS_pwrite64,  DATA(OP_WRITE) },
	{ SYS_writev,    DATA(OP_WRITE) },
	{ SYS_pwritev,   DATA(OP_WRITE) },
	{ SYS_pwritev2,  DATA(OP_WRITE) },
#ifdef SYS_open /* newer machines have openat alone */
	{ SYS_open,      OPENS },
	{ SYS_creat,     OPENS },
#endif
	{ SYS_openat,    OPENS },
	{ SYS_openat2,   OPENS },
	{ SYS_close,     FILE_CALL(OP_CLOSE) },
	{ SYS_fsync,     FILE_CALL(OP_FSYNC) },
	{ SYS_fdatasync, FILE_CALL(OP_FDATASYNC) },
	{ SYS_execve,    EXECS },
	{ SYS_execveat,  EXECS },
};
/* clang-format on */

void calls_fill(struct call_kind *kinds)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		assert(calls[i].nr >= 0 && calls[i].nr < FILES_CALLS);
		kinds[calls[i].nr] = calls[i].kind;
	}
}

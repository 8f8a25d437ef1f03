/* SPDX-License-Identifier: MIT */
/* numbers - the system calls that newer machines, such as arm64, never had: there they are left
 * out. */
#pragma once

#include <sys/syscall.h>

#include "counted.h"

#ifndef SYS_open
#define SYS_access CALL_NOWHERE
#define SYS_chmod CALL_NOWHERE
#define SYS_chown CALL_NOWHERE
#define SYS_futimesat CALL_NOWHERE
#define SYS_getdents CALL_NOWHERE
#define SYS_lchown CALL_NOWHERE
#define SYS_link CALL_NOWHERE
#define SYS_lstat CALL_NOWHERE
#define SYS_mkdir CALL_NOWHERE
#define SYS_mknod CALL_NOWHERE
#define SYS_readlink CALL_NOWHERE
#define SYS_rename CALL_NOWHERE
#define SYS_rmdir CALL_NOWHERE
#define SYS_stat CALL_NOWHERE
#define SYS_symlink CALL_NOWHERE
#define SYS_unlink CALL_NOWHERE
#define SYS_utime CALL_NOWHERE
#define SYS_utimes CALL_NOWHERE
#endif

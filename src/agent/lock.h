/* SPDX-License-Identifier: MIT */
/* lock - a file that one process at a time holds, with its PID in it. */
#pragma once

struct error;

/*
 * Hold it for as long as *@ret is open, here and in processes that were forked from here; the file
 * stays. -EALREADY: another one holds it; @what is the one who would ("agent"), and *@err names the
 * other's PID.  Where that one is dead, processes that it forked are waited for, for some seconds.
 */
int lock_take(const char *path, const char *what, int *ret, struct error *err);

/* The same of a directory, which has to be there (-ENOENT), and in which nothing is written. */
int lock_take_dir(const char *path, const char *what, int *ret, struct error *err);

/* SPDX-License-Identifier: MIT */
/*
 * made_root - a directory that stands for "/", filled with the files that one text describes:
 *
 *   == proc/sys/kernel/version
 *   #1 SMP PREEMPT_DYNAMIC
 *   == sys/bus/pci/devices/0000:17:00.0/driver -> ../../../bus/pci/drivers/made
 *
 * A file ends where the next heading begins, a link leads nowhere, and a heading that cannot be is
 * left out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The one of this process, in memory where that can be; removed when the process ends. */
int made_root_fd(void);

/* Write below @dir_fd what the text describes: at most MADE_FILES_MAX files. */
void made_root_fill(int dir_fd, const uint8_t *text, size_t size);
#define MADE_FILES_MAX 64

/* Remove all that is in it. */
void made_root_clear(void);

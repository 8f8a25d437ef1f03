/* SPDX-License-Identifier: MIT */
/* reference_switch - what the reference program of switches and user space share. */
#pragma once

#include <linux/types.h>

#define SWITCH_BUCKETS 27

struct absence_key {
	__u32 tid, tgid;
	__s32 user_stack, kernel_stack;
};

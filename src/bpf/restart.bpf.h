/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * restart - system calls that a signal interrupted.  At the delivery of the signal the kernel
 * decides whether the program gets EINTR or the call is restarted; a restarted call counts
 * once.
 */
#pragma once

#include "bpf/compat.bpf.h"

#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516
#define SA_RESTART 0x10000000UL

static __always_inline bool is_restart(long result)
{
	return result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK;
}

/* Does anything run?  If not (SIG_DFL, SIG_IGN), the call is restarted. */
static __always_inline bool has_handler(const struct k_sigaction *action)
{
	return (__u64)action->sa.sa_handler > 1;
}

/* Does the program get EINTR after its handler? */
static __always_inline bool is_given_up(long result, const struct k_sigaction *action)
{
	if (result == -ERESTARTNOHAND || result == -ERESTART_RESTARTBLOCK)
		return true;
	return result == -ERESTARTSYS && !(action->sa.sa_flags & SA_RESTART);
}

/* SPDX-License-Identifier: MIT */
/* clock - the time by one of the system's clocks, in ns. */
#pragma once

#include <stdint.h>
#include <time.h>

/* CLOCK_REALTIME, CLOCK_BOOTTIME..., which the kernel has. */
uint64_t clock_now_ns(clockid_t clock);

/* SPDX-License-Identifier: MIT */
/* settings - see settings.h; in sections of their own, so that user space finds them in any object.
 */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/settings.h"

const volatile struct settings settings SEC(".rodata.settings") = { .key_subsys = -1 };
volatile struct watch watch SEC(".data.watch") = { .id = ~0ULL };

/* SPDX-License-Identifier: MIT */
/* The table of sections alone, so that a test can have one of its own. */
#include "basic/macro.h"
#include "model/section.h"
#include "model/sections.h"

const struct section *const sections[] = {
	&cores_section,	 &ranks_section,    &threads_section,  &thermal_section,
	&energy_section, &oom_section,	    &network_section,  &ports_section,
	&block_section,	 &syscalls_section, &trace_section,    &gpu_section,
	&files_section,	 &steps_section,    &timeline_section, &rank_work_section,
};
const size_t section_count = ARRAY_SIZE(sections);

/* SPDX-License-Identifier: MIT */
/* sections - those that there are; each in its file in sections/.  A new one is added here, to both
 * lists. */
#pragma once

struct section;

extern const struct section cores_section, ranks_section, threads_section; /* load_balance.c, and
									      rank_work_section */
extern const struct section thermal_section, oom_section, network_section, ports_section,
	block_section, syscalls_section, files_section, steps_section, timeline_section,
	energy_section, trace_section, gpu_section, rank_work_section;

/* In the order in which they stand in a record. */
#define SECTIONS                                                                                   \
	&cores_section, &ranks_section, &threads_section, &thermal_section, &energy_section,       \
		&oom_section, &network_section, &ports_section, &block_section, &syscalls_section, \
		&trace_section, &gpu_section, &files_section, &steps_section, &timeline_section,   \
		&rank_work_section

#define PARTS_MAX 8 /* those with section.counted */

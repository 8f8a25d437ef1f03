/* SPDX-License-Identifier: MIT */
#include "sources/hardware_events.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <linux/perf_event.h>

#include "basic/cleanup.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"

#define CPUINFO_MAX (16u << 20)
#define LL_READ_MISS                                                 \
	(PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_READ << 8 | \
	 PERF_COUNT_HW_CACHE_RESULT_MISS << 16)
#define RAW(event, mask) ((uint64_t)(mask) << 8 | (event))

/* clang-format off */
static const struct hardware_event common[] = {
	{ METRIC_CPU_CYCLES,       PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,   1 },
	{ METRIC_CPU_INSTRUCTIONS, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1 },
};

/* The kernel's generic event is Intel's architectural event "LLC Misses" (SDM volume 3, chapter
 * "Performance Monitoring", event 2EH with mask 41H). On other processors it is another cache's
 * (AMD: level 2; Arm: level 1): there the last level is requested by name, which the kernel
 * refuses if the processor has no such event. */
static const struct hardware_event intel_misses[] = {
	{ METRIC_CPU_LLC_MISSES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 1 },
};
static const struct hardware_event other_misses[] = {
	{ METRIC_CPU_LLC_MISSES, PERF_TYPE_HW_CACHE, LL_READ_MISS, 1 },
};

/* FP_ARITH_INST_RETIRED, event C7H (Intel SDM volume 3, and perfmon-events.intel.com): a mask
 * for each width and precision; each count stands for as many operations as a vector has
 * elements; a fused multiply-add counts twice. Masks of equal weight share a counter: scalar;
 * 128 bits of doubles; 128 of singles and 256 of doubles; 256 of singles and 512 of doubles; 512
 * of singles. */
static const struct hardware_event intel_512[] = {
	{ METRIC_CPU_FLOPS, PERF_TYPE_RAW, RAW(0xc7, 0x03), 1 },
	{ METRIC_CPU_FLOPS, PERF_TYPE_RAW, RAW(0xc7, 0x04), 2 },
	{ METRIC_CPU_FLOPS, PERF_TYPE_RAW, RAW(0xc7, 0x18), 4 },
	{ METRIC_CPU_FLOPS, PERF_TYPE_RAW, RAW(0xc7, 0x60), 8 },
	{ METRIC_CPU_FLOPS, PERF_TYPE_RAW, RAW(0xc7, 0x80), 16 },
};
static const struct hardware_event intel_256[] = {
	{ METRIC_CPU_FLOPS, PERF_TYPE_RAW, RAW(0xc7, 0x03), 1 },
	{ METRIC_CPU_FLOPS, PERF_TYPE_RAW, RAW(0xc7, 0x04), 2 },
	{ METRIC_CPU_FLOPS, PERF_TYPE_RAW, RAW(0xc7, 0x18), 4 },
	{ METRIC_CPU_FLOPS, PERF_TYPE_RAW, RAW(0xc7, 0x20), 8 },
};

/* PMCx003, Retired SSE/AVX FLOPs (AMD's Processor Programming References of families 17h, 19h and 1Ah): operations, of a
 * multiply-accumulate two.  Bits 7:4 are those of double precision in the first models of 17h, and other things from
 * 19h on. It counts above 15 in a cycle, which Linux takes since 5.7 (57388912f96a). */
static const struct hardware_event amd_17h[] = {
	{ METRIC_CPU_FLOPS, PERF_TYPE_RAW, RAW(0x03, 0xff), 1 },
};
static const struct hardware_event amd_19h[] = {
	{ METRIC_CPU_FLOPS, PERF_TYPE_RAW, RAW(0x03, 0x0f), 1 },
};

/* Those with one kind of cores: of hybrid processors only some cores have these events. */
static const unsigned char intel_512_models[] = {
	0x55,                         /* Skylake, Cascade Lake, Cooper Lake, for servers */
	0x6a, 0x6c, 0x7d, 0x7e,       /* Ice Lake */
	0x8c, 0x8d, 0xa7,             /* Tiger Lake, Rocket Lake */
	0x8f, 0xcf, 0xad, 0xae,       /* Sapphire, Emerald and Granite Rapids */
};
static const unsigned char intel_256_models[] = {
	0x3d, 0x47, 0x4f, 0x56,       /* Broadwell */
	0x4e, 0x5e, 0x8e, 0x9e,       /* Skylake and Kaby Lake, not for servers */
	0xa5, 0xa6,                   /* Comet Lake */
};
/* clang-format on */

static void add(struct hardware_events *to, const struct hardware_event *events, size_t count)
{
	assert(to->count + count <= HARDWARE_EVENTS_MAX);
	memcpy(to->items + to->count, events, count * sizeof(*events));
	to->count += count;
}

static void add_intel(const struct processor *p, struct hardware_events *to)
{
	bool is_512 = false, is_256 = false;

	add(to, intel_misses, ARRAY_SIZE(intel_misses));
	for (size_t i = 0; i < ARRAY_SIZE(intel_512_models); i++)
		is_512 |= p->model == intel_512_models[i];
	for (size_t i = 0; i < ARRAY_SIZE(intel_256_models); i++)
		is_256 |= p->model == intel_256_models[i];
	if (p->family == 6 && is_512)
		add(to, intel_512, ARRAY_SIZE(intel_512));
	else if (p->family == 6 && is_256)
		add(to, intel_256, ARRAY_SIZE(intel_256));
}

void hardware_events_of(const struct processor *p, struct hardware_events *ret)
{
	*ret = (struct hardware_events){};
	add(ret, common, ARRAY_SIZE(common));
	if (strcmp(p->vendor, "GenuineIntel") == 0) {
		add_intel(p, ret);
		return;
	}
	add(ret, other_misses, ARRAY_SIZE(other_misses));
	if (strcmp(p->vendor, "AuthenticAMD") != 0)
		return;
	if (p->family == 0x17)
		add(ret, amd_17h, ARRAY_SIZE(amd_17h));
	else if (p->family == 0x19 || p->family == 0x1a)
		add(ret, amd_19h, ARRAY_SIZE(amd_19h));
}

/* The text behind the colon of the first line with that name, or NULL. */
static const char *find_line(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *rest;

		line += *line == '\n';
		rest = line + length;
		if (strncmp(line, name, length) != 0)
			continue;
		rest += strspn(rest, "\t ");
		if (*rest != ':')
			continue;
		rest++;
		return rest + strspn(rest, " ");
	}
	return NULL;
}

static unsigned int parse_number(const char *text)
{
	uint64_t number = 0;

	return text && parse_leading_u64(&text, &number) == 0 && number <= UINT16_MAX
		       ? (unsigned int)number
		       : 0;
}

void processor_parse(const char *cpuinfo, struct processor *ret)
{
	const char *vendor = find_line(cpuinfo, "vendor_id");

	*ret = (struct processor){};
	if (vendor)
		snprintf(ret->vendor, sizeof(ret->vendor), "%.*s",
			 (int)MIN(strcspn(vendor, "\n"), (size_t)15), vendor);
	ret->family = parse_number(find_line(cpuinfo, "cpu family"));
	ret->model = parse_number(find_line(cpuinfo, "model"));
}

void hardware_events_read(int root_fd, struct hardware_events *ret)
{
	_cleanup_free_ char *cpuinfo = NULL;
	struct processor processor = {};

	if (file_read(root_fd, "proc/cpuinfo", CPUINFO_MAX, &cpuinfo, NULL) == 0)
		processor_parse(cpuinfo, &processor);
	hardware_events_of(&processor, ret);
}

/* SPDX-License-Identifier: MIT */
#include "model/node_values.h"

#include "basic/macro.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/metric_json.h"
#include "model/sample.h"

#define KEY "node"

/* clang-format off */
static const struct row {
	const char *key;
	enum metric_id id;
} rows[NODE_VALUE_COUNT] = {
	[NODE_CPUS]             = { "cpus", METRIC_NODE_CPUS },
	[NODE_CPU_USER]         = { "cpu_user_seconds", METRIC_NODE_CPU_USER },
	[NODE_CPU_NICE]         = { "cpu_nice_seconds", METRIC_NODE_CPU_NICE },
	[NODE_CPU_SYSTEM]       = { "cpu_system_seconds", METRIC_NODE_CPU_SYSTEM },
	[NODE_CPU_IDLE]         = { "cpu_idle_seconds", METRIC_NODE_CPU_IDLE },
	[NODE_CPU_IOWAIT]       = { "cpu_iowait_seconds", METRIC_NODE_CPU_IOWAIT },
	[NODE_CPU_IRQ]          = { "cpu_irq_seconds", METRIC_NODE_CPU_IRQ },
	[NODE_CPU_SOFTIRQ]      = { "cpu_softirq_seconds", METRIC_NODE_CPU_SOFTIRQ },
	[NODE_CPU_STEAL]        = { "cpu_steal_seconds", METRIC_NODE_CPU_STEAL },
	[NODE_LOAD_1]           = { "load1", METRIC_NODE_LOAD_1 },
	[NODE_LOAD_5]           = { "load5", METRIC_NODE_LOAD_5 },
	[NODE_LOAD_15]          = { "load15", METRIC_NODE_LOAD_15 },
	[NODE_MEMORY_TOTAL]     = { "memory_total_bytes", METRIC_NODE_MEMORY_TOTAL },
	[NODE_MEMORY_AVAILABLE] = { "memory_available_bytes", METRIC_NODE_MEMORY_AVAILABLE },
	[NODE_SWAP_TOTAL]       = { "swap_total_bytes", METRIC_NODE_SWAP_TOTAL },
	[NODE_SWAP_FREE]        = { "swap_free_bytes", METRIC_NODE_SWAP_FREE },
	[NODE_PRESSURE_CPU]     = { "pressure_cpu_waiting_seconds", METRIC_NODE_PRESSURE_CPU_WAITING },
	[NODE_PRESSURE_IO]      = { "pressure_io_waiting_seconds", METRIC_NODE_PRESSURE_IO_WAITING },
	[NODE_PRESSURE_MEMORY]  = { "pressure_memory_waiting_seconds", METRIC_NODE_PRESSURE_MEMORY_WAITING },
	[NODE_GPUS]             = { "gpus", METRIC_NODE_GPU_INFO },
	[NODE_GPU_BUSY]         = { "gpus_busy", METRIC_NODE_GPU_UTILIZATION },
	[NODE_GPU_MEMORY_TOTAL] = { "gpu_memory_total_bytes", METRIC_NODE_GPU_MEMORY_TOTAL },
	[NODE_GPU_MEMORY_USED]  = { "gpu_memory_used_bytes", METRIC_NODE_GPU_MEMORY_USED },
	[NODE_GPU_POWER]        = { "gpu_watts", METRIC_NODE_GPU_POWER },
};
/* clang-format on */

static unsigned int places_of(size_t i)
{
	return metric_unit_places(metric_get(rows[i].id)->unit);
}

void node_values_add(struct node_values *v, const struct samples *samples, uint64_t boot_ns)
{
	v->boot_ns = boot_ns;
	for (size_t k = 0; k < samples->count; k++) {
		const struct sample *sample = &samples->items[k];

		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			if (rows[i].id == sample->id &&
			    sample->number <= VALUE_MAX - v->values[i].number)
				v->values[i] = (struct value){ v->values[i].number + sample->number,
							       true };
		}
	}
}

void node_values_format(const struct node_values *v, struct document *d)
{
	if (!v->boot_ns)
		return;
	document_begin_flat_map_of(d, KEY);
	document_key(d, "boot_seconds");
	document_decimal(d, v->boot_ns, metric_unit_places(UNIT_SECONDS));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		document_key(d, rows[i].key);
		if (v->values[i].is_known)
			document_decimal(d, v->values[i].number, places_of(i));
		else
			document_null(d);
	}
	document_end_map(d);
}

int node_values_parse(const struct place *place, const json_t *map, struct node_values *ret)
{
	const struct place here = place_below(place, KEY);
	struct node_values v = {};
	const json_t *node = NULL;
	bool is_known = false;
	int r = place_get(place, map, KEY, JSON_OBJECT, &node);

	if (r < 0 || !node)
		return r;
	r = place_take_number(&here, node, "boot_seconds", metric_unit_places(UNIT_SECONDS),
			      &v.boot_ns, &is_known);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(rows); i++)
		r = value_take(&here, node, rows[i].key, places_of(i), &v.values[i]);
	if (r == 0)
		*ret = v;
	return r;
}

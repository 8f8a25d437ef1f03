/* SPDX-License-Identifier: MIT */
#include "model/node_values.h"

#include "basic/macro.h"
#include "model/json_place.h"
#include "model/sample.h"
#include "model/shape.h"

/* clang-format off */
#define ROW(key, value, metric) { key, SHAPE_VALUE, 0, offsetof(struct node_values, values[value]), .first = (metric) }
static const struct field fields[] = {
	{ "boot_seconds", SHAPE_NUMBER, 0, offsetof(struct node_values, boot_ns), .unit = UNIT_SECONDS },
	ROW("cpus", NODE_CPUS, METRIC_NODE_CPUS),
	ROW("cpu_user_seconds", NODE_CPU_USER, METRIC_NODE_CPU_USER),
	ROW("cpu_nice_seconds", NODE_CPU_NICE, METRIC_NODE_CPU_NICE),
	ROW("cpu_system_seconds", NODE_CPU_SYSTEM, METRIC_NODE_CPU_SYSTEM),
	ROW("cpu_idle_seconds", NODE_CPU_IDLE, METRIC_NODE_CPU_IDLE),
	ROW("cpu_iowait_seconds", NODE_CPU_IOWAIT, METRIC_NODE_CPU_IOWAIT),
	ROW("cpu_irq_seconds", NODE_CPU_IRQ, METRIC_NODE_CPU_IRQ),
	ROW("cpu_softirq_seconds", NODE_CPU_SOFTIRQ, METRIC_NODE_CPU_SOFTIRQ),
	ROW("cpu_steal_seconds", NODE_CPU_STEAL, METRIC_NODE_CPU_STEAL),
	ROW("load1", NODE_LOAD_1, METRIC_NODE_LOAD_1),
	ROW("load5", NODE_LOAD_5, METRIC_NODE_LOAD_5),
	ROW("load15", NODE_LOAD_15, METRIC_NODE_LOAD_15),
	ROW("memory_total_bytes", NODE_MEMORY_TOTAL, METRIC_NODE_MEMORY_TOTAL),
	ROW("memory_available_bytes", NODE_MEMORY_AVAILABLE, METRIC_NODE_MEMORY_AVAILABLE),
	ROW("swap_total_bytes", NODE_SWAP_TOTAL, METRIC_NODE_SWAP_TOTAL),
	ROW("swap_free_bytes", NODE_SWAP_FREE, METRIC_NODE_SWAP_FREE),
	ROW("pressure_cpu_waiting_seconds", NODE_PRESSURE_CPU, METRIC_NODE_PRESSURE_CPU_WAITING),
	ROW("pressure_io_waiting_seconds", NODE_PRESSURE_IO, METRIC_NODE_PRESSURE_IO_WAITING),
	ROW("pressure_memory_waiting_seconds", NODE_PRESSURE_MEMORY, METRIC_NODE_PRESSURE_MEMORY_WAITING),
	ROW("gpus", NODE_GPUS, METRIC_NODE_GPU_INFO),
	ROW("gpus_busy", NODE_GPU_BUSY, METRIC_NODE_GPU_UTILIZATION),
	ROW("gpu_memory_total_bytes", NODE_GPU_MEMORY_TOTAL, METRIC_NODE_GPU_MEMORY_TOTAL),
	ROW("gpu_memory_used_bytes", NODE_GPU_MEMORY_USED, METRIC_NODE_GPU_MEMORY_USED),
	ROW("gpu_watts", NODE_GPU_POWER, METRIC_NODE_GPU_POWER),
};
#undef ROW
static const struct shape node_shape = { SHAPE_OF(struct node_values, fields) };
static const struct field member_fields[] = { { "node", SHAPE_MAP, SHAPE_FLAT, 0, .rows = &node_shape } };
static const struct shape member_shape = { SHAPE_OF(struct node_values, member_fields) };
/* clang-format on */

void node_values_add(struct node_values *v, const struct samples *samples, uint64_t boot_ns)
{
	v->boot_ns = boot_ns;
	for (size_t k = 0; k < samples->count; k++) {
		const struct sample *sample = &samples->items[k];

		for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
			struct value *value = (void *)((char *)v + fields[i].offset);

			if (fields[i].kind == SHAPE_VALUE && fields[i].first == sample->id &&
			    sample->number <= VALUE_MAX - value->number)
				*value = (struct value){ value->number + sample->number, true };
		}
	}
}

void node_values_format(const struct node_values *v, struct document *d)
{
	shape_format(&member_shape, v, d);
}

int node_values_parse(const struct place *place, const json_t *map, struct node_values *ret)
{
	struct node_values v = *ret;
	int r = shape_parse(&member_shape, place, map, &v);

	if (r == 0)
		*ret = v;
	return r;
}

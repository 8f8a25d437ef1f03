/* SPDX-License-Identifier: MIT */
/* Print docs/internals/metrics.md: the reference of all metrics and fields of a record, from their
 * tables. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "model/metric.h"
#include "model/record_field.h"

static const char *const kinds[] = {
	[KIND_COUNTER] = "counter", [KIND_PEAK] = "peak",   [KIND_LEAST] = "least",
	[KIND_LIMIT] = "limit",	    [KIND_GAUGE] = "gauge", [KIND_HISTOGRAM] = "histogram",
	[KIND_INFO] = "info",
};

static const struct scope {
	enum metric_scope scope;
	const char *title, *key_prefix;
} scopes[] = {
	{ SCOPE_JOB, "Of a job", "" },
	{ SCOPE_JOB_ENERGY, "Of a job: its energy", "" },
	{ SCOPE_MOUNT, "Of a job and a mount", "io[]." },
	{ SCOPE_MOUNT_OP, "Of a job, a mount and an operation on metadata (label `op`)", "io[]." },
	{ SCOPE_MOUNT_INTERFACE, "Of a job, a mount and an I/O interface (label `interface`)",
	  "io[].interfaces.INTERFACE." },
	{ SCOPE_SOCKET, "Of a job and a kind of sockets (label `type`)", "network.TYPE." },
	{ SCOPE_SYSCALL, "Of a job and a system call by its name (on request; in the record only)",
	  "" },
	{ SCOPE_DEVICE, "Of a job and a block device (label `device`)", "block[]." },
	{ SCOPE_FUNCTION,
	  "Of a job and a traced function (label `function`) of a probe set (label `set`)",
	  "trace." },
	{ SCOPE_GPU, "Of a job and a GPU", "" },
	{ SCOPE_FILE,
	  "Of a job and one of its most used files or directories (`run --files`; in the record only)",
	  "" },
	{ SCOPE_JOB_INFO, "Of a job: its owner (exposed only, as everything below)", "" },
	{ SCOPE_JOB_GPU, "Of a job: its GPUs", "" },
	{ SCOPE_JOB_TIME, "Of a job: its start and end", "" },
	{ SCOPE_JOB_COMPONENT, "Of a job: its energy by component", "" },
	{ SCOPE_JOB_NOW, "Of a live job: its CPUs at the sample", "" },
	{ SCOPE_JOB_COURSE, "Of a job, in its timeline alone and not scraped", "" },
	{ SCOPE_NODE, "Of the node", "" },
	{ SCOPE_NODE_DEVICE, "Of a disk or a network interface", "" },
	{ SCOPE_NODE_MOUNT, "Of a file system of the node", "" },
	{ SCOPE_NODE_PORT, "Of an InfiniBand or Omni-Path port", "" },
	{ SCOPE_NODE_SENSOR, "Of a temperature sensor", "" },
	{ SCOPE_NODE_ENERGY, "Of a sensor of energy", "" },
	{ SCOPE_NODE_OWNER, "Of the node: its energy by owner", "" },
	{ SCOPE_NODE_GPU, "Of a GPU", "" },
	{ SCOPE_NODE_GPU_INFO, "Of a GPU: its identity", "" },
	{ SCOPE_NODE_INFO, "Of the node: its identity", "" },
	{ SCOPE_AGENT, "Of the agent itself", "" },
	{ SCOPE_AGENT_INFO, "Of the agent: its identity", "" },
	{ SCOPE_AGENT_MAP, "Of the agent's BPF maps", "" },
	{ SCOPE_AGENT_LOSS, "Of the agent: losses", "" },
	{ SCOPE_AGENT_OBJECT, "Of the agent's BPF objects", "" },
	{ SCOPE_AGENT_HOOK, "Of the agent's hooks", "" },
	{ SCOPE_AGENT_SOURCE, "Of the agent's slow sources", "" },
	{ SCOPE_AGENT_SCRAPE, "Of the agent's endpoints", "" },
};

_Static_assert(ARRAY_SIZE(scopes) == SCOPE_COUNT, "each scope has its heading");

static void print_metric(const struct metric *metric, bool has_record, const char *key_prefix)
{
	const char *unit = metric_unit_name(metric->unit);

	printf("| `%s%s%s%s` | ", metric->name, metric->label ? "{" : "",
	       metric->label ? metric->label : "", metric->label ? "}" : "");
	if (has_record)
		printf("`%s%s%s.%s` | ", key_prefix,
		       metric_id_of(metric) < METRIC_JOB_COUNT ? metric->section
							       : metric_part(metric),
		       metric->scope == SCOPE_MOUNT_OP ? ".OPERATION" : "", metric->key);
	printf("%s | %s | %s |\n", unit ? unit : "", kinds[metric->kind], metric->help);
}

static void print_labels(enum metric_scope scope)
{
	const char *const *labels = metric_labels(scope);

	for (size_t i = 0; labels[i]; i++)
		printf("%s`%s`", i ? ", " : "Labels: ", labels[i]);
	printf("%s", labels[0] ? ".\n\n" : "");
}

static void print_scope(const struct scope *scope)
{
	bool has_record = scope->scope <= SCOPE_FILE;

	printf("\n## %s\n\n", scope->title);
	print_labels(scope->scope);
	printf("| metric |%s unit | kind | |\n|---|%s---|---|---|\n",
	       has_record ? " in a record |" : "", has_record ? "---|" : "");
	for (size_t id = 0; id < METRIC_COUNT; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);

		if (metric->scope == scope->scope)
			print_metric(metric, has_record, scope->key_prefix);
	}
}

static void print_fields(void)
{
	puts("\n## Other fields of a record\n\n| in a record | |\n|---|---|");
	for (size_t i = 0; i < record_field_count; i++) {
		const struct record_field *field = &record_fields[i];

		printf("| `%s%s%s` | %s |\n", field->section, *field->section ? "." : "",
		       field->key, field->help);
	}
}

int main(void)
{
	puts("<!-- Made by tools/metrics-page from the tables in src/model; a test compares them. "
	     "-->\n"
	     "# Metrics\n\n"
	     "Counters add up over processes, ranks and nodes. Of peaks the largest is kept. Limits "
	     "are the same\n"
	     "within a node and add up over nodes. Gauges are current values, and add up over "
	     "nodes only. A\n"
	     "value that was not measured is `null` in a record and has no series: absent is not "
	     "zero.\n"
	     "[record.md](record.md) describes the record, [prometheus.md](../sites/prometheus.md) "
	     "what is exposed.");
	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
		print_scope(&scopes[i]);
	print_fields();
	return 0;
}

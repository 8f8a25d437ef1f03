/* SPDX-License-Identifier: MIT */
#include "model/record_field.h"

#include <assert.h>
#include <string.h>

#include "basic/macro.h"
#include "model/job.h"
#include "model/shape.h"

#define AT(member) offsetof(struct record, member)
#define JOB(member) offsetof(struct job, member)
#define TOLD (FACT_PROLOG | FACT_STATE)

/* clang-format off */
const struct record_field record_fields[] = {
	{ "", "cluster", FIELD_STRING, AT(cluster), 0, true, "Name of the cluster, as the site calls it." },
	{ "", "node", FIELD_STRING, AT(node), 0, true, "Host name; absent when merged over nodes." },
	{ "", "boot_id", FIELD_STRING, AT(boot_id), 0, false, "The kernel's random id of this boot." },
	{ "", "agent_version", FIELD_STRING, AT(agent_version), 0, false, "Version of the jobmeter that measured." },
	{ "", "sequence", FIELD_U64, AT(sequence), 0, false, "Number of this record among those of its job." },
	{ "", "final", FIELD_BOOL, AT(is_final), 0, false, "False: a checkpoint; the job was still running, or its last counts had not come yet." },

	{ "job", "manager", FIELD_STRING, AT(job.manager), 0, true, "What gave the job its id: \"run\", \"slurm\".", JOB(manager), FACT_LIST },
	{ "job", "id", FIELD_STRING, AT(job.id), 0, true, "The job's id.", JOB(id), FACT_LIST },
	{ "job", "sluid", FIELD_STRING, AT(job.sluid), 0, false, "Slurm's second name of the job, which names one run of it.", JOB(sluid), TOLD | FACT_LIST | FACT_COLUMN },
	{ "job", "array_id", FIELD_STRING, AT(job.array_id), 0, false, "The array that the job is a task of: \"42\" of \"42_7\".", JOB(array_id), TOLD | FACT_LIST | FACT_COLUMN },
	{ "job", "array_index", FIELD_INT64, AT(job.array_index), -1, false, "Its number in the array: 7 of \"42_7\".", JOB(array_index), TOLD | FACT_LIST | FACT_COLUMN },
	{ "job", "het_offset", FIELD_INT64, AT(job.het_offset), -1, false, "Its place in a heterogeneous job: 1 of \"42+1\".", JOB(het_offset), TOLD | FACT_LIST | FACT_COLUMN },
	{ "job", "name", FIELD_STRING, AT(job.name), 0, true, "The job's name.", JOB(name), TOLD | FACT_LIST },
	{ "job", "user", FIELD_STRING, AT(job.user), 0, true, "Name of the user.", JOB(user), TOLD | FACT_LIST },
	{ "job", "uid", FIELD_INT64, AT(job.uid), -1, false, "Number of the user.", JOB(uid), TOLD | FACT_LIST },
	{ "job", "account", FIELD_STRING, AT(job.account), 0, true, "Account that the manager charges.", JOB(account), TOLD | FACT_LIST },
	{ "job", "partition", FIELD_STRING, AT(job.partition), 0, true, "The manager's partition or queue.", JOB(partition), TOLD | FACT_LIST },
	{ "job", "qos", FIELD_STRING, AT(job.qos), 0, false, "The manager's quality of service.", JOB(qos), TOLD | FACT_COLUMN },
	{ "job", "reservation", FIELD_STRING, AT(job.reservation), 0, false, "The reservation of nodes in which it ran.", JOB(reservation), TOLD | FACT_LIST | FACT_COLUMN },
	{ "job", "state", FIELD_STRING, AT(job.state), 0, false, "State of the job, or how it ended." },
	{ "job", "exit_code", FIELD_INT, AT(job.exit_code), -1, false, "The command's exit status; absent if a signal killed it." },
	{ "job", "signal", FIELD_INT, AT(job.signal), 0, false, "The signal that killed the command; with an exit code other than 0: SIGTERM, which it got in the 30 s before it failed." },
	{ "job", "rank", FIELD_INT, AT(job.rank), -1, true, "The rank that the environment names: a label only." },
	{ "job", "command", FIELD_COMMAND, AT(job.command), 0, false, "The command's arguments." },
	{ "job", "workdir", FIELD_STRING, AT(job.dir), 0, false, "Directory in which the command was started." },

	{ "time", "start", FIELD_TIME, AT(time.start_ns), 0, true, "When the job started." },
	{ "time", "end", FIELD_TIME, AT(time.end_ns), 0, false, "When the job ended." },
	{ "time", "measured_from", FIELD_TIME, AT(time.measured_from_ns), 0, false, "When measuring began." },
	{ "time", "elapsed_seconds", FIELD_SECONDS, AT(time.elapsed_ns), 0, false, "Time between start and end, suspended time included; absent if the start was not seen; merged: the longest." },

	{ "cpu", "cpus_allowed", FIELD_STRING, AT(job.cpus_allowed), 0, false, "CPUs that the job could run on, such as \"0-3,8\"." },
	{ "cpu", "cpus_used", FIELD_STRING, AT(job.cpus_used), 0, false, "CPUs that the job ran on for at least 5 % of the time, such as \"0,2\": those that cores.used counts." },
	{ "cpu", "numa_nodes_allowed", FIELD_STRING, AT(job.numa_allowed), 0, false, "NUMA nodes of the CPUs that the job could run on, such as \"0-1\"." },
	{ "cpu", "numa_nodes_used", FIELD_STRING, AT(job.numa_used), 0, false, "NUMA nodes of the CPUs that the job used." },

	{ "cores", "used", FIELD_COUNT, AT(cores.count), 0, false, "Cores that the job ran on for at least 5 % of the time; merged: of all nodes." },
	{ "cores", "balance", FIELD_SHARE, AT(cores.balance), 0, false, "Mean time on those cores, divided by the largest: 1 is even." },
	{ "ranks", "count", FIELD_COUNT, AT(ranks.count), 0, false, "Ranks: the tasks of the step that did most, or merged records of one rank each." },
	{ "ranks", "balance", FIELD_SHARE, AT(ranks.balance), 0, false, "Mean CPU time of the ranks without the time that they spent spinning, divided by the largest: 1 is even." },

	{ "threads", "count", FIELD_COUNT, AT(threads.count), 0, false, "Threads that worked, in the process that did most: those with at least an eighth of the CPU time of its busiest thread." },
	{ "threads", "balance", FIELD_SHARE, AT(threads.balance), 0, false, "Mean CPU time of these threads, divided by the largest: 1 is even." },
	{ "threads", "cpu_seconds", FIELD_DURATION, AT(threads.cpu_ns), 0, false, "CPU time of these threads together, user and system." },

	{ "thermal", "samples", FIELD_COUNT, AT(thermal.samples), 0, false, "Samples of frequency and temperature of the CPUs that the job may use." },
	{ "thermal", "frequency_hertz", FIELD_COUNT, AT(thermal.frequency_hz), 0, false, "Mean frequency of these CPUs over the samples." },
	{ "thermal", "frequency_min_hertz", FIELD_COUNT, AT(thermal.frequency_min_hz), 0, false, "Lowest frequency of any of these CPUs in any sample." },
	{ "thermal", "temperature_celsius", FIELD_CELSIUS, AT(thermal.temperature), 0, false, "Temperature of the packages of these CPUs, of several the highest; the mean over the samples." },
	{ "thermal", "temperature_max_celsius", FIELD_CELSIUS, AT(thermal.temperature_max), 0, false, "Highest temperature in any sample." },
	{ "thermal", "core_throttles", FIELD_COUNT, AT(thermal.core_throttles), 0, false, "Times that these cores slowed down because they were too warm, whoever used them." },
	{ "thermal", "package_throttles", FIELD_COUNT, AT(thermal.package_throttles), 0, false, "Times that the packages of these CPUs slowed down because they were too warm." },

	{ "coverage", "tiers", FIELD_STRINGS, AT(coverage.tiers), 0, false, "What was on, by code: totals (\"T0\"), wait times (\"T1\"), files (\"T2\"), single files or system calls by name (\"T3\"); merged: in all records." },
	{ "coverage", "lost_events", FIELD_U64, AT(coverage.lost_events), 0, false, "Events that the kernel side had to drop; in an agent's records, those of the job's cgroups while they lived." },
	{ "coverage", "unmeasured_seconds", FIELD_SECONDS, AT(coverage.unmeasured_ns), -1, false, "Time since measured_from in which no agent measured (a restart): numbers by mount, by cause of waiting and by device lack what the job did then; merged: the sum." },
	{ "coverage", "missing", FIELD_STRINGS, AT(coverage.missing), 0, false, "What was not measured, and why." },
	{ "coverage", "notes", FIELD_STRINGS, AT(coverage.notes), 0, false, "What weakens a number, such as \"lower bound: ...\"." },
};
/* clang-format on */
const size_t record_field_count = ARRAY_SIZE(record_fields);

const char *const record_sections[] = {
	"",	     "job",	 "time",     "cpu",	"memory", "pressure", "tasks",
	"cores",     "ranks",	 "threads",  "thermal", "energy", "io",	      RECORD_SECTIONS_REST,
	"survivors", "coverage", "timeline", "merged"
};
const size_t record_section_count = ARRAY_SIZE(record_sections);

bool record_section_is_placed(const struct section *section)
{
	for (size_t i = 0; i < record_section_count; i++) {
		if (strcmp(record_sections[i], section->name) == 0)
			return true;
	}
	return strchr(section->name, '.');
}

bool record_section_is_plain(const char *section)
{
	for (size_t i = 0; i < record_field_count; i++) {
		if (*section && strcmp(record_fields[i].section, section) == 0)
			return true;
	}
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (strcmp(metric_get((enum metric_id)id)->section, section) == 0)
			return true;
	}
	return false;
}

void *record_field_in_job(const struct record_field *field, const struct job *job)
{
	return field->in_job ? (char *)job + field->in_job : NULL;
}

void *record_field_ref(const struct record_field *field, struct record *record)
{
	return (char *)record + field->offset;
}

const void *record_field_get(const struct record_field *field, const struct record *record)
{
	return (const char *)record + field->offset;
}

static struct field field_at(const struct record_field *field, size_t offset)
{
	static const struct field forms[] = {
		[FIELD_STRING] = { .kind = SHAPE_STRING },
		[FIELD_BOOL] = { .kind = SHAPE_BOOL },
		[FIELD_U64] = { .kind = SHAPE_NUMBER },
		[FIELD_INT] = { .kind = SHAPE_SIGNED, .size = sizeof(int), .most = INT32_MAX },
		[FIELD_INT64] = { .kind = SHAPE_SIGNED, .size = sizeof(int64_t), .most = INT64_MAX },
		[FIELD_TIME] = { .kind = SHAPE_TIME },
		[FIELD_SECONDS] = { .kind = SHAPE_NUMBER, .unit = UNIT_SECONDS },
		[FIELD_COUNT] = { .kind = SHAPE_VALUE },
		[FIELD_DURATION] = { .kind = SHAPE_VALUE, .unit = UNIT_SECONDS },
		[FIELD_CELSIUS] = { .kind = SHAPE_VALUE, .unit = UNIT_CELSIUS },
	};
	const bool is_optional = field->type == FIELD_INT || field->type == FIELD_SECONDS;
	struct field f = forms[field->type];

	f.key = field->key;
	f.offset = offset;
	f.flags = is_optional && field->absent == 0 ? SHAPE_OR_NULL : 0;
	return f;
}

void record_field_format(const struct record_field *field, size_t offset, const void *of,
			 struct document *d)
{
	const struct field f = field_at(field, offset);

	shape_format(&(struct shape){ .fields = &f, .count = 1 }, of, d);
}

int record_field_parse(const struct record_field *field, const struct place *place,
		       const json_t *map, struct record *ret)
{
	const struct field f = field_at(field, field->offset);

	return shape_parse(&(struct shape){ .fields = &f, .count = 1 }, place, map, ret);
}

unsigned int record_field_places(const struct record_field *field)
{
	switch (field->type) {
	case FIELD_SHARE:
		return LOAD_BALANCE_PLACES;
	case FIELD_SECONDS:
	case FIELD_DURATION:
		return metric_unit_places(UNIT_SECONDS);
	case FIELD_CELSIUS:
		return metric_unit_places(UNIT_CELSIUS);
	default:
		return 0;
	}
}

struct value record_field_seconds(const struct record_field *field, const struct record *record)
{
	uint64_t ns = *(const uint64_t *)record_field_get(field, record);

	assert(field->type == FIELD_SECONDS);
	return (struct value){ ns, ns != (uint64_t)field->absent };
}

bool record_field_number(const struct record_field *field, const struct record *record,
			 int64_t *ret)
{
	const void *at = record_field_get(field, record);
	int64_t number;

	assert(field->type == FIELD_INT || field->type == FIELD_INT64);
	number = field->type == FIELD_INT ? *(const int *)at : *(const int64_t *)at;
	if (number == field->absent)
		return false;
	*ret = number;
	return true;
}

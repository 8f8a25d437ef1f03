/* SPDX-License-Identifier: MIT */
#include "made_snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/sections/block.h"
#include "model/sections/trace.h"
#include "model/section.h"
#include "model/sections.h"

#define BEGAN_NS UINT64_C(1790000000123456789)

/* Room for a power of two of items, always. */
static void *grow(void *items, size_t count, size_t size)
{
	void *larger = count & (count - 1) ? items
					   : reallocarray(items, count ? count * 2 : 1, size);

	if (!larger)
		abort();
	memset((char *)larger + count * size, 0, size);
	return larger;
}

struct snapshot_job *made_job(struct snapshot *s, const char *manager, const char *id)
{
	struct snapshot_job *job;

	s->jobs = grow(s->jobs, s->job_count, sizeof(*s->jobs));
	job = &s->jobs[s->job_count++];
	job->job = calloc(1, sizeof(*job->job));
	job->job->refs = 1;
	job->job->manager = strdup(manager);
	job->job->id = strdup(id);
	job->job->uid = -1;
	job->is_live = true;
	made_network(job, &(struct network){});
	return job;
}

void made_network(struct snapshot_job *job, const struct network *network)
{
	struct network copy = *network;

	if (parts_put(&job->parts, &network_section, &copy) < 0)
		abort();
}

uint32_t made_mount(struct snapshot *s, enum row_kind kind, const char *name, const char *fstype)
{
	s->mounts = grow(s->mounts, s->mount_count, sizeof(*s->mounts));
	s->mounts[s->mount_count] = (struct snapshot_mount){
		.kind = kind, .name = strdup(name), .fstype = fstype ? strdup(fstype) : NULL
	};
	return (uint32_t)s->mount_count++;
}

struct snapshot_row *made_row(struct snapshot *s, uint32_t mount, enum file_op op,
			      enum file_interface interface, struct op_counts counts)
{
	struct snapshot_job *job = &s->jobs[s->job_count - 1];

	job->rows = grow(job->rows, job->row_count, sizeof(*job->rows));
	job->rows[job->row_count] = (struct snapshot_row){
		.mount = mount, .op = (uint8_t)op, .interface = (uint8_t)interface, .counts = counts
	};
	return &job->rows[job->row_count++];
}

static void set_facts(struct job *job)
{
	job->user = strdup("ada");
	job->uid = 1815;
	job->account = strdup("physics");
	job->partition = strdup("long");
	job->name = strdup("train.sh");
	job->start_ns = BEGAN_NS;
}

static void fill_block(struct snapshot_job *job)
{
	struct block b = { .is_known = true };
	const struct block_counts read = {
		.bytes = 61 * 4096, .requests = 61, .errors = 2, .ns = 67000000
	};
	const struct block_counts flush = { .requests = 71, .ns = 73000000 };

	if (block_add(&b, "nvme0n1", BLOCK_READ, &read) < 0 ||
	    block_add(&b, "nvme0n1", BLOCK_FLUSH, &flush) < 0 ||
	    block_add(&b, "sda", BLOCK_READ, &flush) < 0 ||
	    parts_put(&job->parts, &block_section, &b) < 0)
		abort();
}

static void fill_network(struct snapshot_job *job)
{
	struct network n = { .is_known = true, .has_connections = true, .has_details = true };

	for (size_t id = METRIC_NETWORK_FIRST; id < METRIC_NETWORK_END; id++) {
		*network_number_ref(&n, SOCKET_TCP, (enum metric_id)id) = 53 + id -
									  METRIC_NETWORK_FIRST;
		if (network_takes(SOCKET_UNIX_DGRAM, (enum metric_id)id))
			*network_number_ref(&n, SOCKET_UNIX_DGRAM,
					    (enum metric_id)id) = 59 * (id - METRIC_NETWORK_FIRST);
	}
	made_network(job, &n);
}

static void fill_trace(struct snapshot_job *job)
{
	struct traced_calls calls = { .is_known = true };
	struct traced_function *f = NULL;

	(void)traced_get(&calls, "mpi-io", "MPI_File_open", &f);
	for (size_t id = METRIC_TRACE_FIRST; f && id < METRIC_TRACE_END; id++)
		*traced_number_ref(f, (enum metric_id)id) = 61 * (id - METRIC_TRACE_FIRST);
	(void)traced_get(&calls, "mpi", "MPI_Send", &f);
	if (!f || parts_put(&job->parts, &trace_section, &calls) < 0)
		abort();
}

static void fill_full(struct snapshot *s, uint32_t scratch, uint32_t pipe)
{
	struct snapshot_job *job = made_job(s, "slurm", "7");

	set_facts(job->job);
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++)
		job->values[id] = (struct value){ 1000003 * (id + 1), true };
	job->values[METRIC_CPU_SYSTEM].number = VALUE_MAX;
	job->values[METRIC_MEMORY_PEAK].number = VALUE_MAX;
	fill_network(job);
	fill_block(job);
	fill_trace(job);
	job->now = (struct thermal_now){ 2900007,
					 1300000,
					 .millicelsius = 61003,
					 .core_throttles = 3,
					 .has_throttles = true,
					 .has_temperature = true };
	made_row(s, scratch, OP_READ, INTERFACE_CALL,
		 (struct op_counts){ 101, 10007, 3, 1000000007, 0 });
	made_row(s, scratch, OP_READ, INTERFACE_IO_URING, (struct op_counts){ 11, 1009, 1, 0, 0 });
	made_row(s, scratch, OP_READ, INTERFACE_MAPPING, (struct op_counts){ 0, 4096, 0, 0, 0 });
	made_row(s, scratch, OP_OPEN, INTERFACE_CALL, (struct op_counts){ 13, 0, 5, 17, 2 });
	made_row(s, scratch, OP_STAT, INTERFACE_CALL, (struct op_counts){ 19, 0, 0, 23, 0 });
	made_row(s, pipe, OP_WRITE, INTERFACE_CALL, (struct op_counts){ 29, 31, 0, 37, 0 });
}

void made_snapshot_fill(struct snapshot *s)
{
	uint32_t root = made_mount(s, ROW_MOUNT, "/", "overlay"),
		 scratch = made_mount(s, ROW_MOUNT, "/scratch", "lustre");
	uint32_t pipe = made_mount(s, ROW_PIPE, "(pipe)", NULL),
		 other_root = made_mount(s, ROW_MOUNT, "/", "overlay");
	uint32_t odd = made_mount(s, ROW_MOUNT, "/odd \"\\\n\xff/\xc3\xa9", "fuse.odd");
	struct snapshot_job *job;

	*s = (struct snapshot){ .refs = 1,
				.real_ns = BEGAN_NS,
				.has_mounts = true,
				.has_seconds = true,
				.mounts = s->mounts,
				.mount_count = s->mount_count };
	job = made_job(s, "run", "12-1");
	job->is_live = false;
	job->job->uid = 1000;
	job->job->start_ns = BEGAN_NS;
	job->job->end_ns = BEGAN_NS + 50000000;
	job->values[METRIC_CPU_USER] = (struct value){ 47000000, true };
	made_row(s, root, OP_READ, INTERFACE_CALL, (struct op_counts){ 2, 3, 0, 5, 0 });
	made_row(s, other_root, OP_READ, INTERFACE_CALL, (struct op_counts){ 7, 11, 1, 13, 0 });
	made_row(s, other_root, OP_OPEN, INTERFACE_CALL, (struct op_counts){ 17, 0, 0, 19, 0 });
	fill_full(s, scratch, pipe);
	job = made_job(s, "slurm", "8"); /* nothing is known */
	job = made_job(s, "slurm", "9\"\\\n\xfe");
	job->job->name = strdup("quote \" slash \\ line \n trash \xff\xc3 end \xe2\x82\xac");
	job->values[METRIC_TASKS_ENDED] = (struct value){ 41, true };
	made_row(s, odd, OP_WRITE, INTERFACE_SPLICE, (struct op_counts){ 43, 47, 0, 0, 0 });
}

static void fill_rows(struct snapshot *s, uint32_t mount, uint64_t number)
{
	for (size_t op = 0; op < OP_DATA_COUNT; op++) {
		for (size_t interface = 0; interface < INTERFACE_COUNT; interface++)
			made_row(s, mount, (enum file_op)op, (enum file_interface)interface,
				 (struct op_counts){ number + interface, number * 4096, 1,
						     number * 1009, 0 });
	}
	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++)
		made_row(s, mount, (enum file_op)op, INTERFACE_CALL,
			 (struct op_counts){ number, 0, 2, number * 7, 1 });
}

void made_snapshot_fill_large(struct snapshot *s, size_t jobs, size_t mounts, uint64_t round)
{
	char name[64];

	s->refs = 1;
	s->has_mounts = s->has_seconds = true;
	for (size_t i = 0; i < mounts; i++) {
		snprintf(name, sizeof(name), "/project/storage-%zu", i);
		made_mount(s, ROW_MOUNT, name, "lustre");
	}
	for (size_t i = 0; i < jobs; i++) {
		struct snapshot_job *job;

		snprintf(name, sizeof(name), "%zu", 1000 + i);
		job = made_job(s, "slurm", name);
		set_facts(job->job);
		for (size_t id = 0; id < METRIC_JOB_COUNT; id++)
			job->values[id] = (struct value){
				(i + 1) * (id + 1) * 1000003 + round * 10007, true
			};
		for (uint32_t mount = 0; mount < mounts; mount++)
			fill_rows(s, mount, (i + 1) * 101 + round * 17);
	}
}

void made_samples_fill(struct samples *s)
{
	static const char *const things[SAMPLE_LABELS_MAX] = { "one", "odd \"\\\n\xff", "three" };

	for (size_t id = METRIC_NODE_CPU_USER; id < METRIC_COUNT; id++) {
		const char *const *names = metric_labels(metric_get((enum metric_id)id)->scope);
		const char *labels[SAMPLE_LABELS_MAX] = {};

		for (size_t i = 0; i < SAMPLE_LABELS_MAX && names[i]; i++)
			labels[i] = things[i];
		if (metric_get((enum metric_id)id)->kind == KIND_INFO)
			samples_add(s, (enum metric_id)id, labels, 1);
		else
			samples_add(s, (enum metric_id)id, labels, 1000003 * id);
	}
}

void made_snapshot_clear(struct snapshot *s)
{
	for (size_t i = 0; i < s->mount_count; i++) {
		free(s->mounts[i].name);
		free(s->mounts[i].fstype);
		for (size_t j = 0; j < MOUNT_ALIASES_MAX; j++)
			free(s->mounts[i].aliases[j]);
	}
	for (size_t i = 0; i < s->job_count; i++) {
		struct job *job = s->jobs[i].job;

		free(job->manager);
		free(job->id);
		free(job->user);
		free(job->account);
		free(job->partition);
		free(job->name);
		free(job);
		free(s->jobs[i].rows);
		parts_clear(&s->jobs[i].parts);
	}
	free(s->mounts);
	free(s->jobs);
	*s = (struct snapshot){};
}

/* SPDX-License-Identifier: MIT */
#include "sources/gpu_holders.h"

#include <stdio.h>
#include <stdlib.h>

#include "basic/macro.h"
#include "basic/text.h"
#include "test.h"

#define AMOUNT UINT64_C(1000000007)

struct scene {
	struct gpu_identity card;
	struct gpu_reading reading;
	struct gpu_process processes[8];
	struct gpu_claim claims[4];
	size_t claim_count;
	struct gpu_units units;
};

static void add_process(struct scene *s, const char *path, uint32_t gpu_instance, uint64_t sm)
{
	s->processes[s->reading.process_count++] = (struct gpu_process){
		.pid = 100,
		.path = (char *)path,
		.gpu_instance = gpu_instance,
		.compute_instance = gpu_instance == GPU_WHOLE ? GPU_WHOLE : 0,
		.sm = { sm, true },
	};
	s->reading.processes = s->processes;
}

static void add_instance(struct scene *s, uint32_t gpu_instance, uint32_t slices)
{
	s->reading.has_instances = true;
	s->reading.instances[s->reading.instance_count++] = (struct gpu_instance){
		.gpu_instance = gpu_instance, .slices = slices, .uuid = "MIG"
	};
}

static void claim(struct scene *s, const char *path)
{
	s->claims[s->claim_count] = (struct gpu_claim){ .path = (char *)path };
	s->claims[s->claim_count++].minors[s->card.minor] = true;
}

static void make(struct scene *s)
{
	ASSERT_OK(gpu_units_make(&s->card, &s->reading, s->claims, s->claim_count, &s->units));
}

/* What holders at that path or below have of AMOUNT; NULL: all of them. */
static uint64_t had(const struct scene *s, const char *path)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->units.count; i++) {
		const struct gpu_unit *u = &s->units.items[i];

		for (size_t k = 0; k < u->count; k++)
			sum += !path || text_is_below(u->holders[k].path, path)
				       ? gpu_holder_part(u, &u->holders[k], AMOUNT)
				       : 0;
	}
	return sum;
}

TEST(parts_add_up_whatever_they_are)
{
	for (uint64_t whole = 1; whole < 40; whole++) {
		uint64_t sum = 0;

		for (uint64_t from = 0; from < whole; from += 3)
			sum += gpu_part(AMOUNT, from, from + 3 < whole ? from + 3 : whole, whole);
		ASSERT_EQ(sum, AMOUNT);
	}
	ASSERT_EQ(gpu_part(UINT64_MAX, 0, 7, 7), UINT64_MAX);
	ASSERT_EQ(gpu_part(AMOUNT, 0, 0, 0), 0);
}

TEST(a_card_is_its_processes_by_how_busy_they_keep_it)
{
	struct scene s = {};

	add_process(&s, "/slurm/job_1/step_0", GPU_WHOLE, 30);
	add_process(&s, "/slurm/job_1/step_1", GPU_WHOLE, 0); /* as 1 */
	add_process(&s, "/slurm/job_17", GPU_WHOLE, 9);
	make(&s);
	ASSERT_EQ(had(&s, NULL), AMOUNT);
	ASSERT(llabs((long long)(had(&s, "/slurm/job_1") - AMOUNT * 31 / 40)) <= 2);
	ASSERT(llabs((long long)(had(&s, "/slurm/job_17") - AMOUNT * 9 / 40)) <= 2);
	gpu_units_clear(&s.units);
}

TEST(an_idle_card_is_nobodys)
{
	struct scene s = {};

	make(&s);
	ASSERT_EQ(s.units.count, 1);
	ASSERT_EQ(s.units.items[0].weight, 0);
	gpu_units_clear(&s.units);
}

TEST(what_was_allocated_comes_before_processes_and_needs_none)
{
	struct scene s = { .card = { .minor = 3, .index = 1 } };

	claim(&s, "/slurm/job_1");
	add_process(&s, "/slurm/job_2", GPU_WHOLE, 90);
	make(&s);
	ASSERT_EQ(had(&s, "/slurm/job_1"), AMOUNT);
	ASSERT_EQ(had(&s, "/slurm/job_2"), 0);
	ASSERT(!s.units.items[0].holders[0].process);
	ASSERT_STREQ(s.units.items[0].name, "1");
	gpu_units_clear(&s.units);

	claim(&s, "/slurm/job_2"); /* they share it */
	make(&s);
	ASSERT_EQ(had(&s, NULL), AMOUNT);
	ASSERT(had(&s, "/slurm/job_2") > had(&s, "/slurm/job_1") && had(&s, "/slurm/job_1") > 0);
	gpu_units_clear(&s.units);

	s.card.minor = 4; /* another card's */
	make(&s);
	ASSERT_EQ(had(&s, "/slurm/job_2"), AMOUNT);
	gpu_units_clear(&s.units);
	s.card.minor = UINT32_MAX; /* the driver does not tell */
	make(&s);
	ASSERT_EQ(had(&s, "/slurm/job_1"), 0);
	gpu_units_clear(&s.units);
}

TEST(instances_have_their_slices_of_the_card)
{
	struct scene s = {};

	add_instance(&s, 1, 4);
	add_instance(&s, 5, 2);
	add_process(&s, "/slurm/job_1", 1, 0);
	add_process(&s, "/slurm/job_2", 1, 0);
	add_process(&s, "/slurm/job_3", 9, 0); /* of one that is gone */
	make(&s);
	ASSERT_EQ(s.units.count, 2);
	ASSERT_STREQ(s.units.items[0].name, "0/1");
	ASSERT_EQ(had(&s, NULL), AMOUNT * 4 / 7); /* the other is nobody's, and so is the seventh */
	ASSERT_EQ(had(&s, "/slurm/job_3"), 0);
	gpu_units_clear(&s.units);

	claim(&s, "/slurm/job_2"); /* the whole card */
	make(&s);
	ASSERT_EQ(had(&s, "/slurm/job_2"), AMOUNT * 6 / 7);
	gpu_units_clear(&s.units);
	claim(&s, "/slurm/job_1"); /* who has which the prolog does not say */
	make(&s);
	ASSERT(had(&s, "/slurm/job_1") > 0 && had(&s, NULL) == AMOUNT * 4 / 7);
	gpu_units_clear(&s.units);
}

TEST(the_server_of_mps_holds_nothing_where_it_has_clients_and_did_nothing)
{
	static const struct row {
		const char *command;
		bool has_client;
		uint64_t sm;
		bool holds;
	} rows[] = {
		{ "nvidia-cuda-mps", true, 0, false },
		{ "nvidia-cuda-mps", true, 7, true }, /* who calls himself so, and works */
		{ "nvidia-cuda-mps", false, 0, true },
		{ "python3", true, 0, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct scene s = {};

		add_process(&s, "/slurm/job_1", GPU_WHOLE, 30);
		s.processes[0].is_mps = rows[i].has_client;
		add_process(&s, "/system.slice/mps", GPU_WHOLE, rows[i].sm);
		snprintf(s.processes[1].command, sizeof(s.processes[1].command), "%s",
			 rows[i].command);
		make(&s);
		ASSERT_EQ(had(&s, "/system.slice/mps") > 0, rows[i].holds);
		ASSERT_EQ(had(&s, NULL), AMOUNT);
		gpu_units_clear(&s.units);
	}
}

TEST(a_path_is_below_another_by_whole_names)
{
	ASSERT(text_is_below("/a/b", "/a"));
	ASSERT(text_is_below("/a", "/a"));
	ASSERT(!text_is_below("/ab", "/a"));
	ASSERT(!text_is_below("", "/a"));
}

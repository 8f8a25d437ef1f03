/* SPDX-License-Identifier: MIT */
/*
 * GPUs of the node, and what each job has of them.
 *
 * The driver, and each card, are asked on threads of their own: a card that hangs is late by
 * itself, and delays neither a reading nor another card.  What a reading shares out is what the
 * last sample of a card that ended since the reading before says, among those who held the card
 * then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "cgroup/hierarchy.h"
#include "cgroup/identity.h"
#include "energy/sensor_total.h"
#include "model/document.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "sources/gpu_holders.h"
#include "sources/nvml.h"
#include "sources/slow_source.h"
#include "sources/source.h"

#define LABEL "GPUs: "
#define DRIVER_DEADLINE_MS 10000
#define CARD_DEADLINE_MS 5000
#define CGROUPS_MAX 65536
#define CLAIMS_MAX 1024
#define SOURCE_OF_COUNTER "nvml" /* the words of energy's sources */
#define SOURCE_OF_POWER "nvml-power"

struct card {
	struct gpu_identity identity;
	struct slow_source *slow; /* NULL: the driver lists it no more */
	bool is_late, is_fresh; /* its last sample was; it is new since the reading before */
	struct gpu_reading now;
	struct gpu_units units; /* of now; of a time since the sample before if is_fresh */
	struct value amounts[GPU_NUMBERS]; /* what came in that time, and peaks */
	/* Of the sample before: */
	uint64_t before_ns, energy_before_uj;
	struct value xid_before, before[GPU_FIELD_COUNT];
	bool has_counter, has_energy;
	struct energy_counter counter;
	struct energy_integral integral; /* where there is no counter */
	uint64_t unheld_uj;
};

struct claims {
	struct gpu_claim items[CLAIMS_MAX];
	size_t count;
};

struct source_state {
	int root_fd;
	struct hierarchy hierarchy; /* nothing of it owned; without it processes are nobody's */
	bool has_hierarchy;
	const struct identity_rules *rules;
	struct nvml *nvml;
	struct slow_source *driver;
	struct error why; /* the driver lists nothing */
	bool is_driver_late;
	char version[64];
	struct card *cards[GPU_CARDS_MAX];
	size_t count;
	struct claims claims[2]; /* of the reading before, and of this one */
	size_t reading; /* which is this one's */
};

/* ---- the driver, on its thread ---- */

struct driver { /* its struct source_state */
	struct nvml *nvml;
	struct gpu_identity cards[GPU_CARDS_MAX];
	size_t count;
	struct error why;
	char version[64];
};

static int open_driver(const struct source_options *options, struct source_state **ret,
		       struct error *err UNUSED)
{
	struct driver *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->nvml = nvml_ref((struct nvml *)options->context);
	*ret = (struct source_state *)(void *)d;
	return 0;
}

static int sample_driver(struct source_state *s, uint64_t boot_ns UNUSED, struct samples *to UNUSED)
{
	struct driver *d = (struct driver *)(void *)s;

	d->why = (struct error){};
	if (nvml_list(d->nvml, d->cards, &d->count, &d->why) == 0)
		nvml_driver_version(d->nvml, d->version, sizeof(d->version));
	return 0;
}

static struct source_state *free_driver(struct source_state *s)
{
	struct driver *d = (struct driver *)(void *)s;

	if (d)
		nvml_unref(d->nvml);
	free(d);
	return NULL;
}

static const struct source driver_source = {
	.name = "gpu-driver",
	.deadline_ms = DRIVER_DEADLINE_MS,
	.open = open_driver,
	.sample = sample_driver,
	.free = free_driver,
};

/* ---- a card, on its thread ---- */

struct sampled_card { /* its struct source_state */
	struct nvml_card *card;
	int root_fd;
	bool has_hierarchy;
	struct hierarchy hierarchy; /* its own, since it may outlive the source */
	struct gpu_reading reading;
};

struct card_request { /* what the context of its options is */
	const struct source_state *source;
	const struct gpu_identity *identity;
};

static int open_card(const struct source_options *options, struct source_state **ret,
		     struct error *err UNUSED)
{
	const struct card_request *request = options->context;
	const struct source_state *source = request->source;
	struct sampled_card *s = calloc(1, sizeof(*s));
	int r = s ? nvml_card_open(source->nvml, request->identity, &s->card) : -ENOMEM;

	if (r < 0) {
		free(s);
		return r;
	}
	s->root_fd = options->root_fd;
	s->has_hierarchy = source->has_hierarchy;
	s->hierarchy.is_v2 = source->hierarchy.is_v2; /* all that a path is found by */
	s->hierarchy.key = source->hierarchy.key;
	*ret = (struct source_state *)(void *)s;
	return 0;
}

/* Only what the kernel says: nothing that the process can set. */
static void read_process(const struct sampled_card *s, struct gpu_process *p)
{
	_cleanup_free_ char *cgroups = NULL;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "proc/%u", p->pid);
	if (fstatat(s->root_fd, path, &st, 0) == 0)
		p->uid = st.st_uid;
	snprintf(path, sizeof(path), "proc/%u/comm", p->pid);
	(void)file_read_small(s->root_fd, path, p->command, sizeof(p->command));
	p->command[strcspn(p->command, "\n")] = '\0';
	snprintf(path, sizeof(path), "proc/%u/cgroup", p->pid);
	if (s->has_hierarchy && file_read(s->root_fd, path, CGROUPS_MAX, &cgroups, NULL) == 0 &&
	    hierarchy_find_path(&s->hierarchy, cgroups, &p->path) < 0)
		p->path = NULL;
}

static int sample_card(struct source_state *state, uint64_t boot_ns, struct samples *to UNUSED)
{
	struct sampled_card *s = (struct sampled_card *)(void *)state;
	int r;

	gpu_reading_clear(&s->reading);
	r = nvml_card_read(s->card, boot_ns, &s->reading);
	for (size_t i = 0; r == 0 && i < s->reading.process_count; i++)
		read_process(s, &s->reading.processes[i]);
	return r;
}

static struct source_state *free_card(struct source_state *state)
{
	struct sampled_card *s = (struct sampled_card *)(void *)state;

	if (s) {
		gpu_reading_clear(&s->reading);
		nvml_card_free(s->card);
	}
	free(s);
	return NULL;
}

static const struct source card_source = {
	.name = "gpu-card",
	.deadline_ms = CARD_DEADLINE_MS,
	.open = open_card,
	.sample = sample_card,
	.free = free_card,
};

/* ---- opening ---- */

static struct source_state *free_source(struct source_state *s)
{
	if (!s)
		return NULL;
	slow_source_free(s->driver);
	for (size_t i = 0; i < s->count; i++) {
		slow_source_free(s->cards[i]->slow);
		gpu_units_clear(&s->cards[i]->units);
		gpu_reading_clear(&s->cards[i]->now);
		free(s->cards[i]);
	}
	for (size_t k = 0; k < 2; k++) {
		for (size_t i = 0; i < s->claims[k].count; i++)
			free(s->claims[k].items[i].path);
	}
	nvml_unref(s->nvml);
	free(s);
	return NULL;
}

static int open_source(const struct source_options *options, struct source_state **ret,
		       struct error *err)
{
	const char *file = options->settings && options->settings->nvml_library
				   ? options->settings->nvml_library
				   : NVML_LIBRARY;
	struct source_options own = *options;
	struct source_state *s = calloc(1, sizeof(*s));
	int r = s ? nvml_load(file, &s->nvml, err) : -ENOMEM;

	if (r == 0) {
		s->root_fd = options->root_fd;
		s->rules = options->rules;
		s->has_hierarchy = options->hierarchy;
		s->hierarchy = options->hierarchy ? *options->hierarchy : (struct hierarchy){};
		own.context = s->nvml;
		r = slow_source_open(&driver_source, &own, &s->driver, err);
	}
	if (r == 0)
		r = slow_source_ask(s->driver);
	if (r < 0) {
		free_source(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* ---- which cards there are ---- */

static struct card *find_card(const struct source_state *s, const char *uuid)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->cards[i]->identity.uuid, uuid) == 0)
			return s->cards[i];
	}
	return NULL;
}

/* One that comes back goes on: its sums never fall. */
static int add_card(struct source_state *s, const struct gpu_identity *identity)
{
	const struct card_request request = { s, identity };
	const struct source_options options = { .root_fd = s->root_fd, .context = &request };
	struct card *c = find_card(s, identity->uuid);
	struct error ignored = {};

	if (!c && s->count == GPU_CARDS_MAX)
		return 0;
	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return -ENOMEM;
		s->cards[s->count++] = c;
	}
	if (c->slow && memcmp(&c->identity, identity, sizeof(*identity)) == 0)
		return 0;
	c->slow = slow_source_free(c->slow);
	c->identity = *identity;
	return slow_source_open(&card_source, &options, &c->slow, &ignored);
}

static bool is_listed(const struct driver *d, const char *uuid)
{
	for (size_t i = 0; i < d->count; i++) {
		if (strcmp(d->cards[i].uuid, uuid) == 0)
			return true;
	}
	return false;
}

static int take_driver(struct source_state *s)
{
	struct samples unused = {};
	const struct driver *d;
	int r = slow_source_take(s->driver, &unused);

	s->is_driver_late = r == -ETIME;
	if (r == -EBUSY || r == -ETIME)
		return 0;
	d = (const struct driver *)(const void *)slow_source_state(s->driver);
	s->why = d->why;
	memcpy(s->version, d->version, sizeof(s->version));
	r = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (!is_listed(d, s->cards[i]->identity.uuid))
			s->cards[i]->slow = slow_source_free(s->cards[i]->slow);
	}
	for (size_t i = 0; r == 0 && i < d->count; i++)
		r = add_card(s, &d->cards[i]);
	return r < 0 ? r : slow_source_ask(s->driver);
}

/* ---- what came since a card's sample before ---- */

static void set_amount(struct card *c, enum metric_id id, uint64_t number)
{
	c->amounts[id - METRIC_GPU_FIRST] = (struct value){ MIN(number, VALUE_MAX), true };
}

/* A ratio that held for that time, what a counter grew by, or a peak. */
static void take_field(struct card *c, enum gpu_field field, uint64_t ns)
{
	const struct gpu_field_info *info = gpu_field_info(field);
	const struct value now = c->now.fields[field], before = c->before[field];
	const enum metric_id id = info->of_job;

	if (id == METRIC_COUNT || !now.is_known)
		return;
	if (metric_get(id)->kind != KIND_COUNTER)
		set_amount(c, id, now.number);
	else if (metric_get(id)->unit == UNIT_SECONDS)
		set_amount(c, id,
			   field == GPU_THROTTLED ? now.number * ns
						  : (uint64_t)now.number * ns / 100);
	else if (before.is_known && now.number >= before.number)
		set_amount(c, id, now.number - before.number);
}

static const struct energy_total *energy_of(const struct card *c)
{
	return c->has_counter ? &c->counter.total : &c->integral.total;
}

/* A counter of its own, where it has one; what its power adds up to else. */
static void take_energy(struct card *c)
{
	const struct value counter = c->now.fields[GPU_ENERGY], power = c->now.fields[GPU_POWER];

	c->has_counter |= counter.is_known;
	c->counter.power_max_uw = UINT64_C(5000000000);
	if (c->has_counter && counter.is_known)
		energy_counter_take(&c->counter, counter.number, c->now.boot_ns);
	else if (!c->has_counter && power.is_known)
		energy_integral_take(&c->integral, power.number, c->now.boot_ns);
	c->has_energy |= c->has_counter || power.is_known;
}

static uint64_t holder_part(const struct gpu_unit *u, uint64_t amount)
{
	return u->weight ? gpu_part(amount, u->from, u->until, u->slices) : 0;
}

static void take_interval(struct card *c)
{
	const uint64_t uj = energy_of(c)->total_uj - c->energy_before_uj,
		       ns = c->now.boot_ns - c->before_ns;
	uint64_t held_uj = 0;

	memset(c->amounts, 0, sizeof(c->amounts));
	for (size_t i = 0; i < GPU_FIELD_COUNT; i++)
		take_field(c, (enum gpu_field)i, ns);
	set_amount(c, METRIC_GPU_HELD, ns);
	if (c->now.xid_errors.is_known)
		set_amount(c, METRIC_GPU_XID_ERRORS,
			   c->now.xid_errors.number - MIN((uint64_t)c->xid_before.number,
							  (uint64_t)c->now.xid_errors.number));
	if (c->has_energy)
		set_amount(c, METRIC_GPU_ENERGY, uj);
	for (size_t i = 0; i < c->units.count; i++)
		held_uj += holder_part(&c->units.items[i], uj);
	c->unheld_uj += uj - held_uj;
}

static void keep_before(struct card *c)
{
	c->before_ns = c->now.boot_ns;
	c->xid_before = c->now.xid_errors;
	c->energy_before_uj = energy_of(c)->total_uj;
	memcpy(c->before, c->now.fields, sizeof(c->before));
}

static int take_card(struct source_state *s, struct card *c)
{
	const struct claims *claims = &s->claims[!s->reading];
	struct samples unused = {};
	struct sampled_card *sampled;
	int r = c->slow ? slow_source_take(c->slow, &unused) : -ENODEV;

	c->is_fresh = false;
	c->is_late = r < 0 && r != -EBUSY;
	if (r < 0)
		return c->slow ? slow_source_ask(c->slow) : 0;
	sampled = (struct sampled_card *)(void *)slow_source_state(c->slow);
	if (!sampled->reading.boot_ns) /* it has not been asked yet */
		return slow_source_ask(c->slow);
	gpu_units_clear(&c->units);
	gpu_reading_clear(&c->now);
	c->now = sampled->reading;
	sampled->reading = (struct gpu_reading){};
	r = slow_source_ask(c->slow);
	c->is_late = c->now.is_lost;
	if (r == 0)
		r = gpu_units_make(&c->identity, &c->now, claims->items, claims->count, &c->units);
	if (r < 0)
		return r;
	take_energy(c);
	c->is_fresh = c->before_ns && !c->now.is_lost;
	if (c->is_fresh)
		take_interval(c);
	if (!c->now.is_lost)
		keep_before(c);
	return 0;
}

/* ---- of the node ---- */

static int add_energy(const struct card *c, struct samples *to)
{
	struct energy_reading reading = {
		.sensor = { .source = c->has_counter ? SOURCE_OF_COUNTER : SOURCE_OF_POWER,
			    .level = ENERGY_COMPONENT,
			    .part = ENERGY_GPU,
			    .socket = c->identity.index,
			    .quality = ENERGY_MEASURED,
			    .rank = c->has_counter ? 10 : 20,
			    /* the driver's sensor looks at a part of the time */
			    .uncertainty_permille = c->has_counter ? 50 : 100 },
		.total = *energy_of(c),
		.boot_ns = c->before_ns,
		.is_stale = c->is_late,
	};

	snprintf(reading.sensor.name, sizeof(reading.sensor.name), "gpu%u", c->identity.index);
	return c->has_energy ? samples_add_energy(to, &reading) : 0;
}

static int add_samples(const struct card *c, struct samples *to)
{
	char name[GPU_NAME_SIZE];
	const char *labels[SAMPLE_LABELS_MAX] = { name, c->identity.uuid };
	const char *info[SAMPLE_LABELS_MAX] = { name, c->identity.uuid, c->identity.model,
						c->identity.pci };
	int r;

	snprintf(name, sizeof(name), "%u", c->identity.index);
	r = samples_add(to, METRIC_NODE_GPU_INFO, info, 1);
	if (r == 0)
		r = samples_add(to, METRIC_NODE_GPU_LOST, labels, c->is_late);
	for (size_t i = 0; r == 0 && !c->is_late && i < GPU_FIELD_COUNT; i++) {
		if (c->now.fields[i].is_known && i != GPU_ENERGY)
			r = samples_add(to, gpu_field_info((enum gpu_field)i)->metric, labels,
					c->now.fields[i].number);
	}
	if (r == 0 && c->now.xid_errors.is_known)
		r = samples_add(to, METRIC_NODE_GPU_XID_ERRORS, labels, c->now.xid_errors.number);
	to->energy.unheld_uj += c->unheld_uj;
	if (r == 0 && c->has_energy)
		r = samples_add(to, METRIC_NODE_GPU_ENERGY, labels, energy_of(c)->total_uj);
	if (r == 0 && c->has_energy)
		r = samples_add(to, METRIC_NODE_GPU_UNHELD, labels, c->unheld_uj);
	return r < 0 ? r : add_energy(c, to);
}

static void forget_claims(struct claims *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i].path);
	c->count = 0;
}

static int sample(struct source_state *s, uint64_t boot_ns UNUSED, struct samples *to)
{
	int r = take_driver(s);

	s->reading = !s->reading;
	for (size_t i = 0; r == 0 && i < s->count; i++)
		r = take_card(s, s->cards[i]);
	for (size_t i = 0; r == 0 && i < s->count; i++)
		r = add_samples(s->cards[i], to);
	forget_claims(&s->claims[s->reading]);
	return r;
}

static int describe(const struct source_state *s, struct strings *missing)
{
	int r = 0;

	if (s->is_driver_late)
		r = strings_add(missing, LABEL "the driver has not answered in %d s",
				DRIVER_DEADLINE_MS / 1000);
	else if (*s->why.text)
		r = strings_add(missing, LABEL "%s", s->why.text);
	for (size_t i = 0; r == 0 && i < s->count; i++) {
		const struct card *c = s->cards[i];

		if (c->is_late)
			r = strings_add(missing, LABEL "card %u (%s) %s", c->identity.index,
					c->identity.uuid,
					!c->slow	 ? "is no longer listed by the driver"
					: c->now.is_lost ? "is lost, says the driver"
							 : "does not answer");
	}
	return r;
}

/* ---- of jobs ---- */

/* For the next reading: what it had when this one was taken. */
static void keep_claim(struct source_state *s, const struct source_job *job)
{
	struct claims *claims = &s->claims[s->reading];
	struct gpu_claim *claim = &claims->items[claims->count];
	struct cpulist minors;

	if (!job->gpus || !*job->gpus || !job->path || claims->count == CLAIMS_MAX ||
	    cpulist_parse(job->gpus, &minors) < 0)
		return;
	claim->path = strdup(job->path);
	for (unsigned int i = 0; i < GPU_CARDS_MAX; i++)
		claim->minors[i] = cpulist_contains(&minors, i);
	claims->count += claim->path != NULL;
}

#define ANCESTORS_MAX 64

/* Of a `run` that has no cgroup: is the process its command, or one that this started? */
static bool is_started_by(int root_fd, uint32_t pid, pid_t command)
{
	char path[64], text[512];
	const char *end;

	for (size_t i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		if ((pid_t)pid == command)
			return true;
		snprintf(path, sizeof(path), "proc/%u/stat", pid);
		if (file_read_small(root_fd, path, text, sizeof(text)) < 0)
			return false;
		end = strrchr(text, ')'); /* a command may hold any */
		pid = end && strlen(end) > 4 ? (uint32_t)strtoul(end + 4, NULL, 10) : 0;
	}
	return false;
}

static bool is_of_job(const struct source_state *s, const struct gpu_holder *h,
		      const struct source_job *job)
{
	if (job->path)
		return gpu_path_is_below(h->path, job->path);
	return job->pid && h->process && is_started_by(s->root_fd, h->process->pid, job->pid);
}

static void add_amounts(const struct card *c, const struct gpu_unit *u, const struct gpu_holder *h,
			struct job_gpu *to)
{
	for (size_t i = 0; i < GPU_NUMBERS; i++) {
		const enum metric_id id = (enum metric_id)(METRIC_GPU_FIRST + i);
		struct value v = c->amounts[i];

		if (id == METRIC_GPU_BUSY && u->busy.is_known)
			v = (struct value){ c->amounts[METRIC_GPU_HELD - METRIC_GPU_FIRST].number *
						    u->busy.number / 100,
					    true };
		if (v.is_known)
			job_gpu_add(to, id,
				    id < METRIC_GPU_COUNTERS_END ? gpu_holder_part(u, h, v.number)
								 : v.number);
	}
	if (!h->process)
		job_gpu_add(to, METRIC_GPU_UNUSED,
			    gpu_holder_part(u, h,
					    c->amounts[METRIC_GPU_HELD - METRIC_GPU_FIRST].number));
}

/* What its processes hold; where the driver does not say it of each, all of it if it has all. */
static void add_memory(const struct gpu_unit *u, uint64_t bytes, bool is_known, uint64_t weight,
		       struct job_gpu *to)
{
	if (u->memory_total.is_known)
		job_gpu_add(to, METRIC_GPU_MEMORY_TOTAL, u->memory_total.number);
	if (is_known)
		job_gpu_add(to, METRIC_GPU_MEMORY_PEAK, bytes);
	else if (weight == u->weight && u->memory_used.is_known)
		job_gpu_add(to, METRIC_GPU_MEMORY_PEAK, u->memory_used.number);
}

static int add_unit(const struct source_state *s, const struct card *c, const struct gpu_unit *u,
		    const struct source_job *job, struct job_gpus *to)
{
	struct job_gpu *row = NULL;
	bool is_known = true;
	uint64_t bytes = 0, weight = 0;

	for (size_t i = 0; i < u->count; i++) {
		const struct gpu_holder *h = &u->holders[i];

		if (!is_of_job(s, h, job))
			continue;
		row = job_gpus_get(to, u->uuid, u->name, c->identity.model);
		if (!row)
			return -ENOMEM;
		add_amounts(c, u, h, row);
		weight += h->until - h->from;
		bytes += h->process ? h->process->memory_bytes.number : 0;
		is_known &= !h->process || h->process->memory_bytes.is_known;
	}
	if (row)
		add_memory(u, bytes, is_known, weight, row);
	return 0;
}

static void sample_job(struct source_state *s, struct source_job_state *own UNUSED,
		       const struct source_job *job, struct source_job_sample *to)
{
	struct job_gpus gpus = { .is_known = true };
	int r = 0;

	keep_claim(s, job);
	for (size_t i = 0; i < s->count; i++) {
		const struct card *c = s->cards[i];

		for (size_t k = 0; r == 0 && c->is_fresh && k < c->units.count; k++)
			r = add_unit(s, c, &c->units.items[k], job, &gpus);
	}
	if (r == 0 && gpus.count)
		(void)parts_put(&to->parts, &gpu_section, &gpus);
	job_gpus_clear(&gpus);
}

/* ---- what is told ---- */

static void put_value(struct document *d, const char *key, struct value v, enum metric_id id)
{
	document_key(d, key);
	if (v.is_known)
		document_decimal(d, v.number, metric_unit_places(metric_get(id)->unit));
	else
		document_null(d);
}

static void put_job(const struct source_state *s, const char *path, struct document *d)
{
	struct identity identity;
	const bool is_job = path && identity_of(s->rules, path, &identity) && *identity.job;

	document_put_string(d, "manager", is_job ? identity.manager : NULL);
	document_put_string(d, "job", is_job ? identity.job : NULL);
}

static void format_process(const struct source_state *s, const struct gpu_unit *u,
			   const struct gpu_process *p, struct document *d)
{
	document_begin_flat_map(d);
	document_put_string(d, "gpu", u->name);
	document_put_unsigned(d, "pid", p->pid);
	document_put_signed(d, "uid", p->uid);
	document_put_string(d, "command", p->command);
	document_put_string(d, "type", p->is_graphics ? "graphics" : "compute");
	put_job(s, p->path, d);
	put_value(d, "memory_bytes", p->memory_bytes, METRIC_NODE_GPU_MEMORY_USED);
	put_value(d, "sm", p->sm, METRIC_NODE_GPU_UTILIZATION);
	put_value(d, "memory_utilization", p->memory, METRIC_NODE_GPU_UTILIZATION);
	put_value(d, "encoder", p->encoder, METRIC_NODE_GPU_UTILIZATION);
	put_value(d, "decoder", p->decoder, METRIC_NODE_GPU_UTILIZATION);
	document_end_map(d);
}

static void format_holders(const struct source_state *s, const struct card *c, struct document *d)
{
	document_begin_list_of(d, "held_without_process");
	for (size_t i = 0; i < c->units.count; i++) {
		for (size_t k = 0; k < c->units.items[i].count; k++) {
			const struct gpu_holder *h = &c->units.items[i].holders[k];

			if (h->process)
				continue;
			document_begin_flat_map(d);
			document_put_string(d, "gpu", c->units.items[i].name);
			put_job(s, h->path, d);
			document_end_map(d);
		}
	}
	document_end_list(d);
}

static const struct gpu_unit *unit_of(const struct card *c, const struct gpu_process *p)
{
	for (size_t i = 0; i < c->now.instance_count; i++) {
		if (p->gpu_instance == c->now.instances[i].gpu_instance &&
		    p->compute_instance == c->now.instances[i].compute_instance)
			return &c->units.items[i];
	}
	return &c->units.items[0];
}

static void format_card(const struct source_state *s, const struct card *c, int64_t only_uid,
			struct document *d)
{
	document_begin_map(d);
	document_put_unsigned(d, "index", c->identity.index);
	document_put_string(d, "uuid", c->identity.uuid);
	document_put_string(d, "model", c->identity.model);
	document_put_string(d, "pci", c->identity.pci);
	document_put_boolean(d, "lost", c->is_late);
	for (size_t i = 0; i < GPU_FIELD_COUNT; i++) {
		const struct gpu_field_info *info = gpu_field_info((enum gpu_field)i);

		put_value(d, info->key, c->is_late ? (struct value){} : c->now.fields[i],
			  info->metric);
	}
	put_value(d, "xid_errors", c->now.xid_errors, METRIC_NODE_GPU_XID_ERRORS);
	put_value(d, "joules", (struct value){ energy_of(c)->total_uj, c->has_energy },
		  METRIC_NODE_GPU_ENERGY);
	document_put_boolean(d, "mig", c->now.has_instances);
	if (only_uid < 0)
		format_holders(s, c, d);
	document_begin_list_of(d, "processes");
	for (size_t i = 0; c->units.count && i < c->now.process_count; i++) {
		const struct gpu_process *p = &c->now.processes[i];

		if (only_uid < 0 || p->uid == only_uid)
			format_process(s, unit_of(c, p), p, d);
	}
	document_end_list(d);
	document_end_map(d);
}

static void format(const struct source_state *s, int64_t only_uid, struct document *d)
{
	document_put_string(d, "driver", s->version);
	document_put_string(d, "missing", *s->why.text ? s->why.text : NULL);
	document_begin_list_of(d, "gpus");
	for (size_t i = 0; i < s->count; i++)
		format_card(s, s->cards[i], only_uid, d);
	document_end_list(d);
}

const struct source source_gpu = {
	.name = "gpu",
	.label = LABEL,
	.help = "Read GPUs by the driver's library: what each job has of them, their processes, energy and errors.",
	.has_energy = true,
	.is_for_jobs = true,
	.open = open_source,
	.sample = sample,
	.describe = describe,
	.free = free_source,
	.sample_job = sample_job,
	.format = format,
};

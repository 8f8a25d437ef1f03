/* SPDX-License-Identifier: MIT */
/*
 * GPUs of the node, and each job's part of them.
 *
 * The driver and each card are read on threads of their own: a card that hangs is late alone, and
 * delays neither a reading nor another card. A reading divides the last sample of a card that ended
 * since the previous reading among the holders at that time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/cpulist.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/text.h"
#include "cgroup/descendants.h"
#include "cgroup/hierarchy.h"
#include "cgroup/identity.h"
#include "energy/sensor_total.h"
#include "model/document.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "sources/gpu_driver.h"
#include "sources/gpu_holders.h"
#include "sources/slow_source.h"
#include "sources/source.h"

#define LABEL "GPUs: "
#define DEADLINE_MS 5000
#define CGROUPS_MAX 65536
#define CLAIMS_MAX 1024
#define ANCESTORS_MAX 64
#define POWER_MAX_UW UINT64_C(5000000000)

struct card {
	const struct driver *driver;
	struct gpu_identity identity;
	struct slow_source *slow; /* NULL: the driver lists it no more */
	bool is_late, is_fresh; /* its last sample was; it is new since the reading before */
	struct gpu_reading now; /* ENERGY, UNHELD: our own sums */
	struct gpu_units units;
	struct value amounts[GPU_NUMBERS]; /* increments since the previous sample, and peaks */
	uint64_t before_ns;
	struct value before[GPU_FIELDS];
	bool has_counter, has_energy;
	struct energy_counter counter;
	struct energy_integral integral; /* where there is no counter */
	uint64_t unheld_uj;
};

struct claims {
	struct gpu_claim items[CLAIMS_MAX];
	size_t count;
};

struct driver {
	struct gpu_library *library; /* NULL: it is not installed */
	struct slow_source *slow;
	struct error why; /* it lists nothing */
	bool has_answered, has_listed;
	uint32_t count; /* of its cards */
};

/* Cards are numbered in this order: NVIDIA's first. */
static const struct gpu_driver *const drivers[] = { &nvml_driver, &amd_smi_driver };

struct source_state {
	int root_fd;
	const struct hierarchy *hierarchy; /* NULL: processes have no job */
	const struct identity_rules *rules;
	struct driver drivers[ARRAY_SIZE(drivers)];
	struct card *cards[GPU_CARDS_MAX];
	size_t count;
	struct claims claims[2]; /* of the reading before, and of this one */
	size_t reading; /* which is this one's */
};

/* ---- on threads of their own ---- */

struct asked { /* the driver, or a card */
	struct gpu_library *library;
	struct gpu_card *card; /* NULL: the driver */
	bool is_lost; /* the card, when last read: counted in the library */
	int root_fd;
	bool has_hierarchy;
	struct hierarchy hierarchy; /* by which paths are found; all else is the source's */
	struct gpu_reading reading;
	struct {
		uint32_t pid;
		uint64_t cpu_ns;
	} before[GPU_PROCESSES_MAX]; /* of the card's, at the reading before */
	size_t before_count;
	uint64_t before_ns;
	struct gpu_identity cards[GPU_CARDS_MAX]; /* of the driver */
	size_t count;
	struct error why;
};

struct asked_options {
	const struct source_state *source;
	struct gpu_library *library;
	void *handle; /* of a card */
};

static struct asked *asked_of(const struct source_state *s)
{
	return (struct asked *)(void *)s;
}

static int open_asked(const struct source_options *options, struct source_state *state,
		      struct error *err UNUSED)
{
	const struct asked_options *own = options->context;
	const struct hierarchy *h = own->source->hierarchy;
	struct asked *a = asked_of(state);

	a->library = gpu_library_ref(own->library);
	a->root_fd = options->root_fd;
	a->has_hierarchy = h;
	if (h)
		a->hierarchy = (struct hierarchy){ .is_v2 = h->is_v2, .key = h->key };
	if (!own->handle)
		return 0;
	a->card = calloc(1, a->library->driver->card_size);
	if (!a->card)
		return -ENOMEM;
	a->library->driver->open(a->card, a->library, own->handle);
	a->library->open++;
	return 0;
}

/* "PID (COMM) STATE ...": fields 14, 15 and 22, in ticks. */
static void read_times(const struct asked *a, struct gpu_process *p)
{
	const uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long long user, system, start;
	char path[64], text[1024];
	const char *end;

	snprintf(path, sizeof(path), "proc/%u/stat", p->pid);
	if (file_read_small(a->root_fd, path, text, sizeof(text)) < 0)
		return;
	end = strrchr(text, ')');
	if (!end || sscanf(end + 1,
			   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d"
			   " %*d %*d %*d %llu",
			   &user, &system, &start) != 3)
		return;
	p->cpu_ns = (struct value){ (user + system) * tick_ns, true };
	p->elapsed_ns = (struct value){
		a->reading.boot_ns - MIN(start * tick_ns, a->reading.boot_ns), true
	};
	for (size_t i = 0; i < a->before_count; i++) {
		if (a->before[i].pid == p->pid && p->cpu_ns.number >= a->before[i].cpu_ns &&
		    a->reading.boot_ns > a->before_ns)
			p->cpu = (struct value){ (p->cpu_ns.number - a->before[i].cpu_ns) * 100 /
							 (a->reading.boot_ns - a->before_ns),
						 true };
	}
}

/* Only the kernel's data: the process itself can set nothing but its command. */
static void read_process(const struct asked *a, struct gpu_process *p)
{
	_cleanup_free_ char *cgroups = NULL;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "proc/%u", p->pid);
	if (fstatat(a->root_fd, path, &st, 0) == 0)
		p->uid = st.st_uid;
	snprintf(path, sizeof(path), "proc/%u/comm", p->pid);
	(void)file_read_one_line(a->root_fd, path, p->command, sizeof(p->command));
	snprintf(path, sizeof(path), "proc/%u/cgroup", p->pid);
	if (a->has_hierarchy && file_read(a->root_fd, path, CGROUPS_MAX, &cgroups, NULL) == 0 &&
	    hierarchy_find_path(&a->hierarchy, cgroups, &p->path) < 0)
		p->path = NULL;
}

static void count_lost(struct asked *a, bool is_lost)
{
	a->library->lost += (unsigned int)is_lost - a->is_lost;
	a->is_lost = is_lost;
}

static int sample_asked(struct source_state *state, uint64_t boot_ns, struct samples *to UNUSED)
{
	struct asked *a = asked_of(state);

	a->why = (struct error){};
	if (!a->card) {
		(void)a->library->driver->list(a->library, a->cards, &a->count, &a->why);
		return 0;
	}
	gpu_reading_clear(&a->reading);
	a->reading.boot_ns = boot_ns;
	a->reading.processes = calloc(GPU_PROCESSES_MAX, sizeof(*a->reading.processes));
	if (!a->reading.processes)
		return -ENOMEM;
	a->library->driver->read(a->card, &a->reading);
	count_lost(a, a->reading.fields[GPU_FIELD(LOST)].number);
	for (size_t i = 0; i < a->reading.process_count; i++) {
		read_process(a, &a->reading.processes[i]);
		read_times(a, &a->reading.processes[i]);
	}
	a->before_count = a->reading.process_count;
	a->before_ns = boot_ns;
	for (size_t i = 0; i < a->before_count; i++) {
		a->before[i].pid = a->reading.processes[i].pid;
		a->before[i].cpu_ns = a->reading.processes[i].cpu_ns.number;
	}
	return 0;
}

static void close_asked(struct source_state *state)
{
	struct asked *a = asked_of(state);

	gpu_reading_clear(&a->reading);
	count_lost(a, false);
	if (a->card) {
		a->library->open--;
		if (a->library->driver->close)
			a->library->driver->close(a->card);
		free(a->card);
	}
	gpu_library_unref(a->library);
}

static const struct source asked_source = {
	.name = "gpu-asked",
	.deadline_ms = DEADLINE_MS,
	.size = sizeof(struct asked),
	.open = open_asked,
	.sample = sample_asked,
	.close = close_asked,
};

static int open_slow(const struct source_state *s, const struct driver *d, void *handle,
		     struct slow_source **ret)
{
	const struct asked_options own = { s, d->library, handle };
	const struct source_options options = { .root_fd = s->root_fd, .context = &own };
	struct error ignored = {};

	return slow_source_open(&asked_source, &options, ret, &ignored);
}

/* ---- opening ---- */

static void forget_claims(struct claims *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i].path);
	c->count = 0;
}

static void close_source(struct source_state *s)
{
	for (size_t i = 0; i < s->count; i++) {
		slow_source_free(s->cards[i]->slow);
		gpu_units_clear(&s->cards[i]->units);
		gpu_reading_clear(&s->cards[i]->now);
		free(s->cards[i]);
	}
	forget_claims(&s->claims[0]);
	forget_claims(&s->claims[1]);
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
		slow_source_free(s->drivers[i].slow);
		gpu_library_unref(s->drivers[i].library);
	}
}

/* @file: NULL: the driver's own. */
static int open_driver(struct source_state *s, size_t which, const char *file)
{
	struct driver *d = &s->drivers[which];
	const char *own = drivers[which]->files[0];
	int r = gpu_library_load(drivers[which], file && strcmp(file, own) != 0 ? file : NULL,
				 &d->library);

	if (r == 0)
		r = open_slow(s, d, NULL, &d->slow);
	return r < 0 ? r : slow_source_ask(d->slow);
}

static int open_source(const struct source_options *options, struct source_state *s,
		       struct error *err)
{
	const struct source_settings *set = options->settings;
	const char *nvml = set ? set->nvml_library : NULL,
		   *amd_smi = set ? set->amd_smi_library : NULL;
	int r, other;

	s->root_fd = options->root_fd;
	s->rules = options->rules;
	s->hierarchy = options->hierarchy;
	r = open_driver(s, 0, nvml);
	other = open_driver(s, 1, amd_smi);
	if (r == -ENODEV && other == -ENODEV)
		return error_set(err, -ENODEV, "no driver (%s and %s are not installed)",
				 nvml ? nvml : nvml_driver.files[0],
				 amd_smi ? amd_smi : amd_smi_driver.files[0]);
	if (r == 0 || r == -ENODEV)
		r = other == -ENODEV ? 0 : other;
	return r;
}

/* ---- which cards there are ---- */

/* A card that returns continues: its sums never fall. */
static int add_card(struct source_state *s, const struct driver *d,
		    const struct gpu_identity *identity)
{
	struct card *c = NULL;

	for (size_t i = 0; i < s->count; i++)
		c = strcmp(s->cards[i]->identity.uuid, identity->uuid) == 0 ? s->cards[i] : c;
	if (!c && s->count < GPU_CARDS_MAX) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return -ENOMEM;
		c->driver = d;
		s->cards[s->count++] = c;
	}
	if (!c || (c->slow && memcmp(&c->identity, identity, sizeof(*identity)) == 0))
		return 0;
	c->slow = slow_source_free(c->slow);
	c->identity = *identity;
	return open_slow(s, d, identity->handle, &c->slow);
}

/* Those that it lists no more are closed. */
static void drop_cards(struct source_state *s, const struct driver *d, const struct asked *a)
{
	for (size_t i = 0; i < s->count; i++) {
		bool is_listed = s->cards[i]->driver != d;

		for (size_t k = 0; k < a->count; k++)
			is_listed |= strcmp(a->cards[k].uuid, s->cards[i]->identity.uuid) == 0;
		if (!is_listed)
			s->cards[i]->slow = slow_source_free(s->cards[i]->slow);
	}
}

/* @first: the number of its first card. */
static int take_driver(struct source_state *s, struct driver *d, uint32_t first)
{
	struct samples unused = {};
	struct asked *a;
	int r = slow_source_take(d->slow, &unused);

	d->has_answered |= r == 0 || r == -ETIME;
	if (r == -ETIME)
		error_set(&d->why, 0, "the driver has not answered in %d s", DEADLINE_MS / 1000);
	if (r < 0)
		return 0;
	a = asked_of(slow_source_state(d->slow));
	d->why = a->why;
	d->count = (uint32_t)a->count;
	d->has_listed |= a->count > 0;
	drop_cards(s, d, a);
	for (size_t i = 0; r == 0 && i < a->count; i++) {
		a->cards[i].index += first;
		r = add_card(s, d, &a->cards[i]);
	}
	if (slow_source_ask(d->slow) < 0)
		error_set(&d->why, 0, "cannot start a thread for the driver");
	return r;
}

static int take_drivers(struct source_state *s)
{
	uint32_t first = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(drivers); i++) {
		struct driver *d = &s->drivers[i];

		if (!d->library)
			continue;
		r = take_driver(s, d, first);
		if (!d->has_answered) /* the next one's numbers are not known */
			break;
		first += d->count;
	}
	return r;
}

/* ---- what came since a card's sample before ---- */

/* Its own counter, if it has one; else its power, integrated. */
static const struct energy_total *take_energy(struct card *c)
{
	const struct value counter = c->now.fields[GPU_FIELD(ENERGY)],
			   power = c->now.fields[GPU_FIELD(POWER)];

	c->has_counter |= counter.is_known;
	c->has_energy |= c->has_counter || power.is_known;
	c->counter.power_max_uw = POWER_MAX_UW;
	if (counter.is_known)
		energy_counter_take(&c->counter, counter.number, c->now.boot_ns);
	else if (!c->has_counter && power.is_known)
		energy_integral_take(&c->integral, power.number, c->now.boot_ns);
	return c->has_counter ? &c->counter.total : &c->integral.total;
}

/* A ratio times the interval, the growth of a counter, or a peak. */
static struct value amount_of(const struct card *c, size_t field, enum metric_id of_job)
{
	const struct metric *metric = metric_get(of_job);
	const uint64_t now = c->now.fields[field].number, before = c->before[field].number,
		       ns = c->now.boot_ns - c->before_ns;

	if (metric->kind != KIND_COUNTER)
		return (struct value){ now, true };
	if (metric->unit == UNIT_SECONDS)
		return (struct value){ field == GPU_FIELD(THROTTLED) ? now * ns : now * ns / 100,
				       true };
	return (struct value){ now - before, c->before[field].is_known && now >= before };
}

static void take_interval(struct card *c)
{
	uint64_t uj = 0, held_uj = 0;

	memset(c->amounts, 0, sizeof(c->amounts));
	c->amounts[0] = (struct value){ c->now.boot_ns - c->before_ns, true };
	for (size_t i = 0; i < GPU_FIELDS; i++) {
		const enum metric_id id = gpu_job_metric(i);

		if (id != METRIC_COUNT && c->now.fields[i].is_known)
			c->amounts[id - METRIC_GPU_FIRST] = amount_of(c, i, id);
	}
	uj = c->amounts[METRIC_GPU_ENERGY - METRIC_GPU_FIRST].number;
	for (size_t i = 0; i < c->units.count; i++) {
		const struct gpu_unit *u = &c->units.items[i];

		held_uj += u->weight ? gpu_part(uj, u->from, u->until, u->slices) : 0;
	}
	c->unheld_uj += uj - held_uj;
}

_Static_assert(METRIC_GPU_HELD == METRIC_GPU_FIRST, "amounts begin with it");

static int take_card(struct source_state *s, struct card *c)
{
	const struct claims *claims = &s->claims[!s->reading];
	struct samples unused = {};
	struct asked *a;
	uint64_t uj;
	int r = c->slow ? slow_source_take(c->slow, &unused) : -ENODEV;

	c->is_fresh = false;
	c->is_late = r < 0 && r != -EBUSY;
	a = r == 0 ? asked_of(slow_source_state(c->slow)) : NULL;
	if (!a || !a->reading.boot_ns) {
		c->is_late |= c->slow && slow_source_ask(c->slow) < 0;
		return 0;
	}
	gpu_units_clear(&c->units);
	gpu_reading_clear(&c->now);
	c->now = a->reading;
	a->reading = (struct gpu_reading){};
	c->is_late = c->now.fields[GPU_FIELD(LOST)].number;
	c->is_late |= slow_source_ask(c->slow) < 0;
	r = gpu_units_make(&c->identity, &c->now, claims->items, claims->count, &c->units);
	if (r < 0 || c->is_late)
		return r;
	uj = take_energy(c)->total_uj;
	c->now.fields[GPU_FIELD(ENERGY)] = (struct value){ uj, c->has_energy };
	c->is_fresh = c->before_ns;
	if (c->is_fresh)
		take_interval(c);
	c->now.fields[GPU_FIELD(UNHELD)] = (struct value){ c->unheld_uj, c->has_energy };
	c->before_ns = c->now.boot_ns;
	memcpy(c->before, c->now.fields, sizeof(c->before));
	return 0;
}

/* ---- of the node ---- */

static int add_energy(const struct card *c, struct samples *to)
{
	const struct gpu_driver *driver = c->driver->library->driver;
	struct energy_reading reading = {
		.sensor = { .source = c->has_counter ? driver->counter : driver->power,
			    .level = ENERGY_COMPONENT,
			    .part = ENERGY_GPU,
			    .socket = c->identity.index,
			    .quality = ENERGY_MEASURED,
			    .rank = c->has_counter ? 10 : 15, /* before hwmon's, of AMD's */
			    /* the driver's sensor samples a part of the time */
			    .uncertainty_permille = c->has_counter ? 50 : 100 },
		.total = c->has_counter ? c->counter.total : c->integral.total,
		.boot_ns = c->before_ns,
		.is_stale = c->is_late,
	};

	snprintf(reading.sensor.name, sizeof(reading.sensor.name), "gpu%u", c->identity.index);
	to->energy.unheld_uj += c->unheld_uj;
	return c->has_energy ? samples_add_energy(to, &reading) : 0;
}

/* Of one that is late only that, and its sums. */
static struct value field_of(const struct card *c, size_t field)
{
	if (field == GPU_FIELD(LOST))
		return (struct value){ c->is_late, true };
	if (c->is_late && field != GPU_FIELD(ENERGY) && field != GPU_FIELD(UNHELD))
		return (struct value){};
	return c->is_late ? c->before[field] : c->now.fields[field];
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
	for (size_t i = 0; r == 0 && i < GPU_FIELDS; i++) {
		const struct value v = field_of(c, i);

		if (v.is_known)
			r = samples_add(to, (enum metric_id)(METRIC_NODE_GPU_FIRST + i), labels,
					v.number);
	}
	return r < 0 ? r : add_energy(c, to);
}

static int sample(struct source_state *s, uint64_t boot_ns UNUSED, struct samples *to)
{
	int r = take_drivers(s);

	s->reading = !s->reading;
	for (size_t i = 0; r == 0 && i < s->count; i++) {
		r = take_card(s, s->cards[i]);
		if (r == 0)
			r = add_samples(s->cards[i], to);
	}
	forget_claims(&s->claims[s->reading]);
	return r;
}

static int describe(const struct source_state *s, struct strings *missing)
{
	int r = 0;

	/* one that is only installed is worth no word beside one that has cards */
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(drivers); i++) {
		if (*s->drivers[i].why.text && (s->drivers[i].has_listed || !s->count))
			r = strings_add(missing, LABEL "%s", s->drivers[i].why.text);
	}
	for (size_t i = 0; r == 0 && i < s->count; i++) {
		const struct card *c = s->cards[i];

		if (c->is_late)
			r = strings_add(missing, LABEL "card %u (%s) %s", c->identity.index,
					c->identity.uuid,
					!c->slow ? "is no longer listed by the driver"
					: c->now.fields[GPU_FIELD(LOST)].number
						? "is lost, says the driver"
						: "does not answer");
	}
	return r;
}

/* ---- of jobs ---- */

/* The job's allocation at this reading, for the next. */
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

/* Of a `run` that has no cgroup: is the process its command, or one that this started? */
static bool is_started_by(int root_fd, pid_t pid, pid_t command)
{
	char path[64], text[512], state;

	for (size_t i = 0; i < ANCESTORS_MAX && pid > 1 && pid != command; i++) {
		snprintf(path, sizeof(path), "proc/%d/stat", pid);
		if (file_read_small(root_fd, path, text, sizeof(text)) < 0 ||
		    descendants_parse_stat(text, &state, &pid) < 0)
			return false;
	}
	return pid == command;
}

static bool is_of_job(const struct source_state *s, const struct gpu_holder *h,
		      const struct source_job *job)
{
	if (job->path)
		return text_is_below(h->path, job->path);
	return job->pid && h->process &&
	       is_started_by(s->root_fd, (pid_t)h->process->pid, job->pid);
}

static void add_amounts(const struct card *c, const struct gpu_unit *u, const struct gpu_holder *h,
			struct job_gpu *to)
{
	const uint64_t ns = c->amounts[0].number,
		       age_ns = clock_now_ns(CLOCK_BOOTTIME) - c->now.boot_ns,
		       seen_ns = clock_now_ns(CLOCK_REALTIME) - age_ns;

	job_gpu_add(to, METRIC_GPU_LAST_HELD, seen_ns);
	for (size_t i = 0; i < GPU_NUMBERS; i++) {
		const enum metric_id id = (enum metric_id)(METRIC_GPU_FIRST + i);
		struct value v = c->amounts[i];

		if (id == METRIC_GPU_BUSY && u->busy.is_known)
			v = (struct value){ ns * u->busy.number / 100, true };
		if (id == METRIC_GPU_UNUSED && !h->process)
			v = (struct value){ ns, true };
		if (v.is_known && id < METRIC_GPU_COUNTERS_END)
			v.number = gpu_holder_part(u, h, v.number);
		if (v.is_known)
			job_gpu_add(to, id, v.number);
		/* a sharer that does nothing has a part of what the others do */
		if (id == METRIC_GPU_BUSY && v.number &&
		    (!h->process || !h->process->sm.is_known || h->process->sm.number))
			job_gpu_add(to, METRIC_GPU_LAST_BUSY, seen_ns);
	}
}

/* What its processes hold; if the driver does not report that of each, all of it if the job has
 * all. */
static int add_unit(const struct source_state *s, const struct card *c, const struct gpu_unit *u,
		    const struct source_job *job, struct job_gpus *to)
{
	struct value memory = { 0, true };
	struct job_gpu *row = NULL;
	uint64_t weight = 0;

	for (size_t i = 0; i < u->count; i++) {
		const struct gpu_holder *h = &u->holders[i];

		if (!is_of_job(s, h, job))
			continue;
		row = job_gpus_get(to, u->uuid, u->name, c->identity.model);
		if (!row)
			return -ENOMEM;
		add_amounts(c, u, h, row);
		weight += h->until - h->from;
		memory.number += h->process ? h->process->memory_bytes.number : 0;
		memory.is_known &= !h->process || h->process->memory_bytes.is_known;
	}
	if (!memory.is_known && weight == u->weight)
		memory = u->memory_used;
	if (row && memory.is_known)
		job_gpu_add(row, METRIC_GPU_MEMORY_PEAK, memory.number);
	if (row && u->memory_total.is_known)
		job_gpu_add(row, METRIC_GPU_MEMORY_TOTAL, u->memory_total.number);
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

static void put_value(struct document *d, const char *key, struct value v, enum metric_unit unit)
{
	document_put_known(d, key, v.is_known, v.number, metric_unit_places(unit));
}

static void format_holder(const struct source_state *s, const struct gpu_unit *u, const char *path,
			  const struct gpu_process *p, struct document *d)
{
	struct identity identity;
	const bool is_job = path && identity_of(s->rules, path, &identity) && *identity.job;

	document_begin_flat_map(d);
	document_put_string(d, "gpu", u->name);
	document_put_string(d, "manager", is_job ? identity.manager : NULL);
	document_put_string(d, "job", is_job ? identity.job : NULL);
	if (p) {
		document_put_unsigned(d, "pid", p->pid);
		document_put_signed(d, "uid", p->uid);
		document_put_string(d, "command", p->command);
		document_put_string(d, "type",
				    p->is_graphics ? "graphics"
				    : p->is_mps	   ? "mps"
						   : "compute");
		put_value(d, "cpu_ratio", p->cpu, UNIT_LOAD);
		put_value(d, "cpu_seconds", p->cpu_ns, UNIT_SECONDS);
		put_value(d, "elapsed_seconds", p->elapsed_ns, UNIT_SECONDS);
		put_value(d, "memory_bytes", p->memory_bytes, UNIT_BYTES);
		put_value(d, "sm_ratio", p->sm, UNIT_LOAD);
		put_value(d, "memory_ratio", p->memory, UNIT_LOAD);
		put_value(d, "encoder_ratio", p->encoder, UNIT_LOAD);
		put_value(d, "decoder_ratio", p->decoder, UNIT_LOAD);
	}
	document_end_map(d);
}

static const struct gpu_unit *unit_of(const struct card *c, const struct gpu_process *p)
{
	size_t i = 0;

	while (i < c->now.instance_count &&
	       (p->gpu_instance != c->now.instances[i].gpu_instance ||
		p->compute_instance != c->now.instances[i].compute_instance))
		i++;
	return &c->units.items[i < c->units.count ? i : 0];
}

static void format_reasons(const struct card *c, struct document *d)
{
	static const char *const names[] = { "heat", "power brake", "hardware", "power limit" };

	document_begin_flat_list_of(d, "throttle_reasons");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!c->is_late && c->now.reasons & 1U << i)
			document_string(d, names[i]);
	}
	document_end_list(d);
}

/* Holders without a process have no user: only for callers who see all. */
static void format_holders(const struct source_state *s, const struct card *c, int64_t only_uid,
			   struct document *d)
{
	document_begin_list_of(d, "processes");
	for (size_t i = 0; c->units.count && i < c->now.process_count; i++) {
		const struct gpu_process *p = &c->now.processes[i];

		if (only_uid < 0 || p->uid == only_uid)
			format_holder(s, unit_of(c, p), p->path, p, d);
	}
	document_end_list(d);
	document_begin_list_of(d, "held_without_process");
	for (size_t i = 0; i < c->units.count && only_uid < 0; i++) {
		const struct gpu_unit *u = &c->units.items[i];

		for (size_t k = 0; k < u->count; k++) {
			if (!u->holders[k].process)
				format_holder(s, u, u->holders[k].path, NULL, d);
		}
	}
	document_end_list(d);
}

static void format(const struct source_state *s, int64_t only_uid, struct document *d)
{
	document_begin_list_of(d, "gpus");
	for (size_t i = 0; i < s->count; i++) {
		const struct card *c = s->cards[i];

		document_begin_map(d);
		document_put_unsigned(d, "index", c->identity.index);
		document_put_string(d, "uuid", c->identity.uuid);
		document_put_string(d, "model", c->identity.model);
		document_put_string(d, "pci", c->identity.pci);
		document_put_boolean(d, "mig", c->now.has_instances);
		for (size_t k = 0; k < GPU_FIELDS; k++) {
			const struct metric *metric =
				metric_get((enum metric_id)(METRIC_NODE_GPU_FIRST + k));
			const char *name = metric->name + strlen("jobmeter_gpu_"),
				   *end = strstr(name, "_total");
			char key[64];

			snprintf(key, sizeof(key), "%.*s",
				 metric->kind == KIND_COUNTER && end ? (int)(end - name)
								     : (int)strlen(name),
				 name);
			put_value(d, key, field_of(c, k), metric->unit);
		}
		format_reasons(c, d);
		format_holders(s, c, only_uid, d);
		document_end_map(d);
	}
	document_end_list(d);
}

const struct source source_gpu = {
	.name = "gpu",
	.label = LABEL,
	.help = "Read NVIDIA's and AMD's GPUs: what each job has of them, their processes, energy and errors.",
	.has_energy = true,
	.is_for_jobs = true,
	.size = sizeof(struct source_state),
	.open = open_source,
	.sample = sample,
	.describe = describe,
	.close = close_source,
	.sample_job = sample_job,
	.format = format,
};

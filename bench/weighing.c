/* SPDX-License-Identifier: MIT */
#include "weighing.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "ground.h"
#include "cgroup/group_files.h"
#include "groups.h"
#include "basic/macro.h"
#include "plain.h"
#include "tool.h"

#define EXPORTER "prometheus-node-exporter"
#define WARM_SECONDS 3

const char *weighing_exporter(void)
{
	return EXPORTER;
}

int weighing_start_agent(const struct weighing_options *o, int interval_s, bool has_bpf,
			 struct served **ret, struct error *err)
{
	const char *config = ground_configure(o->ground, interval_s, has_bpf);
	char *argv[] = { (char *)o->agent, (char *)"--config", (char *)config, NULL };

	if (!config)
		return error_set_errno(err, errno, "cannot write the agent's configuration");
	return served_start(argv, ground_port(), ret, err);
}

static int start_exporter(struct served **ret, struct error *err)
{
	char address[64];
	char *argv[] = { (char *)EXPORTER, address, (char *)"--log.level=error", NULL };

	snprintf(address, sizeof(address), "--web.listen-address=127.0.0.1:%d",
		 ground_port() + 10000);
	return tool_exists(EXPORTER) ? served_start(argv, ground_port() + 10000, ret, err) : 0;
}

/* ---- seconds ---- */

/* The middles of seconds by the clock, so that a late one does not push the others, and readings,
 * which are taken as a second begins, stand within one. */
static void first_second(struct timespec *next)
{
	clock_gettime(CLOCK_REALTIME, next);
	next->tv_nsec = 500000000;
}

static void wait_second(struct timespec *next)
{
	next->tv_sec++;
	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, next, NULL) == EINTR)
		;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* ---- readings ---- */

static int read_plainly(struct plain *plain, size_t jobs, double *ret_ms)
{
	double before = cpu_ms();

	for (size_t i = 0; i < jobs; i++) {
		int r = plain_read(plain, i);

		if (r < 0)
			return r;
	}
	*ret_ms = cpu_ms() - before;
	return 0;
}

/* Files that are read plainly, and what comes of it. */
struct contest {
	struct plain *plain;
	struct plain_reading *result;
	double ms; /* of this second */
};

/* Each second it takes one reading, and we read the same files once. */
static int measure_readings(const struct weighing_options *o, size_t jobs, struct served *agent,
			    struct contest *contests, size_t count, struct samples *ret_ms)
{
	struct timespec next;
	uint64_t before, now;

	first_second(&next);
	wait_second(&next);
	before = served_cpu_ns(agent);
	for (int second = -WARM_SECONDS; second < o->seconds; second++) {
		for (size_t i = 0; i < count; i++) {
			int r = read_plainly(contests[i].plain, jobs, &contests[i].ms);

			if (r < 0)
				return r;
		}
		wait_second(&next);
		now = served_cpu_ns(agent);
		for (size_t i = 0; i < count && second >= 0; i++) {
			samples_add(&contests[i].result->ms, contests[i].ms);
			samples_add(&contests[i].result->ratio, ms(now - before) / contests[i].ms);
		}
		if (second >= 0)
			samples_add(ret_ms, ms(now - before));
		before = now;
	}
	return 0;
}

/* ---- scrapes ---- */

static int scrape_all(struct served *served[WHO_COUNT], int second, struct weighing *w,
		      struct served_page *ours, struct error *err)
{
	bool is_zipped = second % 2;

	for (int i = 0; i < WHO_COUNT; i++) {
		int who = (i + second / 2) % WHO_COUNT;
		struct served_page page;
		int r = served[who] ? served_scrape(served[who], who == WHO_AGENT && is_zipped,
						    &page, err)
				    : 0;

		if (r < 0)
			return r;
		if (who == WHO_AGENT)
			*ours = page;
		if (who == WHO_AGENT && is_zipped)
			w->zipped_bytes = page.bytes;
		else if (served[who])
			w->page_bytes[who] = page.bytes;
	}
	return 0;
}

static void keep_second(struct served *served[WHO_COUNT], const double took[WHO_COUNT],
			bool is_zipped, const struct served_page *ours, struct weighing *w)
{
	samples_add(&w->ours[is_zipped], took[WHO_AGENT]);
	samples_add(is_zipped ? &w->zipped_ms : &w->page_ms, ms(ours->last_ns));
	if (!is_zipped) {
		samples_add(&w->first_ms, ms(ours->first_ns));
		samples_add(&w->scraped_ms[WHO_AGENT], took[WHO_AGENT]);
		if (served[WHO_EXPORTER] && took[WHO_EXPORTER] > 0)
			samples_add(&w->scraped_ratio, took[WHO_AGENT] / took[WHO_EXPORTER]);
	}
	if (served[WHO_EXPORTER])
		samples_add(&w->scraped_ms[WHO_EXPORTER], took[WHO_EXPORTER]);
}

/* Plain and compressed by turns; the exporter is always asked for plain text. */
static int measure_scrapes(const struct weighing_options *o, struct served *served[WHO_COUNT],
			   struct weighing *w, struct error *err)
{
	uint64_t before[WHO_COUNT] = {};
	struct served_page ours = {};
	struct timespec next;

	first_second(&next);
	wait_second(&next);
	for (int second = -2 * WARM_SECONDS; second < o->seconds; second++) {
		double took[WHO_COUNT] = {};
		int r = scrape_all(served, second + 2 * WARM_SECONDS, w, &ours, err);

		if (r < 0)
			return r;
		wait_second(&next);
		for (int who = 0; who < WHO_COUNT; who++) {
			uint64_t now = served[who] ? served_cpu_ns(served[who]) : 0;

			took[who] = ms(now - before[who]);
			before[who] = now;
		}
		if (second >= 0)
			keep_second(served, took, second % 2, &ours, w);
	}
	return 0;
}

static int measure_health(struct served *agent, struct weighing *w, struct error *err)
{
	uint64_t health_ns;

	for (int i = 0; i < 20; i++) {
		int r = served_ask_meanwhile(agent, &health_ns, err);

		if (r < 0)
			return r;
		samples_add(&w->health_ms, ms(health_ns));
	}
	return 0;
}

/* ---- all of it ---- */

static int open_contest(const struct weighing_options *o, struct groups *groups, size_t jobs,
			bool is_beside_bpf, struct plain_reading *result, struct contest *ret)
{
	struct plain *plain =
		plain_new(o->hierarchy, groups, jobs,
			  metric_set_minus(group_files_metrics(o->hierarchy->is_v2, is_beside_bpf),
					   group_files_seldom()));

	if (!plain)
		return -ENOMEM;
	result->files = plain_files(plain);
	*ret = (struct contest){ .plain = plain, .result = result };
	return 0;
}

static int measure_agent(const struct weighing_options *o, struct groups *groups,
			 struct served *agent, struct weighing *w, struct error *err)
{
	struct contest contests[2] = {};
	int r = groups_work(groups);

	if (r < 0)
		return error_set_errno(err, r, "the jobs cannot use their files");
	for (int i = 0; i < 2 && r >= 0; i++)
		r = open_contest(o, groups, w->jobs, i == 0, &w->plain[i], &contests[i]);
	if (r >= 0)
		r = measure_readings(o, w->jobs, agent, contests, 2, &w->reading_ms);
	plain_free(contests[0].plain);
	plain_free(contests[1].plain);
	return r < 0 ? error_set_errno(err, r, "cannot read the files of %zu groups", w->jobs) : 0;
}

static int measure_without_bpf(const struct weighing_options *o, struct groups *groups,
			       struct weighing *w, struct error *err)
{
	_cleanup_(served_stopp) struct served *agent = NULL;
	struct contest contest = {};
	int r = weighing_start_agent(o, 1, false, &agent, err);

	if (r < 0)
		return r;
	r = open_contest(o, groups, w->jobs, false, &w->alone, &contest);
	if (r >= 0)
		r = measure_readings(o, w->jobs, agent, &contest, 1, &w->alone_ms);
	plain_free(contest.plain);
	return r < 0 ? error_set_errno(err, r, "cannot read the files of %zu groups", w->jobs) : 0;
}

static int measure(const struct weighing_options *o, struct groups *groups,
		   struct served *served[WHO_COUNT], struct weighing *w, struct error *err)
{
	int r = o->agent ? measure_without_bpf(o, groups, w, err) : 0;

	if (r >= 0 && o->agent)
		r = weighing_start_agent(o, 1, true, &served[WHO_AGENT], err);
	if (r >= 0 && served[WHO_AGENT])
		r = measure_agent(o, groups, served[WHO_AGENT], w, err);
	if (r >= 0)
		r = start_exporter(&served[WHO_EXPORTER], err);
	if (r >= 0)
		r = measure_scrapes(o, served, w, err);
	for (int who = 0; who < WHO_COUNT && r >= 0; who++) {
		if (served[who])
			served_weigh(served[who], &w->weight[who]);
	}
	return r >= 0 && served[WHO_AGENT] ? measure_health(served[WHO_AGENT], w, err) : r;
}

static int make_jobs(const struct weighing_options *o, size_t jobs,
		     const struct groups_mounts *mounts, struct groups **ret, struct error *err)
{
	return groups_make(o->root_fd, o->hierarchy, jobs, 1, mounts, ret, err);
}

int weighing_run(const struct weighing_options *o, size_t jobs, struct weighing *ret,
		 struct error *err)
{
	const struct groups_mounts mounts = { ground_mounts(o->ground), GROUND_MOUNTS };
	_cleanup_(groups_removep) struct groups *groups = NULL;
	struct served *served[WHO_COUNT] = {};
	int r;

	ret->jobs = jobs;
	r = make_jobs(o, jobs, &mounts, &groups, err);
	if (r >= 0)
		r = measure(o, groups, served, ret, err);
	for (int who = 0; who < WHO_COUNT; who++)
		served_stop(served[who]);
	return r;
}

int idling_run(const struct weighing_options *o, size_t jobs, int interval_s, struct idling *ret,
	       struct error *err)
{
	const struct groups_mounts mounts = { ground_mounts(o->ground), GROUND_MOUNTS };
	_cleanup_(groups_removep) struct groups *groups = NULL;
	_cleanup_(served_stopp) struct served *agent = NULL;
	struct timespec pause = { .tv_sec = interval_s }, length;
	uint64_t cpu_ns, sleeps;
	int r = make_jobs(o, jobs, &mounts, &groups, err);

	if (r >= 0)
		r = weighing_start_agent(o, interval_s, true, &agent, err);
	if (r < 0)
		return r;
	ret->seconds = (ret->seconds + interval_s - 1) / interval_s * interval_s; /* whole intervals
										   */
	length = (struct timespec){ .tv_sec = ret->seconds };
	nanosleep(&pause, NULL);
	cpu_ns = served_cpu_ns(agent);
	sleeps = served_sleeps(agent);
	nanosleep(&length, NULL);
	ret->jobs = jobs;
	ret->interval_s = interval_s;
	ret->cpu_ms = ms(served_cpu_ns(agent) - cpu_ns) * 60 / ret->seconds;
	ret->sleeps = (double)(served_sleeps(agent) - sleeps) * 60 / ret->seconds;
	return 0;
}

/* ---- tables ---- */

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

static void print_cells(struct samples *const *cells, int places, FILE *out)
{
	for (; *cells; cells++) {
		samples_print(*cells, places, out);
		fputs(" | ", out);
	}
}

static void print_readings(struct weighing *w, size_t count, FILE *out)
{
	const size_t few = w->plain[0].files, all = w->plain[1].files;

	fprintf(out,
		"A reading, one a second, and files of the same jobs opened, read and closed once in the same second: the %zu\n"
		"that the agent reads beside BPF, and the %zu that it reads without, which hold a part of what BPF tells:\n\n"
		"| jobs | with BPF: CPU ms | %zu files plainly: CPU ms | reading, of that | %zu files plainly: CPU ms | "
		"reading, of that | without BPF: CPU ms | %zu files plainly: CPU ms | reading, of that |\n"
		"|---|---|---|---|---|---|---|---|---|\n",
		few, all, few, all, all);
	for (size_t i = 0; i < count; i++) {
		struct plain_reading *p = w[i].plain;

		fprintf(out, "| %zu | ", w[i].jobs);
		print_cells((struct samples *[]){ &w[i].reading_ms, &p[0].ms, &p[0].ratio, &p[1].ms,
						  &p[1].ratio, &w[i].alone_ms, &w[i].alone.ms,
						  NULL },
			    2, out);
		samples_print(&w[i].alone.ratio, 2, out);
		fputs(" |\n", out);
	}
}

static void print_who(struct weighing *w, enum who who, FILE *out)
{
	const struct served_weight *weight = &w->weight[who];

	fprintf(out, "| %zu | %s | ", w->jobs, who == WHO_AGENT ? "the agent" : "`" EXPORTER "`");
	samples_print(&w->scraped_ms[who], 2, out);
	fputs(" | ", out);
	if (who == WHO_AGENT)
		samples_print(&w->scraped_ratio, 2, out);
	fprintf(out, " | %.1f | %.1f | %.1f | %.1f | %.0f |\n", mib(weight->rss_bytes),
		mib(weight->children_bytes), mib(weight->pss_bytes),
		mib(weight->rss_bytes + weight->children_bytes + weight->map_bytes),
		(double)w->page_bytes[who] / 1024);
}

static void print_scrapes(struct weighing *w, size_t count, FILE *out)
{
	fputs("\nScraped each second, of plain text:\n\n"
	      "| jobs | | CPU ms a second | of the exporter's | RSS MiB | of the children | Pss MiB | RSS and maps MiB | page KiB |\n"
	      "|---|---|---|---|---|---|---|---|---|\n",
	      out);
	for (size_t i = 0; i < count; i++) {
		for (int who = 0; who < WHO_COUNT; who++) {
			if (w[i].scraped_ms[who].count)
				print_who(&w[i], (enum who)who, out);
		}
	}
}

static void print_pages(struct weighing *w, size_t count, FILE *out)
{
	fputs("\nThe agent's page, by the clock; `/health` is asked for while a page is on its way:\n\n"
	      "| jobs | first byte ms | last byte ms | gzip: last byte ms | gzip: KiB | gzip: CPU ms a second | /health ms |\n"
	      "|---|---|---|---|---|---|---|\n",
	      out);
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "| %zu | ", w[i].jobs);
		print_cells((struct samples *[]){ &w[i].first_ms, &w[i].page_ms, &w[i].zipped_ms,
						  NULL },
			    1, out);
		fprintf(out, "%.0f | ", (double)w[i].zipped_bytes / 1024);
		print_cells((struct samples *[]){ &w[i].ours[1], NULL }, 2, out);
		samples_print(&w[i].health_ms, 1, out);
		fputs(" |\n", out);
	}
}

void weighing_print(struct weighing *w, size_t count, FILE *out)
{
	if (w->reading_ms.count)
		print_readings(w, count, out);
	print_scrapes(w, count, out);
	if (w->reading_ms.count)
		print_pages(w, count, out);
}

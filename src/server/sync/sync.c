/* SPDX-License-Identifier: MIT */
#include "server/sync/sync.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "server/store/store.h"
#include "server/sync/query.h"
#include "service/log.h"

#define NS UINT64_C(1000000000)
#define OVERLAP_NS (3600 * NS) /* what a database of the manager took late */
#define DAY_NS (86400 * NS)
#define FIRST_NS (7 * DAY_NS) /* before the first question */
#define ANSWER_MAX (UINT64_C(128) << 20) /* bytes: some 200,000 jobs */
#define PIECE_MIN_NS (60 * NS) /* of time: no less is asked for at once */
#define ACCOUNTS_INTERVALS 12 /* between questions for accounts */
#define RUNS_A_TURN 200
#define LEAST (64u << 10) /* bytes of room for an answer */

static const struct manager *const managers[] = { &manager_slurm, &manager_pbs, &manager_lsf,
						  &manager_flux };

struct sync {
	const struct manager *manager;
	int query_fd; /* of the process that asks; -EBADF: it is gone */
	uint64_t interval_ns;
	char mark[32]; /* its name in the database */
	enum { IDLE, ASKING, PUTTING } state;
	uint64_t next_ns; /* when to ask; since the epoch */
	enum manager_question question; /* the one under way */
	uint64_t asked_ns, until_ns; /* of it */
	uint64_t new_ns; /* time in it that no answer has covered yet... */
	uint64_t piece_ns; /* ...and so much at most: less, where an answer was too large */
	uint64_t accounts_ns; /* when to ask for accounts */
	struct manager_answer answer;
	struct store_run next; /* answer.next */
	const char *cluster;
	bool is_too_large, has_failed; /* the latter: it has been said */
	struct sync_facts facts;
};

int sync_start(const struct sync_options *options, struct sync **ret, struct error *err)
{
	struct sync *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_set_errno(err, ENOMEM, "cannot start the sync");
	s->query_fd = -EBADF;
	for (size_t i = 0; i < ARRAY_SIZE(managers); i++) {
		if (strcmp(managers[i]->name, options->manager) == 0)
			s->manager = managers[i];
	}
	s->interval_ns = options->interval_ns;
	s->piece_ns = DAY_NS;
	s->cluster = options->cluster;
	snprintf(s->mark, sizeof(s->mark), "sync_%s", options->manager);
	r = s->manager
		    ? query_start(s->manager, options->directory, options->user, &s->query_fd, err)
		    : error_set(err, -EINVAL, "nothing is known of '%s'", options->manager);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

static void drop_answer(struct sync *s)
{
	free(s->answer.text);
	free(s->answer.lines);
	json_decref(s->answer.root);
	s->answer = (struct manager_answer){};
	s->is_too_large = false;
	s->state = IDLE;
}

struct sync *sync_stop(struct sync *s)
{
	if (!s)
		return NULL;
	closep(&s->query_fd);
	drop_answer(s);
	free(s);
	return NULL;
}

int sync_fd(const struct sync *s)
{
	return s && s->state == ASKING ? s->query_fd : -1;
}

const struct sync_facts *sync_facts(const struct sync *s)
{
	return &s->facts;
}

/* Said when it begins and when it ends. */
static void tell(struct sync *s, const struct error *failure)
{
	if (failure) {
		s->facts.failures++;
		if (!s->has_failed)
			log_say(CONFIG_LOG_WARNING,
				"%s does not say what became of its jobs: %s; it is asked again",
				s->manager->name, failure->text);
	} else if (s->has_failed) {
		log_say(CONFIG_LOG_INFO, "%s says again what became of its jobs", s->manager->name);
	}
	s->has_failed = failure;
}

static void fail(struct sync *s, const struct error *err)
{
	tell(s, err);
	drop_answer(s);
}

static void stop_query(struct sync *s)
{
	closep(&s->query_fd);
	s->query_fd = -EBADF;
}

/* ---- asking ---- */

static void ask(struct sync *s, struct store *store, uint64_t now_ns)
{
	uint64_t mark_ns = store_read_mark(store, s->mark);
	uint64_t since_ns = mark_ns ? mark_ns - MIN(mark_ns, OVERLAP_NS)
				    : now_ns - MIN(now_ns, FIRST_NS);
	struct query_request request = {};
	struct error err = {};

	s->asked_ns = now_ns;
	s->question = mark_ns && s->manager->next_coordinator && now_ns >= s->accounts_ns
			      ? QUESTION_ACCOUNTS
			      : QUESTION_RUNS;
	s->until_ns = MIN(MAX(since_ns, mark_ns) + s->piece_ns, now_ns);
	s->new_ns = s->until_ns - MIN(MAX(since_ns, mark_ns), s->until_ns);
	if (s->question == QUESTION_ACCOUNTS)
		s->accounts_ns = now_ns + ACCOUNTS_INTERVALS * s->interval_ns;
	else
		s->next_ns = now_ns + s->interval_ns;
	if (getrandom(&request.mark, sizeof(request.mark), 0) < 0 || !request.mark)
		return;
	request.question = s->question;
	request.since_s = since_ns / NS;
	request.until_s = s->until_ns / NS + 1; /* what ends in this second, too */
	s->facts.questions++;
	s->answer.mark = request.mark;
	s->answer.cluster = s->cluster;
	s->answer.next = &s->next;
	s->state = ASKING;
	if (query_ask(s->query_fd, &request, &err) < 0) {
		fail(s, &err);
		stop_query(s);
	}
}

static void take(void *context, const char *bytes, size_t length)
{
	struct sync *s = context;
	struct manager_answer *a = &s->answer;
	size_t room = a->length + length + 1;
	char *text;

	s->is_too_large |= room > ANSWER_MAX;
	if (s->is_too_large)
		return;
	/* to the next power of two, so that it is not copied at each part */
	room = room < LEAST ? (size_t)LEAST : UINT64_C(1) << (64 - __builtin_clzll(room - 1));
	text = realloc(a->text, room);
	s->is_too_large = !text;
	if (!text)
		return;
	a->text = text;
	memcpy(text + a->length, bytes, length);
	a->length += length;
	text[a->length] = '\0';
}

void sync_read(struct sync *s)
{
	struct error err = {};
	enum query_state state = query_read(s->query_fd, take, s, &err);

	if (state == QUERY_GOES_ON)
		return;
	if (state == QUERY_IS_WHOLE && s->question == QUESTION_RUNS && s->is_too_large &&
	    !s->manager->is_of_all && s->new_ns > PIECE_MIN_NS) {
		s->piece_ns = s->new_ns / 2;
		s->next_ns = 0;
		return drop_answer(s);
	}
	if (state == QUERY_IS_WHOLE && s->question == QUESTION_RUNS)
		take(s, "", 0); /* some say nothing where there is no job */
	if (state == QUERY_IS_WHOLE && s->is_too_large)
		error_set(&err, -EFBIG,
			  "its answer is larger than %d MiB, or than the memory that there is",
			  (int)(ANSWER_MAX >> 20));
	else if (state == QUERY_IS_WHOLE && !s->answer.text)
		error_set(&err, -EBADMSG, "its answer is empty");
	else if (state == QUERY_IS_WHOLE && s->question == QUESTION_ACCOUNTS)
		s->answer.at = s->answer.text;
	else if (state == QUERY_IS_WHOLE)
		(void)s->manager->open(&s->answer, &err);
	if (*err.text)
		fail(s, &err);
	else
		s->state = PUTTING;
	if (state == QUERY_IS_GONE)
		stop_query(s);
}

/* ---- taking ---- */

/* Some; 0: there are no more. */
static int put_some(struct sync *s, struct store *store, struct error *err)
{
	int r = 1, put;

	for (int i = 0; i < RUNS_A_TURN && r > 0; i++) {
		struct store_run run;
		struct error reason = {};
		bool is_news = false;

		r = s->manager->next(&s->answer, &run, &reason);
		if (r < 0) {
			if (s->facts.refused++ == 0)
				log_say(CONFIG_LOG_WARNING, "%s: %s: it is passed over",
					s->manager->name, reason.text);
			r = 1;
			continue;
		}
		put = r ? store_put_run(store, &run, &is_news, err) : 0;
		if (put < 0)
			return put;
		s->facts.runs += r > 0;
		s->facts.news += is_news;
	}
	return r;
}

static void put(struct sync *s, struct store *store, uint64_t now_ns)
{
	const struct sync_facts before = s->facts;
	const char *account, *user;
	struct error err = {};
	int r = store_begin(store, &err), more = 0;

	if (r >= 0 && s->question == QUESTION_ACCOUNTS) { /* all, in place of those before */
		store_clear_coordinators(store, s->manager->name);
		while (s->manager->next_coordinator(&s->answer, &account, &user))
			store_add_coordinator(store, s->manager->name, account, user);
	} else if (r >= 0) {
		r = more = put_some(s, store, &err);
	}
	if (r == 0 && s->question == QUESTION_RUNS)
		store_set_mark(store, s->mark, s->until_ns);
	if (r >= 0)
		r = store_commit(store, &err);
	if (r < 0) {
		store_abandon(store);
		s->facts = before;
		return fail(s, &err);
	}
	if (more)
		return;
	tell(s, NULL);
	if (s->question == QUESTION_ACCOUNTS)
		return drop_answer(s);
	s->facts.known_until_ns = s->until_ns;
	s->piece_ns = MIN(2 * s->piece_ns, DAY_NS);
	if (s->until_ns < s->asked_ns) /* days of the past, one after another */
		s->next_ns = now_ns;
	store_count_unmeasured(store, now_ns - MIN(now_ns, DAY_NS), &s->facts.jobs,
			       &s->facts.unmeasured);
	drop_answer(s);
}

bool sync_work(struct sync *s, struct store *store, uint64_t now_ns)
{
	if (s->state == PUTTING)
		put(s, store, now_ns);
	else if (s->state == IDLE && s->query_fd >= 0 &&
		 (now_ns >= s->next_ns || s->next_ns > now_ns + s->interval_ns) &&
		 store_may_sync(store, now_ns))
		ask(s, store, now_ns);
	return s->state == PUTTING ||
	       (s->state == IDLE && s->query_fd >= 0 && s->next_ns <= now_ns);
}

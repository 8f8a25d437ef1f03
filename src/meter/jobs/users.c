/* SPDX-License-Identifier: MIT */
#include "jobs/users.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/utf8.h"

#define SET_COUNT \
	256 /* the cache is one of sets: a uid is in one of the places of its set, or nowhere */
#define SET_SIZE 8
#define BATCH_MAX 64
#define TIMEOUT_NS UINT64_C(10000000000)
#define NAMED_NS UINT64_C(3600000000000)
#define UNNAMED_NS UINT64_C(60000000000)

static_assert(SET_COUNT * SET_SIZE == USERS_KEPT, "users.h says how many are kept");

enum state {
	STATE_FREE,
	STATE_UNKNOWN, /* never answered */
	STATE_NAMED,
	STATE_UNNAMED,
};

struct entry {
	enum state state;
	uint32_t uid;
	bool is_waiting; /* for the next child, or for this one */
	uint64_t due_ns; /* when to ask (again) */
	uint64_t used; /* by the count of look-ups */
	char *name;
};

/* What comes through the pipe: less than PIPE_BUF, so whole. */
struct answer {
	uint32_t uid;
	int32_t error;
	char name[USERS_NAME_MAX];
};
static_assert(sizeof(struct answer) <= PIPE_BUF, "an answer is written at once");

struct users {
	users_lookup lookup;
	uint64_t timeout_ns;
	uint64_t look_ups;
	struct entry sets[SET_COUNT][SET_SIZE];
	size_t waiting;
	pid_t child; /* 0: none */
	int fd;
	uint64_t deadline_ns;
	bool is_killed;
	uint32_t batch[BATCH_MAX];
	size_t batch_count;
	uint64_t children, late;
};

/* What of it comes from NSS may be anything. */
static int look_up(uint32_t uid, char name[USERS_NAME_MAX])
{
	struct passwd entry, *found = NULL;
	char text[16384];
	int r = getpwuid_r(uid, &entry, text, sizeof(text), &found);

	if (!found)
		return r && r != ENOENT && r != ESRCH ? -r : -ENOENT;
	if (strlen(found->pw_name) >= USERS_NAME_MAX)
		return -ENOENT;
	memcpy(name, found->pw_name, strlen(found->pw_name) + 1);
	return 0;
}

struct users *users_new(const struct users_options *options)
{
	struct users *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->lookup = options->lookup ? options->lookup : look_up;
	u->timeout_ns = options->timeout_ns ? options->timeout_ns : TIMEOUT_NS;
	u->fd = -EBADF;
	return u;
}

static struct entry *find_entry(struct users *u, uint32_t uid)
{
	struct entry *set = u->sets[uid % SET_COUNT];

	for (size_t i = 0; i < SET_SIZE; i++) {
		if (set[i].state != STATE_FREE && set[i].uid == uid)
			return &set[i];
	}
	return NULL;
}

static void set_waiting(struct users *u, struct entry *e, bool is_waiting)
{
	u->waiting += is_waiting && !e->is_waiting;
	u->waiting -= !is_waiting && e->is_waiting;
	e->is_waiting = is_waiting;
}

/* A place for @uid: a free one, or that of who was asked for least lately. */
static struct entry *take_entry(struct users *u, uint32_t uid)
{
	struct entry *set = u->sets[uid % SET_COUNT], *oldest = set;

	for (size_t i = 0; i < SET_SIZE && oldest->state != STATE_FREE; i++) {
		if (set[i].state == STATE_FREE || set[i].used < oldest->used)
			oldest = &set[i];
	}
	set_waiting(u, oldest, false);
	free(oldest->name);
	*oldest = (struct entry){ .state = STATE_UNKNOWN, .uid = uid };
	return oldest;
}

int users_find(struct users *u, uint32_t uid, uint64_t now_ns, const char **ret)
{
	struct entry *e = find_entry(u, uid);

	if (!e)
		e = take_entry(u, uid);
	e->used = ++u->look_ups;
	if (now_ns >= e->due_ns)
		set_waiting(u, e, true);
	switch (e->state) {
	case STATE_NAMED:
		*ret = e->name;
		return 0;
	case STATE_UNNAMED:
		return -ENOENT;
	case STATE_UNKNOWN:
	case STATE_FREE:
		break;
	}
	return -EAGAIN;
}

/* ---- the child ---- */

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void)syscall(SYS_capset, &head, none);
}

/* Nothing of the caller's is left to it: neither descriptors (a connection would stay open as long
 * as the child lives), nor handlers and blocked signals, nor rights. */
static void become_child(const struct users *u, int fd)
{
	const struct sigaction normal = { .sa_handler = SIG_DFL },
			       ignored = { .sa_handler = SIG_IGN };
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int signal = 1; signal < NSIG; signal++)
		sigaction(signal, &normal, NULL);
	sigaction(SIGPIPE, &ignored, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm((unsigned int)(u->timeout_ns / 1000000000 + 2)); /* should nobody be there to end us
								*/
	if (fd != 3)
		dup2(fd, 3);
	close_range(4, ~0u, 0);
	drop_capabilities();
}

static _Noreturn void be_child(const struct users *u, int fd)
{
	become_child(u, fd);
	for (size_t i = 0; i < u->batch_count; i++) {
		struct answer answer = { .uid = u->batch[i] };

		answer.error = u->lookup(answer.uid, answer.name);
		if (write(3, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

/* ---- the parent ---- */

static size_t choose_batch(struct users *u)
{
	u->batch_count = 0;
	for (size_t i = 0; i < SET_COUNT && u->batch_count < BATCH_MAX; i++) {
		for (size_t j = 0; j < SET_SIZE && u->batch_count < BATCH_MAX; j++) {
			if (u->sets[i][j].is_waiting)
				u->batch[u->batch_count++] = u->sets[i][j].uid;
		}
	}
	return u->batch_count;
}

static void start_child(struct users *u, uint64_t now_ns)
{
	int fds[2];

	if (!u->waiting || !choose_batch(u) || pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	fcntl(fds[1], F_SETFL, 0); /* the child waits if it is faster than we are */
	u->child = fork();
	if (u->child == 0)
		be_child(u, fds[1]);
	close(fds[1]);
	if (u->child < 0) {
		close(fds[0]);
		u->child = 0;
		return;
	}
	u->fd = fds[0];
	u->deadline_ns = now_ns + u->timeout_ns;
	u->is_killed = false;
	u->children++;
}

/* A name that would break somebody's output is none. */
static bool is_good_name(const char *name)
{
	const char *p = name;
	uint32_t c;

	while ((c = utf8_next(&p))) {
		if (c == UTF8_REPLACEMENT || !utf8_is_printable(c))
			return false;
	}
	return *name;
}

static void take_answer(struct users *u, struct answer *a, uint64_t now_ns)
{
	struct entry *e = find_entry(u, a->uid);
	char *name;

	if (!e)
		return; /* it has made room for another meanwhile */
	set_waiting(u, e, false);
	e->due_ns = now_ns + UNNAMED_NS;
	if (a->error && a->error != -ENOENT)
		return;
	a->name[sizeof(a->name) - 1] = '\0';
	if (a->error || !is_good_name(a->name)) {
		e->state = STATE_UNNAMED;
		return;
	}
	name = strdup(a->name);
	if (!name)
		return;
	free(e->name);
	e->name = name;
	e->state = STATE_NAMED;
	e->due_ns = now_ns + NAMED_NS;
}

/* True: the child has said all that it will say. */
static bool take_answers(struct users *u, uint64_t now_ns)
{
	for (;;) {
		struct answer answer;
		ssize_t n = read(u->fd, &answer, sizeof(answer));

		if (n == (ssize_t)sizeof(answer))
			take_answer(u, &answer, now_ns);
		else if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			return true;
		else if (errno == EAGAIN)
			return false;
	}
}

/* Whom the child did not answer: who was at hand when it hung, and those behind.  Only the first is
 * blamed, so that a uid that makes a directory hang does not take their names from the others. */
static void give_up(struct users *u, uint64_t now_ns)
{
	for (size_t i = 0; i < u->batch_count; i++) {
		struct entry *e = find_entry(u, u->batch[i]);

		if (!e || !e->is_waiting)
			continue;
		set_waiting(u, e, false);
		e->due_ns = now_ns + UNNAMED_NS;
		return;
	}
}

static void close_pipe(struct users *u)
{
	closep(&u->fd);
	u->fd = -EBADF;
}

/* Until it is gone there is no other: it may sit where no signal reaches it. */
static void reap_child(struct users *u)
{
	pid_t r = waitpid(u->child, NULL, WNOHANG);

	if (r == u->child || (r < 0 && errno == ECHILD))
		u->child = 0;
}

void users_work(struct users *u, uint64_t now_ns)
{
	if (u->fd >= 0 && take_answers(u, now_ns)) {
		close_pipe(u);
		give_up(u, now_ns); /* there is none, unless the child fell */
	}
	if (u->child && !u->is_killed && (u->fd < 0 || now_ns >= u->deadline_ns)) {
		if (u->fd >= 0) {
			u->late++;
			close_pipe(u);
			give_up(u, now_ns);
		}
		kill(u->child, SIGKILL); /* it has nothing more to say */
		u->is_killed = true;
	}
	if (u->child)
		reap_child(u);
	if (!u->child)
		start_child(u, now_ns);
}

int users_fd(const struct users *u)
{
	return u->fd;
}

void users_get_state(const struct users *u, struct users_state *ret)
{
	*ret = (struct users_state){ u->children, u->late, u->waiting };
}

struct users *users_free(struct users *u)
{
	if (!u)
		return NULL;
	close_pipe(u);
	if (u->child) {
		kill(u->child, SIGKILL);
		reap_child(u);
	}
	for (size_t i = 0; i < SET_COUNT; i++) {
		for (size_t j = 0; j < SET_SIZE; j++)
			free(u->sets[i][j].name);
	}
	free(u);
	return NULL;
}

void users_freep(struct users **u)
{
	users_free(*u);
}

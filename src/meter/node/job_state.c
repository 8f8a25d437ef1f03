/* SPDX-License-Identifier: MIT */
#include "node/job_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/fnv.h"
#include "basic/macro.h"
#include "jobs/registry.h"

/* ---- names ---- */

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

struct writer {
	char *at, *end;
};

static bool put(struct writer *w, char c)
{
	if (w->at + 1 >= w->end)
		return false;
	*w->at++ = c;
	*w->at = '\0';
	return true;
}

static bool put_escaped(struct writer *w, const char *text, const char *also_plain)
{
	static const char digits[] = "0123456789abcdef";

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		bool is_put = strchr(plain, *text) || strchr(also_plain, *text)
				      ? put(w, *text)
				      : put(w, '%') && put(w, digits[c >> 4]) &&
						put(w, digits[c & 15]);

		if (!is_put)
			return false;
	}
	return true;
}

/* Five bits a letter: for texts that are mostly escapes. */
static bool put_packed(struct writer *w, const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned int bits = 0, count = 0;

	for (; *text; text++) {
		bits = (bits & 0xff) << 8 | (unsigned char)*text;
		for (count += 8; count >= 5; count -= 5) {
			if (!put(w, letters[bits >> (count - 5) & 31]))
				return false;
		}
	}
	return !count || put(w, letters[bits << (5 - count) & 31]);
}

/* From two seeds: for texts that are too long. */
static bool put_digest(struct writer *w, const char *text)
{
	uint64_t halves[] = { FNV_BEGIN, UINT64_C(0x9e3779b97f4a7c15) };
	int size = (int)(w->end - w->at);

	for (size_t i = 0; i < 2; i++)
		halves[i] = fnv_bytes(halves[i], text, strlen(text));
	if (snprintf(w->at, (size_t)size, "%016" PRIx64 "%016" PRIx64, halves[0], halves[1]) >=
	    size)
		return false;
	w->at += strlen(w->at);
	return true;
}

/* "slurm-42.json", "podman-ab~1000.json"; the first "-" ends the manager, so the id may have more.
 * "~slurm-..." is packed, "=slurm-..." a digest. */
int state_name(const char *manager, const char *id, int64_t maker, char ret[STATE_NAME_SIZE])
{
	char end[32] = ".json";
	struct writer w = { ret, ret + STATE_NAME_SIZE };
	bool is_put;

	if (maker >= 0)
		snprintf(end, sizeof(end), "~%" PRId64 ".json", maker);
	w.end -= strlen(end);
	is_put = put_escaped(&w, manager, "") && put(&w, '-') && put_escaped(&w, id, ".-");

	if (!is_put) {
		w.at = ret;
		is_put = put(&w, '~') && put_escaped(&w, manager, "") && put(&w, '-') &&
			 put_packed(&w, id);
	}
	if (!is_put) {
		w.at = ret;
		is_put = put(&w, '=') && put_escaped(&w, manager, "") && put(&w, '-') &&
			 put_digest(&w, id);
	}
	if (!is_put)
		return -ENAMETOOLONG;
	memcpy(w.at, end, strlen(end) + 1);
	return 0;
}

/* ---- files ---- */

static int take(void *context, const char *name UNUSED, const char *text, size_t length,
		struct error *err)
{
	return registry_parse_job(context, text, length, err);
}

int job_state_read(struct state *state, struct registry *registry, struct error *err)
{
	return state_read_all(state, take, registry, err);
}

static int format_job(struct registry_job *job, char name[STATE_NAME_SIZE], char **ret)
{
	const struct job *known = registry_job_known(job);
	int r = state_name(known->manager, registry_job_name(job), registry_job_maker(job), name);

	return r < 0 ? r : registry_format_job(job, ret);
}

bool job_state_write_one(struct state *state, struct registry_job *job)
{
	_cleanup_free_ char *text = NULL;
	char name[STATE_NAME_SIZE];

	if (format_job(job, name, &text) < 0)
		return false;
	/* worthless after a loss of power: the job is over then */
	if (state_write(state, name, text, strlen(text), false, NULL) < 0)
		return false;
	registry_job_saved(job);
	return true;
}

bool job_state_write(struct state *state, struct registry *registry)
{
	bool is_all = true;

	for (struct registry_job *job = NULL; (job = registry_next(registry, job));) {
		if (registry_job_is_changed(job))
			is_all &= job_state_write_one(state, job);
	}
	return is_all;
}

int job_state_write_last_one(struct state *state, struct registry_job *job, uint32_t kernel_side,
			     struct error *err)
{
	_cleanup_free_ char *text = NULL;
	char name[STATE_NAME_SIZE];
	int r = format_job(job, name, &text);

	if (r < 0)
		return error_set_errno(err, r, "cannot write the state of job '%.200s'",
				       registry_job_known(job)->id);
	return state_write_last(state, name, kernel_side, text, strlen(text), err);
}

int job_state_write_last(struct state *state, struct registry *registry, uint32_t kernel_side,
			 struct error *err)
{
	int r = 0;

	for (struct registry_job *job = NULL; r >= 0 && (job = registry_next(registry, job));) {
		if (registry_job_is_changed(job))
			r = job_state_write_last_one(state, job, kernel_side, err);
	}
	return r;
}

void job_state_remove(struct state *state, struct registry_job *job)
{
	const struct job *known = registry_job_known(job);
	char name[STATE_NAME_SIZE];

	if (state_name(known->manager, registry_job_name(job), registry_job_maker(job), name) == 0)
		(void)state_remove(state, name, NULL); /* counted, and reported as news */
}

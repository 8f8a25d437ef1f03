/* SPDX-License-Identifier: MIT */
#include "predict/models.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "basic/cleanup.h"
#include "basic/error.h"

#define MAGIC "jmmodels"
#define VERSION 1
#define NAME_SIZE 16

struct head {
	char magic[8];
	uint32_t version, features, models;
	uint32_t checksum; /* CRC-32 of what follows */
	uint64_t made_ns;
};

struct entry { /* its model's bytes follow */
	char target[NAME_SIZE], learner[NAME_SIZE];
	struct model_score own, m0;
	double factor;
	uint64_t jobs, scored, size;
};

static int write_model(enum target target, const struct model *model, FILE *out)
{
	_cleanup_free_ char *bytes = NULL;
	struct entry entry = { .own = model->own,
			       .m0 = model->m0,
			       .factor = model->fitted.factor,
			       .jobs = model->fitted.jobs,
			       .scored = model->scored };
	size_t size = 0;
	FILE *memory = open_memstream(&bytes, &size);
	int r = memory ? model->fitted.learner->write(model->fitted.model, memory) : -ENOMEM;

	if (memory && fclose(memory) != 0 && r == 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	entry.size = size;
	strncpy(entry.target, target_rows[target].name, NAME_SIZE - 1);
	strncpy(entry.learner, model->fitted.learner->name, NAME_SIZE - 1);
	if (fwrite(&entry, sizeof(entry), 1, out) != 1 || fwrite(bytes, 1, size, out) != size)
		return -EIO;
	return 0;
}

int models_write(const struct models *models, FILE *out)
{
	_cleanup_free_ char *bytes = NULL;
	struct head head = { .version = VERSION, .features = FEATURES, .made_ns = models->made_ns };
	size_t size = 0;
	FILE *memory = open_memstream(&bytes, &size);
	int r = memory ? 0 : -ENOMEM;

	for (enum target t = 0; r == 0 && t < TARGETS; t++) {
		if (!models->of[t].fitted.learner)
			continue;
		r = write_model(t, &models->of[t], memory);
		head.models++;
	}
	if (memory && fclose(memory) != 0 && r == 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	memcpy(head.magic, MAGIC, sizeof(head.magic));
	head.checksum = (uint32_t)crc32_z(0, (const unsigned char *)bytes, size);
	if (fwrite(&head, sizeof(head), 1, out) != 1 || fwrite(bytes, 1, size, out) != size)
		return -EIO;
	return 0;
}

static const struct learner *find_learner(const struct learner *const *learners, const char *name)
{
	while (*learners && strcmp((*learners)->name, name) != 0)
		learners++;
	return *learners;
}

static bool is_score(const struct model_score *score)
{
	return isfinite(score->within_two) && isfinite(score->within) && isfinite(score->error);
}

/* Returns how many of the bytes it took. */
static ssize_t read_model(const char *bytes, size_t size, const struct learner *const *learners,
			  struct models *ret)
{
	const struct learner *learner;
	enum target target = 0;
	struct entry entry;
	struct model *model;
	int r;

	if (size < sizeof(entry))
		return -EBADMSG;
	memcpy(&entry, bytes, sizeof(entry));
	entry.target[NAME_SIZE - 1] = entry.learner[NAME_SIZE - 1] = '\0';
	while (target < TARGETS && strcmp(target_rows[target].name, entry.target) != 0)
		target++;
	learner = find_learner(learners, entry.learner);
	if (target == TARGETS || !learner || entry.size > size - sizeof(entry) ||
	    ret->of[target].fitted.learner || !isfinite(entry.factor) || entry.factor < 0 ||
	    !is_score(&entry.own) || !is_score(&entry.m0))
		return -EBADMSG;
	model = &ret->of[target];
	r = learner->read(bytes + sizeof(entry), entry.size, &model->fitted.model);
	if (r < 0)
		return r;
	model->fitted.learner = learner;
	model->fitted.factor = entry.factor;
	model->fitted.jobs = entry.jobs;
	model->own = entry.own;
	model->m0 = entry.m0;
	model->scored = entry.scored;
	return (ssize_t)(sizeof(entry) + entry.size);
}

int models_read(const char *bytes, size_t size, const struct learner *const *learners,
		struct models *ret, struct error *err)
{
	struct head head = {};
	size_t at = sizeof(head);
	int r = 0;

	*ret = (struct models){};
	if (size >= sizeof(head))
		memcpy(&head, bytes, sizeof(head));
	if (memcmp(head.magic, MAGIC, sizeof(head.magic)) != 0)
		return error_set(err, -EBADMSG, "it holds no models");
	if (head.version != VERSION || head.features != FEATURES)
		return error_set(err, -EBADMSG,
				 "it is of another version: 'jobmeter-server predict train' makes "
				 "it anew");
	if (head.checksum !=
	    crc32_z(0, (const unsigned char *)bytes + sizeof(head), size - sizeof(head)))
		return error_set(err, -EBADMSG, "its checksum is wrong");
	for (uint32_t i = 0; r == 0 && i < head.models; i++) {
		ssize_t taken = read_model(bytes + at, size - at, learners, ret);

		r = taken < 0 ? (int)taken : 0;
		at += taken < 0 ? 0 : (size_t)taken;
	}
	if (r == 0 && at != size)
		r = -EBADMSG;
	ret->made_ns = head.made_ns;
	if (r < 0) {
		models_clear(ret);
		return error_set_errno(err, r, "its model cannot be read");
	}
	return 0;
}

void models_clear(struct models *models)
{
	for (enum target t = 0; t < TARGETS; t++)
		fitted_clear(&models->of[t].fitted);
	*models = (struct models){};
}

void models_apply(const struct models *models, const struct job_request *request,
		  struct estimate made[TARGETS])
{
	struct estimate m0[TARGETS];
	float row[FEATURES];

	memcpy(m0, made, sizeof(m0));
	for (enum target t = 0; t < TARGETS; t++) {
		const struct fitted *f = &models->of[t].fitted;
		struct estimate *e = &made[t];
		double width;

		if (!f->learner || !e->is_known || e->is_lower_bound)
			continue;
		features_fill(request, m0, t, row);
		width = e->has_interval ? f->factor * log(e->high / e->value) : 0;
		e->value *= exp(f->learner->predict(f->model, row));
		e->has_interval = width > 0;
		e->low = e->value * exp(-width);
		e->high = e->value * exp(width);
		e->model = f->learner->name;
	}
}

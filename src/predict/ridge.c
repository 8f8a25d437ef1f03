/* SPDX-License-Identifier: MIT */
#include "predict/ridge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"

#define BUCKETS 32 /* of a text */
#define CODES 4 /* features that are codes, the last ones */
#define NUMBERS (FEATURES - CODES)
#define SIZE (1 + NUMBERS + CODES * BUCKETS) /* the first is the constant */
#define PENALTY 10.0
#define LEAST_ROWS 50
#define CLIP 6.0 /* standard deviations: what is beyond says no more */

struct ridge {
	double mean[NUMBERS], scale[NUMBERS], weights[SIZE];
	double least, most; /* of the targets: no sum of weights goes beyond what came */
};

struct term { /* of a row, that is not 0 */
	size_t at;
	double value;
};
#define TERMS (1 + FEATURES)

static void fill_terms(const struct ridge *m, const float *row, struct term ret[TERMS])
{
	ret[0] = (struct term){ 0, 1 };
	for (size_t i = 0; i < NUMBERS; i++) {
		double value = (row[i] - m->mean[i]) * m->scale[i];

		ret[1 + i] = (struct term){ 1 + i, fmax(-CLIP, fmin(CLIP, value)) };
	}
	for (size_t i = 0; i < CODES; i++) {
		size_t bucket = (size_t)row[NUMBERS + i] % BUCKETS;

		ret[1 + NUMBERS + i] = (struct term){ 1 + NUMBERS + i * BUCKETS + bucket, 1 };
	}
}

static void measure(struct ridge *m, const float *rows, size_t count)
{
	for (size_t i = 0; i < NUMBERS; i++) {
		double sum = 0, squares = 0;

		for (size_t row = 0; row < count; row++)
			sum += rows[row * FEATURES + i];
		m->mean[i] = sum / (double)count;
		for (size_t row = 0; row < count; row++)
			squares += pow(rows[row * FEATURES + i] - m->mean[i], 2);
		m->scale[i] = squares > 0 ? 1 / sqrt(squares / (double)count) : 0;
	}
}

/* @a, of which the lower half is there, times x is @b: x takes the place of @b.  False: @a is not
 * positive. */
static bool solve(double (*a)[SIZE], double b[SIZE])
{
	for (size_t i = 0; i < SIZE; i++) {
		for (size_t j = 0; j <= i; j++) {
			double sum = a[i][j];

			for (size_t k = 0; k < j; k++)
				sum -= a[i][k] * a[j][k];
			if (i == j && !(sum > 0))
				return false;
			a[i][j] = i == j ? sqrt(sum) : sum / a[j][j];
		}
	}
	for (size_t i = 0; i < SIZE; i++) {
		for (size_t k = 0; k < i; k++)
			b[i] -= a[i][k] * b[k];
		b[i] /= a[i][i];
	}
	for (size_t i = SIZE; i-- > 0;) {
		for (size_t k = i + 1; k < SIZE; k++)
			b[i] -= a[k][i] * b[k];
		b[i] /= a[i][i];
	}
	return true;
}

static void *fit(const float *rows, const float *targets, size_t count)
{
	struct ridge *m = calloc(1, sizeof(*m));
	_cleanup_free_ double(*a)[SIZE] = calloc(SIZE, sizeof(*a));
	struct term terms[TERMS];

	if (!m || !a || count < LEAST_ROWS) {
		free(m);
		return NULL;
	}
	measure(m, rows, count);
	m->least = m->most = targets[0];
	for (size_t row = 0; row < count; row++) {
		m->least = fmin(m->least, targets[row]);
		m->most = fmax(m->most, targets[row]);
		fill_terms(m, rows + row * FEATURES, terms);
		for (size_t i = 0; i < TERMS; i++) {
			m->weights[terms[i].at] += terms[i].value * targets[row];
			for (size_t j = 0; j <= i; j++)
				a[terms[i].at][terms[j].at] += terms[i].value * terms[j].value;
		}
	}
	for (size_t i = 0; i < SIZE; i++)
		a[i][i] += i ? PENALTY : 1e-9;
	if (!solve(a, m->weights)) {
		free(m);
		return NULL;
	}
	return m;
}

static double predict(const void *model, const float *row)
{
	const struct ridge *m = model;
	struct term terms[TERMS];
	double sum = 0;

	fill_terms(m, row, terms);
	for (size_t i = 0; i < TERMS; i++)
		sum += m->weights[terms[i].at] * terms[i].value;
	return fmax(m->least, fmin(m->most, sum));
}

static int write_ridge(const void *model, FILE *out)
{
	return fwrite(model, sizeof(struct ridge), 1, out) == 1 ? 0 : -EIO;
}

static int read_ridge(const void *bytes, size_t size, void **ret)
{
	double number;

	if (size != sizeof(struct ridge))
		return -EBADMSG;
	for (size_t at = 0; at < size; at += sizeof(number)) {
		memcpy(&number, (const char *)bytes + at, sizeof(number)); /* it may be unaligned */
		if (!isfinite(number))
			return -EBADMSG;
	}
	*ret = malloc(size);
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, bytes, size);
	return 0;
}

const struct learner ridge_learner = { "ridge", fit, predict, free, write_ridge, read_ridge };

/* SPDX-License-Identifier: MIT */
#include "analysis/repetition.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "analysis/robust.h"
#include "analysis/variables.h"

#define SCATTERS 5
#define SHARE 0.1

static void summarize(const double *numbers, size_t count, struct repetition *ret)
{
	double sum = 0, squares = 0;

	*ret = (struct repetition){ .known = count, .least = INFINITY, .greatest = -INFINITY };
	for (size_t i = 0; i < count; i++) {
		sum += numbers[i];
		ret->least = fmin(ret->least, numbers[i]);
		ret->greatest = fmax(ret->greatest, numbers[i]);
	}
	ret->mean = sum / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (numbers[i] - ret->mean) * (numbers[i] - ret->mean);
	ret->deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

int repetition_make(const struct variable *variable, struct record *const *records, size_t count,
		    struct repetition *ret)
{
	_cleanup_free_ double *numbers = calloc(count + 1, sizeof(*numbers));
	size_t known = 0;

	*ret = (struct repetition){};
	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct subject subject = { .record = records[i] };
		struct amount a = variable_get(variable, &subject);

		if (a.is_known)
			numbers[known++] = a.number;
	}
	if (!known)
		return 0;
	summarize(numbers, known, ret);
	ret->median = robust_median(numbers, known);
	ret->limit = INFINITY;
	if (known >= REPETITION_OUTLIERS_MIN)
		ret->limit = fmax(SCATTERS * robust_scatter(numbers, known, ret->median),
				  SHARE * fabs(ret->median));
	return 0;
}

bool repetition_is_outlier(const struct repetition *r, struct amount a)
{
	return r->known && a.is_known && fabs(a.number - r->median) > r->limit;
}

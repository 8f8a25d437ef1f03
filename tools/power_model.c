/* SPDX-License-Identifier: MIT */
#include "power_model.h"

#include <math.h>
#include <string.h>

#define ROUNDS_MAX 20000
#define STILL 1e-12 /* no weight moved by more, relative to itself */

void power_model_add(struct power_model *m, const double counters[POWER_TERMS_MAX], double power)
{
	if (!(power > 0))
		return;
	for (size_t i = 0; i < m->terms; i++) {
		const double x = counters[i] / power; /* so that errors count by their share */

		m->targets[i] += x;
		for (size_t k = 0; k < m->terms; k++)
			m->products[i][k] += x * (counters[k] / power);
	}
}

/* One weight at a time, as if the others were right, and never below 0: that ends at the least
 * squares with weights that are not negative. */
void power_model_fit(struct power_model *m)
{
	double moved = 1;

	memset(m->weights, 0, sizeof(m->weights));
	for (unsigned int round = 0; round < ROUNDS_MAX && moved > STILL; round++) {
		moved = 0;
		for (size_t i = 0; i < m->terms; i++) {
			double left = m->targets[i], weight;

			if (!(m->products[i][i] > 0))
				continue;
			for (size_t k = 0; k < m->terms; k++)
				left -= k == i ? 0 : m->products[i][k] * m->weights[k];
			weight = fmax(0, left / m->products[i][i]);
			moved = fmax(moved, fabs(weight - m->weights[i]) / fmax(weight, 1e-300));
			m->weights[i] = weight;
		}
	}
}

double power_model_predict(const struct power_model *m, const double counters[POWER_TERMS_MAX])
{
	double power = 0;

	for (size_t i = 0; i < m->terms; i++)
		power += m->weights[i] * counters[i];
	return power;
}

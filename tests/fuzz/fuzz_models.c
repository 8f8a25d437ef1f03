/* SPDX-License-Identifier: MIT */
/* Whatever a file of models holds: what is taken can be asked, and each walk through its trees
 * ends. */

#include "basic/cleanup.h"
#include "basic/error.h"
#include "fuzz.h"
#include "predict/forest.h"
#include "predict/models.h"
#include "predict/ridge.h"

static void read_forest(const uint8_t *data, size_t size)
{
	struct forest forest;
	float row[FEATURES] = {};

	if (forest_read(data, size, &forest) < 0)
		return;
	(void)forest_predict(&forest, row);
	forest_clear(&forest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct learner *const learners[] = { &ridge_learner, NULL };
	_cleanup_(models_clear) struct models models = {};
	struct estimate made[TARGETS] = {};
	struct error err = {};

	if (models_read((const char *)data, size, learners, &models, &err) < 0)
		CHECK(*err.text);
	models_apply(&models, &(struct job_request){}, made);
	read_forest(data, size); /* which no checksum guards here */
	return 0;
}

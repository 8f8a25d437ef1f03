/* SPDX-License-Identifier: MIT */
#include "server/evaluate.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/library.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "model/json_place.h"
#include "predict/forest.h"

#define LEAST_ROWS 200

/* Of its C API, which is stable. */
struct xgboost {
	int (*matrix_create)(const float *data, uint64_t rows, uint64_t columns, float missing,
			     void **ret);
	int (*matrix_set)(void *matrix, const char *field, const float *values, uint64_t count);
	int (*matrix_free)(void *matrix);
	int (*create)(void *const *matrices, uint64_t count, void **ret);
	int (*set)(void *booster, const char *name, const char *value);
	int (*update)(void *booster, int iteration, void *matrix);
	int (*dump)(void *booster, const char *map, int with_statistics, const char *format,
		    uint64_t *ret_count, const char ***ret);
	int (*free)(void *booster);
};
static const char *const files[] = { "libxgboost.so.0", "libxgboost.so", NULL };
static const char *const names[] = {
	"XGDMatrixCreateFromMat", "XGDMatrixSetFloatInfo", "XGDMatrixFree",
	"XGBoosterCreate",	  "XGBoosterSetParam",	   "XGBoosterUpdateOneIter",
	"XGBoosterDumpModelEx",	  "XGBoosterFree",
};
static_assert(sizeof(struct xgboost) == sizeof(names), "a name for each, in their order");

struct setting {
	const char *name, *value;
};
static const struct setting common[] = {
	{ "nthread", "1" },
	{ "seed", "1" },
	{ "base_score", "0" },
	{ "verbosity", "0" },
	{ "objective", "reg:squarederror" },
	{ "tree_method", "hist" },
};
static const struct setting of_forest[] = {
	{ "num_parallel_tree", "100" }, { "eta", "1" },	       { "subsample", "0.63" },
	{ "colsample_bynode", "0.5" },	{ "max_depth", "10" }, { "min_child_weight", "5" },
};
static const struct setting of_boosting[] = {
	{ "eta", "0.1" },     { "subsample", "0.7" },	    { "colsample_bynode", "0.7" },
	{ "max_depth", "6" }, { "min_child_weight", "10" },
};

/* ---- out of what it tells of a tree ---- */

static int add_node(struct forest *forest, const struct forest_node *node, unsigned int *ret)
{
	if (forest->count == FOREST_NODES_MAX ||
	    array_reserve(&forest->nodes, &forest->room, forest->count, sizeof(*node)) < 0)
		return -ENOMEM;
	*ret = (unsigned int)forest->count;
	forest->nodes[forest->count++] = *node;
	return 0;
}

static const json_t *find_child(const json_t *node, const char *which)
{
	const json_t *wanted = json_object_get(node, which), *child;
	size_t i;

	json_array_foreach(json_object_get(node, "children"), i, child)
	{
		if (json_integer_value(json_object_get(child, "nodeid")) ==
		    json_integer_value(wanted))
			return child;
	}
	return NULL;
}

static int add_tree(struct forest *forest, const json_t *json, unsigned int depth,
		    unsigned int *ret)
{
	const json_t *leaf = json_object_get(json, "leaf");
	const char *split = json_string_value(json_object_get(json, "split"));
	struct forest_node node = { .feature = -1, .value = (float)json_number_value(leaf) };
	unsigned int yes = 0, no = 0;
	uint64_t feature;
	int r;

	if (json_is_number(leaf))
		return add_node(forest, &node, ret);
	if (!split || *split != 'f' || parse_u64(split + 1, &feature) < 0 || feature >= FEATURES ||
	    depth == FOREST_DEPTH_MAX)
		return -EPROTO;
	node.feature = (int)feature;
	node.value = (float)json_number_value(json_object_get(json, "split_condition"));
	r = add_node(forest, &node, ret);
	if (r == 0)
		r = add_tree(forest, find_child(json, "yes"), depth + 1, &yes);
	if (r == 0)
		r = add_tree(forest, find_child(json, "no"), depth + 1, &no);
	if (r == 0) {
		forest->nodes[*ret].yes = yes;
		forest->nodes[*ret].no = no;
	}
	return r;
}

static int add_trees(const struct xgboost *x, void *booster, struct forest *forest)
{
	const char **texts = NULL;
	uint64_t count = 0;
	int r = x->dump(booster, "", 0, "json", &count, &texts) == 0 ? 0 : -EIO;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		_cleanup_(json_freep) json_t *json = json_loads(texts[i], 0, NULL);

		r = array_reserve(&forest->roots, &forest->root_room, forest->root_count,
				  sizeof(*forest->roots));
		if (r == 0)
			r = add_tree(forest, json, 0, &forest->roots[forest->root_count]);
		forest->root_count += r == 0;
	}
	return r;
}

/* ---- fitting ---- */

static int set_all(const struct xgboost *x, void *booster, const struct setting *settings,
		   size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = x->set(booster, settings[i].name, settings[i].value);
	return r;
}

static struct forest *fit(const float *rows, const float *targets, size_t count,
			  const struct setting *settings, size_t setting_count, int rounds)
{
	struct forest *forest = calloc(1, sizeof(*forest));
	void *matrix = NULL, *booster = NULL;
	struct xgboost x = {};
	int r = forest && count >= LEAST_ROWS &&
				library_load(files, names, ARRAY_SIZE(names), &x, NULL) == 0
			? 0
			: -1;

	if (r == 0)
		r = x.matrix_create(rows, count, FEATURES, NAN, &matrix);
	if (r == 0)
		r = x.matrix_set(matrix, "label", targets, count);
	if (r == 0)
		r = x.create(&matrix, 1, &booster);
	if (r == 0)
		r = set_all(&x, booster, common, ARRAY_SIZE(common));
	if (r == 0)
		r = set_all(&x, booster, settings, setting_count);
	for (int i = 0; r == 0 && i < rounds; i++)
		r = x.update(booster, i, matrix);
	if (r == 0)
		r = add_trees(&x, booster, forest);
	if (booster)
		x.free(booster);
	if (matrix)
		x.matrix_free(matrix);
	if (r == 0)
		return forest;
	if (forest)
		forest_clear(forest);
	free(forest);
	return NULL;
}

static void *fit_forest(const float *rows, const float *targets, size_t count)
{
	return fit(rows, targets, count, of_forest, ARRAY_SIZE(of_forest), 1);
}

static void *fit_boosting(const float *rows, const float *targets, size_t count)
{
	return fit(rows, targets, count, of_boosting, ARRAY_SIZE(of_boosting), 100);
}

static double predict(const void *model, const float *row)
{
	return forest_predict(model, row);
}

static void free_forest(void *model)
{
	forest_clear(model);
	free(model);
}

static int write_forest(const void *model, FILE *out)
{
	return forest_write(model, out);
}

static int read_forest(const void *bytes, size_t size, void **ret)
{
	struct forest *forest = malloc(sizeof(*forest));
	int r = forest ? forest_read(bytes, size, forest) : -ENOMEM;

	if (r < 0)
		free(forest);
	else
		*ret = forest;
	return r;
}

const struct learner forest_learner = { "forest",    fit_forest,   predict,
					free_forest, write_forest, read_forest };
const struct learner boosting_learner = { "boosting",  fit_boosting, predict,
					  free_forest, write_forest, read_forest };

/* SPDX-License-Identifier: MIT */
/* Predictions, until the outcome of their job is known and after. */
#include <math.h>

#include "server/store/store_internal.h"

#define SCALE 1000.0 /* of stored numbers */
#define GREATEST 9e18
#define COLUMNS "job_id, target, model, uid, made_ns, value_milli, low_milli, high_milli"

static struct arg arg_of(double number)
{
	bool is_known = number >= 0 && number * SCALE < GREATEST; /* NAN is not */

	return NUMBER_IF(is_known, is_known ? llround(number * SCALE) : 0);
}

static double number_of(const struct statement *row, int column)
{
	struct cell cell = store_cell(row, column);

	return cell.is_known ? (double)cell.number / SCALE : NAN;
}

void store_put_prediction(struct store *s, const struct store_prediction *p)
{
	store_do(s, "INSERT INTO predictions (" COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
		 TEXT(p->job_id), TEXT(p->target), TEXT(p->model), NUMBER(p->uid),
		 NUMBER(p->made_ns), arg_of(p->value), arg_of(p->low), arg_of(p->high));
}

int store_list_predictions(struct store *s, const struct store_who *who, size_t limit,
			   int (*take)(void *context, const struct store_prediction *prediction),
			   void *context, struct error *err)
{
	struct statement *row = store_ask(s,
					  "SELECT " COLUMNS
					  " FROM predictions WHERE uid = ?1 OR ?2 = 1 "
					  "ORDER BY id DESC LIMIT ?3",
					  NUMBER(who->uid), NUMBER(who->sees_all), NUMBER(limit));
	int r = 0;

	while (r >= 0 && store_next(s, row)) {
		const struct store_prediction p = {
			.job_id = COLUMN_TEXT(row, 0),
			.target = COLUMN_TEXT(row, 1),
			.model = COLUMN_TEXT(row, 2),
			.uid = (uint32_t)COLUMN_NUMBER(row, 3),
			.made_ns = COLUMN_NUMBER(row, 4),
			.value = number_of(row, 5),
			.low = number_of(row, 6),
			.high = number_of(row, 7),
		};

		r = take(context, &p);
	}
	if (r < 0)
		store_reset(row);
	return r < 0 ? r : store_told(s, err);
}

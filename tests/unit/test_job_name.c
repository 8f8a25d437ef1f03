/* SPDX-License-Identifier: MIT */
#include "model/job_name.h"

#include <errno.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "test.h"

TEST(a_job_is_named_by_id_manager_and_node)
{
	static const struct row {
		const char *text, *manager, *id, *node;
	} rows[] = {
		{ "123", NULL, "123", NULL },
		{ "slurm/123", "slurm", "123", NULL },
		{ "123@node17", NULL, "123", "node17" },
		{ "pbs/7.head@n1.example.org", "pbs", "7.head", "n1.example.org" },
		{ "a@b@node17", NULL, "a@b", "node17" },
		{ "kubernetes/a/b", "kubernetes", "a/b", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(job_name_clear) struct job_name name = {};

		ASSERT_OK(job_name_parse(rows[i].text, &name, NULL));
		ASSERT_STREQ(name.manager, rows[i].manager);
		ASSERT_STREQ(name.id, rows[i].id);
		ASSERT_STREQ(name.node, rows[i].node);
	}
}

TEST(what_is_no_name_is_told)
{
	static const char *const texts[] = { "", "/", "/1", "slurm/", "@node17", "1@", "slurm/@n" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct job_name name = {};
		struct error err = {};

		ASSERT_ERR(job_name_parse(texts[i], &name, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, "names no job: that is ID, MANAGER/ID or ID@NODE");
		ASSERT(!name.id);
	}
}

TEST(a_part_has_the_name_that_its_users_know)
{
	static const struct {
		const char *id, *array_id;
		int64_t index, offset;
		const char *name; /* NULL: none */
	} rows[] = {
		{ "4160740", "4160739", 207, -1, "4160739_207" },
		{ "42", "42", 0, -1, "42_0" }, /* its last task has the array's own number */
		{ "43", NULL, -1, 1, "42+1" },
		{ "42", NULL, -1, 0, "42+0" },
		{ "42", NULL, -1, -1, NULL },
		{ "42", "42", -1, -1, NULL },
		{ "1", NULL, -1, 2, NULL },
		{ "x", NULL, -1, 1, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *name = job_name_of_part(rows[i].id, rows[i].array_id,
							     rows[i].index, rows[i].offset);

		ASSERT((name != NULL) == (rows[i].name != NULL));
		if (name)
			ASSERT_STREQ(name, rows[i].name);
	}
}

/* SPDX-License-Identifier: MIT */
#include "lives.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "test.h"

struct registry *lives_registry(void)
{
	const struct registry_options options = { .started_boot_ns = 100 * SECOND,
						  .started_real_ns = EPOCH + 100 * SECOND,
						  .boot_id = "boot-a" };
	struct registry *r = registry_new(&options);

	ASSERT(r);
	return r;
}

struct group_life life(uint64_t id, uint64_t parent, uint64_t born, uint64_t died, const char *path)
{
	struct group_life l = {
		.id = id, .parent = parent, .born_ns = born * SECOND, .died_ns = died * SECOND
	};

	snprintf(l.path, sizeof(l.path), "%s", path);
	return l;
}

void learn(struct registry *r, uint64_t second, const struct group_life *lives, size_t count)
{
	ASSERT_OK(registry_learn(r, lives, count, second * SECOND, EPOCH + second * SECOND));
}

struct cgroup_tasks tasks_of(uint64_t cgroup, uint64_t user_ns, uint64_t live, uint64_t ended)
{
	return (struct cgroup_tasks){ .cgroup = cgroup,
				      .counters = { .user_ns = user_ns },
				      .live = live,
				      .ended = ended,
				      .uid = UINT32_MAX };
}

struct cgroup_row row_of(uint64_t cgroup, uint64_t place, unsigned int op, unsigned int interface,
			 uint64_t calls, uint64_t amount)
{
	return (struct cgroup_row){ .key = { .cgroup = cgroup,
					     .place = place,
					     .op = (uint8_t)op,
					     .interface = (uint8_t)interface },
				    .counts = { .calls = calls, .amount = amount } };
}

const struct snapshot_mount *name_by_number(void *context, uint64_t place)
{
	static struct snapshot_mount mount = { .kind = ROW_MOUNT,
					       .fstype = (char *)"ext4",
					       .source = (char *)"disk" };
	static char name[32];

	(void)context;
	snprintf(name, sizeof(name), "/%llu", (unsigned long long)place);
	mount.name = name;
	return &mount;
}

void feed(struct registry *r, const struct cgroup_tasks *tasks, size_t task_count,
	  const struct cgroup_row *rows, size_t row_count)
{
	const struct registry_feed f = { .tasks = tasks,
					 .task_count = task_count,
					 .rows = rows,
					 .row_count = row_count,
					 .name_place = name_by_number,
					 .counted = COUNTED_TASKS | COUNTED_LOOKS |
						    COUNTED_SPINNING | COUNTED_FILES |
						    COUNTED_CLOCK };

	ASSERT_OK(registry_feed(r, &f));
}

size_t fold(struct registry *r, uint64_t second)
{
	uint64_t *cgroups = NULL;
	size_t count = 0;

	ASSERT_OK(registry_fold(r, second * SECOND, &cgroups, &count));
	for (size_t i = 1; i < count; i++)
		ASSERT(cgroups[i - 1] < cgroups[i]);
	free(cgroups);
	return count;
}

size_t fold_and_forget(struct registry *r, uint64_t second)
{
	uint64_t *cgroups = NULL;
	size_t count = fold(r, second), pending = 0;

	ASSERT_OK(registry_folded(r, &cgroups, &pending));
	ASSERT_OK(registry_forget(r, cgroups, pending));
	free(cgroups);
	return count;
}

static struct snapshot *snapshots[4]; /* the last ones of snap() */

static void drop_snapshots(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(snapshots); i++)
		snapshot_unref(snapshots[i]);
}

struct snapshot *snap(struct registry *r, uint64_t second)
{
	static size_t count;
	struct snapshot *s = NULL;

	ASSERT_OK(registry_snapshot(r, second * SECOND, EPOCH + second * SECOND, &s));
	if (!count)
		atexit(drop_snapshots);
	snapshot_unref(snapshots[count % ARRAY_SIZE(snapshots)]);
	snapshots[count++ % ARRAY_SIZE(snapshots)] = s;
	return s;
}

struct snapshot *fed_again(struct registry *r, uint64_t second, const struct cgroup_tasks *tasks,
			   size_t task_count, const struct cgroup_row *rows, size_t row_count)
{
	feed(r, tasks, task_count, rows, row_count);
	return snap(r, second);
}

struct snapshot *fed(struct registry *r, uint64_t second, const struct group_life *lives,
		     size_t count, const struct cgroup_tasks *tasks, size_t task_count)
{
	learn(r, second, lives, count);
	return fed_again(r, second, tasks, task_count, NULL, 0);
}

uint64_t number_of(const struct snapshot *s, const char *manager, const char *id,
		   enum metric_id metric)
{
	const struct snapshot_job *job = snapshot_find(s, manager, id);

	ASSERT(job);
	return job->values[metric].is_known ? job->values[metric].number : UINT64_MAX;
}

struct op_counts counts_of(const struct snapshot *s, const char *manager, const char *id,
			   const char *mount, unsigned int op, unsigned int interface)
{
	const struct snapshot_job *job = snapshot_find(s, manager, id);

	ASSERT(job);
	for (size_t i = 0; i < job->row_count; i++) {
		const struct snapshot_row *row = &job->rows[i];

		if (row->op == op && row->interface == interface &&
		    strcmp(s->mounts[row->mount].name, mount) == 0)
			return row->counts;
	}
	return (struct op_counts){};
}

char *without(const char *text, const char *member)
{
	_cleanup_free_ char *names = strdup(member);
	json_t *root = json_loads(text, 0, NULL), *map = root;
	char *rest = names, *name, *out;

	ASSERT(root);
	while ((name = strsep(&rest, "/")) && rest)
		map = json_is_array(map) ? json_array_get(map, (size_t)atoi(name))
					 : json_object_get(map, name);
	ASSERT_OK(json_object_del(map, name));
	out = json_dumps(root, 0);
	json_decref(root);
	return out;
}

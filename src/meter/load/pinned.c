/* SPDX-License-Identifier: MIT */
#include "load/pinned.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "basic/dir.h"
#include "load/pins.h"
#include "load/loading.h"
#include "load/objects.h"

_Static_assert(sizeof(((struct pinned_hook *)NULL)->why) == sizeof(((struct hook *)NULL)->why),
	       "a reason fits");
_Static_assert(sizeof(((struct pinned_hook *)NULL)->why_older) ==
		       sizeof(((struct older *)NULL)->why[0]),
	       "this one too");

#define MAP_NAME_SIZE 80

static void format_map(enum object_id id, const char *map, char ret[static MAP_NAME_SIZE])
{
	snprintf(ret, MAP_NAME_SIZE, "%s-%s", object_name(id), map);
}

/* ---- making ---- */

static int put_attachment(const struct objects *o, size_t i)
{
	const struct attachment *attachment = &o->attachments[i];
	const char *program = o->hooks.items[i].program;
	int r = 0;

	if (attachment->program_fd >= 0)
		r = pins_put(&o->pins, PINS_PROGRAMS, program, attachment->program_fd);
	if (r >= 0 && attachment->link_fd >= 0)
		r = pins_put(&o->pins, PINS_LINKS, program, attachment->link_fd);
	return r;
}

int pinned_make(struct objects *o)
{
	int r = pins_make(&o->pins);

	for (size_t i = 0; i < o->map_count && r >= 0; i++) {
		char name[MAP_NAME_SIZE];

		format_map(o->maps[i].object, o->maps[i].form.name, name);
		r = pins_put(&o->pins, PINS_MAPS, name, o->maps[i].fd);
	}
	for (size_t i = 0; i < o->hooks.count && r >= 0; i++)
		r = put_attachment(o, i);
	if (r < 0)
		(void)pins_remove(&o->pins);
	return r;
}

/* ---- hooks ---- */

static int write_hook(int fd, const struct objects *o, const struct hook *hook)
{
	struct pinned_hook pinned = { .is_on = hook->is_on, .is_checked = hook->is_checked };
	uint32_t i = (uint32_t)(hook - o->hooks.items);

	snprintf(pinned.program, sizeof(pinned.program), "%s", hook->program);
	snprintf(pinned.why, sizeof(pinned.why), "%s", hook->why);
	snprintf(pinned.why_older, sizeof(pinned.why_older), "%s", o->older.why[hook->object]);
	return bpf_map_update_elem(fd, &i, &pinned, BPF_ANY) < 0 ? -errno : 0;
}

int pinned_seal(struct objects *o)
{
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hooks", sizeof(uint32_t),
						sizeof(struct pinned_hook),
						(uint32_t)o->hooks.count, NULL);
	int r = fd < 0 ? -errno : 0;

	for (size_t i = 0; i < o->hooks.count && r >= 0; i++)
		r = write_hook(fd, o, &o->hooks.items[i]);
	if (r >= 0)
		r = pins_put(&o->pins, NULL, PINS_HOOKS, fd);
	if (r >= 0)
		o->pinned_hooks_fd = TAKE_FD(fd);
	return r;
}

void pinned_note(const struct objects *o, const struct hook *hook)
{
	if (!*o->pins.path)
		return;
	if (o->pinned_hooks_fd >= 0)
		(void)write_hook(o->pinned_hooks_fd, o, hook); /* into an array: there is room */
	if (o->attachments[hook - o->hooks.items].link_fd < 0)
		(void)pins_drop(&o->pins, PINS_LINKS, hook->program);
}

/* ---- which it is ---- */

/* The kernel gives each map a number, and begins anew after two thousand million. */
static uint32_t map_id(int fd)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size) < 0 ? 0 : info.id;
}

uint32_t pinned_id(const struct objects *o)
{
	return *o->pins.path ? map_id(o->pinned_hooks_fd) : 0;
}

bool pinned_is_there(const char *pin_dir, uint32_t id)
{
	_cleanup_(dir_clear) struct dir sets = {};
	bool is_there = false;

	(void)pins_list_sets(pin_dir, &sets);
	for (size_t i = 0; i < sets.count && !is_there; i++) {
		_cleanup_close_ int fd = -EBADF;
		struct pins set;

		pins_find(pin_dir, sets.names[i], &set);
		fd = pins_get(&set, NULL, PINS_HOOKS);
		is_there = fd >= 0 ? map_id(fd) == id : fd != -ENOENT;
	}
	return is_there;
}

/* ---- taking over ---- */

static int take_fd(const struct pins *pins, const char *dir, const char *name, int *ret)
{
	int fd = pins_get(pins, dir, name);

	if (fd < 0 && fd != -ENOENT)
		return fd;
	*ret = fd;
	return 0;
}

/* -ENOENT: the set was made by another table of hooks. */
static int take_hook(struct objects *o, size_t i)
{
	struct attachment *attachment = &o->attachments[i];
	struct hook *hook = &o->hooks.items[i];
	struct pinned_hook pinned;
	uint32_t key = (uint32_t)i;
	int r;

	if (bpf_map_lookup_elem(o->pinned_hooks_fd, &key, &pinned) < 0)
		return -errno;
	pinned.why[sizeof(pinned.why) - 1] = pinned.program[sizeof(pinned.program) - 1] = '\0';
	pinned.why_older[sizeof(pinned.why_older) - 1] = '\0';
	if (strcmp(pinned.program, hook->program) != 0)
		return -ENOENT;
	r = take_fd(&o->pins, PINS_PROGRAMS, hook->program, &attachment->program_fd);
	if (r >= 0)
		r = take_fd(&o->pins, PINS_LINKS, hook->program, &attachment->link_fd);
	if (r < 0)
		return r;
	if (pinned.is_on &&
	    ((attachment->link_fd < 0 && !hook_is_sampler(hook)) || attachment->program_fd < 0))
		return -ENOENT;
	hook->is_on = pinned.is_on;
	hook->is_checked = pinned.is_checked;
	memcpy(hook->why, pinned.why, sizeof(hook->why));
	memcpy(o->older.why[hook->object], pinned.why_older, sizeof(pinned.why_older));
	return 0;
}

static int take_map(struct objects *o, enum object_id id, const char *map)
{
	struct map_form form = {};
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);
	char name[MAP_NAME_SIZE];
	int fd;

	format_map(id, map, name);
	fd = pins_get(&o->pins, PINS_MAPS, name);
	if (fd < 0)
		return fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0) {
		close(fd);
		return -errno;
	}
	snprintf(form.name, sizeof(form.name), "%s", map);
	form.type = info.type;
	form.flags = info.map_flags;
	form.key_bytes = info.key_size;
	form.value_bytes = info.value_size;
	form.entries = info.max_entries;
	return objects_add_map(o, id, &form, fd);
}

/* Take what is pinned at @o->pins, of the layout of @l, with its hooks as they were.  -ENOENT: it
 * is incomplete. */
static int take_all(struct objects *o, const struct loading *l)
{
	int r = take_fd(&o->pins, NULL, PINS_HOOKS, &o->pinned_hooks_fd);

	if (r >= 0 && o->pinned_hooks_fd < 0)
		r = -ENOENT;
	for (size_t i = 0; i < o->hooks.count && r >= 0; i++)
		r = take_hook(o, i);
	for (size_t i = 0; i < l->maps.count && r >= 0; i++) {
		if (objects_has_program(o, l->maps.objects[i]))
			r = take_map(o, l->maps.objects[i], l->maps.forms[i].name);
	}
	return r;
}

/* ---- what others left ---- */

int pinned_settle(struct objects *o, const char *pin_dir, const struct loading *l)
{
	_cleanup_(dir_clear) struct dir sets = {};
	const struct hooks before = o->hooks;
	char name[LAYOUT_NAME_SIZE];
	struct layout layout;
	int r = pins_list_sets(pin_dir, &sets);

	if (r < 0)
		return r;
	layout_of(l, &layout);
	layout_format(&layout, name);
	pins_find(pin_dir, name, &o->pins);
	o->is_taken_over = take_all(o, l) >= 0;
	if (!o->is_taken_over) { /* it is incomplete: all is as it was */
		objects_let_go(o);
		o->hooks = before;
		o->older = (struct older){};
	}
	for (size_t i = 0; i < sets.count && r >= 0; i++) {
		_cleanup_close_ int hooks_fd = -EBADF;
		struct pins set;

		if (o->is_taken_over && strcmp(sets.names[i], name) == 0)
			continue;
		pins_find(pin_dir, sets.names[i], &set);
		hooks_fd = pins_get(&set, NULL, PINS_HOOKS);
		o->has_removed_pins |= hooks_fd >= 0; /* it was complete */
		r = pins_remove(&set);
	}
	return r;
}

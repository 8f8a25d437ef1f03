/* SPDX-License-Identifier: MIT */
#include "sources/redfish.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/json_place.h"

#define ROOT "/redfish/v1/"
#define MICRO 6 /* places behind the point */

struct paths {
	size_t count;
	char items[REDFISH_CHASSIS_MAX][REDFISH_PATH_SIZE];
};

/* ---- one answer ---- */

static int get_map(const struct redfish_service *service, const char *path, json_t **ret,
		   struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	int r = service->get(service->context, path, &text, &length, err);

	if (r < 0)
		return r;
	r = place_parse_map(text, length, ret, err);
	return r < 0 ? error_prefix(err, r, "%s", path) : 0;
}

/* Of the same service, and of letters that need no escape. */
static bool is_path(const char *text)
{
	if (strncmp(text, ROOT, strlen(ROOT)) != 0 || strlen(text) >= REDFISH_PATH_SIZE)
		return false;
	for (const char *p = text; *p; p++) {
		if (*p <= ' ' || *p > '~' || strchr("?#\\\"<>", *p))
			return false;
	}
	return !strstr(text, "..");
}

/* What {"@odata.id": PATH} leads to; "": nothing that we would follow. */
static const char *link_of(const json_t *map)
{
	const char *path = json_string_value(json_object_get(map, "@odata.id"));

	return path && is_path(path) ? path : "";
}

static const char *link_at(const json_t *map, const char *key)
{
	return link_of(json_object_get(map, key));
}

static void add_path(const char *path, struct paths *to)
{
	if (*path && to->count < ARRAY_SIZE(to->items))
		snprintf(to->items[to->count++], REDFISH_PATH_SIZE, "%s", path);
}

/* The members of a collection. */
static int get_members(const struct redfish_service *service, const char *path, struct paths *ret,
		       struct error *err)
{
	_cleanup_(json_freep) json_t *collection = NULL;
	int r = get_map(service, path, &collection, err);
	const json_t *members = json_object_get(collection, "Members");

	for (size_t i = 0; r == 0 && i < json_array_size(members); i++)
		add_path(link_of(json_array_get(members, i)), ret);
	return r;
}

/* ---- powers ---- */

/* A sensor: {"Reading": 344}. */
static int take_reading(const struct place *place, const json_t *map, const char *key,
			uint64_t *ret_uw, bool *ret_is_known)
{
	struct place sensor = place_below(place, key);
	const json_t *in = NULL;
	int r = place_get(place, map, key, JSON_OBJECT, &in);

	return r < 0 ? r : place_take_number(&sensor, in, "Reading", MICRO, ret_uw, ret_is_known);
}

/* The first entry is the whole; others are parts of it, or other nodes in the chassis. */
static int take_control(const struct place *place, const json_t *map, uint64_t *ret_uw,
			bool *ret_is_known)
{
	struct place first = place_item(place, "PowerControl", 0);
	const json_t *list = NULL;
	int r = place_get(place, map, "PowerControl", JSON_ARRAY, &list);

	return r < 0 ? r
		     : place_take_number(&first, json_array_get(list, 0), "PowerConsumedWatts",
					 MICRO, ret_uw, ret_is_known);
}

static int read_one(const struct redfish_service *service, enum redfish_kind kind, const char *path,
		    uint64_t *ret_uw, struct error *err)
{
	_cleanup_(json_freep) json_t *map = NULL;
	const struct place place = { .key = path, .err = err };
	bool is_known = false;
	int r = get_map(service, path, &map, err);

	if (r < 0)
		return r;
	if (kind == REDFISH_POWER)
		r = take_control(&place, map, ret_uw, &is_known);
	else
		r = take_reading(&place, map,
				 kind == REDFISH_METRICS ? "PowerWatts" : "InputPowerWatts", ret_uw,
				 &is_known);
	if (r == 0 && !is_known)
		return error_set(err, -ENODATA, "%s says no power", path);
	return r;
}

int redfish_read(const struct redfish_service *service, const struct redfish_place *place,
		 uint64_t *ret_uw, struct error *err)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < place->count; i++) {
		uint64_t uw = 0;
		int r = read_one(service, place->kind, place->paths[i], &uw, err);

		if (r < 0)
			return r;
		if (__builtin_add_overflow(sum, uw, &sum))
			return error_set(err, -EINVAL, "%s is out of range", place->paths[i]);
	}
	*ret_uw = sum;
	return 0;
}

/* ---- where they are said ---- */

static int find_supplies(const struct redfish_service *service, const char *subsystem,
			 struct redfish_place *ret, struct error *err)
{
	_cleanup_(json_freep) json_t *map = NULL;
	struct paths supplies = {};
	int r = get_map(service, subsystem, &map, err);

	if (r == 0 && *link_at(map, "PowerSupplies"))
		r = get_members(service, link_at(map, "PowerSupplies"), &supplies, err);
	for (size_t i = 0; r == 0 && i < supplies.count; i++) {
		_cleanup_(json_freep) json_t *supply = NULL;
		const char *state;

		r = get_map(service, supplies.items[i], &supply, err);
		state = json_string_value(
			json_object_get(json_object_get(supply, "Status"), "State"));
		if (r < 0 || (state && strcmp(state, "Absent") == 0)) /* its slot is empty */
			continue;
		if (ret->count == REDFISH_SUPPLIES_MAX || !*link_at(supply, "Metrics"))
			return -ENOENT; /* some of them are not the node */
		snprintf(ret->paths[ret->count++], REDFISH_PATH_SIZE, "%s",
			 link_at(supply, "Metrics"));
	}
	return r;
}

static int find_in_chassis(const struct redfish_service *service, const char *path,
			   struct redfish_place *ret, bool *ret_has, struct error *err)
{
	static const char *const keys[] = { [REDFISH_METRICS] = "EnvironmentMetrics",
					    [REDFISH_SUPPLIES] = "PowerSubsystem",
					    [REDFISH_POWER] = "Power" };
	_cleanup_(json_freep) json_t *chassis = NULL;
	uint64_t uw;
	int r = get_map(service, path, &chassis, err);

	*ret_has = false;
	for (size_t kind = 0; r == 0 && !*ret_has && kind < ARRAY_SIZE(keys); kind++) {
		const char *link = link_at(chassis, keys[kind]);

		if (!*link)
			continue;
		*ret = (struct redfish_place){ .kind = (enum redfish_kind)kind };
		if (kind == REDFISH_SUPPLIES)
			r = find_supplies(service, link, ret, err);
		else
			snprintf(ret->paths[ret->count++], REDFISH_PATH_SIZE, "%s", link);
		if (r == 0)
			r = ret->count ? redfish_read(service, ret, &uw, err) : -ENODATA;
		*ret_has = r == 0;
		if (r == -ENOENT || r == -ENODATA) /* it leads nowhere, or nothing is said there */
			r = 0;
	}
	return r == -ENOENT ? 0 : r;
}

/* Its last part; some write "/redfish/v1/Chassis/1/". */
static void copy_id(const char *path, char ret[REDFISH_PATH_SIZE])
{
	char *end;

	snprintf(ret, REDFISH_PATH_SIZE, "%s", path);
	end = ret + strlen(ret) - 1;
	*end = *end == '/' ? '\0' : *end;
	end = strrchr(ret, '/') + 1; /* is_path() */
	memmove(ret, end, strlen(end) + 1);
}

static int find_all_chassis(const struct redfish_service *service, struct paths *ret,
			    struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	int r = get_map(service, ROOT, &root, err);

	if (r == 0 && !*link_at(root, "Chassis"))
		r = error_set(err, -ENOENT, ROOT " has no chassis");
	return r < 0 ? r : get_members(service, link_at(root, "Chassis"), ret, err);
}

int redfish_find(const struct redfish_service *service, const char *chassis,
		 struct redfish_place *ret, struct error *err)
{
	struct redfish_place place = {}, found = {};
	char id[REDFISH_PATH_SIZE], first[REDFISH_PATH_SIZE] = "";
	struct paths all = {};
	int r = find_all_chassis(service, &all, err);

	for (size_t i = 0; r == 0 && i < all.count; i++) {
		bool has;

		copy_id(all.items[i], id);
		if (*chassis && strcmp(id, chassis) != 0)
			continue;
		r = find_in_chassis(service, all.items[i], &place, &has, err);
		if (r < 0 || !has)
			continue;
		if (found.count)
			return error_set(err, -EINVAL,
					 "several chassis say a power, '%.64s' and '%.64s' (set "
					 "redfish_chassis to the node's)",
					 first, id);
		memcpy(first, id, sizeof(id));
		found = place;
	}
	if (r < 0)
		return r;
	if (!found.count)
		return error_set(err, -ENOENT, "no chassis%s%s%s says a power",
				 *chassis ? " '" : "", chassis, *chassis ? "'" : "");
	*ret = found;
	return 0;
}

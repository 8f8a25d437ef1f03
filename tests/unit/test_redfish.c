/* SPDX-License-Identifier: MIT */
/* A service of a few answers, after the mockups of DMTF DSP2043: layouts, not captured. */
#include "sources/redfish.h"

#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "test.h"

#define R "/redfish/v1/"
#define ID(path) "{\"@odata.id\":\"" path "\"}"
#define MEMBERS(list) "{\"Members\":[" list "]}"

struct answer {
	const char *path, *text;
};

static const struct answer base[] = {
	{ R, "{\"Chassis\":" ID(R "Chassis") "}" },
	{ R "Chassis", MEMBERS(ID(R "Chassis/1/")) },
};

static const struct answer metrics[] = {
	{ R "Chassis/1/", "{\"EnvironmentMetrics\":" ID(R "M") ",\"Power\":" ID(R "P") "}" },
	{ R "M", "{\"PowerWatts\":{\"Reading\":374.25}}" },
	{ R "P", "{\"PowerControl\":[{\"PowerConsumedWatts\":1}]}" },
	{ NULL, NULL },
};

static const struct answer supplies[] = {
	{ R "Chassis/1/",
	  "{\"EnvironmentMetrics\":" ID(R "M") ",\"PowerSubsystem\":" ID(R "S") "}" },
	{ R "M", "{\"PowerWatts\":null}" },
	{ R "S", "{\"PowerSupplies\":" ID(R "S/All") "}" },
	{ R "S/All", MEMBERS(ID(R "S/1") "," ID(R "S/2") "," ID(R "S/3")) },
	{ R "S/1", "{\"Metrics\":" ID(R "S/1/M") "}" },
	{ R "S/2", "{\"Metrics\":" ID(R "S/2/M") "}" },
	{ R "S/3", "{\"Status\":{\"State\":\"Absent\"}}" },
	{ R "S/1/M", "{\"InputPowerWatts\":{\"Reading\":101}}" },
	{ R "S/2/M", "{\"InputPowerWatts\":{\"Reading\":103.5}}" },
	{ NULL, NULL },
};

static const struct answer blind_supply[] = {
	{ R "Chassis/1/", "{\"PowerSubsystem\":" ID(R "S") ",\"Power\":" ID(R "P") "}" },
	{ R "S", "{\"PowerSupplies\":" ID(R "S/All") "}" },
	{ R "S/All", MEMBERS(ID(R "S/1") "," ID(R "S/2")) },
	{ R "S/1", "{\"Metrics\":" ID(R "S/1/M") "}" },
	{ R "S/2", "{}" },
	{ R "S/1/M", "{\"InputPowerWatts\":{\"Reading\":101}}" },
	{ R "P", "{\"PowerControl\":[{\"PowerConsumedWatts\":207},{\"PowerConsumedWatts\":80}]}" },
	{ NULL, NULL },
};

static const struct answer hostile[] = {
	{ R "Chassis/1/",
	  "{\"EnvironmentMetrics\":" ID("http://elsewhere/M") ",\"PowerSubsystem\":" ID(
		  "/redfish/v1/../../etc") ",\"Power\":" ID(R "P") "}" },
	{ R "P", "{\"PowerControl\":[{\"PowerConsumedWatts\":\"207\"}]}" },
	{ NULL, NULL },
};

static const struct answer two[] = {
	{ R "Chassis", MEMBERS(ID(R "Chassis/Self") "," ID(R "Chassis/HGX")) },
	{ R "Chassis/Self", "{\"Power\":" ID(R "P") "}" },
	{ R "Chassis/HGX", "{\"Power\":" ID(R "H") "}" },
	{ R "P", "{\"PowerControl\":[{\"PowerConsumedWatts\":1009}]}" },
	{ R "H", "{\"PowerControl\":[{\"PowerConsumedWatts\":503}]}" },
	{ NULL, NULL },
};

static int get(void *context, const char *path, char **ret, size_t *ret_length, struct error *err)
{
	const struct answer *found = NULL;

	for (const struct answer *a = context; !found && a->path; a++)
		found = strcmp(a->path, path) == 0 ? a : NULL;
	for (size_t i = 0; !found && i < ARRAY_SIZE(base); i++)
		found = strcmp(base[i].path, path) == 0 ? &base[i] : NULL;
	if (!found)
		return error_set(err, -ENOENT, "there is no %s", path);
	*ret = strdup(found->text);
	*ret_length = strlen(*ret);
	return 0;
}

static int read_from(const struct answer *answers, const char *chassis, uint64_t *ret_uw,
		     struct error *err)
{
	const struct redfish_service service = { get, (void *)answers };
	struct redfish_place place;
	int r = redfish_find(&service, chassis, &place, err);

	return r < 0 ? r : redfish_read(&service, &place, ret_uw, err);
}

TEST(the_metrics_of_the_chassis_come_first)
{
	struct error err = {};
	uint64_t uw = 0;

	ASSERT_OK(read_from(metrics, "", &uw, &err));
	ASSERT_EQ(uw, UINT64_C(374250000));
	ASSERT_OK(read_from(metrics, "1", &uw, &err));
	ASSERT_ERR(read_from(metrics, "2", &uw, &err), -ENOENT);
	ASSERT_STREQ(err.text, "no chassis '2' says a power");
}

TEST(then_its_supplies_all_that_are_there)
{
	struct error err = {};
	uint64_t uw = 0;

	ASSERT_OK(read_from(supplies, "", &uw, &err));
	ASSERT_EQ(uw, UINT64_C(204500000));
}

TEST(some_of_its_supplies_are_not_the_node_and_the_first_control_is)
{
	struct error err = {};
	uint64_t uw = 0;

	ASSERT_OK(read_from(blind_supply, "", &uw, &err));
	ASSERT_EQ(uw, UINT64_C(207000000));
}

TEST(of_several_chassis_the_site_says_which)
{
	struct error err = {};
	uint64_t uw = 0;

	ASSERT_ERR(read_from(two, "", &uw, &err), -EINVAL);
	ASSERT_STREQ(err.text, "several chassis say a power, 'Self' and 'HGX' (set redfish_chassis "
			       "to the node's)");
	ASSERT_OK(read_from(two, "Self", &uw, &err));
	ASSERT_EQ(uw, UINT64_C(1009000000));
}

TEST(links_elsewhere_are_not_followed_and_a_text_is_no_number)
{
	struct error err = {};
	uint64_t uw = 0;

	ASSERT_ERR(read_from(hostile, "", &uw, &err), -EINVAL);
	ASSERT_CONTAINS(err.text, "PowerControl[0].PowerConsumedWatts");
}

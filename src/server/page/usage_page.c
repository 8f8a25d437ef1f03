/* SPDX-License-Identifier: MIT */
#include "server/page/site.h"

static int put_usage(struct site_call *c, struct error *err UNUSED)
{
	html_element(c->h, "h1", NULL, "Usage");
	return 0;
}

const struct site_page usage_page = {
	.path = "/usage",
	.title = "Usage",
	.route = { .parameters = { api_filter_parameters } },
	.put = put_usage,
};

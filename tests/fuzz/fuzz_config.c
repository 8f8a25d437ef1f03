/* SPDX-License-Identifier: MIT */
/* Any text as the agent's configuration: an error is one line; what is taken can be shown, and read
 * again. */
#include <string.h>

#include "basic/cleanup.h"
#include "config/config.h"
#include "basic/error.h"
#include "fuzz.h"

static char *environment[] = { NULL };

static int parse(const char *text, size_t length, struct config **ret)
{
	struct error err = {};
	int r = config_parse(text, length, "agent.yaml", environment, ret, NULL, &err);

	CHECK(r < 0 ? *ret == NULL : *ret != NULL);
	CHECK(!strchr(err.text, '\n') || r < 0);
	CHECK(r == 0 || strncmp(err.text, "agent.yaml", strlen("agent.yaml")) == 0);
	return r;
}

static void check_again(const struct config *c)
{
	const struct settings *settings = config_settings();
	_cleanup_(config_freep) struct config *again = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(config_dump(c, out) == 0);
	fclose(out);
	if (size > 200 << 10)
		return; /* with names of origin it may be larger than a file may be */
	CHECK(parse(text, size, &again) == 0);
	for (size_t i = 0; i < settings->count; i++)
		CHECK(setting_is_equal(&settings->rows[i], c, again) == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(config_freep) struct config *c = NULL;
	_cleanup_free_ char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (parse(text, size, &c) == 0)
		check_again(c);
	return 0;
}

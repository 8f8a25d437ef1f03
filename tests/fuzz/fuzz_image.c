/* SPDX-License-Identifier: MIT */
/* Any bytes as a program, and as a linker's cache. */
#include <string.h>

#include "basic/cleanup.h"
#include "fuzz.h"
#include "trace/image.h"
#include "trace/libraries.h"

struct visit {
	const struct image *image;
	size_t size;
};

static int see_return(void *context, const struct image_site *site)
{
	const struct visit *v = context;

	CHECK(site->offset < v->size);
	return 0;
}

static int see(void *context, const struct image_site *site)
{
	const struct visit *v = context;

	CHECK(site->offset < v->size && site->name);
	(void)strlen(site->name);
	if (!site->arguments)
		(void)image_visit_returns(v->image, site, see_return, context);
	return 0;
}

static int see_needed(void *context, const char *name)
{
	const struct visit *v = context;

	CHECK(strlen(name) < v->size);
	return 0;
}

static int see_path(void *context, const char *path, bool is_program)
{
	(void)context;
	CHECK(!is_program && strlen(path) < 1 << 20);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(image_freep) struct image *image = NULL;
	char *bytes = malloc(size + 1);
	struct visit v = { .size = size };

	if (!bytes)
		return 0;
	memcpy(bytes, data, size);
	CHECK(instruction_length(data, size) <= size);
	CHECK(libraries_visit_cache(bytes, size, see_path, NULL) == 0);
	if (image_open_memory(bytes, size, &image, NULL) == 0) {
		const char *path = image_run_path(image);

		v.image = image;
		CHECK(!path || strlen(path) < size);
		(void)image_visit_functions(image, "*", see, &v);
		(void)image_visit_usdt(image, "a:b", see, &v);
		(void)image_defines(image, "main");
		CHECK(image_visit_needed(image, see_needed, &v) == 0);
		image = image_free(image);
	}
	free(bytes);
	return 0;
}

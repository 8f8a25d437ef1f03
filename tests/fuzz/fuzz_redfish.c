/* SPDX-License-Identifier: MIT */
/*
 * A service whose answers are any texts, one behind the other, each ended by a NUL: few questions
 * are asked, all of paths that may be asked for, and what is found can be read.
 */
#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "fuzz.h"
#include "sources/redfish.h"

/* The root, all chassis, and of each: itself, three places, its supplies with two questions each,
 * and their readings. */
#define QUESTIONS_MAX (2 + REDFISH_CHASSIS_MAX * (1 + 3 + 1 + 2 * REDFISH_CHASSIS_MAX))

struct texts {
	const uint8_t *data;
	size_t size, at, questions;
};

static int get(void *context, const char *path, char **ret, size_t *ret_length, struct error *err)
{
	struct texts *t = context;
	const uint8_t *end = memchr(t->data + t->at, '\0', t->size - t->at);
	const size_t length = end ? (size_t)(end - t->data) - t->at : t->size - t->at;

	CHECK(++t->questions <= QUESTIONS_MAX);
	CHECK(strncmp(path, "/redfish/v1/", 12) == 0 && strlen(path) < REDFISH_PATH_SIZE);
	CHECK(!strstr(path, "..") && !strpbrk(path, " \r\n?#\\\""));
	if (!length)
		return error_set(err, -ENOENT, "there is no %s", path);
	*ret = strndup((const char *)t->data + t->at, length);
	*ret_length = length;
	t->at += length + (end != NULL);
	if (t->at == t->size)
		t->at = 0;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct texts texts = { .data = data, .size = size };
	const struct redfish_service service = { get, &texts };
	struct redfish_place place = {};
	struct error err = {};
	uint64_t uw = 0;
	int r;

	if (!size)
		return 0;
	r = redfish_find(&service, "", &place, &err);
	CHECK((r == 0) == (place.count > 0) && place.count <= REDFISH_SUPPLIES_MAX);
	CHECK(r == 0 || (*err.text && !strchr(err.text, '\n')));
	if (r == 0)
		(void)redfish_read(&service, &place, &uw, &err);
	return 0;
}

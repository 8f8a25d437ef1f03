/* SPDX-License-Identifier: MIT */
#include "basic/packed.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"

#define ROOM_FIRST 24
#define CODE_MAX 10 /* bytes of a number of 64 bits, seven each */
#define CODE_REPEATED 0 /* behind a number: how many more of it, less one */
#define CODE_NONE 1
#define CODE_NUMBER 2 /* and up from here: the number */
#define RUN_MAX (CODE_MAX + 3)

static_assert(PACKED_COUNT_MAX * RUN_MAX <= UINT16_MAX, "all of them have room");

static size_t put_code(uint8_t *to, uint64_t code)
{
	size_t count = 0;

	for (; code >= 0x80; code >>= 7)
		to[count++] = (uint8_t)(code | 0x80);
	to[count++] = (uint8_t)code;
	return count;
}

static uint64_t get_code(const struct packed *p, size_t *at)
{
	uint64_t code = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = p->bytes[(*at)++];
		code |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return code;
}

static int make_room(struct packed *p, size_t count)
{
	size_t needed = p->used + count, room = MAX(p->room + p->room / 4U, (size_t)ROOM_FIRST);
	uint8_t *larger;

	if (needed <= p->room)
		return 0;
	room = MIN(MAX(room, needed), (size_t)UINT16_MAX);
	larger = realloc(p->bytes, room);
	if (!larger)
		return -ENOMEM;
	p->bytes = larger;
	p->room = (uint16_t)room;
	return 0;
}

/* The last run becomes bytes. */
static int settle_last(struct packed *p)
{
	uint64_t number = p->last_number;
	uint8_t codes[RUN_MAX];
	size_t count;
	int r;

	if (!p->last_times)
		return 0;
	count = put_code(codes, number == PACKED_NONE ? CODE_NONE : number + CODE_NUMBER);
	if (p->last_times > 1) {
		count += put_code(codes + count, CODE_REPEATED);
		count += put_code(codes + count, p->last_times - 2U);
	}
	r = make_room(p, count);
	if (r < 0)
		return r;
	memcpy(p->bytes + p->used, codes, count);
	p->used = (uint16_t)(p->used + count);
	return 0;
}

int packed_append(struct packed *p, uint64_t number, uint32_t times)
{
	int r;

	assert(number <= PACKED_MAX || number == PACKED_NONE);
	if (times > PACKED_COUNT_MAX - (uint32_t)p->count)
		return -ENOSPC;
	if (!times)
		return 0;
	p->count = (uint16_t)(p->count + times);
	if (p->last_times && p->last_number == number) {
		p->last_times = (uint16_t)(p->last_times + times);
		return 0;
	}
	r = settle_last(p);
	if (r < 0) {
		p->count = (uint16_t)(p->count - times);
		return r;
	}
	p->last_number = number;
	p->last_times = (uint16_t)times;
	return 0;
}

bool packed_next(const struct packed *p, size_t *at, struct packed_run *ret)
{
	uint64_t code;

	if (*at > p->used || (*at == p->used && !p->last_times))
		return false;
	if (*at == p->used) {
		*ret = (struct packed_run){ p->last_number, p->last_times };
		(*at)++;
		return true;
	}
	code = get_code(p, at);
	*ret = (struct packed_run){ code == CODE_NONE ? PACKED_NONE : code - CODE_NUMBER, 1 };
	if (*at < p->used && p->bytes[*at] == CODE_REPEATED) {
		(*at)++;
		ret->times = (uint32_t)get_code(p, at) + 2;
	}
	return true;
}

void packed_unpack(const struct packed *p, uint64_t *ret)
{
	struct packed_run run;
	size_t at = 0;

	while (packed_next(p, &at, &run)) {
		for (uint32_t i = 0; i < run.times; i++)
			*ret++ = run.number;
	}
}

int packed_copy(struct packed *to, const struct packed *from)
{
	uint8_t *bytes = from->used ? malloc(from->used) : NULL;

	if (from->used && !bytes)
		return -ENOMEM;
	if (from->used)
		memcpy(bytes, from->bytes, from->used);
	*to = *from;
	to->bytes = bytes;
	to->room = from->used;
	return 0;
}

void packed_clear(struct packed *p)
{
	free(p->bytes);
	*p = (struct packed){};
}

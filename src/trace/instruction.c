/* SPDX-License-Identifier: MIT */
/* By the opcode maps of the processors' manuals (Intel SDM volume 2, appendix A). */
#include "trace/image.h"

#include <string.h>

#define LENGTH_MAX 15

struct decoding {
	const unsigned char *code;
	size_t size, at;
	bool has_word_prefix; /* 66: constants of 32 bits have 16 */
	bool is_wide; /* REX.W */
};

enum { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A };

/* The byte at hand; behind the end 0, and then the length is too great. */
static unsigned char peek(const struct decoding *d, size_t ahead)
{
	return d->at + ahead < d->size ? d->code[d->at + ahead] : 0;
}

static void skip_prefixes(struct decoding *d)
{
	static const unsigned char prefixes[] = { 0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36,
						  0x3e, 0x26, 0x64, 0x65, 0xf0 };

	while (d->at < d->size && memchr(prefixes, peek(d, 0), sizeof(prefixes))) {
		d->has_word_prefix |= peek(d, 0) == 0x66;
		d->at++;
	}
	if ((peek(d, 0) & 0xf0) == 0x40)
		d->is_wide = d->code[d->at++] & 8;
}

static bool is_among(unsigned char opcode, const char *ranges)
{
	const unsigned char *r = (const unsigned char *)ranges;

	for (; r[1]; r += 2) {
		if (opcode >= r[0] && opcode <= r[1])
			return true;
	}
	return false;
}

static bool has_modrm(int map, unsigned char opcode)
{
	if (map == MAP_ONE && opcode < 0x40)
		return (opcode & 7) < 4;
	if (map == MAP_ONE)
		return is_among(opcode,
				"\x62\x63\x69\x69\x6b\x6b\x80\x8f\xc0\xc1\xc4\xc7\xd0\xd3\xd8\xdf"
				"\xf6\xf7\xfe\xff\0");
	return map != MAP_0F ||
	       !is_among(opcode, "\x05\x09\x0b\x0b\x0e\x0e\x30\x37\x77\x77\x80\x8f\xa0\xa2\xa8\xaa"
				 "\xc8\xcf\0");
}

/* Bytes of the constant behind; @reg: the middle field of the byte behind the opcode. */
static size_t constant_length(const struct decoding *d, int map, unsigned char opcode, int reg)
{
	const size_t full = d->has_word_prefix ? 2 : 4;

	if (map == MAP_0F3A)
		return 1;
	if (map == MAP_0F && opcode >= 0x80 && opcode <= 0x8f)
		return 4;
	if (map == MAP_0F)
		return is_among(opcode, "\x70\x73\xa4\xa4\xac\xac\xba\xba\xc2\xc2\xc4\xc6\0");
	if (map != MAP_ONE)
		return 0;
	if (opcode < 0x40)
		return (opcode & 7) == 4 ? 1 : (opcode & 7) == 5 ? full : 0;
	if (opcode >= 0xb8 && opcode <= 0xbf)
		return d->is_wide ? 8 : full;
	if (opcode >= 0xa0 && opcode <= 0xa3)
		return 8;
	if (opcode == 0xe8 || opcode == 0xe9)
		return 4;
	if (opcode == 0xc2 || opcode == 0xca)
		return 2;
	if (opcode == 0xc8)
		return 3;
	if (opcode == 0xf6 || opcode == 0xf7)
		return reg > 1 ? 0 : opcode == 0xf6 ? 1 : full;
	if (is_among(opcode, "\x68\x69\x81\x81\xa9\xa9\xc7\xc7\0"))
		return full;
	return is_among(opcode, "\x6a\x6b\x70\x80\x82\x83\xa8\xa8\xb0\xb7\xc0\xc1\xc6\xc6\xcd\xcd"
				"\xe0\xe7\xeb\xeb\0");
}

/* The ModRM byte, and the operands behind it. */
static size_t operand_length(const struct decoding *d)
{
	const unsigned char modrm = peek(d, 0), mod = modrm >> 6, rm = modrm & 7;
	size_t length = 1;

	if (mod == 3)
		return 1;
	if (rm == 4) {
		length++;
		if (mod == 0 && (peek(d, 1) & 7) == 5)
			return length + 4;
	}
	if (mod == 0)
		return rm == 5 ? length + 4 : length;
	return length + (mod == 1 ? 1 : 4);
}

/* Which map the opcode is of, which is at hand then.  Vector prefixes name it in their bits. */
static int find_map(struct decoding *d)
{
	static const int maps[] = { [1] = MAP_0F, [2] = MAP_0F38, [3] = MAP_0F3A };
	const unsigned char first = peek(d, 0);
	unsigned char map = 1;

	if (first == 0xc5 || first == 0xc4 || first == 0x62) {
		if (first != 0xc5)
			map = peek(d, 1) & (first == 0x62 ? 7 : 31);
		d->at += first == 0xc5 ? 2 : first == 0xc4 ? 3 : 4;
		d->has_word_prefix = false;
		return map >= 1 && map <= 3 ? maps[map] : first == 0x62 ? MAP_0F38 : -1;
	}
	if (first != 0x0f)
		return MAP_ONE;
	d->at++;
	if (peek(d, 0) != 0x38 && peek(d, 0) != 0x3a)
		return MAP_0F;
	return d->code[d->at++] == 0x38 ? MAP_0F38 : MAP_0F3A;
}

size_t instruction_length(const unsigned char *code, size_t size)
{
	struct decoding d = { .code = code, .size = size };
	unsigned char opcode;
	int map, reg;

	skip_prefixes(&d);
	map = find_map(&d);
	if (map < 0)
		return 0;
	opcode = peek(&d, 0);
	d.at++;
	reg = peek(&d, 0) >> 3 & 7;
	if (has_modrm(map, opcode))
		d.at += operand_length(&d);
	d.at += constant_length(&d, map, opcode, reg);
	return d.at <= size && d.at <= LENGTH_MAX ? d.at : 0;
}

bool instruction_is_return(const unsigned char *code, size_t length)
{
	if (length == 2 && (code[0] == 0xf3 || code[0] == 0xf2)) /* "rep ret", "bnd ret" */
		return code[1] == 0xc3;
	return (length == 1 && code[0] == 0xc3) || (length == 3 && code[0] == 0xc2);
}

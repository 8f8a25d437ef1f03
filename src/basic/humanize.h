/* SPDX-License-Identifier: MIT */
/*
 * humanize - numbers as people read them: two or three digits and a unit.
 *
 * Each returns a small text by value, to be used within the expression: humanize_bytes(n).text.
 */
#pragma once

#include <stdint.h>

struct human {
	char text[32];
};

struct human humanize_bytes(uint64_t bytes); /* "311 B", "7.6 GiB" */
struct human humanize_count(uint64_t count); /* "41,203", "1.9 M" from a million on */
struct human humanize_duration(uint64_t ns); /* "3.1 ms", "12.4 s", "2 m 14 s", "1 h 03 m" */
struct human humanize_cores(uint64_t millicores); /* "2.1", "4" */
struct human humanize_energy(uint64_t uj); /* microjoules: "4.1 kJ", "31 J" */
struct human humanize_mass(uint64_t ug); /* micrograms: "12.4 g" */
struct human humanize_percent(double share); /* 0.52 is "52 %", 0.001 is "0.1 %" */

/* In four columns at most, for tables: "311", "7.6G", "23M"; "41k", "1.9M".  The unit of bytes is
 * left out. */
struct human humanize_bytes_short(uint64_t bytes);
struct human humanize_count_short(uint64_t count);

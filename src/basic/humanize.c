/* SPDX-License-Identifier: MIT */
#include "basic/humanize.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

/* One decimal below 100, unless it is a zero. */
static struct human with_unit(double value, const char *unit)
{
	struct human h;
	uint64_t tenths = (uint64_t)(value * 10 + 0.5);

	if (tenths < 1000 && tenths % 10 != 0)
		snprintf(h.text, sizeof(h.text), "%" PRIu64 ".%u%s", tenths / 10,
			 (unsigned int)(tenths % 10), unit);
	else
		snprintf(h.text, sizeof(h.text), "%.0f%s", value, unit);
	return h;
}

struct human humanize_bytes(uint64_t bytes)
{
	static const char *const units[] = { " B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB" };
	double value = (double)bytes;
	size_t i = 0;

	/* 1023.6 KiB would be printed as 1024 KiB */
	while (value >= 1023.5 && i + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		i++;
	}
	return with_unit(value, units[i]);
}

static struct human with_commas(uint64_t count)
{
	struct human h;

	if (count < 1000)
		snprintf(h.text, sizeof(h.text), "%" PRIu64, count);
	else
		snprintf(h.text, sizeof(h.text), "%" PRIu64 ",%03" PRIu64, count / 1000,
			 count % 1000);
	return h;
}

struct human humanize_count(uint64_t count)
{
	static const char *const units[] = { " M", " G", " T", " P", " E" };
	double value = (double)count / 1e6;
	size_t i = 0;

	if (count < 1000000)
		return with_commas(count);
	while (value >= 999.5 && i + 1 < ARRAY_SIZE(units)) {
		value /= 1000;
		i++;
	}
	return with_unit(value, units[i]);
}

/* From a minute on: two units, the smaller one in two digits. */
static struct human in_two_units(uint64_t seconds)
{
	uint64_t minutes = seconds / 60, hours = seconds / 3600;
	struct human h;

	if (seconds < 3600)
		snprintf(h.text, sizeof(h.text), "%" PRIu64 " m %02" PRIu64 " s", minutes,
			 seconds % 60);
	else if (hours < 24)
		snprintf(h.text, sizeof(h.text), "%" PRIu64 " h %02" PRIu64 " m", hours,
			 minutes % 60);
	else
		snprintf(h.text, sizeof(h.text), "%" PRIu64 " d %02" PRIu64 " h", hours / 24,
			 hours % 24);
	return h;
}

struct human humanize_duration(uint64_t ns)
{
	if (ns == 0)
		return (struct human){ "0 s" };
	if (ns < NS_PER_US)
		return with_unit((double)ns, " ns");
	if (ns < 999500)
		return with_unit((double)ns / 1e3, " µs");
	if (ns < 999 * NS_PER_MS + NS_PER_MS / 2)
		return with_unit((double)ns / 1e6, " ms");
	if (ns < 60 * NS_PER_S - 50 * NS_PER_MS)
		return with_unit((double)ns / 1e9, " s");
	return in_two_units(ns / NS_PER_S + (ns % NS_PER_S >= NS_PER_S / 2));
}

struct human humanize_cores(uint64_t millicores)
{
	struct human h = with_unit((double)millicores / 1000, "");
	const unsigned int hundredths = (unsigned int)((MIN(millicores, 1000U) + 5) / 10);

	/* 0.02 cores are few, but they are not none; and 0.15 are half as many again as 0.1 */
	if (millicores > 0 && millicores < 50)
		snprintf(h.text, sizeof(h.text), "0.%03u", (unsigned int)millicores);
	else if (hundredths > 0 && hundredths < 50 && hundredths % 10)
		snprintf(h.text, sizeof(h.text), "0.%02u", hundredths);
	return h;
}

/* @units: seven, each a thousand of the one before; @none: for 0. */
static struct human with_one_of(uint64_t number, const char *const units[7], const char *none)
{
	double value = (double)number;
	struct human h;
	size_t i = 0;

	while (value >= 999.5 && i + 1 < 7) {
		value /= 1000;
		i++;
	}
	if (number)
		return with_unit(value, units[i]);
	snprintf(h.text, sizeof(h.text), "%s", none);
	return h;
}

struct human humanize_energy(uint64_t uj)
{
	static const char *const units[7] = { " µJ", " mJ", " J", " kJ", " MJ", " GJ", " TJ" };

	return with_one_of(uj, units, "0 J");
}

struct human humanize_mass(uint64_t ug)
{
	static const char *const units[7] = { " µg", " mg", " g", " kg", " t", " kt", " Mt" };

	return with_one_of(ug, units, "0 g");
}

struct human humanize_percent(double share)
{
	double percent = share * 100;
	struct human h;

	if (percent > 0 && percent < 0.05)
		return (struct human){ "<0.1 %" };
	snprintf(h.text, sizeof(h.text), percent > 0 && percent < 0.95 ? "%.1f %%" : "%.0f %%",
		 percent);
	return h;
}

/* One decimal below 10, unless it is a zero; four digits become the next unit. */
static struct human in_four_columns(double value, double step, const char *units)
{
	unsigned int tenths;
	struct human h;
	size_t i = 0;

	while (value >= 999.5 && units[i + 1]) {
		value /= step;
		i++;
	}
	tenths = (unsigned int)(value * 10 + 0.5);
	if (i == 0)
		snprintf(h.text, sizeof(h.text), "%.0f", value);
	else if (tenths < 100 && tenths % 10)
		snprintf(h.text, sizeof(h.text), "%u.%u%c", tenths / 10, tenths % 10, units[i]);
	else
		snprintf(h.text, sizeof(h.text), "%.0f%c", value, units[i]);
	return h;
}

struct human humanize_bytes_short(uint64_t bytes)
{
	return in_four_columns((double)bytes, 1024, " KMGTPE");
}

struct human humanize_count_short(uint64_t count)
{
	return in_four_columns((double)count, 1000, " kMGTPE");
}

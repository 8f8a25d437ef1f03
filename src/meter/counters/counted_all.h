/* SPDX-License-Identifier: MIT */
/* counted_all - sums over all cgroups of a meter, for self-tests. */
#pragma once

struct error;
struct meter;
struct reading;

/* All that was counted so far, but histograms, into an empty @ret. */
int counted_all_read(struct meter *m, struct reading *ret, struct error *err);

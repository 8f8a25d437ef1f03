/* SPDX-License-Identifier: MIT */
/*
 * meta_wrong - every call that takes a path, with every path that leads nowhere.
 *
 * A path that is lost on its way ends where it was searched last; where nothing was searched, as
 * with an address that cannot be read, it has no place.
 */
#pragma once

#include "stage.h"

void meta_wrong(struct worker *w, const struct stage *s);

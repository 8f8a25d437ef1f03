/* SPDX-License-Identifier: MIT */
#include "rules.h"

/* Its lines as strings: see meson.build. */
const char rules_built_in[] =
#include "insights_yaml.h"
	;

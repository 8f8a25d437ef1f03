/* SPDX-License-Identifier: MIT */
#include "analysis/rules.h"

/* Its lines as strings: see meson.build. */
const char rules_built_in[] =
#include "analysis/insights_yaml.h"
	;

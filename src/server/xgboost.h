/* SPDX-License-Identifier: MIT */
/* xgboost - random forests and boosting by libxgboost (Debian's libxgboost0), which is loaded where
 * a model is fitted, and nowhere else: what it made is walked by forest.h.  Without it nothing is
 * fitted. */
#pragma once

#include "predict/feature.h"

extern const struct learner forest_learner, boosting_learner;

/* SPDX-License-Identifier: MIT */
/* ridge - linear regression with a penalty on its weights, which are fitted by Cholesky's method;
 * texts are hashed one-hots.  The same rows give the same weights. */
#pragma once

#include "predict/feature.h"

extern const struct learner ridge_learner;

/* SPDX-License-Identifier: MIT */
/* sensor choice - which of a node's energy sensors are counted, so that nothing is counted twice.
 * Pure. */
#pragma once

#include "energy/attribution.h"
#include "model/energy_sensor.h"

/*
 * Set @ret of each reading.  Of the whole node one sensor; of each kind of component those of one
 * source; the lowest rank wins, then the first.  A board's sensor is not counted where one is
 * inside of it. Estimates only where nothing is measured but GPUs.
 */
void energy_choose(const struct energy_readings *readings, bool ret[ENERGY_SENSORS_MAX]);

/* The intervals to which a counted sensor belongs. */
enum energy_pool energy_pool_of(const struct energy_sensor *sensor);

/* SPDX-License-Identifier: Apache-2.0
 * The efficiencies that sim_test requires of the scheduler. */
#ifndef HX_SIM_FLOORS_H
#define HX_SIM_FLOORS_H

#include "sim/matrix.h"

/* Lower limits for means of eta over 20 seeds: over all cells of a scenario, and in its worst cell, for calls of 2 and
 * 20 ms. They are lower for a rate that changes within 2 ms, because one launch takes 0.15 ms. */
typedef struct floors {
  double mean[2], worst[2];
} floors;
static const floors least[SIM_KINDS][SIM_BELIEFS] = {[SIM_STEADY] = {[SIM_LEARNED] = {{0.97, 0.98}, {0.94, 0.95}},
                                                                     [SIM_SEED] = {{0.95, 0.96}, {0.89, 0.90}},
                                                                     [SIM_SEED_2X] = {{0.95, 0.96}, {0.88, 0.90}},
                                                                     [SIM_SEED_HALF] = {{0.95, 0.96}, {0.88, 0.90}},
                                                                     [SIM_OLD_2X] = {{0.955, 0.96}, {0.87, 0.88}},
                                                                     [SIM_SURE_2X] = {{0.96, 0.97}, {0.91, 0.93}}},
                                                     [SIM_CHANGING] = {[SIM_LEARNED] = {{0.95, 0.96}, {0.86, 0.90}},
                                                                       [SIM_SEED] = {{0.95, 0.95}, {0.88, 0.90}},
                                                                       [SIM_SEED_2X] = {{0.94, 0.94}, {0.87, 0.90}},
                                                                       [SIM_SEED_HALF] = {{0.95, 0.97}, {0.89, 0.94}},
                                                                       [SIM_OLD_2X] = {{0.93, 0.94}, {0.87, 0.88}},
                                                                       [SIM_SURE_2X] = {{0.95, 0.96}, {0.88, 0.88}}},
                                                     [SIM_ELBOW] = {[SIM_LEARNED] = {{0.96, 0.97}, {0.89, 0.94}},
                                                                    [SIM_SEED] = {{0.94, 0.98}, {0.87, 0.97}},
                                                                    [SIM_SEED_2X] = {{0.92, 0.98}, {0.85, 0.97}},
                                                                    [SIM_SEED_HALF] = {{0.91, 0.98}, {0.85, 0.96}},
                                                                    [SIM_OLD_2X] = {{0.92, 0.97}, {0.86, 0.89}},
                                                                    [SIM_SURE_2X] = {{0.91, 0.96}, {0.86, 0.89}}}};
#define RIGHT 0.975 /* over all scenarios at 2 and 20 ms, after ten calls */
#define WRONG 0.965 /* if the rates are guessed, or wrong by a factor of 2 */
#define WORST 0.85  /* in every cell */

#endif

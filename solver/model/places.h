/* SPDX-License-Identifier: Apache-2.0 */
/* Integrates a density over the ratios of the links' standard deviations to the noise (score.h).
 * Uses a grid, and Laplace's method if the maximum is narrower than a step of the grid. The caller
 * supplies the density.
 * Tests: test_score.c. */
#ifndef NT_PLACES_H
#define NT_PLACES_H

#include <stdbool.h>

enum {
    NT_RATIOS = 9
}; /* T / s from 0.16 to 244: below, T cannot be seen; above, it is unlimited */
#define NT_RATIO_STEP 2.5

/* Coordinates of the ratios T_h / s and T_d / s: T / s = 0.16 NT_RATIO_STEP^coordinate. Coordinates
 * need not be integers. */
struct nt_score_place {
    double ends, links;
};

double nt_score_ratio(double place); /* T / s at a coordinate */

/* ln of a density of places. */
struct nt_place_density {
    void *of;
    /* rough: a cheaper value is enough, to locate a maximum */
    double (*value)(void *of, struct nt_score_place place, bool rough);
    double lengths; /* upper limit of the number of lengths whose variances these are */
    bool has_rough; /* the search for the maximum starts with cheaper values */
    bool links;     /* it depends on place.links */
};

/* ln of the integral over all places, in steps of the grid. The search for the maximum starts from
 * *place, and *place is set to it. The two axes are taken as independent. */
double nt_places_integrate(const struct nt_place_density *density, struct nt_score_place *place);

/* Sets *place near the maximum with rough values alone: to a point of the grid, or (fine) between
 * these points. Returns the most by which ln of the integral exceeds ln p there. */
double nt_places_locate(const struct nt_place_density *density, struct nt_score_place *place,
                        bool fine);

#endif

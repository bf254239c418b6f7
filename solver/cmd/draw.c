/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comparison_report.h"
#include "cost.h"
#include "distance.h"
#include "remarks.h"
#include "traffic.h"

/* Hosts up to which the pattern's way through the network is followed: alltoall of more takes long.
 */
enum { FOLLOWED_MAX = 1024 };

/* The time that each link needs for what the pattern sends over it when its ranks, one a host,
 * stand in the hint's order; of both directions the longer. bytes: what goes over each direction.
 */
static bool loads_of(const struct nt_model *m, const double *bytes, double *load)
{
    bool timed = false;
    for (size_t k = 0; k < m->links; k++)
        timed = timed || m->link[k].bandwidth_MBps > 0;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        bool back = l->bandwidth_back_MBps > 0;
        load[k] = timed
                      ? fmax(bytes[2 * k] / l->bandwidth_MBps,
                             bytes[2 * k + 1] / (back ? l->bandwidth_back_MBps : l->bandwidth_MBps))
                      : fmax(bytes[2 * k], bytes[2 * k + 1]);
    }
    return timed;
}

/* NULL where it cannot be said: no hint, a pattern that is a file or needs several ranks a host. */
static double *load_links(const struct nt_map *map, bool *is_time)
{
    const struct nt_placement *p = map->placement;
    const struct nt_model *m = map->model;
    struct nt_traffic *traffic = NULL;
    struct nt_distance *distance = NULL;
    struct nt_metrics metrics;
    struct nt_err ignored;
    size_t used = 0;
    if (p == NULL || p->hosts > FOLLOWED_MAX)
        return NULL;
    while (used < p->hosts && !m->missing[p->order[used]])
        used++;
    double *load = calloc(m->links + 1, sizeof *load);
    double *bytes = calloc(2 * m->links + 1, sizeof *bytes);
    if (load == NULL || bytes == NULL || strncmp(p->pattern, "matrix:", 7) == 0 ||
        nt_traffic_create(p->pattern, used, &traffic, &ignored) != 0 ||
        nt_distance_create(m, &distance, &ignored) != 0 ||
        nt_cost_loads(m, distance, traffic, p->order, bytes, &metrics, &ignored) != 0) {
        free(load);
        load = NULL;
    } else {
        *is_time = loads_of(m, bytes, load);
    }
    nt_traffic_destroy(traffic);
    nt_distance_destroy(distance);
    free(bytes);
    return load;
}

static int draw_beside(struct nt_picture *picture, nt_picture_writer *write, char **text,
                       size_t *bytes, struct nt_err *err)
{
    struct nt_reference_match *match;
    struct nt_remarks remarks = {0};
    char summary[160];
    if (nt_reference_match_create(picture->map, picture->reference, 0, &match, err) != 0)
        return nt_err_prefix(err, "%s", picture->title[1]);
    int rc = nt_remarks_create(match, picture->map, picture->reference, &remarks, err);
    if (rc == 0) {
        nt_comparison_report_summary(match, summary, sizeof summary);
        picture->summary = summary;
        picture->remark = remarks.remark;
        picture->remarks = remarks.count;
        rc = write(picture, text, bytes, err);
    }
    nt_remarks_fini(&remarks);
    nt_reference_match_destroy(match);
    return rc;
}

int nt_draw(const struct nt_map *map, const char *name, const struct nt_map *reference,
            const char *reference_name, nt_picture_writer *write, char **text, size_t *bytes,
            struct nt_err *err)
{
    struct nt_picture picture = {
        .map = map, .reference = reference, .title = {name, reference_name}, .summary = ""};
    double *load = load_links(map, &picture.load_is_time);
    picture.load = load;
    int rc = reference != NULL ? draw_beside(&picture, write, text, bytes, err)
                               : write(&picture, text, bytes, err);
    free(load);
    return rc;
}

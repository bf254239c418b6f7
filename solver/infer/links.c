/* Figures of the links and of the fit. */
#include "work.h"

#include <stdlib.h>
#include <string.h>

int nt_links(const struct nt_work *w, struct nt_model *model, struct nt_err *err)
{
    (void)err;
    double sum = 0, square = 0, rest = 0;
    struct nt_matrix *p;
    if (nt_model_latencies(model, &p, err) < 0)
        return -1;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j];
            double r = v - (double)nt_matrix_get(p, w->host[i], w->host[j]);
            if (v == v && r == r) {
                sum += v;
                square += v * v;
                rest += r * r;
            }
        }
    nt_matrix_destroy(p);
    double count = (double)w->pairs, spread = square - sum * sum / count;
    model->rms_us = sqrt(rest / count);
    model->r2 = spread > 0 ? 1 - rest / spread : NAN;
    model->confidence = 0.9;
    for (size_t k = 0; k < model->links; k++)
        if (!(model->link[k].latency_us > 0))
            model->link[k].latency_us = 0;
    return 0;
}

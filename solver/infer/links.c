/* Latencies of a tree's links by robust weighted least squares, with standard errors.
 *
 * A pair is the two host links plus the links between their switches. Hosts behind one switch
 * differ only in their own link, so the problem falls into two parts that do not disturb each
 * other: the hosts against the mean of their switch, each by itself, and means of switches with
 * links between switches, a small dense system. Readings far off are left out (Huber's weights
 * would bend the errors); the unit variance comes from what is kept. */
#include "links.h"

#include <stdlib.h>
#include <string.h>

#include "cholesky.h"
#include "stats.h"
#include "work.h"

enum { PASSES = 3, PAIRS_OFF_MAX = 65536, UNKNOWNS_MAX = 1500 };

/* Switches that have hosts are sites. */
struct sites {
    const struct nt_work *w;
    struct nt_model *model;
    size_t count, trunks;     /* sites; links between switches */
    uint32_t *site_of;        /* switches: site or UINT32_MAX */
    uint32_t *at;             /* w->n: site of each host */
    uint32_t *link;           /* w->n: link of each host */
    uint32_t *trunk;          /* trunks: link */
    uint32_t *start, *member; /* hosts by site */
    double *x;                /* w->n host links */
    double *between;          /* count*count: modelled distance */
    double *sum, *weight;     /* count*count, a >= b: residuals kept, how many */
    double *pull, *kept;      /* w->n: weighted residuals and weights of each host */
    double *matrix, *right;
    double rss, used, reach; /* of unit variance; pairs; readings farther off are left out */
};

static void sites_fini(struct sites *s)
{
    void *all[] = {s->site_of, s->at,     s->link, s->trunk, s->start, s->member, s->x,
                   s->between, s->weight, s->sum,  s->pull,  s->kept,  s->matrix, s->right};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
}

static void index_links(struct sites *s)
{
    const struct nt_model *m = s->model;
    uint32_t *place = s->start; /* host -> index in w, until start is needed */
    for (size_t i = 0; i < s->w->n; i++)
        place[s->w->host[i]] = (uint32_t)i;
    memset(s->site_of, 0xff, (m->switches + 1) * sizeof *s->site_of);
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        if (a >= m->hosts && b >= m->hosts) {
            s->trunk[s->trunks++] = (uint32_t)k;
            continue;
        }
        uint32_t host = a < m->hosts ? a : b, at = (a < m->hosts ? b : a) - (uint32_t)m->hosts;
        if (s->site_of[at] == UINT32_MAX)
            s->site_of[at] = (uint32_t)s->count++;
        s->at[place[host]] = s->site_of[at];
        s->link[place[host]] = (uint32_t)k;
        s->x[place[host]] = m->link[k].latency_us;
    }
    memset(s->start, 0, (m->hosts + 2) * sizeof *s->start);
    for (size_t i = 0; i < s->w->n; i++)
        s->start[s->at[i] + 2]++;
    for (size_t a = 2; a <= s->count; a++)
        s->start[a + 1] += s->start[a];
    for (size_t i = 0; i < s->w->n; i++)
        s->member[s->start[s->at[i] + 1]++] = (uint32_t)i;
}

static int sites_init(struct sites *s, const struct nt_work *w, struct nt_model *m,
                      struct nt_err *err)
{
    *s = (struct sites){.w = w, .model = m, .reach = 4.5};
    s->site_of = malloc((m->switches + 1) * sizeof *s->site_of);
    s->at = malloc((w->n + 1) * sizeof *s->at);
    s->link = malloc((w->n + 1) * sizeof *s->link);
    s->trunk = malloc((m->links + 1) * sizeof *s->trunk);
    s->start = malloc((m->hosts + 3) * sizeof *s->start);
    s->member = malloc((w->n + 1) * sizeof *s->member);
    s->x = malloc((w->n + 1) * sizeof *s->x);
    s->pull = malloc((w->n + 1) * sizeof *s->pull);
    s->kept = malloc((w->n + 1) * sizeof *s->kept);
    if (!s->site_of || !s->at || !s->link || !s->trunk || !s->start || !s->member || !s->x ||
        !s->pull || !s->kept)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu links", m->links);
    index_links(s);
    size_t unknowns = s->count + s->trunks;
    s->between = malloc((s->count * s->count + 1) * sizeof *s->between);
    s->sum = malloc((s->count * s->count + 1) * sizeof *s->sum);
    s->weight = malloc((s->count * s->count + 1) * sizeof *s->weight);
    s->matrix = malloc((unknowns * unknowns + 1) * sizeof *s->matrix);
    s->right = malloc((unknowns + 1) * sizeof *s->right);
    if (!s->between || !s->sum || !s->weight || !s->matrix || !s->right)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu sites", s->count);
    return 0;
}

/* ---- walks over the tree of switches ---- */

struct walk {
    size_t *start;
    uint32_t *to, *trunk;   /* neighbours, and the number of the trunk */
    uint32_t *stack, *path; /* switches to visit; trunks down to the present one */
    uint32_t *depth, *from;
};

static void walk_fini(struct walk *k)
{
    free(k->start);
    free(k->to);
    free(k->trunk);
    free(k->stack);
    free(k->path);
    free(k->depth);
    free(k->from);
}

static int walk_init(struct walk *k, const struct sites *s, struct nt_err *err)
{
    size_t v = s->model->switches, h = s->model->hosts;
    *k = (struct walk){calloc(v + 3, sizeof(size_t)),
                       malloc((2 * s->trunks + 1) * sizeof(uint32_t)),
                       malloc((2 * s->trunks + 1) * sizeof(uint32_t)),
                       malloc((v + 1) * sizeof(uint32_t)),
                       malloc((v + 1) * sizeof(uint32_t)),
                       malloc((v + 1) * sizeof(uint32_t)),
                       malloc((v + 1) * sizeof(uint32_t))};
    if (!k->start || !k->to || !k->trunk || !k->stack || !k->path || !k->depth || !k->from)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for walks over %zu switches", v);
    for (size_t t = 0; t < s->trunks; t++) {
        const struct nt_link *l = &s->model->link[s->trunk[t]];
        k->start[l->a - h + 2]++;
        k->start[l->b - h + 2]++;
    }
    for (size_t x = 2; x <= v; x++)
        k->start[x + 1] += k->start[x];
    for (size_t t = 0; t < s->trunks; t++) {
        const struct nt_link *l = &s->model->link[s->trunk[t]];
        uint32_t ends[2] = {(uint32_t)(l->a - h), (uint32_t)(l->b - h)};
        for (int e = 0; e < 2; e++) {
            size_t p = k->start[ends[e] + 1]++;
            k->to[p] = ends[1 - e];
            k->trunk[p] = (uint32_t)t;
        }
    }
    return 0;
}

/* What to do with the path from site a to site b: trunks path[0..length). */
typedef void visit_fn(struct sites *s, size_t a, size_t b, const uint32_t *path, size_t length);

static void walk_from(struct walk *k, struct sites *s, uint32_t from, visit_fn *visit)
{
    size_t top = 0;
    k->stack[top++] = from;
    k->depth[from] = 0;
    k->from[from] = UINT32_MAX;
    while (top > 0) {
        uint32_t v = k->stack[--top];
        if (k->from[v] != UINT32_MAX)
            k->path[k->depth[v] - 1] = k->from[v];
        if (s->site_of[v] != UINT32_MAX && s->site_of[v] <= s->site_of[from])
            visit(s, s->site_of[from], s->site_of[v], k->path, k->depth[v]);
        for (size_t p = k->start[v]; p < k->start[v + 1]; p++) {
            if (k->trunk[p] == k->from[v])
                continue;
            k->from[k->to[p]] = k->trunk[p];
            k->depth[k->to[p]] = k->depth[v] + 1;
            k->stack[top++] = k->to[p];
        }
    }
}

static void walk_all(struct walk *k, struct sites *s, visit_fn *visit)
{
    for (uint32_t v = 0; v < s->model->switches; v++)
        if (s->site_of[v] != UINT32_MAX)
            walk_from(k, s, v, visit);
}

static void set_between(struct sites *s, size_t a, size_t b, const uint32_t *path, size_t length)
{
    double sum = 0;
    for (size_t k = 0; k < length; k++)
        sum += s->model->link[s->trunk[path[k]]].latency_us;
    s->between[a * s->count + b] = s->between[b * s->count + a] = sum;
}

/* The block of pairs between sites a and b measures x_a + x_b + the trunks between. */
static void add_block(struct sites *s, size_t a, size_t b, const uint32_t *path, size_t length)
{
    size_t n = s->count + s->trunks;
    double weight = s->weight[a * s->count + b], sum = s->sum[a * s->count + b];
    if (!(weight > 0))
        return;
    size_t column[3] = {a, b, 0};
    double times[2] = {a == b ? 2 : 1, 1};
    size_t own = a == b ? 1 : 2;
    for (size_t k = 0; k < own; k++) {
        s->right[column[k]] += times[k] * sum;
        for (size_t l = 0; l < own; l++)
            if (column[l] <= column[k])
                s->matrix[column[k] * n + column[l]] += times[k] * times[l] * weight;
        for (size_t l = 0; l < length; l++)
            s->matrix[(s->count + path[l]) * n + column[k]] += weight;
    }
    for (size_t k = 0; k < length; k++) {
        s->right[s->count + path[k]] += sum;
        for (size_t l = 0; l < length; l++)
            if (path[l] <= path[k])
                s->matrix[(s->count + path[k]) * n + s->count + path[l]] += weight;
    }
}

/* ---- one pass over the readings ---- */

static void add_pairs(struct sites *s, size_t a, size_t b, double sd)
{
    const struct nt_work *w = s->w;
    double distance = s->between[a * s->count + b], weight = 1 / (sd * sd), total = 0, square = 0;
    double far = s->reach * sd;
    size_t used = 0;
    for (size_t p = s->start[a]; p < s->start[a + 1]; p++) {
        uint32_t i = s->member[p];
        const float *row = w->d + (size_t)i * w->n;
        size_t last = a == b ? p : s->start[b + 1], own = 0;
        double base = s->x[i] + distance, sum = 0;
        for (size_t q = s->start[b]; q < last; q++) {
            uint32_t j = s->member[q];
            double r = (double)row[j] - base - s->x[j];
            if (!(fabs(r) < far))
                continue;
            sum += r;
            square += r * r;
            own++;
            s->pull[j] += r * weight;
            s->kept[j] += weight;
        }
        s->pull[i] += sum * weight;
        s->kept[i] += (double)own * weight;
        total += sum;
        used += own;
    }
    s->sum[a * s->count + b] = total * weight;
    s->weight[a * s->count + b] = (double)used * weight;
    s->rss += square * weight;
    s->used += (double)used;
}

static void pass(struct sites *s)
{
    memset(s->pull, 0, s->w->n * sizeof *s->pull);
    memset(s->kept, 0, s->w->n * sizeof *s->kept);
    s->rss = s->used = 0;
    for (size_t a = 0; a < s->count; a++)
        for (size_t b = 0; b <= a; b++) {
            double level = s->between[a * s->count + b] + s->x[s->member[s->start[a]]] +
                           s->x[s->member[s->start[b]]];
            add_pairs(s, a, b, nt_noise_sd(&s->w->noise, level));
        }
}

/* Weight by which a host is known against the mean of its switch. */
static double host_weight(const struct sites *s, size_t i)
{
    size_t a = s->at[i];
    double m = (double)(s->start[a + 1] - s->start[a]);
    double inside = m > 1 ? s->weight[a * s->count + a] / (m * (m - 1) / 2) : 0;
    return s->kept[i] - inside;
}

static int step(struct sites *s, struct walk *k, struct nt_err *err)
{
    size_t n = s->count + s->trunks;
    walk_all(k, s, set_between);
    pass(s);
    memset(s->matrix, 0, n * n * sizeof *s->matrix);
    memset(s->right, 0, n * sizeof *s->right);
    walk_all(k, s, add_block);
    if (nt_cholesky_solve(s->matrix, s->right, n, err) < 0)
        return -1;
    for (size_t a = 0; a < s->count; a++) {
        double mean = 0, count = 0;
        for (size_t p = s->start[a]; p < s->start[a + 1]; p++) {
            uint32_t i = s->member[p];
            double weight = host_weight(s, i);
            mean += weight > 0 ? s->pull[i] / s->kept[i] : 0;
            count++;
        }
        mean /= count;
        for (size_t p = s->start[a]; p < s->start[a + 1]; p++) {
            uint32_t i = s->member[p];
            double weight = host_weight(s, i);
            if (weight > 1e-9 * s->kept[i] && count > 1)
                s->x[i] += (s->pull[i] - mean * s->kept[i]) / weight;
            s->x[i] += s->right[a];
        }
    }
    for (size_t t = 0; t < s->trunks; t++)
        s->model->link[s->trunk[t]].latency_us += s->right[s->count + t];
    return 0;
}

/* Standard errors; those of few readings are widened so that twice an error still covers 95 %. */
static int set_errors(struct sites *s, struct nt_err *err)
{
    size_t n = s->count + s->trunks;
    double df = s->used - (double)s->w->n - (double)s->trunks, unit = NAN;
    if (df >= 1)
        unit = sqrt(s->rss / df) * nt_student_quantile(0.975, df) / 1.95996;
    else if (s->w->noise.prior > 0)
        unit = 1;
    if (n > UNKNOWNS_MAX)
        unit = NAN;
    else if (nt_cholesky_invert(s->matrix, n, err) < 0)
        return -1;
    for (size_t i = 0; i < s->w->n; i++) {
        size_t a = s->at[i];
        double m = (double)(s->start[a + 1] - s->start[a]), weight = host_weight(s, i);
        double variance = s->matrix[a * n + a];
        if (m > 1)
            variance += weight > 1e-9 * s->kept[i] ? (1 - 1 / m) / weight : NAN;
        struct nt_link *l = &s->model->link[s->link[i]];
        l->latency_us = s->x[i];
        l->latency_se_us = unit * sqrt(variance);
    }
    for (size_t t = 0; t < s->trunks; t++) {
        size_t k = s->count + t;
        s->model->link[s->trunk[t]].latency_se_us = unit * sqrt(s->matrix[k * n + k]);
    }
    return 0;
}

/* ---- quality ---- */

static int add_off(struct nt_model *m, size_t i, size_t j, size_t *room, struct nt_err *err)
{
    if (m->pairs_off >= PAIRS_OFF_MAX)
        return 0;
    if (m->pairs_off == *room) {
        size_t more = *room * 2 + 16;
        uint32_t(*grown)[2] = realloc(m->pair_off, more * sizeof *grown);
        if (grown == NULL)
            return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu pairs that are off", more);
        m->pair_off = grown;
        *room = more;
    }
    m->pair_off[m->pairs_off][0] = (uint32_t)i;
    m->pair_off[m->pairs_off++][1] = (uint32_t)j;
    return 0;
}

/* R2 and rms over all measured pairs; a pair is off when not one in a hundred networks of good
 * pairs would hold such a one. */
static int set_quality(struct sites *s, struct nt_err *err)
{
    const struct nt_work *w = s->w;
    double sum = 0, square = 0, rest = 0, count = (double)w->pairs;
    double off = -nt_normal_quantile(0.005 / (count > 1 ? count : 1));
    double df = s->used - (double)w->n - (double)s->trunks;
    double unit = df >= 1 ? sqrt(s->rss / df) : 1;
    size_t room = 0;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j];
            if (v != v)
                continue;
            double p = s->x[i] + s->x[j] + s->between[s->at[i] * s->count + s->at[j]];
            double r = v - p;
            sum += v;
            square += v * v;
            rest += r * r;
            if (fabs(r) > 4 * unit * w->noise.scale && df >= 1 &&
                fabs(r) > off * unit * nt_noise_sd(&w->noise, p) &&
                add_off(s->model, w->host[i], w->host[j], &room, err) < 0)
                return -1;
        }
    double spread = square - sum * sum / count;
    s->model->rms_us = sqrt(rest / count);
    s->model->r2 = spread > 1e-9 * square ? 1 - rest / spread : NAN;
    s->model->resolution_us =
        1.95996 * sqrt(2) * unit * nt_noise_sd(&w->noise, count > 0 ? sum / count : 0);
    return 0;
}

int nt_links_fit(const struct nt_work *w, struct nt_model *model, struct nt_err *err)
{
    struct sites s;
    struct walk k = {0};
    int status = sites_init(&s, w, model, err);
    if (status == 0)
        status = walk_init(&k, &s, err);
    for (int p = 0; p < PASSES && status == 0; p++)
        status = step(&s, &k, err);
    if (status == 0)
        status = set_errors(&s, err);
    if (status == 0) {
        walk_all(&k, &s, set_between);
        status = set_quality(&s, err);
    }
    for (size_t l = 0; l < model->links && status == 0; l++)
        if (!(model->link[l].latency_us > 0)) /* a path cannot get shorter by a link */
            model->link[l].latency_us = 0;
    walk_fini(&k);
    sites_fini(&s);
    return status;
}

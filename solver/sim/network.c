/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* ---- the name of a topology ---- */

enum { SPEC_TEXT_MAX = 200 };

/* The separator between the numbers, and their limits of number. */
struct form {
    const char *name;
    enum nt_topology topology;
    char separator;
    uint32_t fewest, most;
    uint32_t smallest; /* least value of each number */
    const char *expected;
};

static const struct form forms[] = {
    {"star", NT_TOPOLOGY_STAR, 'x', 1, 1, 1, "star:N"},
    {"tree", NT_TOPOLOGY_TREE, 'x', 1, NT_DIMENSIONS_MAX, 1,
     "tree:AxBxC with C hosts per leaf switch"},
    {"fattree", NT_TOPOLOGY_FATTREE, ',', 2, 2, 1, "fattree:P,Q with P even, Q at most 8"},
    {"chain", NT_TOPOLOGY_CHAIN, 'x', 2, 2, 1, "chain:SxH, S switches with H hosts each"},
    {"dragonfly", NT_TOPOLOGY_DRAGONFLY, 'x', 3, 3, 1, "dragonfly:GxRxH"},
    {"aries", NT_TOPOLOGY_ARIES, 'x', 4, 4, 1, "aries:GxAxBxH, G groups of AxB routers"},
    {"dragonfly+", NT_TOPOLOGY_DRAGONFLY_PLUS, 'x', 4, 4, 1,
     "dragonfly+:GxLxSxH, G groups of L leaves and S spines"},
    {"torus", NT_TOPOLOGY_TORUS, 'x', 1, NT_DIMENSIONS_MAX, 1, "torus:AxB[xC][,hosts=H]"},
    {"ring", NT_TOPOLOGY_TORUS, 'x', 1, 1, 1, "ring:N[,hosts=H]"},
    {"mesh", NT_TOPOLOGY_MESH, 'x', 1, NT_DIMENSIONS_MAX, 1, "mesh:AxB[xC][,hosts=H]"},
    {"ttorus", NT_TOPOLOGY_TWISTED_TORUS, 'x', 2, 2, 1, "ttorus:AxB:TWIST with TWIST below A"},
    {"hypercube", NT_TOPOLOGY_HYPERCUBE, 'x', 1, 1, 0, "hypercube:K with K at most 16"},
    {"fullmesh", NT_TOPOLOGY_FULL_MESH, 'x', 1, 1, 1, "fullmesh:N with N at most 2048"},
};

static const struct form *form_of(const char *text)
{
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        size_t n = strlen(forms[k].name);
        if (strncmp(text, forms[k].name, n) == 0 && text[n] == ':')
            return &forms[k];
    }
    return NULL;
}

static const char RAILS[] = "rails:";

bool nt_spec_names(const char *text)
{
    return strncmp(text, RAILS, sizeof RAILS - 1) == 0 || form_of(text) != NULL;
}

/* Reads a decimal number of at most NT_HOSTS_MAX, without sign or leading zero; NULL: there is
 * none. */
static const char *read_number(const char *at, uint32_t *value)
{
    uint32_t v = 0;
    if (!isdigit((unsigned char)*at) || (*at == '0' && isdigit((unsigned char)at[1])))
        return NULL;
    for (; isdigit((unsigned char)*at); at++) {
        v = v * 10 + (uint32_t)(*at - '0');
        if (v > NT_HOSTS_MAX)
            return NULL;
    }
    *value = v;
    return at;
}

/* Returns x * y, or one more than the largest network if that is larger. */
static size_t bounded_product(size_t x, size_t y)
{
    const size_t over = (size_t)NT_HOSTS_MAX * 1024 + 1;
    return y != 0 && x > over / y ? over : x * y;
}

static size_t bounded_power(size_t base, uint32_t exponent)
{
    size_t p = 1;
    while (exponent-- > 0)
        p = bounded_product(p, base);
    return p;
}

static void size_tree(struct nt_spec *s)
{
    size_t level = 1;
    s->switches = 1;
    for (uint32_t k = 0; k + 1 < s->dimensions; k++) {
        level = bounded_product(level, s->dimension[k]);
        s->switches += level;
    }
    s->hosts = bounded_product(level, s->dimension[s->dimensions - 1]);
    s->links = s->hosts + s->switches - 1;
}

/* Lin, Chung, Huang (2004): an m-port n-tree has 2(m/2)^n hosts and (2n-1)(m/2)^(n-1) switches. */
static void size_fattree(struct nt_spec *s)
{
    uint32_t levels = s->dimension[1];
    size_t half = s->dimension[0] / 2;
    s->hosts = bounded_product(2, bounded_power(half, levels));
    s->switches = bounded_product(2 * (size_t)levels - 1, bounded_power(half, levels - 1));
    s->links = bounded_product(s->hosts, levels);
}

static void size_dragonfly(struct nt_spec *s)
{
    size_t g = s->dimension[0], r = s->dimension[1];
    s->switches = bounded_product(g, r);
    s->hosts = bounded_product(s->switches, s->dimension[2]);
    s->links = s->hosts + bounded_product(s->switches, r - 1) / 2 + bounded_product(g, g - 1) / 2;
}

/* Returns the number of routers per group, for all three kinds. */
static size_t routers_of(const struct nt_spec *s)
{
    const uint32_t *d = s->dimension;
    return s->topology == NT_TOPOLOGY_ARIES ? bounded_product(d[1], d[2]) : (size_t)d[1] + d[2];
}

/* Rows and columns of routers, or leaf switches below spines; one link between any two groups. */
static void size_groups(struct nt_spec *s)
{
    const uint32_t *d = s->dimension;
    bool aries = s->topology == NT_TOPOLOGY_ARIES;
    size_t local = aries ? bounded_product(routers_of(s), (size_t)d[1] + d[2] - 2) / 2
                         : bounded_product(d[1], d[2]);
    s->switches = bounded_product(d[0], routers_of(s));
    s->hosts = bounded_product(d[0], bounded_product(aries ? routers_of(s) : d[1], d[3]));
    s->links = s->hosts + bounded_product(d[0], local) + bounded_product(d[0], d[0] - 1) / 2;
}

/* A dimension of 2 has one link where a longer one has two. */
static void size_grid(struct nt_spec *s)
{
    size_t n = 1;
    for (uint32_t k = 0; k < s->dimensions; k++)
        n = bounded_product(n, s->dimension[k]);
    s->hosts = n;
    s->links = 0;
    for (uint32_t k = 0; k < s->dimensions; k++) {
        size_t d = s->dimension[k];
        bool wraps = s->topology != NT_TOPOLOGY_MESH && d > 2;
        s->links += bounded_product(n / d, wraps ? d : d - 1);
    }
}

static void size_of(struct nt_spec *s)
{
    uint32_t d = s->dimension[0];
    switch (s->topology) {
    case NT_TOPOLOGY_STAR:
    case NT_TOPOLOGY_TREE:
        size_tree(s);
        return;
    case NT_TOPOLOGY_FATTREE:
        size_fattree(s);
        return;
    case NT_TOPOLOGY_CHAIN:
        s->switches = d;
        s->hosts = bounded_product(d, s->dimension[1]);
        s->links = s->hosts + d - 1;
        return;
    case NT_TOPOLOGY_DRAGONFLY:
        size_dragonfly(s);
        return;
    case NT_TOPOLOGY_ARIES:
    case NT_TOPOLOGY_DRAGONFLY_PLUS:
        size_groups(s);
        return;
    case NT_TOPOLOGY_HYPERCUBE:
        s->hosts = bounded_power(2, d);
        s->links = bounded_product(s->hosts, d) / 2;
        return;
    case NT_TOPOLOGY_FULL_MESH:
        s->hosts = d;
        s->links = bounded_product(d, d - 1) / 2;
        return;
    case NT_TOPOLOGY_TORUS:
    case NT_TOPOLOGY_MESH:
    case NT_TOPOLOGY_TWISTED_TORUS:
        size_grid(s);
        return;
    }
}

/* Makes the vertices switches. */
static void put_behind_switches(struct nt_spec *s)
{
    s->switches = s->hosts;
    s->hosts = bounded_product(s->switches, s->hosts_each);
    s->links += s->hosts;
}

/* Checks the relations between the numbers. */
static bool spec_is_sound(const struct nt_spec *s)
{
    const uint32_t *d = s->dimension;
    switch (s->topology) {
    case NT_TOPOLOGY_FATTREE:
        return d[0] >= 2 && d[0] % 2 == 0 && d[1] <= NT_DIMENSIONS_MAX;
    case NT_TOPOLOGY_TWISTED_TORUS: /* below 3 a wrap is no separate link, so there is nothing to
                                       twist */
        return d[0] > 2 && d[1] > 2 && s->twist < d[0];
    case NT_TOPOLOGY_HYPERCUBE:
        return d[0] <= 16;
    case NT_TOPOLOGY_FULL_MESH:
        return d[0] <= 2048;
    default:
        return true;
    }
}

static const char EACH[] = ",hosts=";

static int read_numbers(const char *text, const struct form *form, struct nt_spec *s)
{
    const char *at = text + strlen(form->name) + 1;
    for (;;) {
        uint32_t value;
        at = read_number(at, &value);
        if (at == NULL || value < form->smallest || s->dimensions == form->most)
            return -1;
        s->dimension[s->dimensions++] = value;
        if (*at != form->separator)
            break;
        at++;
    }
    if (s->dimensions < form->fewest)
        return -1;
    if (s->topology == NT_TOPOLOGY_TWISTED_TORUS) {
        if (*at != ':')
            return -1;
        at = read_number(at + 1, &s->twist);
    }
    if (at != NULL && s->topology >= NT_TOPOLOGY_TORUS && strncmp(at, EACH, sizeof EACH - 1) == 0) {
        at = read_number(at + sizeof EACH - 1, &s->hosts_each);
        if (s->hosts_each == 0)
            return -1;
    }
    return at != NULL && *at == '\0' && spec_is_sound(s) ? 0 : -1;
}

/* Returns the text after "rails:R:", or text if it has no such prefix. NULL: R is invalid. */
static const char *skip_rails(const char *text, uint32_t *rails)
{
    *rails = 1;
    if (strncmp(text, RAILS, sizeof RAILS - 1) != 0)
        return text;
    const char *at = read_number(text + sizeof RAILS - 1, rails);
    return at != NULL && *at == ':' && *rails >= 1 && *rails <= NT_SPEC_RAILS_MAX ? at + 1 : NULL;
}

int nt_spec_parse(const char *text, struct nt_spec *spec, struct nt_err *err)
{
    uint32_t rails;
    const char *plane = skip_rails(text, &rails);
    const struct form *form = plane == NULL ? NULL : form_of(plane);
    if (strnlen(text, SPEC_TEXT_MAX + 1) > SPEC_TEXT_MAX)
        return nt_err_set(err, NT_ERR_USAGE, "topology: more than %d characters", SPEC_TEXT_MAX);
    if (plane == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "topology %s: expected rails:R:SPEC with R at most %d",
                          text, (int)NT_SPEC_RAILS_MAX);
    if (form == NULL)
        return nt_err_set(
            err, NT_ERR_USAGE,
            "topology %s: expected star:, tree:, fattree:, torus:, ttorus:, ring:, mesh:, "
            "hypercube:, fullmesh:, dragonfly:, dragonfly+:, aries:, chain:, rails: or the file of "
            "a map",
            text);
    struct nt_spec s = {.topology = form->topology, .rails = rails};
    if (read_numbers(plane, form, &s) < 0)
        return nt_err_set(err, NT_ERR_USAGE, "topology %s: expected %s, with numbers up to %d",
                          text, form->expected, NT_HOSTS_MAX);
    size_of(&s);
    if (s.hosts_each > 0)
        put_behind_switches(&s);
    if (s.hosts > NT_HOSTS_MAX || s.switches > NT_HOSTS_MAX ||
        rails * s.links > (size_t)NT_HOSTS_MAX * 64)
        return nt_err_set(err, NT_ERR_USAGE,
                          "topology %s: more than %d hosts or switches, or %d links", text,
                          NT_HOSTS_MAX, NT_HOSTS_MAX * 64);
    *spec = s;
    return 0;
}

/* ---- static routes: one path a pair, by rules that a router of the family would use ---- */

enum { TABLE_MAX_BYTES = 512 << 20 };

static size_t int_power(size_t base, size_t exponent)
{
    size_t p = 1;
    while (exponent-- > 0)
        p *= base;
    return p;
}

/* ---- fat tree ---------------------------------------------------------------------------- */

/* Returns the number of switch k of a level: level 1 has the leaf switches, level Q the roots.
 * Below the roots k is pod * (P/2)^(Q-2) + word. */
static size_t fattree_switch(const struct nt_spec *spec, size_t level, size_t k)
{
    size_t half = spec->dimension[0] / 2, levels = spec->dimension[1];
    return levels == 1 ? 0 : (level - 1) * 2 * int_power(half, levels - 1) + k;
}

/* Returns the next switch towards host. Down if the digits that lower levels cannot change are
 * those of host; otherwise up, by the digit of host that belongs to the level (Zahavi 2010:
 * d-mod-k). */
static size_t fattree_next(const struct nt_spec *spec, size_t at, size_t host)
{
    size_t half = spec->dimension[0] / 2, levels = spec->dimension[1];
    if (levels == 1)
        return host;
    size_t words = int_power(half, levels - 2), each = 2 * half * words;
    size_t level = at / each + 1, k = at % each;
    size_t leaf = host / half, pod = leaf / words, word = leaf % words;
    if (level == levels)
        return spec->hosts + fattree_switch(spec, level - 1, pod * words + k / half);
    size_t digit =
        int_power(half, level - 1); /* the digit that changes between this level and the next */
    if (k / words == pod && k % words / digit == word / digit) {
        if (level == 1)
            return host;
        size_t below = digit / half, w = k % words;
        w = w - w / below % half * below + word / below % half * below;
        return spec->hosts + fattree_switch(spec, level - 1, pod * words + w);
    }
    size_t up = host / digit % half;
    if (level == levels - 1)
        return spec->hosts + fattree_switch(spec, levels, k % words * half + up);
    return spec->hosts + fattree_switch(spec, level + 1, k - k / digit % half * digit + up * digit);
}

/* ---- dragonfly --------------------------------------------------------------------------- */

/* Number of switches of a group, of those with links to other groups, and index of the first of
 * these. */
struct group_shape {
    size_t switches, gates, first_gate;
};

static struct group_shape shape_of(const struct nt_spec *spec)
{
    const uint32_t *d = spec->dimension;
    switch (spec->topology) {
    case NT_TOPOLOGY_ARIES:
        return (struct group_shape){(size_t)d[1] * d[2], (size_t)d[1] * d[2], 0};
    case NT_TOPOLOGY_DRAGONFLY_PLUS:
        return (struct group_shape){(size_t)d[1] + d[2], d[2], d[1]};
    default:
        return (struct group_shape){d[1], d[1], 0};
    }
}

/* Returns the router (dragonfly+: the spine) of group that has the link to group other, as the
 * number of a switch. In a group of a dragonfly+ leaf switches come before spines. */
static size_t dragonfly_gate(const struct nt_spec *spec, size_t group, size_t other)
{
    size_t groups = spec->dimension[0];
    struct group_shape g = shape_of(spec);
    size_t port = (other + groups - group - 1) % groups; /* 0..groups-2 */
    return group * g.switches + g.first_gate + port % g.gates;
}

/* Returns the next switch towards another one of the same group: along the row, then the column; or
 * over a spine, which the destination determines. */
static size_t local_next(const struct nt_spec *spec, size_t at, size_t goal, size_t host)
{
    const uint32_t *d = spec->dimension;
    struct group_shape g = shape_of(spec);
    size_t first = at - at % g.switches, x = at - first, y = goal - first;
    if (spec->topology == NT_TOPOLOGY_ARIES && x % d[2] != y % d[2])
        return first + x - x % d[2] + y % d[2];
    if (spec->topology == NT_TOPOLOGY_DRAGONFLY_PLUS && x < d[1] && y < d[1])
        return first + d[1] + host % d[2];
    return goal;
}

/* Cray's Aries (Faanes et al., SC 2012), dragonfly+ (Shpiner et al., HiPINEB 2017): minimal. */
static size_t groups_next(const struct nt_spec *spec, size_t at, size_t host)
{
    struct group_shape g = shape_of(spec);
    size_t each = spec->topology == NT_TOPOLOGY_ARIES ? g.switches : g.first_gate;
    size_t leaf = host / spec->dimension[3];
    size_t goal_group = leaf / each, goal = goal_group * g.switches + leaf % each;
    size_t group = at / g.switches;
    if (at == goal)
        return host;
    if (group == goal_group)
        return spec->hosts + local_next(spec, at, goal, host);
    size_t gate = dragonfly_gate(spec, group, goal_group);
    return spec->hosts + (at == gate ? dragonfly_gate(spec, goal_group, group)
                                     : local_next(spec, at, gate, host));
}

/* Kim, Dally, Scott, Abts (2008): minimal, at most one local hop on either side. */
static size_t dragonfly_next(const struct nt_spec *spec, size_t at, size_t host)
{
    size_t routers = spec->dimension[1], goal = host / spec->dimension[2];
    size_t group = at / routers, goal_group = goal / routers;
    if (at == goal)
        return host;
    if (group == goal_group)
        return spec->hosts + goal;
    size_t gate = dragonfly_gate(spec, group, goal_group);
    return spec->hosts + (at == gate ? dragonfly_gate(spec, goal_group, group) : gate);
}

/* ---- grids: a record of signed hops, made at the source ----------------------------------- */

/* Returns the signed hops of the shortest path around a ring of d or along a line; *tie: the other
 * direction is equally short. */
static int32_t ring_hops(const struct nt_spec *spec, uint32_t d, int32_t difference, bool *tie)
{
    int32_t size = (int32_t)d;
    *tie = false;
    if (spec->topology == NT_TOPOLOGY_MESH || d <= 2)
        return difference;
    int32_t hops = ((difference % size) + size) % size;
    *tie = 2 * hops == size;
    return 2 * hops > size ? hops - size : hops;
}

/* Computes the routing record. The choice between equally short paths alternates by position, so
 * that a complete exchange loads both equally, as a router with random choices does on average. */
static void grid_record(const struct nt_spec *spec, uint32_t from, uint32_t to, int32_t *rest)
{
    uint32_t parity = 0, stride = 1;
    bool tie[NT_DIMENSIONS_MAX];
    for (uint32_t k = 0; k < spec->dimensions; stride *= spec->dimension[k++]) {
        uint32_t d = spec->dimension[k], x = from / stride % d, y = to / stride % d;
        parity += x + y;
        rest[k] = ring_hops(spec, d, (int32_t)y - (int32_t)x, &tie[k]);
    }
    stride = 1;
    for (uint32_t k = 0; k < spec->dimensions; stride *= spec->dimension[k++])
        if (tie[k] && (parity - to / stride % spec->dimension[k]) % 2 != 0)
            rest[k] = -rest[k];
}

/* Twisted torus (Camara et al. 2007): w turns around dimension 1 shift dimension 0 by w * twist.
 * Takes the shortest path with w = -1, 0, 1, alternating between equal ones. */
static void twisted_record(const struct nt_spec *spec, uint32_t from, uint32_t to, int32_t *rest)
{
    int32_t a = (int32_t)spec->dimension[0], b = (int32_t)spec->dimension[1];
    int32_t dx = (int32_t)to % a - (int32_t)from % a, dy = (int32_t)to / a - (int32_t)from / a;
    int32_t way[6][2], best = INT32_MAX;
    size_t ways = 0;
    for (int32_t w = -1; w <= 1; w++) {
        bool tie;
        int32_t y = dy + w * b;
        int32_t x = ring_hops(spec, (uint32_t)a, dx - w * (int32_t)spec->twist, &tie);
        for (int side = 0, sides = tie ? 2 : 1; side < sides; side++, x = -x) {
            int32_t hops = abs(x) + abs(y);
            if (hops < best)
                ways = 0;
            if (hops <= best) {
                best = hops;
                way[ways][0] = x;
                way[ways++][1] = y;
            }
        }
    }
    size_t turn = from % (uint32_t)a + 2 * (from / (uint32_t)a);
    memcpy(rest, way[turn % ways], sizeof way[0]);
}

/* Takes one hop of the record in the preferred dimension, or in the lowest with remaining hops. */
static uint32_t grid_next(const struct nt_spec *spec, uint32_t at, int32_t *rest, uint32_t prefer)
{
    uint32_t stride = 1, k = 0;
    bool here = rest[prefer] != 0;
    while (here ? k < prefer : rest[k] == 0)
        stride *= spec->dimension[k++];
    uint32_t d = spec->dimension[k], x = at / stride % d;
    bool forth = rest[k] > 0, wraps = forth ? x == d - 1 : x == 0;
    rest[k] += forth ? -1 : 1;
    if (!wraps)
        return forth ? at + stride : at - stride;
    uint32_t to = forth ? at - x * stride : at + (d - 1) * stride;
    if (k == 1 && spec->twist > 0) {
        uint32_t a = spec->dimension[0];
        to = to - to % a + (to + (forth ? spec->twist : a - spec->twist)) % a;
    }
    return to;
}

/* ---- tables ------------------------------------------------------------------------------ */

/* Computes the hops from all vertices to host by breadth-first search. */
static void spread_hops(const struct nt_network *n, uint32_t host, uint32_t *hops, uint32_t *queue)
{
    size_t head = 0, tail = 0;
    memset(hops, 0xff, (n->hosts + n->switches) * sizeof *hops);
    hops[host] = 0;
    queue[tail++] = host;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t k = n->first[v]; k < n->first[v + 1]; k++) {
            uint32_t w = n->arc[n->out[k]].to;
            if (hops[w] == UINT32_MAX) {
                hops[w] = hops[v] + 1;
                queue[tail++] = w;
            }
        }
    }
}

/* Returns the next arc in turn among those that lead nearer. */
static uint32_t nearer_neighbour(const struct nt_network *n, uint32_t v, uint32_t host,
                                 const uint32_t *hops)
{
    uint32_t count = 0, pick;
    for (uint32_t k = n->first[v]; k < n->first[v + 1]; k++)
        count += hops[n->arc[n->out[k]].to] == hops[v] - 1;
    if (hops[v] == 0 || hops[v] == UINT32_MAX || count == 0)
        return UINT32_MAX;
    pick = (host + v) % count;
    for (uint32_t k = n->first[v]; k < n->first[v + 1]; k++)
        if (hops[n->arc[n->out[k]].to] == hops[v] - 1 && pick-- == 0)
            return n->out[k];
    return UINT32_MAX;
}

/* Fills network->table. */
static int tabulate_routes(struct nt_network *n, struct nt_err *err)
{
    size_t v = n->hosts + n->switches;
    if (v > TABLE_MAX_BYTES / sizeof *n->table / (n->hosts + 1))
        return nt_err_set(err, NT_ERR_INPUT,
                          "%zu hosts and %zu switches with cycles: a table of their routes would "
                          "be over %d MB",
                          n->hosts, n->switches, TABLE_MAX_BYTES >> 20);
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *hops = nt_arena_array(&memory, v, sizeof *hops);
    uint32_t *queue = nt_arena_array(&memory, v, sizeof *queue);
    n->table = nt_arena_array(&n->memory, v * n->hosts, sizeof *n->table);
    if (nt_arena_check(&memory, err) != 0 || nt_arena_check(&n->memory, err) != 0)
        return -1;
    for (uint32_t host = 0; host < n->hosts; host++) {
        spread_hops(n, host, hops, queue);
        for (uint32_t at = 0; at < v; at++)
            n->table[at * n->hosts + host] = nearer_neighbour(n, at, host, hops);
    }
    return 0;
}

/* ---- the walk ----------------------------------------------------------------------------- */

/* Returns the arc to a neighbour; out is sorted by destination. */
static uint32_t arc_between(const struct nt_network *n, uint32_t from, uint32_t to)
{
    uint32_t low = n->first[from], high = n->first[from + 1];
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (n->arc[n->out[mid]].to < to)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n->first[from + 1] && n->arc[n->out[low]].to == to ? n->out[low] : UINT32_MAX;
}

/* Returns the arc down to the child with the goal below it, or up. In out, children are in the
 * order of the depth-first walk, followed by the arc upwards. */
static uint32_t tree_arc(const struct nt_network *n, uint32_t at, uint32_t to)
{
    if (n->enter[to] < n->enter[at] || n->enter[to] >= n->leave[at])
        return n->up[at];
    uint32_t low = n->first[at], high = n->first[at + 1] - (n->up[at] != UINT32_MAX);
    while (high - low > 1) { /* the last child that starts at or before the goal */
        uint32_t mid = low + (high - low) / 2;
        if (n->enter[n->arc[n->out[mid]].to] <= n->enter[to])
            low = mid;
        else
            high = mid;
    }
    return n->out[low];
}

/* Returns the position of a vertex in a direct network: its index, or, behind switches, the index
 * of a switch. */
static uint32_t place_of(const struct nt_network *n, uint32_t v)
{
    uint32_t each = n->spec.hosts_each;
    return each == 0 ? v : v < n->hosts ? v / each : v - (uint32_t)n->hosts;
}

/* Returns the position after at on the path to another one. */
static uint32_t next_place(struct nt_walk *walk, uint32_t at, uint32_t to)
{
    if (walk->network->routing == NT_ROUTING_GRID)
        return grid_next(&walk->network->spec, at, walk->rest, walk->prefer);
    return walk->network->routing == NT_ROUTING_CUBE ? at ^ ((at ^ to) & (~(at ^ to) + 1)) : to;
}

/* Returns the next vertex in a direct network of hosts or switches. */
static size_t next_direct(struct nt_walk *walk)
{
    const struct nt_network *n = walk->network;
    uint32_t at = place_of(n, walk->at), to = place_of(n, walk->to);
    if (n->spec.hosts_each == 0)
        return next_place(walk, at, to);
    if (walk->at < n->hosts)
        return n->hosts + at;
    return at == to ? walk->to : n->hosts + next_place(walk, at, to);
}

void nt_walk_begin(const struct nt_network *network, uint32_t from, uint32_t to,
                   struct nt_walk *walk)
{
    *walk = (struct nt_walk){.network = network, .at = from, .to = to};
    if (network->routing != NT_ROUTING_GRID)
        return;
    from = place_of(network, from);
    to = place_of(network, to);
    if (network->spec.topology == NT_TOPOLOGY_TWISTED_TORUS)
        twisted_record(&network->spec, from, to, walk->rest);
    else
        grid_record(&network->spec, from, to, walk->rest);
}

static uint32_t next_arc(struct nt_walk *walk)
{
    const struct nt_network *n = walk->network;
    const struct nt_spec *spec = &n->spec;
    uint32_t at = walk->at, to = walk->to;
    size_t next = to;
    switch (n->routing) {
    case NT_ROUTING_TREE:
        return tree_arc(n, at, to);
    case NT_ROUTING_TABLE:
        return n->table[at * n->hosts + to];
    case NT_ROUTING_GRID:
    case NT_ROUTING_CUBE:
    case NT_ROUTING_FULL_MESH:
        next = next_direct(walk);
        break;
    case NT_ROUTING_FATTREE:
    case NT_ROUTING_DRAGONFLY:
    case NT_ROUTING_GROUPS:
        if (at < n->hosts)
            return n->out[n->first[at]];
        next = n->routing == NT_ROUTING_FATTREE     ? fattree_next(spec, at - n->hosts, to)
               : n->routing == NT_ROUTING_DRAGONFLY ? dragonfly_next(spec, at - n->hosts, to)
                                                    : groups_next(spec, at - n->hosts, to);
        break;
    }
    return arc_between(n, at, (uint32_t)next);
}

bool nt_walk_next(struct nt_walk *walk, uint32_t *arc)
{
    if (walk->at == walk->to)
        return false;
    uint32_t a = next_arc(walk);
    if (a == UINT32_MAX)
        return false;
    walk->at = walk->network->arc[a].to;
    *arc = a;
    return true;
}

/* ---- a model with directions and routes ---- */

static size_t vertex_count(const struct nt_network *n)
{
    return n->hosts + n->switches;
}

static int allocate_network(struct nt_network *n, struct nt_err *err)
{
    size_t v = vertex_count(n);
    n->arc = nt_arena_array(&n->memory, n->arcs, sizeof *n->arc);
    n->overhead_us = nt_arena_array(&n->memory, n->hosts, sizeof *n->overhead_us);
    n->first = nt_arena_array(&n->memory, v + 1, sizeof *n->first);
    n->out = nt_arena_array(&n->memory, n->arcs, sizeof *n->out);
    return nt_arena_check(&n->memory, err);
}

static double or_zero(double x)
{
    return isnan(x) ? 0 : x;
}

static void fill_arcs(struct nt_network *n)
{
    for (size_t k = 0; k < n->model->links; k++) {
        const struct nt_link *l = &n->model->link[k];
        double back = isnan(l->bandwidth_back_MBps) ? l->bandwidth_MBps : l->bandwidth_back_MBps;
        n->arc[2 * k] = (struct nt_arc){l->a, l->b, or_zero(l->latency_us), l->bandwidth_MBps};
        n->arc[2 * k + 1] = (struct nt_arc){l->b, l->a, or_zero(l->latency_us), back};
    }
    memcpy(n->overhead_us, n->model->overhead_us, n->hosts * sizeof *n->overhead_us);
}

/* Two passes of counting sort: by destination, then, keeping that order, by origin. */
static int order_arcs(struct nt_network *n, struct nt_err *err)
{
    size_t v = vertex_count(n);
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *place = nt_arena_array(&memory, v + 1, sizeof *place),
             *by_to = nt_arena_array(&memory, n->arcs + 1, sizeof *by_to);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < n->arcs; k++)
        place[n->arc[k].to + 1]++;
    for (size_t k = 0; k < v; k++)
        place[k + 1] += place[k];
    for (size_t k = 0; k < n->arcs; k++)
        by_to[place[n->arc[k].to]++] = (uint32_t)k;
    for (size_t k = 0; k < n->arcs; k++)
        n->first[n->arc[k].from + 1]++;
    for (size_t k = 0; k < v; k++)
        n->first[k + 1] += n->first[k];
    memcpy(place, n->first, v * sizeof *place);
    for (size_t k = 0; k < n->arcs; k++)
        n->out[place[n->arc[by_to[k]].from]++] = by_to[k];
    return 0;
}

/* Walks depth first from root without recursion, because chains are deep, and sets up, depth, enter
 * and leave. Returns false if a vertex is visited twice: a cycle. next[] contains the arc to
 * try. */
static bool climb_tree(struct nt_network *n, uint32_t root, uint32_t *next, uint32_t *clock)
{
    uint32_t v = root;
    n->up[v] = UINT32_MAX;
    n->depth[v] = 0;
    n->enter[v] = (*clock)++;
    for (;;) {
        if (next[v] == n->first[v + 1]) {
            n->leave[v] = *clock;
            if (n->up[v] == UINT32_MAX)
                return true;
            v = n->arc[n->up[v]].to;
            continue;
        }
        uint32_t down = n->out[next[v]++], w = n->arc[down].to;
        if (down == (n->up[v] ^ 1) || down == n->up[v])
            continue; /* the link to the parent */
        if (n->enter[w] != UINT32_MAX)
            return false;
        n->up[w] = down ^ 1;
        n->depth[w] = n->depth[v] + 1;
        n->enter[w] = (*clock)++;
        v = w;
    }
}

/* Moves the arc upwards to the end, so that the children of a vertex are consecutive in the order
 * of visits. */
static void up_last(struct nt_network *n)
{
    for (size_t v = 0; v < vertex_count(n); v++) {
        uint32_t last = n->first[v + 1], k = n->first[v];
        while (k < last && n->out[k] != n->up[v])
            k++;
        if (k == last)
            continue;
        memmove(n->out + k, n->out + k + 1, (last - k - 1) * sizeof *n->out);
        n->out[last - 1] = n->up[v];
    }
}

/* Returns 1 for a tree or forest, which is indexed; 0: it has a cycle; -1: no memory. */
static int index_tree(struct nt_network *n, struct nt_err *err)
{
    size_t v = vertex_count(n);
    uint32_t clock = 0;
    bool tree = true;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_arena_block *before = nt_arena_mark(&n->memory);
    uint32_t *next = nt_arena_array(&memory, v, sizeof *next);
    n->up = nt_arena_array(&n->memory, v, sizeof *n->up);
    n->depth = nt_arena_array(&n->memory, v, sizeof *n->depth);
    n->enter = nt_arena_array(&n->memory, v, sizeof *n->enter);
    n->leave = nt_arena_array(&n->memory, v, sizeof *n->leave);
    if (nt_arena_check(&memory, err) != 0 || nt_arena_check(&n->memory, err) != 0)
        return -1;
    memcpy(next, n->first, v * sizeof *next);
    memset(n->enter, 0xff, v * sizeof *n->enter);
    for (size_t k = v; tree && k-- > 0;) /* a switch as the root gives shorter paths upwards */
        if (n->enter[k] == UINT32_MAX)
            tree = climb_tree(n, (uint32_t)k, next, &clock);
    if (tree) {
        up_last(n);
    } else {
        nt_arena_release(&n->memory, before);
        n->up = n->depth = n->enter = n->leave = NULL;
    }
    return tree;
}

static int make_routes(struct nt_network *n, struct nt_err *err)
{
    if (n->routing != NT_ROUTING_TREE)
        return n->routing == NT_ROUTING_TABLE ? tabulate_routes(n, err) : 0;
    int tree = index_tree(n, err);
    if (tree != 0)
        return tree < 0 ? -1 : 0;
    n->routing = NT_ROUTING_TABLE;
    return tabulate_routes(n, err);
}

static int check_links(const struct nt_model *m, struct nt_err *err)
{
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts + m->switches || m->link[k].b >= m->hosts + m->switches ||
            m->link[k].a == m->link[k].b)
            return nt_err_set(err, NT_ERR_INPUT, "link %zu of the network: from %u to %u", k,
                              m->link[k].a, m->link[k].b);
    return 0;
}

/* Creates a network as nt_network_from_model does, with the routes of a topology. spec may be NULL
 * for trees and tables. */
static int create_with_routes(const struct nt_model *model, enum nt_routing routing,
                              const struct nt_spec *spec, struct nt_network **out,
                              struct nt_err *err)
{
    if (check_links(model, err) < 0)
        return -1;
    struct nt_network *n = nt_object_create(sizeof *n, err);
    if (n == NULL)
        return -1;
    n->hosts = model->hosts;
    n->switches = model->switches;
    n->arcs = 2 * model->links;
    n->routing = routing;
    if (spec != NULL)
        n->spec = *spec;
    if (allocate_network(n, err) != 0)
        goto destroy;
    if (nt_model_copy(model, &n->model, err) < 0)
        goto destroy;
    fill_arcs(n);
    if (order_arcs(n, err) < 0 || make_routes(n, err) < 0)
        goto destroy;
    *out = n;
    return 0;
destroy:
    nt_network_destroy(n);
    return -1;
}

int nt_network_from_model(const struct nt_model *model, struct nt_network **out, struct nt_err *err)
{
    return create_with_routes(model, NT_ROUTING_TREE, NULL, out, err);
}

void nt_network_destroy(struct nt_network *network)
{
    if (network == NULL)
        return;
    nt_network_destroy(network->next_rail);
    nt_model_destroy(network->model);
    nt_object_destroy(network);
}

/* Walks from both ends up to the lowest common ancestor, without reading children. */
static double tree_latency(const struct nt_network *n, uint32_t a, uint32_t b)
{
    double sum = 0;
    while (a != b) {
        bool a_climbs = n->depth[a] >= n->depth[b];
        uint32_t up = a_climbs ? n->up[a] : n->up[b];
        if (up == UINT32_MAX)
            return NAN;
        sum += n->arc[a_climbs ? up : up ^ 1].latency_us;
        *(a_climbs ? &a : &b) = n->arc[up].to;
    }
    return sum;
}

static double route_latency(const struct nt_network *n, uint32_t a, uint32_t b)
{
    struct nt_walk walk;
    uint32_t arc;
    double sum = 0;
    if (n->routing == NT_ROUTING_TREE)
        return tree_latency(n, a, b);
    for (nt_walk_begin(n, a, b, &walk); nt_walk_next(&walk, &arc);)
        sum += n->arc[arc].latency_us;
    return nt_walk_arrived(&walk) ? sum : (double)NAN;
}

/* Returns the mean of the minimal path and of paths through other groups (Valiant's; UGAL: Kim et
 * al. 2008), which are those of some hosts; equal in both directions. */
static double adaptive_latency(const struct nt_network *n, uint32_t a, uint32_t b)
{
    enum { DETOURS = 8 };
    size_t each = n->hosts / n->spec.dimension[0];
    double straight = route_latency(n, a, b), sum = 0;
    size_t ways = 0;
    if (a / each == b / each || n->spec.dimension[0] < 3)
        return straight;
    for (size_t k = 0; k < DETOURS; k++) {
        uint32_t by = (uint32_t)((a + (uint64_t)b + 1 + k * (n->hosts / DETOURS + 1)) % n->hosts);
        if (by / each == a / each || by / each == b / each)
            continue;
        sum += route_latency(n, a, by) + route_latency(n, by, b) -
               2 * n->arc[n->out[n->first[by]]].latency_us;
        ways++;
    }
    return ways == 0 ? straight : (straight + sum / (double)ways) / 2;
}

double nt_network_latency(const struct nt_network *network, uint32_t a, uint32_t b)
{
    double us = network->adaptive ? adaptive_latency(network, a, b) : route_latency(network, a, b);
    return us + network->overhead_us[a] + network->overhead_us[b];
}

/* ---- each topology as a model: which vertices are linked, and by what kind of link ---- */

void nt_figures_default(const struct nt_spec *spec, struct nt_figures *figures)
{
    struct nt_figures f = {.host_latency_us = 0.5, .overhead_us = 0.4, .host_MBps = 12500};
    bool tapered = spec->topology == NT_TOPOLOGY_TREE || spec->topology == NT_TOPOLOGY_CHAIN;
    bool direct = spec->switches == 0;
    for (size_t k = 0; k < NT_DIMENSIONS_MAX; k++) {
        f.link_latency_us[k] = direct ? 0.5 : 0.25;
        f.link_MBps[k] = tapered ? 25000 * pow(2, (double)k) : 12500;
    }
    *figures = f;
}

/* A model that is being filled. */
struct site {
    const struct nt_spec *spec;
    const struct nt_figures *figures;
    struct nt_model *model;
    size_t links;
};

static void join_vertices(struct site *s, size_t a, size_t b, double latency_us, double rate_MBps)
{
    struct nt_link *l = &s->model->link[s->links++];
    l->a = (uint32_t)a;
    l->b = (uint32_t)b;
    l->latency_us = latency_us;
    l->bandwidth_MBps = l->bandwidth_back_MBps = rate_MBps;
}

static void join_host(struct site *s, size_t host, size_t at_switch)
{
    join_vertices(s, host, s->spec->hosts + at_switch, s->figures->host_latency_us,
                  s->figures->host_MBps);
}

/* by indices of switches; tier 0 is the lowest */
static void join_switches(struct site *s, size_t a, size_t b, size_t tier)
{
    join_vertices(s, s->spec->hosts + a, s->spec->hosts + b, s->figures->link_latency_us[tier],
                  s->figures->link_MBps[tier]);
}

/* by indices of positions: hosts or switches */
static void join_direct(struct site *s, size_t a, size_t b)
{
    size_t first = s->spec->hosts_each > 0 ? s->spec->hosts : 0;
    join_vertices(s, first + a, first + b, s->figures->link_latency_us[0],
                  s->figures->link_MBps[0]);
}

static size_t count_places(const struct nt_spec *spec)
{
    return spec->hosts_each > 0 ? spec->switches : spec->hosts;
}

/* Switches are numbered level by level from the root. */
static void build_tree(struct site *s)
{
    const struct nt_spec *spec = s->spec;
    size_t above = 0, count = 1, level = 1;
    for (uint32_t k = 0; k + 1 < spec->dimensions; k++) {
        for (size_t j = 0; j < count * spec->dimension[k]; j++)
            join_switches(s, above + j / spec->dimension[k], level + j, spec->dimensions - 2 - k);
        above = level;
        count *= spec->dimension[k];
        level += count;
    }
    for (size_t h = 0; h < spec->hosts; h++)
        join_host(s, h, above + h / spec->dimension[spec->dimensions - 1]);
}

static void build_chain(struct site *s)
{
    for (size_t k = 0; k < s->spec->dimension[0]; k++)
        for (size_t h = 0; h < s->spec->dimension[1]; h++)
            join_host(s, k * s->spec->dimension[1] + h, k);
    for (size_t k = 1; k < s->spec->dimension[0]; k++)
        join_switches(s, k - 1, k, 0);
}

/* Level 1 has the leaf switches; fattree_switch numbers them. A switch is linked to the switches of
 * the next level whose word differs only in the digit of this level. */
static void build_fattree(struct site *s)
{
    size_t half = s->spec->dimension[0] / 2, levels = s->spec->dimension[1];
    size_t words = 1, digit = 1;
    for (size_t k = 2; k < levels; k++)
        words *= half;
    for (size_t h = 0; h < s->spec->hosts; h++)
        join_host(s, h, levels == 1 ? 0 : h / half);
    for (size_t level = 1; level + 1 < levels; level++, digit *= half)
        for (size_t pod = 0; pod < 2 * half; pod++)
            for (size_t w = 0; w < words; w++)
                for (size_t up = 0; up < half; up++) {
                    size_t other = w - w / digit % half * digit + up * digit;
                    join_switches(s, fattree_switch(s->spec, level, pod * words + w),
                                  fattree_switch(s->spec, level + 1, pod * words + other),
                                  level - 1);
                }
    for (size_t top = 0; levels > 1 && top < 2 * half * words; top++)
        for (size_t up = 0; up < half; up++)
            join_switches(s, fattree_switch(s->spec, levels - 1, top),
                          fattree_switch(s->spec, levels, top % words * half + up), levels - 2);
}

static void join_groups(struct site *s)
{
    for (size_t g = 0; g < s->spec->dimension[0]; g++)
        for (size_t f = g + 1; f < s->spec->dimension[0]; f++)
            join_switches(s, dragonfly_gate(s->spec, g, f), dragonfly_gate(s->spec, f, g), 1);
}

/* All routers of a group are linked; one link between any two groups. */
static void build_dragonfly(struct site *s)
{
    size_t groups = s->spec->dimension[0], routers = s->spec->dimension[1];
    for (size_t h = 0; h < s->spec->hosts; h++)
        join_host(s, h, h / s->spec->dimension[2]);
    for (size_t g = 0; g < groups; g++)
        for (size_t r = 0; r < routers; r++)
            for (size_t q = r + 1; q < routers; q++)
                join_switches(s, g * routers + r, g * routers + q, 0);
    join_groups(s);
}

/* Routers of a group are linked along each row and each column. */
static void build_aries(struct site *s)
{
    const uint32_t *d = s->spec->dimension;
    size_t routers = (size_t)d[1] * d[2];
    for (size_t h = 0; h < s->spec->hosts; h++)
        join_host(s, h, h / d[3]);
    for (size_t g = 0; g < d[0]; g++)
        for (size_t r = 0; r < routers; r++)
            for (size_t q = r + 1; q < routers; q++)
                if (r / d[2] == q / d[2] || r % d[2] == q % d[2])
                    join_switches(s, g * routers + r, g * routers + q, 0);
    join_groups(s);
}

static void build_dragonfly_plus(struct site *s)
{
    const uint32_t *d = s->spec->dimension;
    size_t each = (size_t)d[1] + d[2];
    for (size_t h = 0; h < s->spec->hosts; h++)
        join_host(s, h, h / d[3] / d[1] * each + h / d[3] % d[1]);
    for (size_t g = 0; g < d[0]; g++)
        for (size_t leaf = 0; leaf < d[1]; leaf++)
            for (size_t spine = 0; spine < d[2]; spine++)
                join_switches(s, g * each + leaf, g * each + d[1] + spine, 0);
    join_groups(s);
}

/* The wrap of dimension 1 of a twisted torus ends twist positions further along dimension 0. */
static void build_grid(struct site *s)
{
    const struct nt_spec *spec = s->spec;
    size_t stride = 1;
    for (uint32_t k = 0; k < spec->dimensions; stride *= spec->dimension[k++]) {
        size_t d = spec->dimension[k];
        for (size_t h = 0; h < count_places(spec); h++) {
            size_t x = h / stride % d;
            if (x + 1 < d) {
                join_direct(s, h, h + stride);
            } else if (spec->topology != NT_TOPOLOGY_MESH && d > 2) {
                size_t to = h - x * stride;
                if (k == 1 && spec->twist > 0)
                    to = to - to % spec->dimension[0] + (to + spec->twist) % spec->dimension[0];
                join_direct(s, h, to);
            }
        }
    }
}

static void build_hypercube(struct site *s)
{
    for (size_t h = 0; h < count_places(s->spec); h++)
        for (uint32_t k = 0; k < s->spec->dimension[0]; k++)
            if ((h >> k & 1) == 0)
                join_direct(s, h, h | (size_t)1 << k);
}

static void build_full_mesh(struct site *s)
{
    for (size_t h = 0; h < count_places(s->spec); h++)
        for (size_t g = h + 1; g < count_places(s->spec); g++)
            join_direct(s, h, g);
}

static void name_family(const struct nt_spec *spec, struct nt_model *m)
{
    static const enum nt_family family[] = {
        [NT_TOPOLOGY_STAR] = NT_FAMILY_STAR,
        [NT_TOPOLOGY_TREE] = NT_FAMILY_TREE,
        [NT_TOPOLOGY_FATTREE] = NT_FAMILY_IRREGULAR,
        [NT_TOPOLOGY_CHAIN] = NT_FAMILY_TREE,
        [NT_TOPOLOGY_DRAGONFLY] = NT_FAMILY_DRAGONFLY,
        [NT_TOPOLOGY_ARIES] = NT_FAMILY_IRREGULAR,
        [NT_TOPOLOGY_DRAGONFLY_PLUS] = NT_FAMILY_IRREGULAR,
        [NT_TOPOLOGY_TORUS] = NT_FAMILY_TORUS,
        [NT_TOPOLOGY_MESH] = NT_FAMILY_MESH,
        [NT_TOPOLOGY_TWISTED_TORUS] = NT_FAMILY_TORUS,
        [NT_TOPOLOGY_HYPERCUBE] = NT_FAMILY_HYPERCUBE,
        [NT_TOPOLOGY_FULL_MESH] = NT_FAMILY_FULL_MESH,
    };
    bool sized = spec->topology == NT_TOPOLOGY_TORUS || spec->topology == NT_TOPOLOGY_MESH ||
                 spec->topology == NT_TOPOLOGY_TWISTED_TORUS ||
                 spec->topology == NT_TOPOLOGY_DRAGONFLY;
    m->family = family[spec->topology];
    if (spec->topology == NT_TOPOLOGY_TORUS && spec->dimensions == 1)
        m->family = NT_FAMILY_RING;
    m->confidence = 1;
    if (sized) {
        m->dimensions = spec->dimensions;
        memcpy(m->dimension, spec->dimension, sizeof m->dimension);
        m->twist = spec->twist;
    } else if (spec->topology == NT_TOPOLOGY_HYPERCUBE) {
        m->dimensions = spec->dimension[0] < NT_DIMENSIONS_MAX ? spec->dimension[0] : 0;
        for (uint32_t k = 0; k < m->dimensions; k++)
            m->dimension[k] = 2;
    }
}

static void build_site(struct site *s)
{
    switch (s->spec->topology) {
    case NT_TOPOLOGY_STAR:
    case NT_TOPOLOGY_TREE:
        build_tree(s);
        return;
    case NT_TOPOLOGY_FATTREE:
        build_fattree(s);
        return;
    case NT_TOPOLOGY_CHAIN:
        build_chain(s);
        return;
    case NT_TOPOLOGY_DRAGONFLY:
        build_dragonfly(s);
        return;
    case NT_TOPOLOGY_ARIES:
        build_aries(s);
        return;
    case NT_TOPOLOGY_DRAGONFLY_PLUS:
        build_dragonfly_plus(s);
        return;
    case NT_TOPOLOGY_TORUS:
    case NT_TOPOLOGY_MESH:
    case NT_TOPOLOGY_TWISTED_TORUS:
        build_grid(s);
        return;
    case NT_TOPOLOGY_HYPERCUBE:
        build_hypercube(s);
        return;
    case NT_TOPOLOGY_FULL_MESH:
        build_full_mesh(s);
        return;
    }
}

static enum nt_routing routing_of(const struct nt_spec *spec)
{
    switch (spec->topology) {
    case NT_TOPOLOGY_FATTREE:
        return NT_ROUTING_FATTREE;
    case NT_TOPOLOGY_DRAGONFLY:
        return NT_ROUTING_DRAGONFLY;
    case NT_TOPOLOGY_ARIES:
    case NT_TOPOLOGY_DRAGONFLY_PLUS:
        return NT_ROUTING_GROUPS;
    case NT_TOPOLOGY_HYPERCUBE:
        return NT_ROUTING_CUBE;
    case NT_TOPOLOGY_FULL_MESH:
        return NT_ROUTING_FULL_MESH;
    case NT_TOPOLOGY_STAR:
    case NT_TOPOLOGY_TREE:
    case NT_TOPOLOGY_CHAIN:
        return NT_ROUTING_TREE;
    default:
        return NT_ROUTING_GRID;
    }
}

static int build_rail(const struct nt_spec *spec, const struct nt_figures *figures,
                      struct nt_network **out, struct nt_err *err)
{
    struct nt_figures usual;
    struct site s = {.spec = spec, .figures = figures};
    if (figures == NULL) {
        nt_figures_default(spec, &usual);
        s.figures = &usual;
    }
    if (nt_model_create(spec->hosts, spec->switches, spec->links, &s.model, err) < 0)
        return -1;
    for (size_t h = 0; spec->hosts_each > 0 && h < spec->hosts; h++)
        join_host(&s, h, h / spec->hosts_each);
    build_site(&s);
    name_family(spec, s.model);
    for (size_t h = 0; spec->switches == 0 && h < spec->hosts; h++)
        s.model->overhead_us[h] = s.figures->overhead_us;
    int rc = create_with_routes(s.model, routing_of(spec), spec, out, err);
    nt_model_destroy(s.model);
    return rc;
}

int nt_network_build(const struct nt_spec *spec, const struct nt_figures *figures,
                     struct nt_network **out, struct nt_err *err)
{
    struct nt_network *first = NULL, **last = &first;
    for (uint32_t rail = 0; rail == 0 || rail < spec->rails; rail++) {
        if (build_rail(spec, figures, last, err) < 0) {
            nt_network_destroy(first);
            return -1;
        }
        last = &(*last)->next_rail;
    }
    *out = first;
    return 0;
}

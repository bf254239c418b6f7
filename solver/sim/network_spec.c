/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "spec.h"

enum { SPEC_TEXT_MAX = 200 };

/* The separator that stands between the numbers, and how many numbers there may be. */
struct form {
    const char *name;
    enum nt_topology topology;
    char separator;
    uint32_t fewest, most;
    uint32_t smallest; /* each number at least */
    const char *expected;
};

static const struct form forms[] = {
    {"star", NT_TOPOLOGY_STAR, 'x', 1, 1, 1, "star:N"},
    {"tree", NT_TOPOLOGY_TREE, 'x', 1, NT_DIMENSIONS_MAX, 1, "tree:AxBxC with C hosts a leaf"},
    {"fattree", NT_TOPOLOGY_FATTREE, ',', 2, 2, 1, "fattree:P,Q with P even, Q at most 8"},
    {"chain", NT_TOPOLOGY_CHAIN, 'x', 2, 2, 1, "chain:SxH, S switches with H hosts each"},
    {"dragonfly", NT_TOPOLOGY_DRAGONFLY, 'x', 3, 3, 1, "dragonfly:GxRxH"},
    {"aries", NT_TOPOLOGY_ARIES, 'x', 4, 4, 1, "aries:GxAxBxH, G groups of AxB routers"},
    {"dragonfly+", NT_TOPOLOGY_DRAGONFLY_PLUS, 'x', 4, 4, 1,
     "dragonfly+:GxLxSxH, G groups of L leaves and S spines"},
    {"torus", NT_TOPOLOGY_TORUS, 'x', 1, NT_DIMENSIONS_MAX, 1, "torus:AxB[xC]"},
    {"ring", NT_TOPOLOGY_TORUS, 'x', 1, 1, 1, "ring:N"},
    {"mesh", NT_TOPOLOGY_MESH, 'x', 1, NT_DIMENSIONS_MAX, 1, "mesh:AxB[xC]"},
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

/* A decimal number of at most NT_HOSTS_MAX, without sign or leading zero; NULL when it is none. */
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

/* x * y, or one more than could be a network when that would be more. */
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

/* Routers a group, of all three kinds. */
static size_t routers_of(const struct nt_spec *s)
{
    const uint32_t *d = s->dimension;
    return s->topology == NT_TOPOLOGY_ARIES ? bounded_product(d[1], d[2]) : (size_t)d[1] + d[2];
}

/* Rows and columns of routers, or leaves below spines; one link between any two groups. */
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

/* What the numbers must fulfil beyond being numbers. */
static bool spec_is_sound(const struct nt_spec *s)
{
    const uint32_t *d = s->dimension;
    switch (s->topology) {
    case NT_TOPOLOGY_FATTREE:
        return d[0] >= 2 && d[0] % 2 == 0 && d[1] <= NT_DIMENSIONS_MAX;
    case NT_TOPOLOGY_TWISTED_TORUS: /* under 3 a wrap is no link of its own: nothing to twist */
        return d[0] > 2 && d[1] > 2 && s->twist < d[0];
    case NT_TOPOLOGY_HYPERCUBE:
        return d[0] <= 16;
    case NT_TOPOLOGY_FULL_MESH:
        return d[0] <= 2048;
    default:
        return true;
    }
}

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
    return at != NULL && *at == '\0' && spec_is_sound(s) ? 0 : -1;
}

/* Behind "rails:R:"; text itself where it does not begin so. NULL: R is none. */
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
        return nt_err_set(err, NT_ERR_USAGE, "topology %s: expected %s", text, form->expected);
    size_of(&s);
    if (s.hosts > NT_HOSTS_MAX || s.switches > NT_HOSTS_MAX ||
        rails * s.links > (size_t)NT_HOSTS_MAX * 64)
        return nt_err_set(err, NT_ERR_USAGE,
                          "topology %s: more than %d hosts or switches, or %d links", text,
                          NT_HOSTS_MAX, NT_HOSTS_MAX * 64);
    *spec = s;
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "shape.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tree {
    const struct nt_fab *fab;
    int nodes;
    bool here[NT_FAB_NODES_MAX];
    bool joined[NT_FAB_NODES_MAX][NT_FAB_NODES_MAX];
    int rank[NT_FAB_NODES_MAX]; /* of a host among the hosts, by natural order */
    char *text;
    size_t used;
};

static bool is_switch(const struct tree *tree, int node)
{
    return tree->fab->nodes[node].port < 0;
}

static int degree(const struct tree *tree, int node)
{
    int count = 0;
    for (int n = 0; n < tree->nodes; n++)
        count += tree->here[n] && tree->joined[node][n];
    return count;
}

static int neighbour(const struct tree *tree, int node, int after)
{
    for (int n = after + 1; n < tree->nodes; n++)
        if (tree->here[n] && tree->joined[node][n])
            return n;
    return -1;
}

static void join(struct tree *tree, int a, int b, bool joined)
{
    tree->joined[a][b] = tree->joined[b][a] = joined;
}

/* The rail's ports, every switch, and the links between them; parallel links count once. */
static int plant(struct tree *tree, int rail)
{
    const struct nt_fab *fab = tree->fab;
    int hosts = 0;
    tree->nodes = fab->node_count;
    for (int n = 0; n < fab->node_count; n++) {
        int port = fab->nodes[n].port;
        tree->here[n] = port < 0 || fab->ports[port].rail == rail;
        hosts += tree->here[n] && port >= 0;
        for (int m = 0; m < fab->node_count; m++)
            tree->rank[n] += nt_fab_name_compare(fab->nodes[m].name, fab->nodes[n].name) < 0;
    }
    for (int l = 0; l < fab->link_count; l++)
        join(tree, fab->links[l].from, fab->links[l].to, true);
    return hosts;
}

/* Takes out dead ends and switches in the middle of nothing, until there are none. */
static void prune(struct tree *tree)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int n = 0; n < tree->nodes; n++) {
            if (!tree->here[n] || !is_switch(tree, n) || degree(tree, n) > 2)
                continue;
            int a = neighbour(tree, n, -1), b = a < 0 ? -1 : neighbour(tree, n, a);
            if (b >= 0 && !is_switch(tree, a) && !is_switch(tree, b))
                continue; /* two hosts on one switch: that is all there is */
            if (b >= 0 && tree->joined[a][b])
                continue; /* a triangle: the check for a tree will say so */
            tree->here[n] = false;
            if (b >= 0)
                join(tree, a, b, true);
            changed = true;
        }
    }
}

/* Counts what can be reached; edges counts each link there twice. */
static int reach(const struct tree *tree, int node, int *edges)
{
    bool seen[NT_FAB_NODES_MAX] = {false};
    int stack[NT_FAB_NODES_MAX], depth = 0, count = 0;
    seen[node] = true;
    stack[depth++] = node;
    while (depth > 0) {
        int at = stack[--depth];
        count++;
        for (int n = neighbour(tree, at, -1); n >= 0; n = neighbour(tree, at, n)) {
            ++*edges;
            if (!seen[n]) {
                seen[n] = true;
                stack[depth++] = n;
            }
        }
    }
    return count;
}

static bool is_tree(const struct tree *tree)
{
    int count = 0, first = -1, edges = 0;
    for (int n = tree->nodes - 1; n >= 0; n--)
        if (tree->here[n]) {
            count++;
            first = n;
        }
    return first >= 0 && reach(tree, first, &edges) == count && edges == 2 * (count - 1);
}

/* Peels the switches from outside until one or two are left: the middle. */
static void find_middle(const struct tree *tree, int middle[2])
{
    bool left[NT_FAB_NODES_MAX];
    int count = 0;
    for (int n = 0; n < tree->nodes; n++) {
        left[n] = tree->here[n] && is_switch(tree, n);
        count += left[n];
    }
    while (count > 2) {
        int outer[NT_FAB_NODES_MAX], outers = 0;
        for (int n = 0; n < tree->nodes; n++) {
            int inner = 0;
            for (int m = 0; m < tree->nodes; m++)
                inner += left[m] && tree->joined[n][m];
            if (left[n] && inner <= 1)
                outer[outers++] = n;
        }
        for (int k = 0; k < outers; k++)
            left[outer[k]] = false;
        count -= outers;
    }
    middle[0] = middle[1] = -1;
    for (int n = 0; n < tree->nodes; n++)
        if (left[n])
            middle[middle[0] >= 0] = n;
}

static void put(struct tree *tree, const char *text)
{
    size_t length = strlen(text);
    if (length >= NT_FAB_SHAPE_BYTES - tree->used)
        return; /* cannot be: the buffer holds every name and two brackets a node */
    memcpy(tree->text + tree->used, text, length + 1);
    tree->used += length;
}

static int first_rank(const struct tree *tree, int node, int parent)
{
    if (!is_switch(tree, node))
        return tree->rank[node];
    int first = INT_MAX;
    for (int n = neighbour(tree, node, -1); n >= 0; n = neighbour(tree, node, n)) {
        int rank = n == parent ? INT_MAX : first_rank(tree, n, node);
        first = rank < first ? rank : first;
    }
    return first;
}

static void put_node(struct tree *tree, int node, int parent, bool separate);

/* The children of one kind, in the order of their first hosts. */
static bool put_children(struct tree *tree, int node, int parent, bool switches, bool separate)
{
    for (int last = -1;;) {
        int best = -1, best_rank = INT_MAX;
        for (int n = neighbour(tree, node, -1); n >= 0; n = neighbour(tree, node, n)) {
            if (n == parent || is_switch(tree, n) != switches)
                continue;
            int rank = first_rank(tree, n, node);
            if (rank > last && rank < best_rank) {
                best = n;
                best_rank = rank;
            }
        }
        if (best < 0)
            return separate;
        put_node(tree, best, node, separate);
        separate = true;
        last = best_rank;
    }
}

static void put_node(struct tree *tree, int node, int parent, bool separate)
{
    if (separate)
        put(tree, " ");
    if (!is_switch(tree, node)) {
        put(tree, tree->fab->nodes[node].name);
        return;
    }
    put(tree, "[");
    separate = put_children(tree, node, parent, false, false);
    put_children(tree, node, parent, true, separate);
    put(tree, "]");
}

static void put_tree(struct tree *tree)
{
    int middle[2];
    find_middle(tree, middle);
    if (middle[1] < 0) {
        put_node(tree, middle[0], -1, false);
        return;
    }
    bool swapped = first_rank(tree, middle[1], middle[0]) < first_rank(tree, middle[0], middle[1]);
    int first = middle[swapped], second = middle[!swapped];
    put(tree, "[");
    put_node(tree, first, second, false);
    put_node(tree, second, first, true);
    put(tree, "]");
}

int nt_fab_shape(const char *file, const struct nt_fab *fab, int rail,
                 char text[NT_FAB_SHAPE_BYTES], struct nt_err *err)
{
    struct tree *tree = calloc(1, sizeof *tree);
    if (tree == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: no memory", file);
    tree->fab = fab;
    tree->text = text;
    text[0] = '\0';
    int status = 0;
    if (plant(tree, rail) < 2)
        status =
            nt_err_set(err, NT_ERR_INPUT, "%s: rail %d: expected two hosts or more", file, rail);
    prune(tree);
    if (status == 0 && !is_tree(tree))
        status = nt_err_set(err, NT_ERR_INPUT, "%s: rail %d: expected a tree", file, rail);
    if (status == 0)
        put_tree(tree);
    free(tree);
    return status;
}

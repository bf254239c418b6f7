/* SPDX-License-Identifier: Apache-2.0 */
#include "panels.h"

#include <stdint.h>

/* Two doubles: every 64-bit machine has registers for them, and plain C becomes code for them. */
typedef double pair_t __attribute__((vector_size(16), aligned(8), may_alias));

enum { ROWS = NT_PANEL_ROWS };

static void pack_panel(struct nt_strided a, size_t rows, size_t depth, double *panel)
{
    for (size_t p = 0; p < depth; p++, panel += ROWS) {
        const double *from = a.at + p * a.right;
        if (rows == ROWS && a.down == 1) {
            for (size_t i = 0; i < ROWS; i++)
                panel[i] = from[i];
            continue;
        }
        for (size_t i = 0; i < ROWS; i++)
            panel[i] = i < rows ? from[i * a.down] : 0;
    }
}

void nt_panels_pack(struct nt_strided a, size_t rows, size_t depth, double *panels)
{
    for (size_t i = 0; i < rows; i += ROWS) {
        struct nt_strided from = {a.at + i * a.down, a.down, a.right};
        pack_panel(from, rows - i < ROWS ? rows - i : ROWS, depth, panels);
        panels += ROWS * depth;
    }
}

/* The tile of four rows of a and four of b: tile[2 j] and tile[2 j + 1] are column j. */
static void multiply_tile(const double *a, const double *b, size_t depth, pair_t tile[8])
{
    pair_t c0 = {0}, c1 = {0}, c2 = {0}, c3 = {0}, c4 = {0}, c5 = {0}, c6 = {0}, c7 = {0};
    for (size_t p = 0; p < depth; p++, a += ROWS, b += ROWS) {
        pair_t low = *(const pair_t *)a, high = *(const pair_t *)(a + 2);
        c0 += low * b[0];
        c1 += high * b[0];
        c2 += low * b[1];
        c3 += high * b[1];
        c4 += low * b[2];
        c5 += high * b[2];
        c6 += low * b[3];
        c7 += high * b[3];
    }
    tile[0] = c0;
    tile[1] = c1;
    tile[2] = c2;
    tile[3] = c3;
    tile[4] = c4;
    tile[5] = c5;
    tile[6] = c6;
    tile[7] = c7;
}

static void add_tile(double *c, size_t ld, const pair_t tile[8], size_t rows, size_t columns,
                     double factor)
{
    if (rows == ROWS) {
        for (size_t j = 0; j < columns; j++) {
            pair_t *at = (pair_t *)(c + j * ld);
            at[0] += factor * tile[2 * j];
            at[1] += factor * tile[2 * j + 1];
        }
        return;
    }
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++)
            c[j * ld + i] += factor * tile[2 * j + i / 2][i % 2];
}

void nt_panels_multiply(double *c, size_t ld, struct nt_strided a, size_t rows, const double *b,
                        size_t columns, size_t depth, double factor, bool lower)
{
    double panel[ROWS * NT_PANEL_DEPTH];
    pair_t tile[8];
    for (size_t i = 0; i < rows; i += ROWS) {
        size_t tall = rows - i < ROWS ? rows - i : ROWS;
        struct nt_strided from = {a.at + i * a.down, a.down, a.right};
        pack_panel(from, tall, depth, panel);
        for (size_t j = 0; j < columns && !(lower && j >= i + tall); j += ROWS) {
            size_t wide = columns - j < ROWS ? columns - j : ROWS;
            multiply_tile(panel, b + j * depth, depth, tile);
            add_tile(c + j * ld + i, ld, tile, tall, wide, factor);
        }
    }
}

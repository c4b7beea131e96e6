/* The record of effective ranks: metrics with their definitions, warnings, the curve, and replicates
 * for tables. */
#include <inttypes.h>
#include <math.h>

#include "analysis/measures/effective_rank.h"
#include "base/auto.h"
#include "base/mem.h"

/* The outlier guard: a row or a direction with more than half of the sum of squares, fewer rows
 * than columns, eigenvalues below the floor of single precision, rows of zeros. */
static void add_warnings(const char *name, bool centred, const cs_gram *g,
                         const cs_effective_rank *r, cs_item *list)
{
    if (r->heaviest_share > 0.5 && !g->normalise) {
        cs_item_take(list, NULL,
                     cs_format("%s: row %" PRId64
                               " has %.1f%% of the sum of squares; give --row-norm or --drop-rows "
                               "to remove its influence",
                               name, r->heaviest, 100.0 * r->heaviest_share));
    }
    if (r->first_share > 0.5) {
        cs_item_take(list, NULL,
                     cs_format("%s: one direction has %.1f%% of the sum of squares%s", name,
                               100.0 * r->first_share,
                               centred ? "" : "; give --center to remove a constant offset"));
    }
    if (r->rows < r->cols) {
        cs_item_take(list, NULL,
                     cs_format("%s: only %" PRId64 " rows of %" PRId64
                               " columns, and ranks cannot exceed the number of rows",
                               name, r->rows, r->cols));
    }
    if (r->unclipped != r->value[CS_RANK_TAU_CORRECTED] && isfinite(r->unclipped)) {
        cs_item_take(
            list, NULL,
            cs_format("%s: rank_tau_corrected is %.4g, which is impossible for %" PRId64
                      " columns, and is set to %.4g; more rows are needed, or a few rows dominate",
                      name, r->unclipped, r->cols, r->value[CS_RANK_TAU_CORRECTED]));
    }
    if (r->below > 0 && !g->wide) {
        cs_item_take(list, NULL,
                     cs_format("%s: %" PRId64 " of %" PRId64
                               " eigenvalues are below the floor of single precision and count as "
                               "0; give --precision double to resolve them",
                               name, r->below, r->count));
    }
    if (centred && r->below == r->count) {
        cs_item_take(
            list, NULL,
            cs_format("%s: all rows are equal, or differ by less than rounding: nothing is "
                      "left after centring, and every rank is 0",
                      name));
    }
    if (g->zeros > 0) {
        cs_item_take(
            list, NULL,
            cs_format("%s: %" PRId64 " row%s 0", name, g->zeros, g->zeros == 1 ? " is" : "s are"));
    }
    if (g->vanished > 0) {
        cs_item_take(list, NULL,
                     cs_format("%s: %" PRId64 " rows are so small that their squares vanish in %s "
                               "precision",
                               name, g->vanished, g->wide ? "double" : "single"));
    }
}

void cs_item_ranks(cs_item *item, const char *name, const cs_rank_options *options,
                   const cs_gram *g, const cs_effective_rank *r)
{
    cs_item *metrics = cs_item_array(item, "metrics");
    for (int m = 0; m < CS_RANK_MEASURES; ++m) {
        const cs_rank_measure measure = (cs_rank_measure)m;
        cs_item *metric = cs_item_object(metrics, NULL);
        cs_item_text(metric, "name", cs_rank_name(measure));
        cs_item_take(metric, "definition",
                     cs_rank_definition(measure, options, g, r, &r->point[r->points - 1]));
        cs_item_real(metric, "value", r->value[m]);
        cs_item_real(metric, "se", r->se[m]);
        cs_item_left_out(metric, m, r, NULL);
    }
    add_warnings(name, options->centred, g, r, cs_item_array(item, "warnings"));
}

/* All measures at every number of blocks: rows of the table where all are requested. */
static void add_curve(const cs_rank_options *options, const cs_gram *g, const cs_effective_rank *r,
                      cs_item *item)
{
    cs_item *curve = cs_item_array(item, "curve");
    for (int64_t i = 0; i < r->points; ++i) {
        cs_item *point = cs_item_object(curve, NULL);
        cs_item_int(point, "n", r->point[i].rows);
        for (int m = 0; m < CS_RANK_OF_SPECTRUM; ++m) {
            cs_item_real(point, cs_rank_name((cs_rank_measure)m), r->point[i].value[m]);
        }
    }
    cs_item *rows = options->every_block ? cs_item_array(item, "~curve") : NULL;
    for (int m = 0; m < CS_RANK_OF_SPECTRUM && rows; ++m) {
        for (int64_t i = 0; i + 1 < r->points; ++i) {
            cs_item *row = cs_item_object(rows, NULL);
            cs_item_text(row, "name", cs_rank_name((cs_rank_measure)m));
            cs_item_take(row, "definition",
                         cs_rank_definition((cs_rank_measure)m, options, g, r, &r->point[i]));
            cs_item_real(row, "value", r->point[i].value[m]);
            cs_item_int(row, "n", r->point[i].rows);
        }
    }
}

void cs_rank_record(const char *name, const cs_rank_options *options, const cs_gram *g,
                    const cs_effective_rank *r, cs_item *item)
{
    cs_item_text(item, "name", name);
    cs_item_int(item, "n", r->rows);
    cs_item_int(item, "d", r->cols);
    CS_ITEM_FIELDS(item, r, blocks, floor);
    cs_item_text(item, "precision", g->wide ? "double" : "float");
    cs_item_flag(item, "centred", options->centred);
    cs_item_flag(item, "row_norm", g->normalise);
    cs_item *heaviest = cs_item_object(item, "heaviest_row");
    cs_item_int(heaviest, "row", r->heaviest);
    cs_item_real(heaviest, "share", r->heaviest_share);
    cs_item_real(item, "first_direction_share", r->first_share);
    cs_item_ranks(item, name, options, g, r);
    add_curve(options, g, r, item);
    cs_item_reals(item, "eigenvalues", r->count, r->lambda);
}

/* A number of one, less that of the other where there is another. */
static void add_block(cs_item *list, int64_t block, const double *x, const double *less)
{
    cs_item *item = cs_item_object(list, NULL);
    cs_item_int(item, "block", block);
    cs_item_real(item, "value", *x - (less ? *less : 0));
}

void cs_item_left_out(cs_item *metric, int measure, const cs_effective_rank *r,
                      const cs_effective_rank *less)
{
    const bool corrected = measure == CS_RANK_TAU_CORRECTED;
    const int m = measure == CS_RANK_TAU ? CS_RANK_TAU_INTERPOLATED : measure;
    const double *of = corrected ? r->part_out : r->left_out, *other = !less       ? NULL
                                                                       : corrected ? less->part_out
                                                                                   : less->left_out;
    const int64_t stride = corrected ? 1 : CS_RANK_MEASURES, first = corrected ? 0 : m;
    cs_item *list = cs_item_array(metric, "~left_out");
    if (!of || (less && !other)) {
        return;
    }
    if (corrected) add_block(list, 0, &r->bias_left, less ? &less->bias_left : NULL);
    for (int64_t b = 0; b < (corrected ? r->parts : r->blocks); ++b) {
        const int64_t at = b * stride + first;
        add_block(list, b + 1, of + at, other ? other + at : NULL);
    }
}

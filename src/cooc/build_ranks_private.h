/* The sums that the ranks of a build share, besides records (build_ranks.c). All are collective. */
#pragma once

#include "cooc/assemble_private.h"
#include "cooc/exact_sum_private.h"

/* The sequences of a split: their numbers, and their lengths. */
typedef struct {
    int64_t of_split, kept, left_out; /* at any length; where the objective exists, or not */
    int64_t tokens, covered;          /* of the documents of the split; in a sequence */
    int32_t shortest, longest;
} cs_sequence_counts;

/* Combines the counts of all ranks; *first receives the sequences that lower ranks keep. */
void cs_ranks_join_counts(cs_comm *c, cs_sequence_counts *counts, int64_t *first);

/* Replaces *x by its sum over the ranks. */
void cs_ranks_add_exact(cs_comm *c, cs_exact_sum *x);

/* Contributions and units of all ranks; `overflow` of any. */
void cs_ranks_add_units(cs_comm *c, int64_t *contributions, int64_t *units, bool *overflow);

/* The total of the rows of all ranks on each, their class masses of columns on rank 0. */
void cs_ranks_add_sums(cs_comm *c, cs_assembler *a);

/* The sums of the rows that this rank has in memory. */
cs_row_sums cs_row_sums_of(const cs_cooc *m);

/* The places of the rows of all ranks, and their label noise. c: NULL for one process. stored: of rows
 * that are in files and not in memory, or NULL. */
void cs_cooc_place_rows(cs_comm *c, const cs_row_sums *stored, cs_cooc *m);

/* For a population: places the texts of the rows, which witnesses number, likewise. */
void cs_ranks_place_texts(cs_comm *c, cs_cooc *m);

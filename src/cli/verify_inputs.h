/* cospec verify: the current run, and its inputs from the options. */
#pragma once

#include "analysis/measures/spectral_probe.h"
#include "analysis/trained/theorem_list.h"
#include "cli/opt.h"

typedef struct {
    cs_args *args;
    cs_spectrum_options solver;
    bool chosen[CS_THEOREMS], all;
    cs_theorem_input input;
    cs_theorem_report report;
    cs_spectral_probe_result probe;
    bool probed;
    cs_item *root, *rows[CS_THEOREMS],
        *course[CS_THEOREMS]; /* NULL until the theorem has a table */
} cs_verify;

/* Theorem number i on the current input, if it was chosen and accepts it. */
cs_status cs_verify_run_one(cs_verify *v, int i, cs_theorem_on on) CS_MUST_CHECK;

/* The theorem that was named, NULL: all. */
const cs_theorem *cs_verify_named(const cs_verify *v);

/* The toy models of the sweep; the matrix of --matrix; the models of --model on --corpus; --corpus. */
cs_status cs_verify_toy(cs_verify *v) CS_MUST_CHECK;
cs_status cs_verify_matrix(cs_verify *v, const char *path) CS_MUST_CHECK;
cs_status cs_verify_model(cs_verify *v) CS_MUST_CHECK;
cs_status cs_verify_corpus(cs_verify *v) CS_MUST_CHECK;

/* Which share of the tokens a mask ratio masks once it is rounded to whole tokens. */
#include <math.h>
#include <stdio.h>

#include "base/auto.h"
#include "cli/groups.h"
#include "cli/model_options.h"
#include "cli/output.h"
#include "infer/document_pieces.h"
#include "plan/ratio.h"

static void note_share(const cs_args *args, const cs_objective *o, const double share[2])
{
    enum { RANGE = 64 };
    const double given[2] = {o->mask_ratio_lo, o->mask_ratio_hi};
    const double *const of[2] = {share, given};
    char text[2][RANGE];
    if (fabs(share[0] - given[0]) < 0.001 && fabs(share[1] - given[1]) < 0.001) {
        return;
    }
    for (int i = 0; i < 2; ++i) {
        (void)snprintf(text[i], RANGE, given[0] < given[1] ? "%.3g to %.3g %%" : "%.3g %%",
                       100 * of[i][0], 100 * of[i][1]);
    }
    CS_AUTO_FREE char *name = cs_objective_describe(o);
    if (name)
        cs_output_note(args,
                       "%s: %s of the tokens are masked, not %s: the ratio is rounded to whole "
                       "tokens of each sequence",
                       name, text[0], text[1]);
}

void cs_args_note_share_of_length(const cs_args *args, const cs_objective *o, int64_t length)
{
    if (!cs_objective_has_ratio(o)) return;
    const double share[2] = {(double)cs_ratio_masked(o->mask_ratio_lo, length) / (double)length,
                             (double)cs_ratio_masked(o->mask_ratio_hi, length) / (double)length};
    note_share(args, o, share);
}

void cs_args_note_share_of_pieces(const cs_args *args, const cs_model_text *text,
                                  const cs_hidden_options *o)
{
    const cs_corpus *c = &text->corpus;
    double masked = 0, tokens = 0;
    int64_t most = o->max_length, batch = o->batch;
    cs_objective objective = cs_objective_default(CS_OBJ_MASKED);
    if (!(o->mask_ratio > 0) ||
        cs_pieces_limits(&text->model.config, o->around.befores + o->around.afters, &most,
                         &batch) != CS_OK) {
        cs_reason_clear();
        return;
    }
    for (int64_t d = 0; d < c->documents; ++d) {
        int64_t left = o->keep && !o->keep[d] ? 0 : c->doc_ptr[d + 1] - c->doc_ptr[d];
        for (bool first = true; left > 0 && (first || o->split); first = false) {
            const int64_t n = left < most ? left : most;
            masked += n > 1 ? (double)cs_ratio_masked(o->mask_ratio, n) : 0;
            tokens += (double)n;
            left -= n;
        }
    }
    objective.mask_ratio_lo = objective.mask_ratio_hi = o->mask_ratio;
    if (tokens > 0) note_share(args, &objective, (double[2]){masked / tokens, masked / tokens});
}

/* As deep as mixtures of mixtures. NOLINTNEXTLINE(misc-no-recursion) */
static void note_shares_of(const cs_args *args, const cs_corpus *corpus,
                           const cs_cooc_options *options, const cs_objective *o)
{
    double share[2];
    if (cs_cooc_masked(corpus, options, o, share)) {
        note_share(args, o, share);
    }
    const cs_objective *part;
    for (int64_t j = 0; (part = cs_objective_part(o, j)); ++j) {
        note_shares_of(args, corpus, options, part);
    }
}

void cs_args_note_masked(const cs_args *args, const cs_corpus *corpus,
                         const cs_cooc_options *options)
{
    cs_objective which;
    int64_t longest = 0;
    const int64_t clamped = cs_cooc_clamped(corpus, options, &longest, &which);
    CS_AUTO_FREE char *name = clamped > 0 ? cs_objective_describe(&which) : NULL;
    if (name)
        cs_output_note(args,
                       "%s: in %lld sequences of at most %lld tokens the ratio would mask no token "
                       "or all; one is masked, or one is left",
                       name, (long long)clamped, (long long)longest);
    note_shares_of(args, corpus, options, &options->objective);
}

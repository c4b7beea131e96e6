/* Which share of the tokens a mask ratio masks once it is rounded to whole tokens. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "cli/groups.h"
#include "cli/output.h"
#include "cooc/build_sequences.h"
#include "plan/ratio.h"

void cs_args_note_share(const cs_args *args, const cs_objective *o, const double share[2])
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
    char *name = cs_objective_describe(o);
    if (name)
        cs_output_note(args,
                       "%s: %s of the tokens are masked, not %s: the ratio is rounded to whole "
                       "tokens of each sequence",
                       name, text[0], text[1]);
    cs_free(name);
}

void cs_args_note_share_of_length(const cs_args *args, const cs_objective *o, int64_t length)
{
    if (!cs_objective_has_ratio(o)) return;
    const double share[2] = {(double)cs_ratio_masked(o->mask_ratio_lo, length) / (double)length,
                             (double)cs_ratio_masked(o->mask_ratio_hi, length) / (double)length};
    cs_args_note_share(args, o, share);
}

/* As deep as mixtures of mixtures. NOLINTNEXTLINE(misc-no-recursion) */
static void note_shares_of(const cs_args *args, const cs_corpus *corpus,
                           const cs_cooc_options *options, const cs_objective *o)
{
    double share[2];
    if (cs_cooc_masked(corpus, options, o, share)) {
        cs_args_note_share(args, o, share);
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
    char *name = clamped > 0 ? cs_objective_describe(&which) : NULL;
    if (name)
        cs_output_note(args,
                       "%s: in %lld sequences of at most %lld tokens the ratio would mask no token "
                       "or all; one is masked, or one is left",
                       name, (long long)clamped, (long long)longest);
    cs_free(name);
    note_shares_of(args, corpus, options, &options->objective);
}

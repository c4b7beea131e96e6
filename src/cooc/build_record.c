#include "cooc/build_record.h"

void cs_cooc_record(const char *source, const cs_cooc_prepared *prepared, const cs_cooc *cooc,
                    cs_item *item)
{
    const cs_cooc_options *options = &prepared->options;
    cs_item_text(item, "corpus", source);
    cs_item_take(item, "objective", cs_objective_describe(&options->objective));
    cs_item_take(item, "context", cs_context_describe(&options->context));
    cs_item_text(item, "target_position", cs_context_given(&options->context) ? "given" : "blind");
    CS_ITEM_FIELDS(item, &cooc->matrix.a, rows, cols);
    cs_item_int(item, "nonzeros", cs_csr_nnz(&cooc->matrix.a));
    CS_ITEM_FIELDS(item, cooc, sequences, skipped_sequences, contributions, exact, unit, mass,
                   dropped_mass);
    cs_item_int(item, "uncovered_tokens", prepared->uncovered);
    cs_item_int(item, "draws", options->draws);
    cs_item_int(item, "seed", (int64_t)options->seed);
    cs_item_flag(item, "sampled", options->draws > 0);
    cs_item_real(item, "label_noise", cs_label_noise(&cooc->matrix));
}

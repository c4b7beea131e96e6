/* A build as the record of a result. */
#pragma once

#include "cooc/build_sequences.h"
#include "io/result.h"

/* The members of cooc.json: options, counts and sizes. source: the name of the corpus as given. */
void cs_cooc_record(const char *source, const cs_cooc_prepared *prepared, const cs_cooc *cooc,
                    cs_item *item);

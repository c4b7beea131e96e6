/* Text with the statistics that counting meets: Zipf-Mandelbrot frequencies and topics. */
#pragma once

#include "text/corpus.h"

/* About `tokens` tokens (the last document may pass them) in documents of 200 to 799, unlabelled. A
 * token's rank r < vocab has probability proportional to (r + 2.7)^-1.05; from rank 300 on, every
 * second token is moved within its 200 neighbours to the one of the document's topic. Ids are
 * numbered by falling frequency, ties by rank, as a vocabulary is; ranks that do not occur have
 * none. The seed fixes everything; a document has its own random stream. */
cs_status zipf_text(int64_t tokens, int64_t vocab, uint64_t seed, cs_corpus *out) CS_MUST_CHECK;

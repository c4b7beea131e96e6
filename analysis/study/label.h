/* Objectives in the words of a legend. */
#pragma once

/* The series of a result as a reader says it, in fresh memory, NULL where there is none left: "ar" is
 * "autoregressive"; "diverse-ar(t=2)" "one of the next 2"; "offset-ar(offset-weights=mix:0.5)"
 * "offset, mix 0.5"; "masked(unmasked=2)" "masked, 2 shown"; "masked(mask-ratio=0.15:0.3)" "masked, 15
 * to 30 %"; other parameters have their names. Every NAME(...) in the text is read so, as in
 * mixtures; the rest stays as it is. */
char *cs_series_label(const char *series);

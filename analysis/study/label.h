/* Readable names of objectives for legends. */
#pragma once

/* The series of a result in readable form, in fresh memory, NULL without memory: "ar" is
 * "autoregressive"; "diverse-ar(t=2)" "one of the next 2"; "offset-ar(offset-weights=mix:0.5)"
 * "offset, mix 0.5"; "masked(unmasked=2)" "masked, 2 shown"; "masked(mask-ratio=0.15:0.3)" "masked,
 * 15 to 30 %"; other parameters keep their names. Every NAME(...) in the text is converted so, as
 * in mixtures; the rest is unchanged. */
char *cs_series_label(const char *series);

/* Rotary positions: their settings in config.json, and their frequencies. */
#pragma once

#include <jansson.h>

#include "base/status.h"
#include "model/config.h"

/* Of the n pairs of columns that turn, in float as the classes of transformers form them, with
 * f_i = theta^(-2i / 2n):
 *   linear   f_i / factor
 *   llama3   f_i where the wavelength 2 pi / f_i is below original / high, f_i / factor above
 *            original / low, between them interpolated linearly in original / wavelength
 *   yarn     (1 - r_i) f_i + r_i f_i / factor, r_i the ramp from 0 to 1 between the pairs that turn
 *            `high` and `low` times within the original length (Peng et al. 2023)
 *   dynamic  f_i; beyond `original` positions by the length of the text (tensor/rotate.h)
 *   longrope f_i / short_i, then f_i / long_i: n is twice the pairs that turn. */
void cs_rotary_frequencies(const cs_rotary *rotary, int64_t n, float *out);

/* The change beyond the original length. */
cs_rotate_longer cs_rotary_longer(const cs_rotary *rotary);

/* Pairs of columns of a head that are rotated; longrope: twice. */
int64_t cs_rotary_pairs(const cs_model_config *config, const cs_rotary *rotary);

/* rope_parameters or rope_scaling, rope_theta, partial_rotary_factor and their older names, into
 * config->rotary; parameters by layer type (full_attention, sliding_attention) into rotary and
 * local_rotary. CS_ERR_INPUT names a scaling or a key of one that is unknown, or one that its
 * scaling does not use. */
cs_status cs_rotary_read(const char *where, const json_t *json,
                         cs_model_config *config) CS_MUST_CHECK;

/* rope_parameters, by layer type if local layers have separate ones; and for transformers before 5
 * the bases under their older names. */
void cs_rotary_write(const cs_model_config *config, json_t *json, cs_status *status);

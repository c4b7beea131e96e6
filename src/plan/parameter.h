/* A parameter of objectives, from its row in parameters.h: its text, and all parameters as JSON. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "plan/objective.h"

typedef enum {
    CS_PARAMETER_CHOICE,  /* an enum */
    CS_PARAMETER_NUMBER,  /* int64_t, -1: unset */
    CS_PARAMETER_NUMBERS, /* int64_t[2], LO:HI */
    CS_PARAMETER_RATIOS,  /* double[2], LO:HI; NaN: unset */
    CS_PARAMETER_OFFSETS, /* the distribution of offset-ar: an enum and a double */
    CS_PARAMETER_SHARE,   /* double in (0, 1], 1 by default */
    CS_PARAMETER_FILE     /* a plan file */
} cs_parameter_kind;

#define CS_PARAMETER_ID(id, ...) CS_PARAMETER_ID_##id,
enum { CS_PARAMETERS(CS_PARAMETER_ID) CS_PARAMETERS_ALL };
#undef CS_PARAMETER_ID

typedef struct {
    const char *name; /* "mask-ratio" */
    cs_parameter_kind kind;
    const char *key;     /* in JSON */
    size_t offset;       /* of its first member in cs_objective */
    const char *choices; /* names of the enum, separated by bars, or NULL */
} cs_parameter;

const cs_parameter *cs_parameter_table(int index);

bool cs_objective_takes(cs_objective_kind kind, const cs_parameter *parameter);

/* The name of the current value of a choice or distribution, and the value of a name. */
void cs_parameter_chosen(const cs_parameter *parameter, const cs_objective *objective, char *text,
                         size_t size);
cs_status cs_parameter_choose(const cs_parameter *parameter, const char *value,
                              int *out) CS_MUST_CHECK;

/* The first member of the parameter in an objective. */
void *cs_parameter_member(const cs_parameter *parameter, const cs_objective *objective);

/* An objective as a JSON object, and back: the name and every parameter, whether the objective
 * takes it or not. CS_ERR_INPUT names the field. Plans of a file are not included; the parts of a
 * mixture are, as its specification, and are stored in *held (spec.h). */
cs_status cs_objective_to_json(const cs_objective *objective, json_t **out) CS_MUST_CHECK;
cs_status cs_objective_from_json(const json_t *object, struct cs_plan_file *held,
                                 cs_objective *out) CS_MUST_CHECK;

/* The law of the distance from a prefix's end to its target. */
#include "plan/distance.h"

#include <math.h>

cs_distance cs_distance_of(const cs_objective *o, int64_t s)
{
    cs_distance law = {.kind = CS_OFFSET_UNIFORM, .window = 1};
    if (o->kind == CS_OBJ_DIVERSE_AR) {
        law.window = o->t < s ? o->t : s;
    } else if (o->kind == CS_OBJ_OFFSET_AR && o->offset == CS_OFFSET_UNIFORM) {
        law.window = o->offset_value < (double)s ? (int64_t)o->offset_value : s;
    } else if (o->kind == CS_OBJ_OFFSET_AR && o->offset_value == 0) {
        law.window = s; /* d^0, or no extra weight on the next token */
    } else if (o->kind == CS_OBJ_OFFSET_AR && o->offset == CS_OFFSET_POWER) {
        law = (cs_distance){.kind = CS_OFFSET_POWER, .window = s, .exponent = o->offset_value};
    } else if (o->kind == CS_OBJ_OFFSET_AR && o->offset_value < 1) {
        law = (cs_distance){.kind = CS_OFFSET_MIX, .window = s, .next = o->offset_value};
    }
    return law;
}

long double cs_distance_raw(const cs_distance *law, int64_t left, int64_t d)
{
    long double next = law->next;
    switch (law->kind) {
    case CS_OFFSET_POWER:
        return powl((long double)d, -(long double)law->exponent);
    case CS_OFFSET_MIX:
        return 1 - next + (d == 1 ? next * (long double)left : 0);
    default:
        return 1;
    }
}

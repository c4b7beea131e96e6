/* Questions whose answers stand in a context, as SQuAD's JSON files have them (Rajpurkar et al. 2016; in
 * version 2 some have none, Rajpurkar, Jia and Liang 2018):
 *
 *   {"data": [{"paragraphs": [{"context": TEXT, "qas": [{"id": TEXT, "question": TEXT,
 *     "answers": [{"text": TEXT, "answer_start": N}, ...], "is_impossible": BOOL}, ...]}, ...]}, ...]}
 *
 * answer_start counts characters (code points). Without is_impossible a question has an answer. Other
 * keys are passed over.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"

/* The bytes from .. from + strlen(text) - 1 of its context. */
typedef struct {
    const char *text;
    int64_t from;
} cs_squad_answer;

/* Its answers are number first .. first + answers - 1; none: the context does not say. */
typedef struct {
    const char *id, *text;
    int64_t context, first, answers;
} cs_squad_question;

typedef struct {
    char *path;
    json_t *root; /* owns the texts */
    int64_t contexts, questions, answers;
    const char **context;
    cs_squad_question *question;
    cs_squad_answer *answer;
} cs_squad;

/* CS_ERR_INPUT names file and place: what is no JSON; a member that is missing or of another kind; an
 * answer that is empty or does not stand where it says; a question that has answers and is impossible,
 * or neither; an id given twice; no questions. */
cs_status cs_squad_read(const char *path, cs_squad *out) CS_MUST_CHECK;
void cs_squad_free(cs_squad *squad); /* accepts a zeroed object */

/* Extractive question answering in the JSON files of SQuAD (Rajpurkar et al. 2016; in version 2
 * some questions are unanswerable, Rajpurkar, Jia and Liang 2018):
 *
 *   {"data": [{"paragraphs": [{"context": TEXT, "qas": [{"id": TEXT, "question": TEXT,
 *     "answers": [{"text": TEXT, "answer_start": N}, ...], "is_impossible": BOOL}, ...]}, ...]}, ...]}
 *
 * answer_start counts characters (code points). Without is_impossible a question has an answer.
 * Other keys are ignored. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/status.h"

/* The bytes from .. from + strlen(text) - 1 of its context. */
typedef struct {
    const char *text;
    int64_t from;
} cs_squad_answer;

/* `answers` entries of cs_squad.answer, from number `first` on; 0: unanswerable. */
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

/* CS_ERR_INPUT names file and place: invalid JSON; a member that is missing or of another kind; an
 * answer that is empty or differs from the context at its position; a question that has an answer and
 * is impossible, or neither; a repeated id; no questions. */
cs_status cs_squad_read(const char *path, cs_squad *out) CS_MUST_CHECK;
void cs_squad_free(cs_squad *squad); /* accepts a zeroed object */

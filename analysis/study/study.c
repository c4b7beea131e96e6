/* Reads a study: variables of its scale, and the steps that rounds of budgets and seeds make of its
 * sections. */
#include "analysis/study/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "io/file.h"
#include "io/json.h"

enum { MOST_NAME = 100 };

void cs_study_free(cs_study *study)
{
    for (int64_t i = 0; i < study->steps; ++i) {
        cs_step *step = &study->step[i];
        cs_free(step->command);
        cs_free(step->name);
        for (int w = 0; w < step->words; ++w) {
            cs_free(step->word[w]);
        }
        cs_free(step->word);
        cs_free(step->needs);
    }
    cs_free(study->step);
    cs_free(study->dir);
    json_decref(study->json);
    *study = (cs_study){0};
}

bool cs_study_name_is_good(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length <= MOST_NAME && name[0] != '.' &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") ==
               length;
}

/* --- variables --- */

static size_t name_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyz_");
}

cs_status cs_study_substitute(const cs_study *study, const char *text, char **out)
{
    const json_t *variables = json_object_get(study->json, "variables");
    char *done = cs_strdup("");
    while (done) {
        size_t plain = strcspn(text, "$"), length = 0;
        const char *name = text + plain + 1, *value = "";
        if (text[plain]) {
            length = name_length(name);
            value = json_string_value(json_object_getn(variables, name, length));
        }
        if (!value) {
            cs_free(done);
            return cs_fail(CS_ERR_INPUT, "no variable $%.*s", (int)length, name);
        }
        cs_append(&done, "%.*s%s", (int)plain, text, value);
        if (!text[plain]) {
            break;
        }
        text = name + length;
    }
    *out = done;
    return done ? CS_OK : CS_ERR_MEMORY;
}

/* Which of the scales is the wanted one. */
static cs_status choose_scale(cs_study *study, const char *wanted, size_t *chosen)
{
    const json_t *scales = json_object_get(study->json, "scales");
    size_t i = 0;
    json_t *scale = NULL;
    cs_hint hint = {0};
    if (!scales) {
        return wanted ? cs_fail(CS_ERR_USAGE, "no scales: leave --scale out") : CS_OK;
    }
    wanted = wanted ? wanted : "cpu";
    json_array_foreach(scales, i, scale)
    {
        const char *name = json_string_value(scale);
        if (name && strcmp(name, wanted) == 0) {
            *chosen = i;
            study->scale = name;
            return CS_OK;
        }
        cs_hint_consider(wanted, name ? name : "", &hint);
    }
    char *names = json_dumps(scales, 0);
    cs_status status = cs_fail(CS_ERR_USAGE, "no scale %s; there are: %s%s", wanted,
                               names ? names : "?", cs_hint_text("", &hint));
    free(names);
    return status;
}

/* Leaves of every variable its value at the chosen scale. */
static cs_status choose_values(cs_study *study, size_t chosen)
{
    json_t *variables = json_object_get(study->json, "variables"), *value = NULL;
    const size_t scales = json_array_size(json_object_get(study->json, "scales"));
    const char *name = NULL;
    json_object_foreach(variables, name, value)
    {
        if (json_is_array(value) && json_array_size(value) != scales) {
            return cs_fail(CS_ERR_INPUT, "variables: %s has %zu values for %zu scales", name,
                           json_array_size(value), scales);
        }
        json_t *one = json_is_array(value) ? json_array_get(value, chosen) : value;
        if (!json_is_string(one) || name_length(name) != strlen(name)) {
            return cs_fail(CS_ERR_INPUT,
                           "variables: %s: want a name in small letters and _, and a text, or one "
                           "for each scale",
                           name);
        }
        if (one != value && json_object_iter_set(variables, json_object_key_to_iter(name), one)) {
            return CS_ERR_MEMORY;
        }
    }
    return CS_OK;
}

/* Puts the variables' values into every text below. As deep as the file, which the reader bounds.
 * NOLINTBEGIN(misc-no-recursion) */
static cs_status put_values(const cs_study *study, json_t *value)
{
    const char *key = NULL;
    size_t i = 0;
    json_t *item = NULL;
    cs_status status = CS_OK;
    if (json_is_string(value)) {
        char *text = NULL;
        status = cs_study_substitute(study, json_string_value(value), &text);
        if (status == CS_OK && json_string_set(value, text) != 0) status = CS_ERR_MEMORY;
        cs_free(text);
        return status;
    }
    json_object_foreach(value, key, item)
    {
        if (status == CS_OK) status = cs_blame(put_values(study, item), "%s", key);
    }
    json_array_foreach(value, i, item)
    {
        if (status == CS_OK) status = put_values(study, item);
    }
    return status;
}
/* NOLINTEND(misc-no-recursion) */

/* --- steps --- */

/* `text` with `by` and `then` in place of every `mark`. */
static char *replace(const char *text, char mark, const char *by, const char *then)
{
    char *out = cs_strdup("");
    for (const char *at = strchr(text, mark); at; at = strchr(text, mark)) {
        cs_append(&out, "%.*s%s%s", (int)(at - text), text, by, then);
        text = at + 1;
    }
    cs_append(&out, "%s", text);
    return out;
}

/* Splits "COMMAND ARGUMENT..." at blanks. */
static cs_status split_words(char *text, const char *dir, cs_step *step)
{
    step->word = cs_calloc(CS_STEP_WORDS, sizeof *step->word);
    if (!step->word) return CS_ERR_MEMORY;
    char *save = NULL;
    for (char *word = strtok_r(text, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        if (step->words == CS_STEP_WORDS) {
            return cs_fail(CS_ERR_INPUT, "more than %d words", CS_STEP_WORDS);
        }
        if (!(step->word[step->words] = replace(word, '@', dir, "/"))) return CS_ERR_MEMORY;
        step->words += 1;
    }
    return step->words > 0 ? CS_OK : cs_fail(CS_ERR_INPUT, "no command after the colon");
}

/* The study adds -o itself: a second one would split a step's files over two folders. */
static cs_status check_words(const cs_step *step)
{
    for (int i = 1; i < step->words; ++i) {
        const char *word = step->word[i];
        if (strncmp(word, "-o", 2) == 0 || strcmp(word, "--output") == 0 ||
            strncmp(word, "--output=", 9) == 0) {
            return cs_fail(CS_ERR_INPUT, "leave %s out, -o @%s is added to the step", word,
                           step->name);
        }
    }
    return CS_OK;
}

/* Which earlier steps it reads, and whether it trains a model or reads what one that does has left.
 * A path below the study that is no earlier step's may hold anything: it waits for all of them. */
static cs_status note_needs(const cs_study *study, cs_step *step)
{
    const int64_t earlier = study->steps - 1;
    char *folder = cs_path_join(study->dir, "");
    step->needs = cs_calloc(earlier + 1, sizeof *step->needs);
    step->trained = strcmp(step->word[0], "train") == 0;
    for (int w = 1; w < step->words && folder && step->needs; ++w) {
        for (char *at = strstr(step->word[w], folder); at; at = strstr(at + 1, folder)) {
            const char *name = at + strlen(folder);
            const size_t length = strcspn(name, "/");
            bool known = false;
            for (int64_t i = 0; i < earlier && !known; ++i) {
                const cs_step *s = &study->step[i];
                known = strncmp(s->name, name, length) == 0 && s->name[length] == '\0';
                if (known) step->needs[i] = true;
                if (known && s->trained) step->trained = true;
            }
            for (int64_t i = 0; i < earlier && !known; ++i)
                step->needs[i] = true;
        }
    }
    cs_free(folder);
    return folder && step->needs ? CS_OK : CS_ERR_MEMORY;
}

/* Adds a step, which is the study's to free whatever is wrong with it. */
static cs_status add_step(cs_study *study, const char *name, const char *command)
{
    if (!cs_study_name_is_good(name)) {
        return cs_fail(CS_ERR_INPUT,
                       "want a name of letters, digits, '.', '_' and '-', no '.' first");
    }
    if (cs_listed("report.html, claims.csv, claims-budgets.csv, curves, manifest.json", name)) {
        return cs_fail(CS_ERR_INPUT, "a file of the study has that name");
    }
    for (int64_t i = 0; i < study->steps; ++i) {
        if (strcmp(study->step[i].name, name) == 0) {
            return cs_fail(CS_ERR_INPUT, "a name given twice");
        }
    }
    if (!command) {
        return cs_fail(CS_ERR_INPUT, "want \"COMMAND ARGUMENT...\"");
    }
    cs_step *longer = cs_realloc(study->step, study->steps + 1, sizeof *longer);
    if (!longer) return CS_ERR_MEMORY;
    study->step = longer;
    cs_step *step = &longer[study->steps++];
    *step = (cs_step){.name = cs_strdup(name),
                      .exit_code = -1,
                      .command = replace(command, '@', study->dir, "/")};
    char *text = cs_strdup(command);
    cs_status status =
        step->name && step->command && text ? split_words(text, study->dir, step) : CS_ERR_MEMORY;
    if (status == CS_OK) status = check_words(step);
    if (status == CS_OK) status = note_needs(study, step);
    cs_free(text);
    return status;
}

const char *cs_study_list(const cs_study *study, const char *variable)
{
    const json_t *variables = json_object_get(study->json, "variables");
    const char *words = json_string_value(json_object_get(variables, variable));
    return words ? words : "";
}

cs_status cs_study_put(const char *text, char mark, const char *word, char **out)
{
    *out = replace(text, mark, word, "");
    return *out ? CS_OK : CS_ERR_MEMORY;
}

/* The words that a mark stands for; one, NULL, where the variable is not there. */
typedef struct {
    char *text, *word[CS_STEP_WORDS];
    int count;
} mark_words;

static cs_status words_of(const cs_study *study, const char *variable, mark_words *out)
{
    char *save = NULL;
    *out = (mark_words){.text = cs_strdup(cs_study_list(study, variable))};
    if (!out->text) return CS_ERR_MEMORY;
    for (char *word = strtok_r(out->text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        if (out->count == CS_STEP_WORDS) {
            return cs_fail(CS_ERR_INPUT, "variables: %s has more than %d words", variable,
                           CS_STEP_WORDS);
        }
        out->word[out->count++] = word;
    }
    out->count += out->count == 0;
    return CS_OK;
}

/* The step in round `round` of a mark, whose word then stands for it; without the mark it is of the
 * first round alone, and *out stays NULL in others. */
static cs_status put_round(const char *text, const char *name, char mark, const mark_words *words,
                           int round, char **out)
{
    if (!strchr(name, mark)) {
        *out = round == 0 ? cs_strdup(text) : NULL;
        return *out || round > 0 ? CS_OK : CS_ERR_MEMORY;
    }
    return words->word[round] ? cs_study_put(text, mark, words->word[round], out)
                              : cs_fail(CS_ERR_INPUT, "no variable %s for the %c",
                                        mark == '%' ? "budgets" : "seeds", mark);
}

static cs_status put_both(const char *text, const char *name, const mark_words words[2], int budget,
                          int seed, char **out)
{
    char *half = NULL;
    cs_status status = put_round(text, name, '%', &words[0], budget, &half);
    if (status == CS_OK && half) status = put_round(half, name, '#', &words[1], seed, out);
    cs_free(half);
    return status;
}

/* The steps of a section: budget by budget, in each seed by seed, so that a run that is interrupted
 * has all of the small models before any of the large ones. */
static cs_status add_section(cs_study *study, json_t *run)
{
    mark_words words[2] = {{0}};
    json_t *command = NULL;
    const char *name = NULL;
    cs_status status = words_of(study, "budgets", &words[0]);
    if (status == CS_OK) status = words_of(study, "seeds", &words[1]);
    const int seeds = words[1].count, rounds = words[0].count * seeds;
    for (int round = 0; round < rounds && status == CS_OK; ++round) {
        json_object_foreach(run, name, command)
        {
            const char *text = json_string_value(command);
            char *own_name = NULL, *own = NULL;
            const int budget = round / seeds, seed = round % seeds;
            status = put_both(name, name, words, budget, seed, &own_name);
            if (status == CS_OK && text) status = put_both(text, name, words, budget, seed, &own);
            if (status == CS_OK && own_name) status = add_step(study, own_name, own);
            status = cs_blame(status, "step %s", name);
            cs_free(own_name);
            cs_free(own);
            if (status != CS_OK) break;
        }
    }
    cs_free(words[0].text);
    cs_free(words[1].text);
    return status;
}

/* [{"about": TEXT, "run": {NAME: COMMAND, ...}}, ...] */
static cs_status add_steps(cs_study *study)
{
    json_t *section = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(study->json, "steps"), i, section)
    {
        json_t *run = NULL;
        const char *about = NULL;
        cs_status status = cs_json_unpack(section, "s?m", "about", &about, "run", &run);
        if (status != CS_OK) return cs_blame(status, "steps %zu", i + 1);
        status = add_section(study, run);
        if (status != CS_OK) return status;
    }
    return study->steps > 0 ? CS_OK : cs_fail(CS_ERR_INPUT, "no steps");
}

static cs_status read_study(cs_study *study, const char *scale)
{
    const char *about = NULL;
    json_t *scales = NULL, *variables = NULL, *steps = NULL, *claims = NULL;
    size_t chosen = 0;
    cs_status status = cs_json_unpack(study->json, "s?l?m?lm?", "about", &about, "scales", &scales,
                                      "variables", &variables, "steps", &steps, "claims", &claims);
    if (status == CS_OK) status = choose_scale(study, scale, &chosen);
    if (status == CS_OK) status = choose_values(study, chosen);
    if (status == CS_OK) status = put_values(study, steps);
    if (status == CS_OK) status = cs_blame(put_values(study, claims), "claims");
    return status == CS_OK ? add_steps(study) : status;
}

cs_status cs_study_read(const char *path, const char *dir, const char *scale, cs_study *out)
{
    cs_study study = {.dir = cs_strdup(dir)};
    cs_status status = study.dir ? cs_json_read(path, &study.json) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_blame(read_study(&study, scale), "%s", path);
    return CS_DELIVER(status, out, study, cs_study_free);
}

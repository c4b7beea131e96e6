/* Reads a study: variables of its scale, and the steps that rounds of budgets and seeds make of its
 * sections. */
#include "analysis/study/study.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/study/lookup_private.h"
#include "base/auto.h"
#include "base/enum_names.h"
#include "io/file.h"
#include "io/json.h"
#include "io/number.h"

enum { MOST_NAME = 100 };

static void free_step(cs_step *step)
{
    CS_FREE_FIELDS(step, command, name, written);
    cs_text_list_free(step->word, step->words);
    cs_free(step->needs);
}

void cs_study_free(cs_study *study)
{
    for (int64_t i = 0; i < study->steps + study->left_out; ++i)
        free_step(&study->step[i]);
    CS_FREE_FIELDS(study, step, dir);
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

bool cs_study_word_is_plain(const char *text)
{
    size_t plain = 0;
    while ((unsigned char)text[plain] > ' ' && !strchr("'@$", text[plain])) {
        ++plain;
    }
    return text[plain] == '\0';
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
            value = json_string_value(cs_json_member(variables, name, length));
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
        return wanted ? cs_fail(CS_ERR_USAGE, "the study has no scales; leave --scale out") : CS_OK;
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
    cs_status status = cs_fail(CS_ERR_USAGE, "unknown scale %s; available: %s%s", wanted,
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
            return cs_fail(CS_ERR_INPUT, "variables: %s has %zu values, but there are %zu scales",
                           name, json_array_size(value), scales);
        }
        json_t *one = json_is_array(value) ? json_array_get(value, chosen) : value;
        if (!json_is_string(one) || name_length(name) != strlen(name)) {
            return cs_fail(CS_ERR_INPUT,
                           "variables: %s: expected a name in lower-case letters and _, with a "
                           "string or one string per scale",
                           name);
        }
        if (one != value && json_object_iter_set(variables, json_object_key_to_iter(name), one)) {
            return CS_ERR_MEMORY;
        }
    }
    return CS_OK;
}

static cs_status put_values(const void *study, const char *text, char **out)
{
    return cs_study_substitute(study, text, out);
}

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

/* The next word of a command, unquoted in place: '...' holds its blanks together, as in a shell. NULL at
 * the end; *open: a quotation without its end. */
static char *next_word(char **rest, bool *open)
{
    char *from = *rest + strspn(*rest, " \t"), *to = from, *at = from;
    for (*open = false; *at && (*open || !strchr(" \t", *at)); ++at) {
        if (*at == '\'')
            *open = !*open;
        else
            *to++ = *at;
    }
    *rest = at + (*at != '\0');
    const bool none = at == from;
    *to = '\0';
    return none ? NULL : from;
}

/* Splits "COMMAND ARGUMENT..." into words. */
static cs_status split_words(char *text, const char *dir, cs_step *step)
{
    step->word = cs_calloc(CS_STEP_WORDS, sizeof *step->word);
    if (!step->word) return CS_ERR_MEMORY;
    bool open = false;
    for (char *word; (word = next_word(&text, &open));) {
        if (open) return cs_fail(CS_ERR_INPUT, "a ' is not closed: %s", word);
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
            return cs_fail(CS_ERR_INPUT, "leave %s out; -o @%s is added to the step automatically",
                           word, step->name);
        }
    }
    return CS_OK;
}

/* Adds a step, which is the study's to free whatever is wrong with it. */
static cs_status add_step(cs_study *study, const char *name, const char *command)
{
    if (!cs_study_name_is_good(name)) {
        return cs_fail(
            CS_ERR_INPUT,
            "expected a name of letters, digits, '.', '_' and '-' that does not start with '.'");
    }
    if (cs_listed(CS_STUDY_FILES, name)) {
        return cs_fail(CS_ERR_INPUT, "a file of the study has the same name");
    }
    for (int64_t i = 0; i < study->steps; ++i) {
        if (strcmp(study->step[i].name, name) == 0) {
            return cs_fail(CS_ERR_INPUT, "the name is given twice");
        }
    }
    if (!command) {
        return cs_fail(CS_ERR_INPUT, "expected \"COMMAND ARGUMENT...\"");
    }
    cs_step *longer = cs_realloc(study->step, study->steps + 1, sizeof *longer);
    if (!longer) return CS_ERR_MEMORY;
    study->step = longer;
    cs_step *step = &longer[study->steps++];
    *step = (cs_step){.name = cs_strdup(name),
                      .exit_code = CS_STEP_NOT_RUN,
                      .written = cs_strdup(command),
                      .command = replace(command, '@', study->dir, "/")};
    CS_AUTO_FREE char *text = cs_strdup(command);
    cs_status status = step->name && step->written && step->command && text
                           ? split_words(text, study->dir, step)
                           : CS_ERR_MEMORY;
    return status == CS_OK ? check_words(step) : status;
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

/* The marks that a name may hold, from the outermost round to the innermost. */
enum { MARKS = 2 };
static const struct {
    char mark;
    const char *variable;
} marks[MARKS] = {{'%', "budgets"}, {'#', "seeds"}};

/* `text` with every mark of `name` replaced by its word in this round. A step is run once for each
 * word of the marks in its name: in the first round of the others; *out stays NULL elsewhere. */
static cs_status put_round(const char *text, const char *name, const mark_words words[MARKS],
                           const int round[MARKS], char **out)
{
    char *own = cs_strdup(text), *next = NULL;
    cs_status status = own ? CS_OK : CS_ERR_MEMORY;
    for (int m = 0; m < MARKS && status == CS_OK && own; ++m, own = next) {
        const char *word = words[m].word[round[m]];
        next = own;
        if (!strchr(name, marks[m].mark) && round[m] == 0) continue;
        next = NULL;
        if (strchr(name, marks[m].mark))
            status = word ? cs_study_put(own, marks[m].mark, word, &next)
                          : cs_fail(CS_ERR_INPUT, "no variable %s is defined for the %c",
                                    marks[m].variable, marks[m].mark);
        cs_free(own);
    }
    *out = own;
    return status;
}

/* Leaves the next round in `round`, the innermost mark's first; false after the last. */
static bool next_round(const mark_words words[MARKS], int round[MARKS])
{
    for (int m = MARKS - 1; m >= 0; --m) {
        if (++round[m] < words[m].count) return true;
        round[m] = 0;
    }
    return false;
}

/* Of the words of `seeds` those that a section has for its own: "N", the first N, or "A-B". */
static cs_status only_some(const char *seeds, mark_words *words)
{
    const char *dash = strchr(seeds, '-');
    CS_AUTO_FREE char *start = cs_format("%.*s", (int)strcspn(seeds, "-"), dash ? seeds : "1");
    int64_t first = 1, last = 0;
    cs_status status = start ? cs_int_parse(start, &first) : CS_ERR_MEMORY;
    if (status == CS_OK) status = cs_int_parse(dash ? dash + 1 : seeds, &last);
    if (status == CS_OK && (first < 1 || last < first - 1 || last > words->count))
        status = cs_fail(CS_ERR_INPUT, "expected N in 0..%d or A-B in 1..%d, got %s", words->count,
                         words->count, seeds);
    if (status == CS_OK) {
        words->count = (int)(last - first + 1);
        memmove(words->word, words->word + first - 1, (size_t)words->count * sizeof *words->word);
    }
    return cs_blame(status, "seeds");
}

/* The steps of a section: budget by budget, in each seed by seed, so that a run that is interrupted
 * has all of the small models before any of the large ones. */
static cs_status add_section(cs_study *study, json_t *run, const char *seeds)
{
    mark_words words[MARKS] = {{0}};
    int round[MARKS] = {0};
    json_t *command = NULL;
    const char *name = NULL;
    cs_status status = CS_OK;
    for (int m = 0; m < MARKS && status == CS_OK; ++m)
        status = words_of(study, marks[m].variable, &words[m]);
    if (status == CS_OK && seeds) status = only_some(seeds, &words[MARKS - 1]);
    bool more = status == CS_OK && !(seeds && words[MARKS - 1].count == 0);
    for (; more && status == CS_OK; more = next_round(words, round)) {
        json_object_foreach(run, name, command)
        {
            const char *text = json_string_value(command);
            CS_AUTO_FREE char *own_name = NULL, *own = NULL;
            status = put_round(name, name, words, round, &own_name);
            if (status == CS_OK && text) status = put_round(text, name, words, round, &own);
            if (status == CS_OK && own_name) status = add_step(study, own_name, own);
            status = cs_blame(status, "step %s", name);
            if (status != CS_OK) break;
        }
    }
    for (int m = 0; m < MARKS; ++m)
        cs_free(words[m].text);
    return status;
}

/* Which step has the name that a path below the study begins with; -1: none. */
static int64_t step_of_path(const cs_study *study, const char *path)
{
    const size_t length = strcspn(path, "/");
    for (int64_t i = 0; i < study->steps; ++i) {
        const char *name = study->step[i].name;
        if (strncmp(name, path, length) == 0 && name[length] == '\0') return i;
    }
    return -1;
}

/* The steps whose folders a step's words name, at any place in the file. A path below the study
 * that is no step's may hold anything: it waits for all steps before it. */
static cs_status note_needs(const cs_study *study, const char *folder, int64_t of)
{
    cs_step *step = &study->step[of];
    step->needs = cs_calloc(study->steps, sizeof *step->needs);
    if (!step->needs) return CS_ERR_MEMORY;
    for (int w = 1; w < step->words; ++w) {
        for (char *at = strstr(step->word[w], folder); at; at = strstr(at + 1, folder)) {
            const unsigned char before = at > step->word[w] ? (unsigned char)at[-1] : 0;
            if (isalnum(before) || (before && strchr("/._-", before))) continue; /* a longer path */
            const int64_t read = step_of_path(study, at + strlen(folder));
            if (read == of) return cs_fail(CS_ERR_INPUT, "step %s reads itself", step->name);
            for (int64_t i = read < 0 ? 0 : read; i < (read < 0 ? of : read + 1); ++i)
                step->needs[i] = true;
        }
    }
    return CS_OK;
}

/* Goes through the steps as they can run, to find those that never can and those that train a model
 * or read what such a step has left. */
static cs_status follow_needs(cs_study *study)
{
    CS_AUTO_FREE bool *done = cs_calloc(study->steps, sizeof *done);
    cs_status status = done ? CS_OK : CS_ERR_MEMORY;
    for (int64_t left = study->steps; left > 0 && status == CS_OK; --left) {
        const int64_t i = cs_study_ready(study, done, done);
        if (i < 0) {
            for (left = 0; done[left];)
                ++left;
            status = cs_fail(CS_ERR_INPUT, "step %s and a step that it reads depend on each other",
                             study->step[left].name);
            break;
        }
        cs_step *step = &study->step[i];
        step->trained = strcmp(step->word[0], "train") == 0;
        for (int64_t j = 0; j < study->steps && !step->trained; ++j)
            step->trained = step->needs[j] && study->step[j].trained;
        done[i] = true;
    }
    return status;
}

int64_t cs_study_ready(const cs_study *study, const bool *begun, const bool *done)
{
    for (int64_t i = 0; i < study->steps; ++i) {
        bool ready = !begun[i];
        for (int64_t j = 0; j < study->steps && ready; ++j)
            ready = !study->step[i].needs[j] || done[j];
        if (ready) return i;
    }
    return -1;
}

void cs_study_keep_claimed(cs_study *study)
{
    bool more = true;
    while (more) {
        more = false;
        for (int64_t i = 0; i < study->steps; ++i) {
            for (int64_t j = 0; j < study->steps && study->step[i].claimed; ++j) {
                more = more || (study->step[i].needs[j] && !study->step[j].claimed);
                study->step[j].claimed = study->step[j].claimed || study->step[i].needs[j];
            }
        }
    }
    int64_t left = 0;
    for (int64_t i = 0; i < study->steps; ++i) { /* their needs first, while all steps are there */
        int64_t kept = 0;
        for (int64_t j = 0; j < study->steps; ++j)
            if (study->step[j].claimed) study->step[i].needs[kept++] = study->step[i].needs[j];
    }
    for (int64_t i = 0; i < study->steps; ++i) {
        if (!study->step[i].claimed) continue;
        const cs_step kept = study->step[i];
        study->step[i] = study->step[left]; /* itself, or one that is left out */
        study->step[left++] = kept;
    }
    study->left_out = study->steps - left;
    study->steps = left;
}

static cs_status order_steps(cs_study *study)
{
    CS_AUTO_FREE char *folder = cs_path_join(study->dir, "");
    cs_status status = folder ? CS_OK : CS_ERR_MEMORY;
    for (int64_t i = 0; i < study->steps && status == CS_OK; ++i)
        status = note_needs(study, folder, i);
    return status == CS_OK ? follow_needs(study) : status;
}

/* [{"about": TEXT, "seeds": "N" or "A-B", "run": {NAME: COMMAND, ...}}, ...] */
static cs_status add_steps(cs_study *study)
{
    json_t *section = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(study->json, "steps"), i, section)
    {
        json_t *run = NULL;
        const char *about = NULL, *seeds = NULL;
        cs_status status =
            cs_json_unpack(section, "s?s?m", "about", &about, "seeds", &seeds, "run", &run);
        if (status != CS_OK) return cs_blame(status, "steps %zu", i + 1);
        status = add_section(study, run, seeds);
        if (status != CS_OK) return status;
    }
    return study->steps > 0 ? order_steps(study) : cs_fail(CS_ERR_INPUT, "no steps");
}

static cs_status read_study(cs_study *study, const char *scale)
{
    const char *about = NULL;
    json_t *scales = NULL, *variables = NULL, *tables = NULL, *steps = NULL, *claims = NULL;
    size_t chosen = 0;
    int exploratory = 0; /* claims.h */
    cs_status status = cs_json_unpack(study->json, "s?l?m?m?lm?b?", "about", &about, "scales",
                                      &scales, "variables", &variables, "tables", &tables, "steps",
                                      &steps, "claims", &claims, "exploratory", &exploratory);
    if (status == CS_OK) status = cs_study_expand(study->json);
    if (status == CS_OK) status = choose_scale(study, scale, &chosen);
    if (status == CS_OK) status = choose_values(study, chosen);
    steps = json_object_get(study->json, "steps"); /* those of all rows */
    claims = json_object_get(study->json, "claims");
    if (status == CS_OK) status = cs_study_put_texts(steps, put_values, study);
    if (status == CS_OK) status = cs_blame(cs_study_put_texts(claims, put_values, study), "claims");
    return status == CS_OK ? add_steps(study) : status;
}

cs_status cs_study_of(json_t **json, const char *dir, const char *scale, cs_study *out)
{
    cs_study study = {.dir = cs_strdup(dir), .json = *json};
    *json = NULL;
    cs_status status = study.dir ? read_study(&study, scale) : CS_ERR_MEMORY;
    return CS_DELIVER(status, out, study, cs_study_free);
}

cs_status cs_study_read(const char *path, const char *dir, const char *scale, cs_study *out)
{
    json_t *json = NULL;
    cs_status status = cs_json_read(path, &json);
    return status == CS_OK ? cs_blame(cs_study_of(&json, dir, scale, out), "%s", path) : status;
}

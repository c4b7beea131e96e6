/* A report from a template: prose stays in the template, numbers come from the study's files, and
 * every one of them links to its file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include <cblas.h>
#include <nettle/base64.h>

#include "analysis/study/lookup_private.h"
#include "analysis/study/report.h"
#include "analysis/study/report_html_private.h"
#include "base/auto.h"
#include "base/enum_names.h"
#include "base/threads.h"
#include "io/file.h"
#include "io/share.h"
#include "version.h"

enum { TEMPLATE_LIMIT = 1 << 20, FIGURE_LIMIT = 16 << 20, MOST_WORDS = CS_REPORT_WORDS };

/* {{command STEP}} */
static cs_status put_command(cs_report *r)
{
    const cs_step *step = NULL;
    cs_status status = cs_study_step(r->study, r->word[1], &step);
    if (status != CS_OK) return status;
    cs_html_put(r->out, "<p class=\"command\"><code>cospec %</code>", step->command);
    (void)fprintf(r->out, "<span>%.1f s, exit %d, ", step->seconds, step->exit_code);
    cs_html_put(r->out, "files in <a href=\"%/\">%/</a></span></p>\n", step->name, step->name);
    return CS_OK;
}

/* A file as a data URI: identifiers inside one SVG cannot meet those of another. */
static cs_status put_data_uri(FILE *out, const char *type, const char *path)
{
    CS_AUTO_FREE char *bytes = NULL, *encoded = NULL;
    int64_t size = 0;
    cs_status status = cs_file_read(path, FIGURE_LIMIT, &bytes, &size);
    if (status == CS_OK) {
        const size_t length = BASE64_ENCODE_RAW_LENGTH((size_t)size);
        encoded = cs_alloc((int64_t)length, 1);
        status = encoded ? CS_OK : CS_ERR_MEMORY;
        if (encoded) {
            base64_encode_raw(encoded, (size_t)size, (const uint8_t *)bytes);
            cs_html_put(out, "data:image/%;base64,", type);
            (void)fwrite(encoded, 1, length, out);
        }
    }
    return status;
}

static void put_caption(cs_report *r, int from)
{
    (void)fprintf(r->out, "\"></div><figcaption><b>Figure %d.</b> ", ++r->figures);
    for (int i = from; i < r->words; ++i)
        cs_html_put(r->out, "% ", r->word[i]);
}

/* A numbered figure in a folder of the study, at #FOLDER; its caption begins with the word `from`. */
static cs_status put_figure_of(cs_report *r, const char *folder, const char *figure, int from)
{
    static const char *const kind[] = {"csv", "gp", "png", "pdf"};
    CS_AUTO_FREE char *path = cs_format("%s/%s/%s.svg", r->study->dir, folder, figure);
    cs_html_put(r->out, "<figure id=\"%\"><div><img alt=\"%\" src=\"", folder, figure);
    cs_status status = path ? put_data_uri(r->out, "svg+xml", path) : CS_ERR_MEMORY;
    put_caption(r, from);
    for (size_t i = 0; i < sizeof kind / sizeof *kind; ++i) {
        cs_html_put(r->out, "<a href=\"%/%.%\">%</a> ", folder, figure, kind[i], kind[i]);
    }
    cs_html_put(r->out, "</figcaption></figure>\n");
    return status;
}

/* {{figure STEP FIGURE caption...}} */
static cs_status put_figure(cs_report *r)
{
    return cs_study_name_is_good(r->word[2])
               ? put_figure_of(r, r->word[1], r->word[2], 3)
               : cs_fail(CS_ERR_INPUT, "no figure \"%s\"", r->word[2]);
}

/* {{picture STEP/FILE.png caption...}} */
static cs_status put_picture(cs_report *r)
{
    CS_AUTO_FREE char *path = cs_format("%s/%s", r->study->dir, r->word[1]);
    cs_html_put(r->out, "<figure><div><img alt=\"%\" src=\"", r->word[1]);
    cs_status status = path ? put_data_uri(r->out, "png", path) : CS_ERR_MEMORY;
    put_caption(r, 2);
    cs_html_put(r->out, "</figcaption></figure>\n");
    return status;
}

/* Width of a PNG by its header; 0: not a PNG. */
static int64_t png_width(const char *path)
{
    enum { AT = 16, HEADER = 24 };
    FILE *file = fopen(path, "rb");
    unsigned char b[HEADER] = {0};
    const size_t size = file ? fread(b, 1, HEADER, file) : 0;
    if (file) (void)fclose(file);
    return size == HEADER && memcmp(b, "\x89PNG", 4) == 0
               ? (int64_t)b[AT] << 24 | b[AT + 1] << 16 | b[AT + 2] << 8 | b[AT + 3]
               : 0;
}

/* {{grid STEP/FILE.png STEP/FILE.png caption...}}: two sheets of `cospec reconstruct` of the same images and
 * masks as one: original, shown and model of the first, then model, mean and linear predictor of the second. */
static cs_status put_grid(cs_report *r)
{
    enum { COLUMNS = 5, TAKEN = 3, GAP = 2 };
    (void)fputs("<figure class=\"grid\">", r->out);
    for (int i = 1; i <= 2; ++i) {
        CS_AUTO_FREE char *path = cs_format("%s/%s", r->study->dir, r->word[i]);
        const int64_t width = path ? png_width(path) : 0, cell = (width + GAP) / COLUMNS,
                      hidden = (COLUMNS - TAKEN) * cell;
        cs_status status = cs_study_file(r->study, r->word[i], NULL);
        if (status == CS_OK && width == 0)
            status = cs_fail(CS_ERR_INPUT, "%s is not a PNG file", r->word[i]);
        if (status != CS_OK) return status;
        (void)fprintf(
            r->out, "<div style=\"width:%lldpx\"><img style=\"margin-left:%lldpx\" alt=\"",
            (long long)(i == 1 ? TAKEN * cell : width - hidden), (long long)(i == 1 ? 0 : -hidden));
        cs_html_put(r->out, "%\" src=\"", r->word[i]);
        status = put_data_uri(r->out, "png", path);
        if (status != CS_OK) return status;
        if (i == 1) (void)fputs("\"></div>", r->out);
    }
    put_caption(r, 3);
    cs_html_put(r->out, "</figcaption></figure>\n");
    return CS_OK;
}

/* {{figures PREFIX caption...}}: those that steps of such names have drawn */
static cs_status put_figures(cs_report *r)
{
    const size_t length = strlen(r->word[1]);
    cs_status status = CS_OK;
    for (int64_t i = 0; i < r->study->steps && status == CS_OK; ++i) {
        const cs_step *step = &r->study->step[i];
        const int words = r->words;
        if (strncmp(step->name, r->word[1], length) != 0 || strcmp(step->word[0], "plot") != 0) {
            continue;
        }
        if (words < MOST_WORDS) r->word[r->words++] = step->name + length; /* which of them it is */
        status = put_figure_of(r, step->name, step->word[1], 2);
        r->words = words;
    }
    return status;
}

/* {{standings PREFIX FIRST}} */
static cs_status put_standings(cs_report *r)
{
    cs_html_standings(r->out, r->claims, r->word[1], r->word[2]);
    return CS_OK;
}

/* {{curves caption...}}, {{differences ...}}, {{course ...}}: a figure that the study draws of its
 * claims (over budgets, and the others) or of its measures over checkpoints, if there are any. */
static cs_status put_own_figure(cs_report *r)
{
    const char *folder = r->word[0], *figure = strcmp(folder, "curves") == 0 ? "budgets" : folder;
    CS_AUTO_FREE char *path = cs_format("%s/%s/%s.svg", r->study->dir, folder, figure);
    const bool there = path && cs_path_exists(path);
    cs_status status = path ? CS_OK : CS_ERR_MEMORY;
    return there ? put_figure_of(r, folder, figure, 1) : status;
}

/* {{machine}} */
static cs_status put_machine(cs_report *r)
{
    struct utsname name;
    if (uname(&name) == 0) {
        (void)fprintf(r->out, "%s %s, ", name.sysname, name.machine);
    }
    (void)fprintf(r->out, "threads: %d, OpenBLAS kernel %s", cs_threads(), openblas_get_corename());
    return CS_OK;
}

/* {{version}} */
static cs_status put_version(cs_report *r)
{
    cs_html_put(r->out, CS_VERSION " (" CS_COMMIT ")");
    return CS_OK;
}

/* {{date}} */
static cs_status put_date(cs_report *r)
{
    char date[64];
    time_t now = time(NULL);
    struct tm utc;
    (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &utc));
    cs_html_put(r->out, date);
    return CS_OK;
}

/* {{seconds}} */
static cs_status put_seconds(cs_report *r)
{
    double seconds = 0.0;
    for (int64_t i = 0; i < r->study->steps; ++i) {
        seconds += r->study->step[i].seconds;
    }
    (void)fprintf(r->out, "%.0f", seconds);
    return CS_OK;
}

/* {{scale}} */
static cs_status put_scale(cs_report *r)
{
    cs_html_text(r->out, r->study->scale ? r->study->scale : "");
    return CS_OK;
}

/* {{made}}: by what, when, where, and where the numbers are */
static cs_status put_made(cs_report *r)
{
    (void)fputs("<p class=\"made\">By cospec ", r->out);
    cs_status status = put_version(r);
    (void)fputs(", ", r->out);
    if (status == CS_OK) status = put_date(r);
    if (r->study->scale) cs_html_put(r->out, ", scale %", r->study->scale);
    (void)fputs(". ", r->out);
    if (status == CS_OK) status = put_machine(r);
    (void)fputs("; ", r->out);
    if (status == CS_OK) status = put_seconds(r);
    (void)fputs(
        " s of computation. Numbers link to the files that they were read from, where these are "
        "published with the page.</p>\n",
        r->out);
    return status;
}

/* {{steps}} */
static cs_status put_steps(cs_report *r)
{
    cs_html_put(r->out,
                "<table><tr><th>step</th><th>command</th><th>seconds</th><th>exit</th></tr>\n");
    for (int64_t i = 0; i < r->study->steps; ++i) {
        const cs_step *step = &r->study->step[i];
        cs_html_put(r->out, "<tr><td><a href=\"%/\">%</a></td><td><code>cospec %", step->name,
                    step->name, step->command);
        (void)fprintf(r->out, "</code></td><td class=\"n\">%.1f</td><td class=\"n\">%d</td></tr>\n",
                      step->seconds, step->exit_code);
    }
    cs_html_put(r->out, "</table>\n");
    return CS_OK;
}

/* {{commands}}: of each command how many steps, their time, and the first of them */
static cs_status put_commands(cs_report *r)
{
    const cs_study *s = r->study;
    cs_html_put(r->out, "<table><tr><th>command</th><th>steps</th><th>seconds</th>"
                        "<th>the first of them</th></tr>\n");
    for (int64_t i = 0; i < s->steps; ++i) {
        int64_t first = 0, count = 0;
        double seconds = 0;
        while (strcmp(s->step[first].word[0], s->step[i].word[0]) != 0)
            ++first;
        if (first < i) continue;
        for (int64_t j = i; j < s->steps; ++j) {
            if (strcmp(s->step[j].word[0], s->step[i].word[0]) != 0) continue;
            ++count;
            seconds += s->step[j].seconds;
        }
        cs_html_put(r->out, "<tr><td>%</td>", s->step[i].word[0]);
        (void)fprintf(r->out, "<td class=\"n\">%lld</td><td class=\"n\">%.0f</td>",
                      (long long)count, seconds);
        cs_html_put(r->out, "<td><code>cospec %</code></td></tr>\n", s->step[i].command);
    }
    cs_html_put(r->out, "</table>\n");
    return CS_OK;
}

/* {{tally [source]}} */
static cs_status put_tally(cs_report *r)
{
    const bool sources = r->words > 1;
    if (sources && strcmp(r->word[1], "source") != 0)
        return cs_fail(CS_ERR_INPUT, "expected tally or tally source, got \"%s\"", r->word[1]);
    cs_html_tally(r->out, r->claims, sources);
    return CS_OK;
}

/* {{claims [PREFIX]}} */
static cs_status put_claims(cs_report *r)
{
    return cs_html_claims(r, r->words > 1 ? r->word[1] : "");
}

static bool is_count(const char *word)
{
    return *word && word[strspn(word, "0123456789")] == '\0';
}

/* Writes a list of names, "a,b", with a blank behind each comma; other words as they are. */
static void put_word(cs_report *r, const char *word)
{
    const bool names = word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-_,")] == '\0' &&
                       word[strspn(word, "0123456789,")] != '\0';
    for (const char *p = names ? strchr(word, ',') : NULL; p; p = strchr(word, ',')) {
        (void)fprintf(r->out, "%.*s, ", (int)(p - word), word);
        word = p + 1;
    }
    cs_html_put(r->out, "%", word);
}

/* {{text WORD...}}: variables of the study in prose; commas separate numbers. */
static cs_status put_prose(cs_report *r)
{
    for (int i = 1; i < r->words; ++i) {
        const bool list = i > 1 && is_count(r->word[i - 1]) && is_count(r->word[i]);
        cs_html_put(r->out, list ? ", " : i > 1 ? " " : "");
        put_word(r, r->word[i]);
    }
    return CS_OK;
}

/* {{head TITLE}}: what the shared templates begin with. */
static cs_status put_head(cs_report *r)
{
    CS_AUTO_FREE char *path = NULL, *head = NULL;
    int64_t size = 0;
    cs_status status = cs_share_path("plots/head.html", &path);
    if (status == CS_OK) status = cs_file_read(path, TEMPLATE_LIMIT, &head, &size);
    if (status == CS_OK) {
        (void)fwrite(head, 1, (size_t)size, r->out);
        (void)fputs("<title>cospec: ", r->out);
        status = put_prose(r);
        (void)fputs("</title>\n", r->out);
    }
    return status;
}

/* Short names of papers, and of the objectives that they propose. */
typedef struct {
    const char *name, *is, *title, *address /* NULL: none */, *rest;
} paper;

static const paper papers[] = {
    {"LA", "LA is Zhang et al. (2024), ",
     "Look Ahead or Look Around? A Theoretical Comparison Between Autoregressive and Masked "
     "Pretraining",
     "https://arxiv.org/abs/2407.00935", "."},
    {"MAE-LM", "MAE-LM is Meng et al. (2024), ",
     "Representation Deficiency in Masked Language Modeling", "https://arxiv.org/abs/2302.02060",
     ", and the masked autoencoder for language that it proposes: its encoder never reads [MASK]."},
    {"GVP", "GVP is the anonymous submission ",
     "Bridging Autoregressive and Masked Modeling for Enhanced Visual Representation Learning",
     NULL,
     ", and the Generative Visual Pretraining that it proposes: it predicts groups of tokens or "
     "patches one after another, in random order."}};

static const paper *find_paper(const char *name)
{
    for (size_t i = 0; i < sizeof papers / sizeof *papers; ++i) {
        if (strcmp(name, papers[i].name) == 0) return &papers[i];
    }
    return NULL;
}

/* {{papers PAPER...}}: introduces them, a sentence each */
static cs_status put_papers(cs_report *r)
{
    (void)fputs("<p>", r->out);
    for (int i = 1; i < r->words; ++i) {
        const paper *p = find_paper(r->word[i]);
        cs_html_put(r->out, i > 1 ? " %" : "%", p->is);
        if (p->address) cs_html_put(r->out, "<a href=\"%\">", p->address);
        cs_html_put(r->out, "<em>%</em>", p->title);
        cs_html_put(r->out, p->address ? "</a>%" : "%", p->rest);
    }
    (void)fputs("</p>\n", r->out);
    return CS_OK;
}

/* the {{end}} of an {{if}} whose condition holds */
static cs_status put_nothing(cs_report *r)
{
    (void)r;
    return CS_OK;
}

/* Whether a text "STEP..." names a step that the chosen claims do not read. */
static bool is_left_out(const cs_study *study, const char *text)
{
    const size_t length = strcspn(text, "/");
    for (int64_t i = study->steps; i < study->steps + study->left_out; ++i) {
        const char *name = study->step[i].name;
        if (strncmp(name, text, length) == 0 && name[length] == '\0') return true;
    }
    return false;
}

/* In place of the results of such a step; a statement is a row of a table. */
static cs_status put_left_out(cs_report *r)
{
    const bool row = strcmp(r->word[0], "statement") == 0;
    if (row) cs_html_put(r->out, "<tr><td>");
    for (int w = 4; w < r->words && row; ++w)
        cs_html_put(r->out, "% ", r->word[w]);
    cs_html_put(r->out, "<em>not chosen</em>");
    if (row) cs_html_put(r->out, "</td></tr>\n");
    return CS_OK;
}

static cs_status directive(cs_report *r, char *text)
{
    static const struct {
        const char *name;
        cs_status (*put)(cs_report *r);
        int least, most; /* words with its name */
        const char *wanted;
        int steps; /* how many words, from the first on, name a step */
    } known[] = {
        {"command", put_command, 2, 2, "STEP", 1},
        {"statement", cs_put_statement, 5, MOST_WORDS, "STEP IDS printed|corrected WORD...", 1},
        {"verdict", cs_put_verdict, 4, 4, "STEP ID printed|corrected", 1},
        {"table", cs_put_table, 2, MOST_WORDS, "STEP/FILE.csv ...", 1},
        {"value", cs_put_value, 3, MOST_WORDS, "STEP/FILE.csv COLUMN ...", 1},
        {"figure", put_figure, 3, MOST_WORDS, "STEP FIGURE caption", 1},
        {"figures", put_figures, 2, MOST_WORDS, "PREFIX caption", 0},
        {"picture", put_picture, 3, MOST_WORDS, "STEP/FILE.png caption", 1},
        {"grid", put_grid, 4, MOST_WORDS, "STEP/FILE.png STEP/FILE.png caption", 2},
        {"standings", put_standings, 3, 3, "PREFIX FIRST", 0},
        {"claim", cs_put_claim, 2, 2, "CLAIM", 0},
        {"claims", put_claims, 1, MOST_WORDS, "[PREFIX]", 0},
        {"tally", put_tally, 1, 2, "[source]", 0},
        {"curves", put_own_figure, 1, MOST_WORDS, "caption", 0},
        {"differences", put_own_figure, 1, MOST_WORDS, "caption", 0},
        {"course", put_own_figure, 1, MOST_WORDS, "caption", 0},
        {"head", put_head, 2, MOST_WORDS, "TITLE", 0},
        {"papers", put_papers, 2, MOST_WORDS, "PAPER...", 0},
        {"text", put_prose, 1, MOST_WORDS, "WORD...", 0},
        {"end", put_nothing, 1, 1, "", 0},
        {"steps", put_steps, 1, MOST_WORDS, "", 0},
        {"commands", put_commands, 1, 1, "", 0},
        {"made", put_made, 1, 1, "", 0},
        {"machine", put_machine, 1, MOST_WORDS, "", 0},
        {"version", put_version, 1, MOST_WORDS, "", 0},
        {"date", put_date, 1, MOST_WORDS, "", 0},
        {"seconds", put_seconds, 1, MOST_WORDS, "", 0},
        {"scale", put_scale, 1, MOST_WORDS, "", 0}};
    cs_hint hint = {0};
    r->words = cs_study_words(text, MOST_WORDS, r->word);
    if (r->words == MOST_WORDS) {
        return cs_fail(CS_ERR_INPUT, "expected fewer than %d words", MOST_WORDS);
    }
    const char *name = r->words ? r->word[0] : "";
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        cs_hint_consider(name, known[i].name, &hint);
        if (strcmp(name, known[i].name) != 0) {
            continue;
        }
        if (r->words < known[i].least || r->words > known[i].most) {
            return cs_fail(CS_ERR_INPUT, "expected {{%s %s}}", name, known[i].wanted);
        }
        cs_status status = CS_OK;
        bool left_out = false;
        for (int w = 1; w < r->words && w <= known[i].steps; ++w)
            left_out = left_out || is_left_out(r->study, r->word[w]);
        if (left_out) return r->out ? put_left_out(r) : CS_OK;
        if (known[i].steps > 0) {
            status = known[i].wanted[4] == '/' ? cs_study_file(r->study, r->word[1], NULL)
                                               : cs_study_step(r->study, r->word[1], NULL);
        }
        if (strcmp(known[i].wanted, "CLAIM") == 0 &&
            !json_object_get(json_object_get(r->study->json, "claims"), r->word[1]))
            status = cs_fail(CS_ERR_INPUT, "the study has no claim %s", r->word[1]);
        for (int w = 1; w < r->words && strcmp(known[i].wanted, "PAPER...") == 0; ++w) {
            if (!find_paper(r->word[w]))
                status = cs_fail(CS_ERR_INPUT, "expected LA, MAE-LM or GVP, got %s", r->word[w]);
        }
        return status == CS_OK && r->out ? known[i].put(r) : status;
    }
    return cs_fail(CS_ERR_INPUT, "unknown directive {{%s}}%s", name, cs_hint_text("", &hint));
}

/* Where the text after {{if PREFIX}} goes on: behind it where the study has a step whose name begins so,
 * else behind its {{end}}. Both may hold others within. */
static char *choose(const cs_report *r, const char *prefix, char *text)
{
    static const char begin[] = "{{if ", end[] = "{{end}}";
    for (int64_t i = 0; i < r->study->steps; ++i) {
        if (strncmp(r->study->step[i].name, prefix, strlen(prefix)) == 0) return text;
    }
    int64_t depth = 1;
    while (depth > 0) {
        char *close = strstr(text, end), *inner = strstr(text, begin);
        if (!close) return text + strlen(text);
        const bool opens = inner && inner < close;
        depth += opens ? 1 : -1;
        text = opens ? inner + strlen(begin) : close + strlen(end);
    }
    return text;
}

/* Copies the template, replacing each {{...}}. */
static cs_status fill_template(cs_report *r, const char *path, char *text)
{
    int64_t line = 1;
    while (*text) {
        char *open = strstr(text, "{{");
        size_t plain = open ? (size_t)(open - text) : strlen(text);
        if (r->out) {
            (void)fwrite(text, 1, plain, r->out);
        }
        if (!open) {
            break;
        }
        for (const char *p = text; p < open; ++p) {
            line += *p == '\n';
        }
        char *close = strstr(open, "}}");
        if (!close) {
            return cs_fail(CS_ERR_INPUT, "%s:%lld: {{ without }}", path, (long long)line);
        }
        *close = '\0';
        if (strncmp(open, "{{if ", 5) == 0) {
            text = choose(r, open + 5, close + 2);
            for (const char *p = close + 2; p < text; ++p) {
                line += *p == '\n';
            }
            continue;
        }
        CS_AUTO_FREE char *whole = NULL;
        cs_status status = cs_study_substitute(r->study, open + 2, &whole);
        if (status == CS_OK) status = directive(r, whole);
        status = cs_blame(status, "%s:%lld", path, (long long)line);
        if (status != CS_OK) return status;
        text = close + 2;
    }
    return CS_OK;
}

cs_status cs_report_check(const cs_study *study, const char *template_path)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    cs_report r = {.study = study};
    cs_status status = cs_file_read_text(template_path, TEMPLATE_LIMIT, &text, &size);
    return status == CS_OK ? fill_template(&r, template_path, text) : status;
}

static cs_status finish(const char *dir, const char *html, char **out, size_t *length)
{
    FILE *stream = open_memstream(out, length);
    if (!stream) return cs_fail(CS_ERR_MEMORY, "report: %s", strerror(errno));
    cs_report_finish(dir, html, stream);
    const bool bad = ferror(stream) != 0;
    return fclose(stream) != 0 || bad ? cs_fail(CS_ERR_MEMORY, "report: out of memory") : CS_OK;
}

cs_status cs_report_write(const cs_study *study, const cs_claims *claims, const char *template_path,
                          const char *path)
{
    CS_AUTO_FREE char *text = NULL;
    char *html = NULL, *finished = NULL;
    int64_t size = 0;
    size_t length = 0, finished_length = 0;
    cs_status status = cs_file_read_text(template_path, TEMPLATE_LIMIT, &text, &size);
    if (status != CS_OK) return status;
    cs_report r = {.study = study, .claims = claims, .out = open_memstream(&html, &length)};
    if (!r.out) {
        status = cs_fail(CS_ERR_MEMORY, "report: %s", strerror(errno));
    } else {
        status = fill_template(&r, template_path, text);
        bool bad = ferror(r.out) != 0;
        bad = fclose(r.out) != 0 || bad;
        if (status == CS_OK && bad) status = cs_fail(CS_ERR_MEMORY, "report: out of memory");
        if (status == CS_OK) status = finish(study->dir, html, &finished, &finished_length);
        if (status == CS_OK) status = cs_file_write(path, finished, (int64_t)finished_length);
    }
    free(html); /* by open_memstream */
    free(finished);
    return status;
}

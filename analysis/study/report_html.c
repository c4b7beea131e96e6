/* Pieces of a report: escaped text, numbers, badges of verdicts; and the last pass over its HTML.
 * On narrow screens a style sheet stacks the cells of a row, so every cell learns the head of its
 * column. A link to a file that is not there is text. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "analysis/study/report_html_private.h"
#include "base/auto.h"
#include "base/visible.h"
#include "io/file.h"

enum { MOST_COLUMNS = 64, HEAD = 64 };

/* In the order of enum cs_claim_verdict: the class of a badge, and its mark, that of the figures. */
static const char *const badge[] = {
    "reproduced", "opposite",   "mixed", "equivalent", "untested", "undetermined", "untested",
    "untested",   "reproduced", "mixed", "opposite",   "opposite", "untested"};
static const char *const mark[] = {"&#9679;",  "&#9632;",  "&#9660;",  "&#9670;",  "&#10005;",
                                   "&#9675;",  "&#10005;", "&#10005;", "&#10003;", "&#10003;",
                                   "&#10007;", "&#10007;", "&#8211;"};

void cs_html_text(FILE *out, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    while (*text) {
        const size_t plain = strcspn(text, special);
        cs_visible_write(out, text, plain, "\n\t");
        text += plain;
        if (*text) (void)fputs(entity[strchr(special, *text++) - special], out);
    }
}

void cs_html_put(FILE *out, const char *html, ...)
{
    va_list texts;
    va_start(texts, html);
    for (; *html; ++html) {
        if (*html == '%') {
            cs_html_text(out, va_arg(texts, const char *));
        } else {
            (void)fputc(*html, out);
        }
    }
    va_end(texts);
}

void cs_html_number(FILE *out, double x, double error, int digits)
{
    if (error > 0 && !isinf(error)) {
        const double decimals = 1 - floor(log10(error));
        (void)fprintf(out, "%.*f", (int)fmin(fmax(decimals, 0), 15), x);
    } else {
        (void)fprintf(out, "%.*g", digits, x);
    }
}

void cs_html_badge(FILE *out, cs_claim_verdict verdict, const char *text)
{
    cs_html_put(out, "<b class=\"v %\">", badge[verdict]);
    (void)fprintf(out, "%s ", mark[verdict]);
    cs_html_put(out, "%</b>", text);
}

/* The pass over one report. */
typedef struct {
    const char *dir; /* of the report, which links start from */
    FILE *out;
    char head[MOST_COLUMNS][HEAD]; /* of the table at this place */
    int heads, column;
    bool unlinked; /* inside of a link that was taken away */
} pass;

static bool begins(const char *at, const char *tag)
{
    return strncmp(at, tag, strlen(tag)) == 0;
}

/* The text between tags, up to </th>, at most HEAD - 1 bytes; what quotes or breaks an attribute is left
 * out. */
static void read_head(const char *at, char out[HEAD])
{
    int length = 0;
    bool tag = true; /* of <th> itself */
    for (; *at && !begins(at, "</th>"); ++at) {
        if (!tag && *at != '<' && *at != '"' && length + 1 < HEAD) out[length++] = *at;
        tag = *at == '<' || (tag && *at != '>');
    }
    /* neither half an entity nor half a UTF-8 sequence */
    if (length + 1 == HEAD) {
        while (length > 0 && !isspace((unsigned char)out[length - 1]))
            --length;
    }
    out[length] = '\0';
}

/* Whether the link of the tag is to a file that is missing. */
static bool is_broken(const pass *p, const char *tag, size_t length)
{
    const char *href = strstr(tag, "href=\"");
    if (!href || href > tag + length || href[6] == '#') return false;
    const size_t size = strcspn(href + 6, "\"");
    CS_AUTO_FREE char *target = cs_format("%.*s", (int)size, href + 6);
    CS_AUTO_FREE char *path =
        target && !strstr(target, "://") ? cs_path_join(p->dir, target) : NULL;
    const bool broken = path && !cs_path_exists(path);
    return broken;
}

/* Writes one tag, of this length. */
static void put_tag(pass *p, const char *tag, size_t length)
{
    if (begins(tag, "<table")) p->heads = 0;
    if (begins(tag, "<tr")) p->column = 0;
    if (begins(tag, "<th>") || begins(tag, "<th ")) {
        if (p->heads < MOST_COLUMNS) read_head(tag, p->head[p->heads++]);
    }
    if (begins(tag, "<a ") && is_broken(p, tag, length)) {
        p->unlinked = true;
        return;
    }
    if (begins(tag, "</a>") && p->unlinked) {
        p->unlinked = false;
        return;
    }
    const char *wide = begins(tag, "<td ") ? strstr(tag, "colspan") : NULL;
    const bool spans = wide && wide < tag + length;
    if ((begins(tag, "<td>") || begins(tag, "<td ")) && !spans && p->column < p->heads) {
        (void)fprintf(p->out, "<td data-label=\"%s\"", p->head[p->column++]);
        tag += 3;
        length -= 3;
    }
    (void)fwrite(tag, 1, length, p->out);
}

void cs_report_finish(const char *dir, const char *html, FILE *out)
{
    pass p = {.dir = dir, .out = out};
    while (*html) {
        const size_t text = strcspn(html, "<");
        (void)fwrite(html, 1, text, out);
        html += text;
        const char *end = *html ? strchr(html, '>') : NULL;
        if (!end) break;
        put_tag(&p, html, (size_t)(end - html) + 1);
        html = end + 1;
    }
    (void)fputs(html, out);
}

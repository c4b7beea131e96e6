/* Names of tensors are spelled by the patterns of an architecture's row. */
#include "model/huggingface.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ints.h"
#include "base/mem.h"
#include "model/arch_private.h"

const char *cs_hf_prefix(cs_arch arch)
{
    return cs_arch_row_of(arch)->prefix;
}

enum { NUMBERS = 2 }; /* of a layer and of an expert */

/* Whether `name`, up to `length`, is the pattern with each N a number, which `number` receives. */
static bool matches(const char *pattern, const char *name, size_t length, long number[NUMBERS])
{
    const char *end = name + length;
    int at = 0;
    for (; *pattern; ++pattern) {
        if (*pattern == 'N') {
            char *after;
            if (at == NUMBERS) {
                return false;
            }
            number[at++] = strtol(name, &after, 10);
            if (after == name || after > end) {
                return false;
            }
            name = after;
        } else if (name == end || *name++ != *pattern) {
            return false;
        }
    }
    return name == end;
}

/* The meaning of the marks before a name, and the name after them. */
typedef struct {
    const char *name, *open, *close; /* braces; NULL: none */
    bool outside, transposed, by_head, whole, convolved, exact, swapped, of_heads;
    int parts;
} pattern;

static pattern pattern_of(const char *theirs)
{
    pattern p = {.name = theirs, .parts = 1};
    for (; *p.name && strchr("/^%=#!~@", *p.name); ++p.name) {
        p.outside = p.outside || *p.name == '/';
        p.transposed = p.transposed || *p.name == '^';
        p.by_head = p.by_head || *p.name == '%';
        p.whole = p.whole || *p.name == '=';
        p.convolved = p.convolved || *p.name == '#';
        p.exact = p.exact || *p.name == '!';
        p.swapped = p.swapped || *p.name == '~';
        p.of_heads = p.of_heads || *p.name == '@';
    }
    p.open = strchr(p.name, '{');
    p.close = p.open ? strchr(p.open, '}') : NULL;
    for (const char *c = p.open; c && c < p.close; ++c) {
        p.parts += *c == ',';
    }
    return p;
}

/* Writes their name of part `part`: prefix, the name with the numbers of layer and expert in place of a
 * separate N, then the last word. */
static void spell(const char *prefix, const pattern *p, const long number[NUMBERS], int part,
                  const char *last, char name[CS_HF_NAME])
{
    char *to = name, *end = name + CS_HF_NAME;
    int at = 0, next = 0; /* part of the braces, number */
    to += snprintf(to, (size_t)(end - to), "%s", p->outside ? "" : prefix);
    for (const char *c = p->name; *c && end - to > 24; ++c) {
        bool inside = p->open && c > p->open && c < p->close;
        if (c == p->open || c == p->close) {
            continue;
        }
        if (inside && *c == ',') {
            ++at;
        } else if (!inside || at == part) {
            bool alone = *c == 'N' && (c == p->name || c[-1] == '.') && (c[1] == '.' || !c[1]);
            to += alone ? snprintf(to, (size_t)(end - to), "%ld", number[next])
                        : snprintf(to, (size_t)(end - to), "%c", *c);
            next = alone ? NUMBERS - 1 : next;
        }
    }
    if (!p->whole && !p->exact) {
        (void)snprintf(to, (size_t)(end - to), ".%s", last);
    }
}

/* Their name of a parameter whose class is not layered; "" where the row has none. */
static const char *theirs_of(cs_arch arch, const char *ours)
{
    const cs_arch_tensor *row;
    for (int64_t i = 0; (row = cs_arch_tensor_at(arch, i)); ++i) {
        if (strcmp(row->ours, ours) == 0) {
            return row->theirs;
        }
    }
    return "";
}

/* The name of the head's copy of the logits' bias, which is stored with the output matrix; "": the
 * class has one bias. */
static const char *second_bias(cs_arch arch)
{
    const char *head = theirs_of(arch, "head"), *output = theirs_of(arch, "output");
    return *head && strcmp(head, output) != 0 ? output + (*output == '/') : "";
}

/* Rows of query, key, value, of the two products of a gated mlp, of query and key apart from value
 * and gate; of a single part all. */
static int64_t share_of(const cs_model_config *c, const char *name, int parts, int part,
                        int64_t rows)
{
    int64_t keys = strncmp(name, "decoder.", 8) == 0 ? rows / 3 : cs_key_width(c);
    if (parts == 2 && strstr(name, "attention.qkv")) {
        const int64_t first = cs_head_width(c) * c->shape.heads + keys;
        return part == 0 ? first : rows - first;
    }
    return parts != 3 ? rows / parts : part == 0 ? rows - 2 * keys : keys;
}

/* The token table of pictures: class token, mask token, that of distillation or codes. Tokens that
 * the class lacks are stored under our own names, and zero where a file lacks them. */
static int picture_tokens(const cs_model_config *config, const cs_param *param,
                          cs_hf_piece piece[CS_HF_PIECES])
{
    static const char *const own[] = {"embed.class", "embed.mask", "embed.codes"};
    const cs_arch_row *row = cs_arch_row_of(config->arch);
    const int count = param->rows > 2 ? 3 : 2;
    for (int i = 0; i < count; ++i) {
        const char *theirs = row->token[i];
        const bool vector = theirs && *theirs == '.', flat = theirs && *theirs == '!';
        piece[i] = (cs_hf_piece){.boxed = !vector && !flat,
                                 .vector = vector,
                                 .optional = !theirs || i == 1,
                                 .first = vector ? 0 : i,
                                 .rows = vector  ? param->cols
                                         : i < 2 ? 1
                                                 : param->rows - 2,
                                 .cols = vector ? 1 : param->cols};
        (void)snprintf(piece[i].name, sizeof piece[i].name, "%s%s",
                       theirs ? row->prefix : "cospec.",
                       theirs ? theirs + (vector || flat) : own[i]);
    }
    return count;
}

/* Whether a name is that of gated units in a model without them, or of values without gates in a model
 * with them. */
static bool is_of_others(const cs_model_config *config, const cs_arch_tensor *row)
{
    const bool gates = strstr(row->theirs, "in_proj_vg"),
               values = strstr(row->theirs, "in_proj_v}");
    const bool pooler = strcmp(row->ours, "final_norm") == 0 && row->theirs[0] == '/';
    return (!config->layer.gated && pattern_of(row->theirs).parts == 2 &&
            strstr(row->ours, "mlp.in")) ||
           (pooler && !config->head.norm) || (config->attention.gated ? values : gates);
}

int cs_hf_pieces(const cs_model_config *config, const cs_param *param,
                 cs_hf_piece piece[CS_HF_PIECES])
{
    if (cs_arch_row_of(config->arch)->pictures && strcmp(param->name, "embed.token") == 0) {
        return picture_tokens(config, param, piece);
    }
    const char *dot = strrchr(param->name, '.');
    bool bias = strcmp(dot + 1, "bias") == 0, mix = strcmp(dot + 1, "mix") == 0,
         factor = strcmp(dot + 1, "factor") == 0, frequency = strcmp(dot + 1, "frequency") == 0,
         vector = bias || mix || factor || frequency || strcmp(dot + 1, "gain") == 0;
    /* The embedding tables are named without "weight" here. */
    bool table =
        mix || factor || frequency || strcmp(param->name, "embed.token") == 0 ||
        strcmp(param->name, "embed.position") == 0 || strcmp(param->name, "embed.type") == 0 ||
        strcmp(param->name, "decoder.mask") == 0 || strcmp(param->name, "decoder.position") == 0;
    size_t length = table ? strlen(param->name) : (size_t)(dot - param->name);
    long number[NUMBERS] = {0};
    int64_t i = 0;
    const cs_arch_tensor *row;
    while ((row = cs_arch_tensor_at(config->arch, i++)) &&
           (!matches(row->ours, param->name, length, number) || is_of_others(config, row))) {
    }
    if (!row) {
        piece[0] = (cs_hf_piece){.rows = param->rows, .cols = param->cols};
        const bool spans = strncmp(param->name, "span.output.", 12) == 0;
        piece[0].vector = spans && bias;
        piece[0].rows = spans && bias ? param->cols : param->rows;
        piece[0].cols = spans && bias ? 1 : param->cols;
        (void)snprintf(piece[0].name, sizeof piece[0].name, "%s%s",
                       spans ? "qa_outputs." : "cospec.", param->name + (spans ? 12 : 0));
        return 1;
    }
    const char *ours = row->ours, *last = bias ? "bias" : "weight";
    pattern p = pattern_of(row->theirs);
    if (mix) number[0] = 2 * number[0] + (strstr(param->name, ".mlp.") != NULL); /* of a sublayer */
    const int64_t kv_heads =
        config->shape.kv_heads > 0 ? config->shape.kv_heads : config->shape.heads;
    int64_t rows = vector ? param->cols : param->rows, first = 0;
    const bool keyless = bias && cs_arch_row_of(config->arch)->keyless && strstr(ours, "qkv"),
               free_norm = config->head.norm && p.outside && strcmp(ours, "final_norm") == 0;
    for (int part = 0; part < p.parts; ++part) {
        int64_t share = share_of(config, param->name, p.parts, part, rows);
        piece[part] =
            (cs_hf_piece){.transposed = p.transposed && !vector,
                          .by_head = p.by_head ? kv_heads : 0,
                          .queries = config->shape.heads / kv_heads,
                          .optional = (keyless && part == 1) || free_norm,
                          .fill = free_norm && !bias ? 1 : 0,
                          .swapped = p.swapped,
                          .vector = vector,
                          .head_width = p.of_heads ? cs_head_width(config) : 0,
                          .boxed = p.whole && !vector,
                          .channels = p.convolved && !vector ? config->picture.channels : 0,
                          .first = first,
                          .rows = share,
                          .cols = vector ? 1 : param->cols};
        spell(cs_hf_prefix(config->arch), &p, number, part, last, piece[part].name);
        first += share;
    }
    while ((row = cs_arch_tensor_at(config->arch, i++)) &&
           (strcmp(row->ours, ours) != 0 || is_of_others(config, row))) {
    }
    const pattern other = row ? pattern_of(row->theirs) : (pattern){0};
    for (int part = 0; row && other.parts == p.parts && part < p.parts; ++part) {
        spell(cs_hf_prefix(config->arch), &other, number, part, last, piece[part].other);
    }
    const char *second = second_bias(config->arch);
    if (!config->head.tied && *second && strcmp(param->name, "head.bias") == 0) {
        piece[1] = piece[0];
        piece[1].copy = true;
        (void)snprintf(piece[1].name, sizeof piece[1].name, "%s.bias", second);
        return 2;
    }
    return p.parts;
}

bool cs_hf_part(const cs_model_config *config, const cs_param *param, int64_t e,
                char name[CS_HF_NAME], cs_param *part)
{
    static const char all[] = ".mlp.experts.";
    const char *at = strstr(param->name, all);
    *part = *param;
    if (!at) return e == 0;
    (void)snprintf(name, CS_HF_NAME, "%.*s.mlp.expert.%lld.%s", (int)(at - param->name),
                   param->name, (long long)e, at + sizeof all - 1);
    part->name = name;
    part->rows = param->rows / config->experts.count;
    return e < config->experts.count;
}

bool cs_hf_stored(const cs_model_config *config, const cs_param *param)
{
    cs_hf_piece piece[CS_HF_PIECES];
    if (!param->constant) return true;
    (void)cs_hf_pieces(config, param, piece);
    return strncmp(piece[0].name, "cospec.", 7) != 0;
}

/* NAME is THEIRS and ".LAST". */
static bool is(const char *name, const char *theirs, const char *last)
{
    size_t n = strlen(theirs);
    return n > 0 && strncmp(name, theirs, n) == 0 && name[n] == '.' &&
           strcmp(name + n + 1, last) == 0;
}

/* The output matrix under one of its names. */
static bool is_output(cs_arch arch, const char *name)
{
    const size_t prefix = strlen(cs_hf_prefix(arch));
    const bool within = strncmp(name, cs_hf_prefix(arch), prefix) == 0;
    const cs_arch_tensor *row;
    bool found = false;
    for (int64_t i = 0; (row = cs_arch_tensor_at(arch, i)); ++i) {
        const bool outside = row->theirs[0] == '/';
        found = found || (strcmp(row->ours, "output") == 0 &&
                          (is(name, row->theirs + outside, "weight") ||
                           (within && !outside && is(name + prefix, row->theirs, "weight"))));
    }
    return found;
}

bool cs_hf_ignored(const cs_model_config *config, const char *name)
{
    static const char *const ends[] = {".attn.bias",
                                       ".attn.masked_bias",
                                       ".attention.bias",
                                       ".attention.masked_bias",
                                       "embeddings.position_ids",
                                       "embeddings.token_type_ids",
                                       ".position_indices",
                                       ".relative_position_index",
                                       ".inv_freq"};
    bool ignored = strstr(name, "pooler.") || strstr(name, "cls.seq_relationship.") ||
                   strstr(name, "sop_classifier.") || strstr(name, "discriminator_predictions.") ||
                   strstr(name, "multiple_choice_head.");
    const char *const *past = cs_arch_row_of(config->arch)->past;
    for (int i = 0; i < 4 && past[i]; ++i) {
        ignored = ignored || strncmp(name, past[i], strlen(past[i])) == 0;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; ++i) {
        ignored = ignored || cs_has_suffix(name, ends[i]);
    }
    ignored = ignored ||
              (config->position.distance_table && strstr(name, "embeddings.position_embeddings."));
    return ignored || (config->head.tied && is_output(config->arch, name)) ||
           is(name, second_bias(config->arch), "bias");
}

/* Row r of query, key and value rows, each head by head, where a file has those of each head of keys
 * together: its queries, the key, the value. */
static int64_t row_by_head(const cs_hf_piece *piece, int64_t r)
{
    const int64_t heads = piece->by_head, queries = piece->queries, all = queries + 2,
                  width = piece->rows / heads / all, row = r / width;
    const int64_t part = cs_most(row / heads - queries, -1), /* -1: of queries */
        head = part < 0 ? row / queries : row % heads,
                  place = part < 0 ? row % queries : queries + part;
    return (head * all + place) * width + r % width;
}

/* Column c, of values channels last, where a file has the channels of all pixels apart. */
static int64_t column_in(const cs_hf_piece *piece, int64_t c)
{
    const int64_t channels = piece->channels;
    return channels > 0 ? c % channels * (piece->cols / channels) + c / channels : c;
}

void cs_hf_rearrange(const cs_hf_piece *piece, bool inward, float *param, float *file)
{
    float *at = param + piece->first * piece->cols;
    for (int64_t r = 0; r < piece->rows; ++r) {
        int64_t row = piece->by_head > 0 ? row_by_head(piece, r)
                      : piece->swapped   ? (r + piece->rows / 2) % piece->rows
                                         : r;
        for (int64_t c = 0; c < piece->cols; ++c) {
            float *theirs = file + (piece->transposed ? c * piece->rows + row
                                                      : row * piece->cols + column_in(piece, c));
            float *ours = at + r * piece->cols + c;
            if (inward) {
                *ours = *theirs;
            } else {
                *theirs = *ours;
            }
        }
    }
}

void cs_hf_shape(const cs_hf_piece *piece, int *ndim, int64_t shape[CS_HF_SHAPE])
{
    *ndim = piece->vector ? 1 : piece->channels > 0 ? 4 : piece->boxed ? 3 : 2;
    shape[0] = piece->transposed ? piece->cols : piece->rows;
    shape[1] = piece->transposed ? piece->rows : piece->cols;
    if (piece->head_width > 0) {
        *ndim = 2;
        shape[0] = piece->rows / piece->head_width;
        shape[1] = piece->head_width;
    }
    if (piece->boxed) {
        memmove(shape + 1, shape, 2 * sizeof *shape);
        shape[0] = 1;
    }
    if (piece->channels > 0) {
        shape[1] = piece->channels;
        shape[2] = shape[3] = llround(sqrt((double)(piece->cols / piece->channels)));
    }
}

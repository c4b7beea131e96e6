/* Formats say "%lld rows are", whatever the number; this makes "1 row is" of "1 rows are". A count
 * of 1 is a separate word, so neither "nearest:1" nor "0.1" is one, and of "2 x 1 patches" or "0 to
 * 1 rows" the 1 is not the number of patches or rows. */
#include "base/plural.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char nouns[] =
    " answers batches bins blocks booleans boxes buckets budgets bytes channels characters "
    "checkpoints classes "
    "codes columns comparisons components contexts contributions degrees differences dimensions "
    "directions "
    "distances "
    "documents "
    "draws eigenvalues elements entries epochs errors events examples experts features fields "
    "files floats "
    "folders folds functions graphs groups heads ids images integers items iterations labels "
    "layers "
    "lengths lines links matrices metrics minutes models names nodes nonzeros numbers objects "
    "offsets "
    "outputs pairs parameters parts passes patches phases pictures pieces pixels plans points "
    "positions "
    "predictions probabilities processes ranks records rows runs samples scales scans seconds "
    "seeds "
    "sequences "
    "series sets shards sizes spans states statements steps subspaces supports symbols tables "
    "tasks "
    "tensors texts threads times tokens triplets typefaces units values variables vectors views "
    "weights "
    "windows words ";

static const char adjectives[] =
    " consecutive decoder different distinct duplicate empty evaluation exact held-out hidden "
    "invalid jackknife key-value known labelled loss mask missing partial question real row "
    "singular source special test trained training unknown unmasked visible ";

/* The singular is at most one letter longer, which the noun has lost. */
static const struct {
    const char *plural, *singular;
} verbs[] = {{"are", "is"},         {"were", "was"},       {"have", "has"},
             {"do", "does"},        {"take", "takes"},     {"need", "needs"},
             {"exceed", "exceeds"}, {"follow", "follows"}, {"overflow", "overflows"}},
  endings[] = {{"matrices", "matrix"}, {"ries", "ry"}, {"ties", "ty"}, {"sses", "ss"},
               {"tches", "tch"},       {"xes", "x"},   {"s", ""}};

static size_t word_length(const char *text)
{
    size_t n = 0;
    while (isalpha((unsigned char)text[n]) || (n > 0 && text[n] == '-')) {
        ++n;
    }
    return n;
}

static bool is_among(const char *list, const char *word, size_t length)
{
    char key[24];
    return length > 0 && length < sizeof key - 2 &&
           snprintf(key, sizeof key, " %.*s ", (int)length, word) > 0 && strstr(list, key);
}

/* Replaces text[0 .. length - 1]; what follows. */
static char *replace(char *text, size_t length, const char *with)
{
    const size_t size = strlen(with);
    memmove(text + size, text + length, strlen(text + length) + 1);
    memcpy(text, with, size);
    return text + size;
}

static char *make_singular(char *noun, size_t length)
{
    if (length == strlen("series") && memcmp(noun, "series", length) == 0) return noun + length;
    for (size_t i = 0;; ++i) { /* every noun ends in the last one */
        const size_t n = strlen(endings[i].plural);
        if (n <= length && memcmp(noun + length - n, endings[i].plural, n) == 0) {
            return replace(noun + length - n, n, endings[i].singular);
        }
    }
}

static void agree_verb(char *verb)
{
    const size_t length = word_length(verb);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; ++i) {
        if (length == strlen(verbs[i].plural) && memcmp(verb, verbs[i].plural, length) == 0) {
            (void)replace(verb, length, verbs[i].singular);
            return;
        }
    }
}

static bool follows(const char *text, const char *at, const char *word)
{
    const size_t n = strlen(word);
    return (size_t)(at - text) >= n && memcmp(at - n, word, n) == 0;
}

/* Whether a 1 is a count: a word, and not the last part of "2 x 1" or "0 to 1". */
static bool is_count(const char *text, const char *one)
{
    static const char *const before[] = {" x ", "to ", "- ", "+ "};
    bool is = one == text || one[-1] == ' ' || one[-1] == '(';
    for (size_t i = 0; i < sizeof before / sizeof *before && is; ++i) {
        is = !follows(text, one, before[i]);
    }
    return is;
}

/* Whether a word ends at `end`, and not "1 rows.tsv" goes on there. */
static bool is_end(const char *end)
{
    return *end == '\0' || strchr(" ,;:)", *end) || (*end == '.' && strchr(" ", end[1]));
}

/* Whether the count and its noun are the subject of a clause. */
static bool is_subject(const char *text, const char *one)
{
    static const char *const before[] = {": ", ", ", "; ", "(", " all ", " only ", " the ", "but "};
    bool found = one == text;
    for (size_t i = 0; i < sizeof before / sizeof *before && !found; ++i) {
        found = follows(text, one, before[i]);
    }
    return found && !follows(text, one, "of the ");
}

void cs_plural_agree(char *text)
{
    for (char *one = text; (one = strstr(one, "1 ")); ++one) {
        char *noun = one + 2;
        size_t length = word_length(noun);
        if (noun[length] == ' ' && is_among(adjectives, noun, length)) {
            noun += length + 1;
            length = word_length(noun);
        }
        if (!is_count(text, one) || !is_among(nouns, noun, length) || !is_end(noun + length)) {
            continue;
        }
        char *next = make_singular(noun, length);
        if (next < noun + length && *next == ' ' && is_subject(text, one)) {
            agree_verb(next + 1);
        }
    }
}

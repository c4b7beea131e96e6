/* The text corpora known by name: a script of data/ (POSIX sh and awk) reads a Debian package and
 * writes the prepared file; its last line on stdout lists the packages it read as
 * "name=version ...". The script runs as a child, never through a shell command line.
 */
#include "text/corpus.h"

#include "base/mem.h"
#include "base/names.h"
#include "io/prepared.h"
#include "io/share.h"

static const cs_corpus_source source_table[] = {
    {"wordnet", "wordnet-base", "prepare-wordnet.sh", "WordNet-3.0",
     "glosses of 14 noun classes, 2,000 synsets each", true, true},
    {"bible-kjv", "bible-kjv", "prepare-bible-kjv.sh", "public domain",
     "verses of the King James Bible, by book", true, true},
    {"gcide", "dict-gcide", "prepare-gcide.sh", "GPL-2+",
     "entries of the Collaborative International Dictionary of English", false, false},
    {"manpages", "manpages manpages-dev", "prepare-manpages.sh", "various free, see the packages",
     "Linux manual pages, by section", true, true},
    {"foldoc", "dict-foldoc", "prepare-foldoc.sh", "GFDL-1.1+",
     "entries of the Free On-line Dictionary of Computing, by subject", true, true},
};

const cs_corpus_source *cs_corpus_sources(int *count)
{
    *count = (int)(sizeof source_table / sizeof source_table[0]);
    return source_table;
}

static cs_status find_source(const char *name, const cs_corpus_source **out)
{
    int number = 0;
    cs_status status = CS_ROW_NAMED("corpus", name, source_table, &number);
    *out = &source_table[number];
    return status;
}

cs_status cs_corpus_prepared_path(const char *name, char **out)
{
    const cs_corpus_source *source = NULL;
    cs_status status = find_source(name, &source);
    char *file = status == CS_OK ? cs_format("%s.tsv", name) : NULL;
    if (status == CS_OK) status = file ? cs_prepared_path(file, out) : CS_ERR_MEMORY;
    cs_free(file);
    return status;
}

static cs_status run_script(const void *of, const char *target, char **packages)
{
    const cs_corpus_source *source = of;
    char *relative = cs_format("data/%s", source->script), *script = NULL;
    cs_status status = relative ? cs_share_path(relative, &script) : CS_ERR_MEMORY;
    const char *const argv[] = {"sh", script, target, NULL};
    if (status == CS_OK) status = cs_child_text(script, argv, packages);
    cs_free(relative);
    cs_free(script);
    return status;
}

cs_status cs_corpus_prepare(const char *name, bool force, char **note)
{
    const cs_corpus_source *source = NULL;
    cs_status status = find_source(name, &source);
    if (status != CS_OK) return status;
    char *file = cs_format("%s.tsv", name);
    const cs_prepared what = {name, file, run_script, source};
    status = file ? cs_prepare(&what, force, note) : CS_ERR_MEMORY;
    cs_free(file);
    return status;
}

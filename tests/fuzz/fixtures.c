#include "fixtures.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cooc/build_checkpoint_private.h"
#include "cooc/store.h"
#include "io/file.h"
#include "io/json.h"
#include "io/run_id.h"
#include "io/safetensors.h"
#include "linalg/matrix_index.h"
#include "plan/spec.h"
#include "text/corpus.h"

enum { PATH = 256, STORE_FILES = 9 };

static void sure(bool fine)
{
    if (!fine) {
        (void)fprintf(stderr, "fixture: %s\n", cs_reason());
        abort();
    }
}

static char root[PATH];

static int drop(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static void remove_root(void)
{
    (void)nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_folder(void)
{
    if (!root[0]) {
        const char *tmp = getenv("TMPDIR");
        (void)snprintf(root, sizeof root, "%s/cospec-fuzz-XXXXXX", tmp ? tmp : "/tmp");
        sure(mkdtemp(root) && atexit(remove_root) == 0);
    }
    return root;
}

/* Written in place: atomic files cost a sync. */
static void put(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    sure(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

static const char *in_root(char to[PATH], const char *name)
{
    sure(snprintf(to, PATH, "%.200s/%s", fuzz_folder(), name) < PATH);
    return to;
}

static const char *folder(char to[PATH], const char *name)
{
    sure(cs_dir_make(in_root(to, name)) == CS_OK);
    return to;
}

const char *fuzz_file(const char *ending, const void *bytes, size_t size)
{
    static char path[PATH];
    char name[64];
    (void)snprintf(name, sizeof name, "input%s", ending);
    put(in_root(path, name), bytes, size);
    return path;
}

const char *fuzz_index_folder(const char *bytes, int64_t size)
{
    static char dir[PATH];
    char path[PATH];
    if (!dir[0]) {
        const float values[] = {1, 2, 3};
        cs_safetensors_writer *w = NULL;
        (void)folder(dir, "index");
        sure(cs_safetensors_writer_open(in_root(path, "index/shard.safetensors"), 2,
                                        (cs_safetensors_entry[]){
                                            {.name = "a", .dtype = CS_F32, .ndim = 1, .shape = {2}},
                                            {.name = "b", .dtype = CS_F32, .ndim = 1, .shape = {1}},
                                        },
                                        0, NULL, &w) == CS_OK);
        sure(cs_safetensors_writer_put(w, values, 8) == CS_OK);
        sure(cs_safetensors_writer_put(w, values + 2, 4) == CS_OK);
        sure(cs_safetensors_writer_commit(&w) == CS_OK);
    }
    put(in_root(path, "index/model.safetensors.index.json"), bytes, (size_t)size);
    return dir;
}

const char *fuzz_shards_folder(const char *bytes, int64_t size)
{
    static char dir[PATH];
    char path[PATH];
    if (!dir[0]) (void)folder(dir, "shards");
    put(in_root(path, "shards/" CS_MATRIX_INDEX), bytes, (size_t)size);
    return dir;
}

const char *fuzz_model_folder(const char *bytes, int64_t size)
{
    static char dir[PATH];
    char path[PATH], *weights = NULL;
    int64_t length = 0;
    if (!dir[0]) {
        (void)folder(dir, "model");
        sure(cs_file_read("tests/golden/models/gpt2/model.safetensors", 1 << 20, &weights,
                          &length) == CS_OK);
        put(in_root(path, "model/model.safetensors"), weights, (size_t)length);
        cs_free(weights);
    }
    put(in_root(path, "model/config.json"), bytes, (size_t)size);
    return dir;
}

/* A JSON object with its own digest put right; other bytes as they are. */
static void put_signed(const char *path, const char *bytes, int64_t size)
{
    json_auto_t *index = json_loadb(bytes, (size_t)size, JSON_REJECT_DUPLICATES, NULL);
    char *text = NULL, hex[65];
    if (json_is_object(index)) {
        (void)json_object_del(index, "sha256");
        text = json_dumps(index, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
        sure(text);
        cs_sha256(text, strlen(text), hex);
        free(text);
        sure(json_object_set_new(index, "sha256", json_string(hex)) == 0);
        sure((text = json_dumps(index, 0)) != NULL);
    }
    put(path, text ? text : bytes, text ? strlen(text) : (size_t)size);
    free(text);
}

const char *fuzz_trainer_folder(const char *bytes, int64_t size)
{
    static char dir[PATH];
    char path[PATH];
    if (!dir[0]) {
        static const char *const name[] = {"model.safetensors", "config.json", "tokenizer.json",
                                           "optimizer.safetensors"};
        (void)folder(path, "run/checkpoint-5");
        (void)in_root(dir, "run");
        for (int i = 0; i < 4; ++i) {
            char file[PATH];
            (void)snprintf(file, sizeof file, "run/checkpoint-5/%s", name[i]);
            put(in_root(path, file), "x", 1);
        }
    }
    (void)in_root(path, "run/checkpoint-5/trainer.json");
    put_signed(path, bytes, size);
    return dir;
}

const char *fuzz_result_folder(const char *bytes, int64_t size)
{
    static char dir[PATH];
    char path[PATH];
    if (!dir[0]) {
        (void)folder(dir, "result");
        put(in_root(path, "result/rank.csv"), "x", 1);
    }
    put_signed(in_root(path, "result/manifest.json"), bytes, size);
    return dir;
}

const char *fuzz_counts_folder(const char *bytes, int64_t size)
{
    static char dir[PATH];
    char path[PATH], index[512], digest[33];
    if (!dir[0]) (void)folder(dir, "counts");
    put(in_root(path, "counts/records-0.bin"), bytes, (size_t)size);
    cs_hash_hex(cs_hash(bytes, (size_t)size, 0), digest);
    (void)snprintf(index, sizeof index,
                   "{\"format\": \"cospec build checkpoint\", \"version\": %d, \"build\": {}, "
                   "\"records\": \"records-0.bin\", \"bytes\": %lld, \"digest\": \"%s\"}",
                   CS_RUN_VERSION, (long long)size, digest);
    put(in_root(path, "counts/checkpoint.json"), index, strlen(index));
    return dir;
}

static const char TEXT[] = "animal\tthe cat sat on the mat and the dog ran\n"
                           "plant\ta tree grows in the wood and the leaf falls\n"
                           "animal\ta dog ran to the cat in the wood\n";

static const char PLAN[] = "{\"plans\": [{\"probability\": 1, \"groups\": [0, 1, 0, 2, 1, 0]}]}";

static void small_corpus_of(cs_corpus *out)
{
    const char *path = fuzz_file("-fixture.tsv", TEXT, sizeof TEXT - 1);
    sure(cs_corpus_load(path, &(cs_corpus_options){.test_share = 0}, out) == CS_OK);
}

const char *fuzz_store_folder(const char *bytes, int64_t size)
{
    static char dir[PATH], *whole[STORE_FILES];
    static int64_t length[STORE_FILES];
    static int changed = -1;
    char path[STORE_FILES][PATH];
    for (int i = 0; i < STORE_FILES; ++i) {
        char name[64];
        (void)snprintf(name, sizeof name, "store/%s", cs_cooc_file(i));
        (void)in_root(path[i], name);
    }
    if (!dir[0]) {
        CS_AUTO(cs_corpus) corpus = {0};
        CS_AUTO(cs_cooc) cooc = {0};
        cs_cooc_options o = {.threads = 1, .max_length = 6, .stride = 6};
        CS_AUTO(cs_plan_file) plans = {0};
        (void)fuzz_file("-plan.json", PLAN, sizeof PLAN - 1);
        (void)folder(dir, "store");
        char spec[PATH + 32];
        char plan[PATH];
        (void)snprintf(spec, sizeof spec, "file(plan-file=%s)", in_root(plan, "input-plan.json"));
        small_corpus_of(&corpus);
        sure(cs_objective_parse_held(spec, &plans, &o.objective) == CS_OK);
        sure(cs_context_parse("all", &o.context) == CS_OK);
        sure(cs_cooc_build(&corpus, &o, &cooc) == CS_OK);
        sure(cs_cooc_write(dir, &corpus, &o, &cooc, true, false) == CS_OK);
        for (int i = 0; i < STORE_FILES; ++i) {
            sure(cs_file_read(path[i], 1 << 20, &whole[i], &length[i]) == CS_OK);
        }
    }
    if (changed >= 0) {
        put(path[changed], whole[changed], (size_t)length[changed]);
    }
    changed = -1;
    if (size > 0) {
        changed = (unsigned char)bytes[0] % STORE_FILES;
        put(path[changed], bytes + 1, (size_t)size - 1);
    }
    return dir;
}

const char *fuzz_study_file(void)
{
    static char path[PATH];
    if (!path[0]) {
        static const char study[] =
            "{\"variables\": {\"seeds\": \"1 2\"}, \"steps\": [{\"about\": \"Two.\", \"run\": {"
            "\"one\": \"toy spectra -k 2\", \"two\": \"plot spectra "
            "x=@one/singular_values.csv\"}}]}";
        put(in_root(path, "study.json"), study, sizeof study - 1);
    }
    return path;
}

const cs_tokenizer *fuzz_small_tokenizer(void)
{
    static cs_tokenizer *t;
    if (!t) {
        CS_AUTO(cs_corpus) corpus = {0};
        small_corpus_of(&corpus);
        sure(cs_tokenizer_of_corpus(&corpus, CS_SPLITTER_WORD, &t) == CS_OK);
    }
    return t;
}

const char *fuzz_tokenizer_files(const char *bytes, int64_t size)
{
    static const char *const file[] = {"tokenizer_config.json", "special_tokens_map.json",
                                       "added_tokens.json", "config.json", "tokenizer.json"};
    const int files = sizeof file / sizeof *file;
    static char dir[PATH];
    char path[PATH];
    json_auto_t *given = json_loadb(bytes, (size_t)size, 0, NULL);
    if (!dir[0]) (void)folder(dir, "tokenizer");
    for (int i = 0; i < files; ++i) {
        const json_t *value = json_object_get(given, file[i]);
        char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
        sure(snprintf(path, PATH, "%.200s/%s", dir, file[i]) < PATH);
        if (text) {
            put(path, text, strlen(text));
        } else if (i == files - 1) {
            sure(cs_tokenizer_write(fuzz_small_tokenizer(), path) == CS_OK);
        } else {
            (void)remove(path);
        }
        free(text);
    }
    return dir;
}

/* Makes the folders of a path below the root. */
static void make_folders(char path[PATH])
{
    for (char *at = path + strlen(fuzz_folder()) + 1; (at = strchr(at, '/')); ++at) {
        *at = '\0';
        (void)mkdir(path, 0777);
        *at = '/';
    }
}

const char *fuzz_image_names(const char *bytes, int64_t size)
{
    enum { MOST = 24 };
    static const char image[] = "P5 2 1 255\nab";
    static char dir[PATH];
    const char *end = bytes + size;
    if (dir[0]) (void)nftw(dir, drop, 16, FTW_DEPTH | FTW_PHYS);
    (void)folder(dir, "images");
    for (int i = 0; i < MOST && bytes < end; ++i) {
        char path[PATH], name[PATH];
        const size_t length = strcspn(bytes, "\n");
        const bool text = *bytes == '!';
        (void)snprintf(name, sizeof name, "/%.*s", (int)(length < 80 ? length : 80) - text,
                       bytes + text);
        sure(snprintf(path, PATH, "%.120s%s", dir, name) < PATH);
        if (!strstr(name, "/..")) make_folders(path);
        FILE *file = strstr(name, "/..") ? NULL : fopen(path, "wb"); /* a name may be none */
        if (file) (void)fwrite(text ? "x" : image, 1, text ? 1 : sizeof image - 1, file);
        if (file) (void)fclose(file);
        bytes += length + 1;
    }
    return dir;
}

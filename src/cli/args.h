/* The parsed command line, private to opt*.c and output*.c. */
#pragma once

#include <pthread.h>
#include <time.h>

#include "cli/opt.h"

/* Texts that are freed together. */
typedef struct {
    int count;
    char **text;
} cs_words;

/* Takes over the text; NULL: out of memory. */
cs_status cs_words_take(cs_words *list, char *text) CS_MUST_CHECK;
void cs_words_free(cs_words *list);

typedef struct {
    const cs_opt *opt;
    bool given; /* by the user: on the command line or in --config */
    /* set by the command, from other options or its input (cs_args_suppose) */
    bool supposed;
    char said[72]; /* "--rank", or "-k" if that was written */
    bool flag;     /* FLAG */
    cs_words text; /* as given, or the default; empty when unset */
    int64_t integer;
    double real;
} cs_opt_value;

typedef struct {
    const char *path; /* kept */
    char sha256[65];
    int64_t bytes;
    bool being_written; /* by another run, when it was opened */
} cs_opt_input;

/* An input that a thread hashes while it is read (cs_output_input_begin). */
typedef struct {
    bool running;
    pthread_t thread;
    cs_opt_input input;
    json_t *digests;
    cs_status status;
    char *reason;
} cs_input_hash;

/* A file that the run is about to write. */
typedef struct {
    const char *path; /* kept */
    uint64_t inode;   /* of an earlier file at the path, and its last change; 0: none */
    struct timespec changed;
} cs_opt_output;

struct cs_args {
    const cs_command *command;
    int values;
    cs_opt_value *value;
    cs_words positional;
    cs_words line;    /* the command line as given, for the manifest */
    cs_words kept;    /* cs_args_keep */
    cs_words claimed; /* names in DIR, by cs_output_claim */
    int inputs;
    cs_opt_input *input;
    json_t *digests; /* records of the folders of inputs (io/digests.h) */
    cs_input_hash hash;
    int outputs;
    cs_opt_output *output;
    /* The folder of -o. */
    struct {
        /* NULL until something is claimed there. */
        const char *lock_path;
        int lock;
        /* Names of files that a killed run left there; NULL: none. */
        const char *left;
        bool made;
        /* It holds an earlier run of the same command, whose files belong to this one too. */
        bool resumes;
    } folder;
    cs_result *record;  /* filled by the command, NULL until it begins */
    const char *result; /* name given to cs_output_record */
    char *printed;      /* printed to standard output when the run is complete; malloc */
    size_t printed_size;
    bool data;     /* printed as it is, if not on a terminal */
    int exit_code; /* of the finished run, for the manifest */
    bool refuted;
    bool unfinished; /* stopped before its end: --resume continues */
    bool resumed;    /* --resume kept a finished result: nothing was computed */
    bool started;    /* a manifest is already written, and is kept when the run fails */
    /* a step of another command, which itself reports how to continue */
    bool part;
    bool delegated; /* another command ran in its place and wrote the manifest */
    bool follows;   /* another process prints the result or the reason, and has the exit code */
    struct cs_task_tables *tables; /* a task of --tasks: takes the tables in place of stdout */
    struct cs_in_memory *memory; /* arguments in memory (cli/in_memory.h); NULL: all are in files */
};

/* The value of an option by the first `length` bytes of its name ('_' is '-'), NULL if there is
 * none. */
cs_opt_value *cs_args_find(const cs_args *args, const char *name, size_t length);

/* The value, or NULL, with the value freed, if it is incomplete: only memory can be missing. */
json_t *cs_json_whole(json_t *value, bool whole);

/* Calls visit (NULL: nothing) for each option of the command in the order of its groups, then the
 * common ones; returns their number. heading: the title above the option in its group, "Options"
 * without one, and NULL for a common option. */
typedef void (*cs_opt_visit)(void *ctx, const cs_opt *opt, const char *heading);
int cs_opt_each(const cs_command *command, cs_opt_visit visit, void *ctx);

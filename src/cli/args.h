/* The parsed command line, private to opt*.c and output*.c. */
#pragma once

#include <time.h>

#include "cli/opt.h"

typedef struct {
    const cs_opt *opt;
    bool given;  /* by the user: on the command line or in --config */
    bool flag;   /* FLAG */
    int count;   /* texts: 0 when unset */
    char **text; /* count: as given, or the fallback */
    int64_t integer;
    double real;
} cs_opt_value;

typedef struct {
    char *path;
    char sha256[65];
    int64_t bytes;
} cs_opt_input;

/* A file that the run is about to write. */
typedef struct {
    char *path;
    uint64_t inode; /* of what stood there before, and its last change; 0: nothing */
    struct timespec changed;
} cs_opt_output;

struct cs_args {
    const cs_command *command;
    int values;
    cs_opt_value *value;
    int positionals;
    char **positional;
    int argc; /* the command line as it was, for the manifest */
    char **argv;
    int inputs;
    cs_opt_input *input;
    int outputs;
    cs_opt_output *output;
    char *lock_path; /* of the folder of -o, NULL until something is claimed there */
    int lock;
    bool made_folder;
    cs_result *record; /* what the command fills, NULL until it begins */
    char *result;      /* name given to cs_output_record */
    char *printed;     /* what goes to standard output when the run is complete; malloc */
    size_t printed_size;
    int exit_code; /* of the finished run, for the manifest */
    bool refuted;
    bool unfinished; /* stopped before its end: --resume goes on */
    bool resumes;    /* DIR holds an earlier run of the same, whose files are this one's too */
    bool started;    /* a manifest stands already, and stays when the run fails */
    bool delegated;  /* another command ran in its place and wrote the manifest */
};

/* The value of an option by the first `length` bytes of its name, NULL when there is none. */
cs_opt_value *cs_args_find(const cs_args *args, const char *name, size_t length);

/* Calls visit for each option of the command in the order of its groups, then the common ones. */
typedef void (*cs_opt_visit)(void *ctx, const cs_opt *opt, bool common);
void cs_opt_each(const cs_command *command, cs_opt_visit visit, void *ctx);

/* cli/opt: every form of an option, strict numbers, suggestions, config files, sweeps, and the
 * texts made from the tables. */
#include "analysis/measures/connectivity.h"
#include "analysis/measures/effective_rank.h"
#include "analysis/measures/feature_connectivity.h"
#include "base/enum_names.h"
#include "cli/args.h"
#include "cli/commands.h"
#include "cli/groups.h"
#include "cli/opt.h"
#include "test.h"

static const cs_opt group_one[] = {
    {"rank", 'k', CS_OPT_INT, "K", "5", 1, 100, "Number of triplets.", false},
    CS_HEADING("Numbers"),
    {"tol", 0, CS_OPT_REAL, "EPS", NULL, 0, 1, "Residual.", false},
    {"form", 0, CS_OPT_CHOICE, "fixed|random", "fixed", 0, 0, "How it is cut.", false},
    {"vectors", 0, CS_OPT_FLAG, NULL, NULL, 0, 0, "Write vectors.", false},
    {"memory", 0, CS_OPT_SIZE, "BYTES", NULL, 0, 0, "Budget.", false},
    {"name", 0, CS_OPT_TEXT, "NAME", NULL, 0, 0, "A name.", true},
    {"read", 0, CS_OPT_TEXT, "OPTIONS", NULL, 0, 0, "Options.", false},
    {"dir", 0, CS_OPT_TEXT, "DIR", NULL, 0, 0, "A folder.", false},
    {"batch", 0, CS_OPT_INT, "B", NULL, 0, 0, "Batch size.", false},
    {NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
};
static const cs_opt group_sweep[] = {
    CS_HEADING("Sweeps"),
    {"length", 0, CS_OPT_TEXT, "S|A:B:STEP", NULL, 0, 0, "Positions.", false},
    {"classes", 0, CS_OPT_TEXT, "R|A:B:STEP", NULL, 0, 0, "Classes.", false},
    {"tokens", 0, CS_OPT_TEXT, "T|A:B:STEP", NULL, 0, 0, "Tokens.", false},
    {"unmasked", 0, CS_OPT_TEXT, "M|LO:HI|A:B:STEP", NULL, 0, 0, "Unmasked.", false},
    {"mask-ratio", 0, CS_OPT_TEXT, "RHO|LO:HI|A:B:STEP", NULL, 0, 0, "Ratio.", false},
    {"t", 0, CS_OPT_TEXT, "N|A:B:STEP", NULL, 0, 0, "Ahead.", false},
    {"groups", 0, CS_OPT_TEXT, "K|A:B:STEP", NULL, 0, 0, "Groups.", false},
    {"columns", 0, CS_OPT_TEXT, "N|A:B:STEP", NULL, 0, 0, "Columns.", false},
    {NULL, 0, CS_OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
};
static const cs_opt *const groups[] = {group_one, group_sweep, NULL};

static const cs_command command = {
    .name = "probe",
    .help =
        &(const cs_command_help){"A command for tests",
                                 "One paragraph.\n\n  x = y / z\n\n.dot starts a line, 'quote' too",
                                 "# an example\ncospec probe FILE"},
    .positional = "FILE [MORE]",
    .groups = groups,
    .without = "dry-run seed",
};
static const cs_command *const commands[] = {&command, NULL};

/* Parses words separated by one space. */
static cs_status parse(const char *line, cs_args **out)
{
    char copy[512], *word[32], *rest = copy;
    int count = 0;
    cs_reason_clear();
    (void)snprintf(copy, sizeof copy, "%s", line);
    while (rest && *rest) {
        word[count++] = strsep(&rest, " ");
    }
    return cs_args_parse(&command, count, word, out);
}

static void assert_refused(const char *line, const char *reason)
{
    cs_args *args = NULL;
    assert_int_equal(parse(line, &args), CS_ERR_USAGE);
    assert_null(args);
    expect_reason(reason);
}

static cs_args *accepted(const char *line)
{
    cs_args *args = NULL;
    if (parse(line, &args) != CS_OK) {
        fail_msg("'%s' is refused: %s", line, cs_reason());
    }
    return args;
}

TEST(forms_of_options)
{
    static const char *const lines[] = {"-k 7 f",     "-k7 f",      "--rank 7 f",
                                        "--rank=7 f", "f --rank 7", "--rank=+7 -- f"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        cs_args *args = accepted(lines[i]);
        assert_int_equal(cs_args_int(args, "rank"), 7);
        assert_true(cs_args_given(args, "rank"));
        assert_int_equal(cs_args_positionals(args), 1);
        assert_string_equal(cs_args_positional(args, 0), "f");
        cs_args_free(&args);
        assert_null(args);
    }
    CS_AUTO(cs_args) *args = accepted("-- -f --rank");
    assert_string_equal(cs_args_positional(args, 0), "-f");
    assert_string_equal(cs_args_positional(args, 1), "--rank");
}

TEST(underscores_and_values_with_dashes)
{
    cs_args *args = accepted("f --mask_ratio 0.5");
    assert_string_equal(cs_args_text(args, "mask-ratio"), "0.5");
    cs_args_free(&args);
    args = accepted("f --mask_ratio=0.5 --read --split=all");
    assert_string_equal(cs_args_text(args, "mask-ratio"), "0.5");
    assert_string_equal(cs_args_text(args, "read"), "--split=all");
    cs_args_free(&args);
    args = accepted("f --read=--rank");
    assert_string_equal(cs_args_text(args, "read"), "--rank");
    cs_args_free(&args);
    assert_refused("f --read --rank 3", "--read needs a value: OPTIONS; give a value that begins "
                                        "with -- as --read='--rank'");
    assert_refused("f --dir --mine", "--dir needs a value: DIR; give a value that begins with -- "
                                     "as --dir='--mine'");
    assert_refused("f --dir --rank 3", "--dir needs a value: DIR");
    assert_null(strstr(cs_reason(), "given as"));
}

TEST(names_of_other_programs)
{
    assert_refused("f --k 3", "unknown option --k for probe; did you mean -k?");
    assert_refused("f --n_components 3",
                   "unknown option --n-components for probe; did you mean --rank?");
    assert_refused("f --per_device_train_batch_size 3", "did you mean --batch?");
    assert_refused("f --output_dir d", "did you mean --output?");
    assert_refused("f --n-jobs 2", "did you mean --threads?");
    assert_refused("f --mlm_probability 0.15", "did you mean --mask-ratio?");
    assert_refused("f --gpu", "did you mean --device?");
    assert_refused("f --device gpu",
                   "'gpu' is not one of cpu|cuda|cuda:N|auto; did you mean cuda?");
    assert_refused("f --dry_run", "--dry-run does not apply to 'probe'");
}

TEST(fallbacks_and_unset)
{
    CS_AUTO(cs_args) *args = accepted("f");
    assert_int_equal(cs_args_int(args, "rank"), 5);
    assert_false(cs_args_given(args, "rank"));
    assert_true(isnan(cs_args_real(args, "tol")));
    assert_int_equal(cs_args_int(args, "memory"), INT64_MIN);
    assert_null(cs_args_text(args, "output"));
    assert_string_equal(cs_args_text(args, "form"), "fixed");
    assert_false(cs_args_flag(args, "vectors"));
    assert_int_equal(cs_args_count(args, "name"), 0);
    /* A common option that the command leaves out reads as unset. */
    assert_false(cs_args_flag(args, "dry-run"));
    cs_args_free(&args);
    args = accepted("f --name a --name=b --vectors --memory 3K --tol 1e-3");
    assert_int_equal(cs_args_count(args, "name"), 2);
    assert_string_equal(cs_args_text_at(args, "name", 1), "b");
    assert_true(cs_args_flag(args, "vectors"));
    assert_int_equal(cs_args_int(args, "memory"), 3072);
    assert_true(cs_args_real(args, "tol") == 1e-3);
    json_auto_t *json = cs_args_json(args), *given = cs_args_names_json(args, false);
    assert_int_equal(json_integer_value(json_object_get(json, "memory")), 3072);
    assert_true(json_is_null(json_object_get(json, "output")));
    assert_int_equal(json_array_size(json_object_get(json, "name")), 2);
    assert_int_equal(json_array_size(given), 4);
}

TEST(fields_take_the_options_of_their_names)
{
    struct {
        int64_t rank, memory;
        double tol;
        enum { FIXED, RANDOM } form;
        bool vectors, json;
        const char *name, *mask_ratio;
        int threads;
        uint64_t seed;
    } of = {.memory = 7, .tol = 0.5, .seed = 9};
    AUTO_OK(
        cs_args, *args,
        parse("FILE -k 8 --form random --vectors --name x --mask-ratio 0.5 --threads 3", &args));
    CS_ARGS_FIELDS(args, &of, rank, memory, tol, form, vectors, json, name, mask_ratio, threads,
                   seed);
    assert_int_equal(of.rank, 8);
    assert_int_equal(of.memory, 7); /* unset, as tol and seed */
    assert_true(of.tol == 0.5);
    assert_int_equal(of.seed, 9);
    assert_int_equal(of.form, RANDOM);
    assert_true(of.vectors && !of.json);
    assert_string_equal(of.name, "x");
    assert_string_equal(of.mask_ratio, "0.5");
    assert_int_equal(of.threads, 3);
}

TEST(refusals_name_the_value)
{
    assert_refused("f --rank 0", "--rank: 0 is not in 1..100");
    assert_refused("f --rank 101", "101");
    assert_refused("f --rank 3x", "'3x' is not an integer");
    assert_refused("f --rank 1.5", "'1.5'");
    assert_refused("f --rank 0x10", "'0x10'");
    assert_refused("f --rank 99999999999999999999", "64-bit");
    assert_refused("f --tol 1e400", "'1e400'");
    assert_refused("f --tol nan", "'nan' is not a number");
    assert_refused("f --tol inf", "'inf'");
    assert_refused("f --tol 0,5", "'0,5'");
    assert_refused("f --tol 2", "2 is not in [0, 1]");
    assert_refused("f --tol=", "''");
    assert_refused("f --form fixd", "'fixd' is not one of fixed|random; did you mean fixed?");
    assert_refused("f --memory 3T", "'3T'");
    assert_refused("f --memory 9999999999G", "9999999999");
    assert_refused("f --memory K", "'K'");
    assert_refused("f --vectors=maybe", "'maybe'");
    assert_refused("f --rank", "--rank needs a value: K");
    assert_refused("f -k", "-k needs a value: K");
    assert_refused("f -k 3 --rank 4", "-k is given twice ('3' and '4')");
    assert_refused("f -k x", "-k: 'x' is not");
    assert_refused("f --rank --vectors", "--rank needs a value");
    assert_refused("f --rank 3 --rank 4", "given twice ('3' and '4')");
    assert_refused("f --name a --name b --name a", "--name a is given twice");
    assert_refused("f --rnak 3", "did you mean --rank?");
    assert_refused("f --vec", "did you mean --vectors?");
    assert_refused("f --zzzzzz", "unknown option --zzzzzz for probe");
    assert_refused("f -z", "unknown option -z for probe");
    assert_refused("f --dry-run", "not apply to 'probe'");
    assert_refused("", "an argument is missing: cospec probe FILE [MORE]");
    assert_refused("f g h", "unexpected argument 'h'");
}

TEST(help_wants_no_arguments)
{
    CS_AUTO(cs_args) *args = accepted("--help");
    assert_true(cs_args_flag(args, "help"));
}

/* --- config ----------------------------------------------------------------------------------- */

static void write_config(char path[64], const char *text)
{
    (void)snprintf(path, 64, "/tmp/cospec-test-opt-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
}

TEST(config_fills_what_flags_left)
{
    char path[64], line[256];
    write_config(path, "{\"rank\": 9, \"tol\": 0.25, \"vectors\": true, \"name\": [\"a\", \"b\"], "
                       "\"form\": \"random\", \"memory\": null}");
    (void)snprintf(line, sizeof line, "f --config %s --rank 3", path);
    cs_args *args = accepted(line);
    assert_int_equal(cs_args_int(args, "rank"), 3);
    assert_true(cs_args_real(args, "tol") == 0.25);
    assert_true(cs_args_flag(args, "vectors"));
    assert_int_equal(cs_args_count(args, "name"), 2);
    assert_string_equal(cs_args_text(args, "form"), "random");
    assert_true(cs_args_given(args, "form"));
    assert_false(cs_args_given(args, "memory"));
    cs_args_free(&args);
    assert_int_equal(unlink(path), 0);
}

TEST(config_refusals)
{
    static const char *const bad[][2] = {
        {"{\"rnak\": 3}", "unknown option rnak for probe; did you mean rank?"},
        {"{\"rank\": 1000}", "1000"},
        {"{\"rank\": [3]}", "--rank"},
        {"{\"config\": \"x\"}", "is not allowed in a config file"},
        {"{\"form\": true}", "--form"},
    };
    char path[64], line[256];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        write_config(path, bad[i][0]);
        (void)snprintf(line, sizeof line, "f --config %s", path);
        assert_refused(line, bad[i][1]);
        assert_refused(line, path);
        assert_int_equal(unlink(path), 0);
    }
    cs_args *args = NULL;
    write_config(path, "[1, 2]");
    (void)snprintf(line, sizeof line, "f --config %s", path);
    assert_int_equal(parse(line, &args), CS_ERR_INPUT);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(parse(line, &args), CS_ERR_IO);
    cs_reason_clear();
}

/* --- numbers, names, sweeps ------------------------------------------------------------------- */

TEST(lists_of_integers)
{
    int64_t count = 0, *value = NULL;
    OK(cs_parse_int_list("1,20,300", "--draws", 1, 1000, &count, &value));
    assert_int_equal(count, 3);
    assert_int_equal(value[2], 300);
    cs_free(value);
    value = NULL;
    static const char *const bad[] = {"1,,2", "1,2,", ",", "", "1,0", "1;2"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        assert_int_equal(cs_parse_int_list(bad[i], "--draws", 1, 1000, &count, &value),
                         CS_ERR_USAGE);
        assert_null(value);
        assert_non_null(strstr(cs_reason(), "--draws"));
        cs_reason_clear();
    }
}

/* Edits, transpositions, beginnings (with an edit), letter case; numbers behind a name are kept. */
TEST(nearest_names)
{
    static const char five[] = "toy cooc svd verify connectivity",
                      distributions[] = "uniform:T|power:A", devices[] = "cpu|cuda|cuda:N";
    static const struct {
        const char *text, *choices, *meant;
    } cases[] = {{"coco", five, "cooc"},
                 {"vreify", five, "verify"},
                 {"tyo", five, "toy"},
                 {"connect", five, "connectivity"},
                 {"conect", five, "connectivity"},
                 {"COOC", five, "cooc"},
                 {"spectrum", five, ""},
                 {"", five, ""},
                 {"x", "t|n", ""},
                 {"unform:2", distributions, "uniform:2"},
                 {"unform", distributions, "uniform:T"},
                 {"uniform", distributions, "uniform:T"},
                 {"uniform:x", distributions, ""},
                 {"cude:1", devices, "cuda:1"},
                 {"cude", devices, "cuda"},
                 {"cqu:1", devices, "cpu"},
                 {"4.4", "4.1|4.2", ""}, /* another number is another thing */
                 {"qwen4", "qwen2|qwen25", ""},
                 {"rank2", "rank_2|rank_4", "rank_2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_hint hint;
        (void)cs_choice_hint(cases[i].text, cases[i].choices, &hint);
        assert_string_equal(hint.name, cases[i].meant);
        assert_int_equal(hint.text[0] != '\0', cases[i].meant[0] != '\0');
    }
}

/* Of names that other things have too only another spelling is meant. */
TEST(names_of_things)
{
    static const struct {
        const char *text, *meant;
    } cases[] = {
        {"bart", ""},      {"mpt", ""},     {"gpt_neo", ""}, {"gpt", ""}, {"GPT-NeoX", "gpt_neox"},
        {"gpt2", "gpt-2"}, {"Bert", "bert"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        cs_hint hint;
        (void)cs_choice_respelled(cases[i].text, "bert|opt|gpt-2|gpt_neox", &hint);
        assert_string_equal(hint.name, cases[i].meant);
    }
    static const char *const known[] = {"bert", "opt"};
    int number = 0;
    assert_fails(CS_THING_AMONG("network", "bart", known, &number), CS_ERR_USAGE,
                 "unknown network 'bart' (bert, opt)");
    assert_fails(CS_NAME_AMONG("network", "bret", known, &number), CS_ERR_USAGE,
                 "(bert, opt); did you mean bert?");
}

static void assert_declared(const cs_command *c, const char *name)
{
    if (!cs_listed(c->metrics, name) && !cs_listed(c->more_metrics, name)) {
        fail_msg("%s: --metric %s would be refused", c->name, name);
    }
}

/* --metric is checked before the work: commands declare what their libraries measure. */
TEST(metrics_are_declared)
{
    for (int m = 0; m < CS_RANK_MEASURES; ++m) {
        assert_declared(&cs_cmd_rank, cs_rank_name((cs_rank_measure)m));
        assert_declared(&cs_cmd_mask_rank, cs_rank_name((cs_rank_measure)m));
    }
    for (int m = 0; m < CS_CONNECTIVITY_METRICS; ++m) {
        assert_declared(&cs_cmd_connectivity, cs_connectivity_metric[m].name);
    }
    for (int m = 0; m < CS_FEATURE_MEASURES; ++m) {
        assert_declared(&cs_cmd_connectivity, cs_feature_name(m));
    }
    char x[] = "x.npy", option[] = "--metric", near[] = "rank_tua", good[] = "rankme";
    char *words[] = {x, option, near};
    CS_AUTO(cs_args) *args = NULL;
    assert_int_equal(cs_args_parse(&cs_cmd_rank, 3, words, &args), CS_ERR_USAGE);
    assert_non_null(strstr(cs_reason(), "--metric: unknown metric 'rank_tua' (rank_tau,"));
    assert_non_null(strstr(cs_reason(), "did you mean rank_tau?"));
    cs_reason_clear();
    assert_int_equal(cs_args_parse(&cs_cmd_train, 3, words, &args), CS_ERR_USAGE);
    assert_non_null(strstr(cs_reason(), "--metric does not apply to 'train'"));
    cs_reason_clear();
    words[2] = good;
    assert_int_equal(cs_args_parse(&cs_cmd_rank, 3, words, &args), CS_OK);
}

TEST(sweeps_are_products)
{
    cs_sweep sweep;
    char text[CS_SWEEP_TEXT];
    CS_AUTO(cs_args) *args = accepted("f --classes 2:4:2 --length 5 --mask-ratio 0.1:0.9:0.1");
    OK(cs_args_sweep(args, &sweep));
    assert_int_equal(sweep.points, 18);
    assert_true(cs_sweep_is_swept(&sweep));
    cs_sweep_value(&sweep, 2, "mask-ratio", text);
    assert_string_equal(text, "0.3");
    cs_sweep_value(&sweep, 8, "mask-ratio", text);
    assert_string_equal(text, "0.9");
    cs_sweep_value(&sweep, 8, "classes", text);
    assert_string_equal(text, "2");
    cs_sweep_value(&sweep, 9, "classes", text);
    assert_string_equal(text, "4");
    cs_sweep_value(&sweep, 17, "length", text);
    assert_string_equal(text, "5");
    cs_sweep_value(&sweep, 0, "t", text);
    assert_string_equal(text, "");
    cs_sweep_default(&sweep, "t", "3");
    cs_sweep_default(&sweep, "length", "7");
    cs_sweep_value(&sweep, 17, "t", text);
    assert_string_equal(text, "3");
    cs_sweep_value(&sweep, 17, "length", text);
    assert_string_equal(text, "5");
    cs_args_free(&args);

    args = accepted("f --unmasked 1:3 --mask-ratio 0.1:0.5");
    OK(cs_args_sweep(args, &sweep));
    assert_int_equal(sweep.points, 1);
    assert_false(cs_sweep_is_swept(&sweep));
    cs_sweep_value(&sweep, 0, "unmasked", text);
    assert_string_equal(text, "1:3");
}

TEST(sweeps_refused)
{
    static const char *const bad[][2] = {
        {"--classes 2:4", "'2:4' is not a value; a sweep is A:B:STEP"},
        {"--classes 4:2:1", "descends; it must ascend"},
        {"--classes 2:4:0", "step"},
        {"--classes 2:x:1", "'x'"},
        {"--length 0:1000000:1", "1000001 values"},
        {"--length 1:5000:1 --classes 1:5000:1", "more than 1000000 points"},
        {"--mask-ratio 0.1:1e999:0.1", "'1e999'"},
        {"--unmasked 1:2:3:4", "'1:2:3:4'"},
        {"--tokens -3", "-3"},
        {"--t 1e3", "'1e3'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        char line[128];
        cs_sweep sweep;
        (void)snprintf(line, sizeof line, "f %s", bad[i][0]);
        CS_AUTO(cs_args) *args = accepted(line);
        assert_fails(cs_args_sweep(args, &sweep), CS_ERR_USAGE, bad[i][1]);
    }
}

/* --- texts ------------------------------------------------------------------------------------ */

static char *written(cs_opt_writer *write, const cs_command *const *list)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    write(list, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

TEST(texts_hold_every_option)
{
    CS_AUTO_FREE char *text = written(cs_opt_help, commands);
    assert_non_null(strstr(text, "-k, --rank K"));
    assert_non_null(strstr(text, "[5]"));
    assert_non_null(strstr(text, "  x = y / z\n"));
    assert_non_null(strstr(text, "--json"));
    assert_null(strstr(text, "--dry-run"));
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        assert_true(length <= 80);
        line += length + (line[length] == '\n');
    }
    free(text);
    text = written(cs_opt_man, commands);
    assert_non_null(strstr(text, "\\fB\\-\\-mask\\-ratio\\fR"));
    assert_non_null(strstr(text, "\n\\&.dot"));
    free(text);
    text = written(cs_opt_markdown, commands);
    assert_non_null(strstr(text, "| `-k, --rank K` | Number of triplets. | 5 |"));
    assert_non_null(strstr(text, "fixed\\|random"));
    assert_non_null(strstr(text, "\n\n**Numbers**\n\n| option |"));
    assert_non_null(strstr(text, "\n\n**Sweeps**\n\n| option |"));
    free(text);
    text = written(cs_opt_overview, commands);
    assert_non_null(strstr(text, "A command for tests"));
}

/* --help of a command with main options explains these and names the others under their headings;
 * --help-all explains all. */
TEST(main_options_come_first)
{
    cs_command many = command;
    many.main = "classes rank output";
    const cs_command *const one[] = {&many, NULL};
    CS_AUTO_FREE char *text = written(cs_opt_help, one);
    const char *main = strstr(text, "Main options:\n"), *classes = strstr(text, "--classes R"),
               *rank = strstr(text, "-k, --rank K"), *output = strstr(text, "-o, --output DIR"),
               *more = strstr(text, "More options, explained by 'cospec probe --help-all':");
    assert_true(main && main < classes && classes < rank && rank < output && output < more);
    assert_non_null(strstr(more, "  Sweeps:\n      --length --tokens --unmasked"));
    assert_null(strstr(more, "--classes"));
    free(text);
    text = written(cs_opt_help_all, one);
    assert_non_null(strstr(text, "\nSweeps:\n      --length S"));
    assert_null(strstr(text, "Main options"));
}

/* A command with many options says which are the main ones, and these exist. */
TEST(commands_with_many_options_have_main_ones)
{
    for (const cs_command *const *c = cs_commands; *c; ++c) {
        if (cs_opt_each(*c, NULL, NULL) > 44) assert_non_null((*c)->main);
        char help[] = "--help", *words[] = {help};
        AUTO_OK(cs_args, *args, cs_args_parse(*c, 1, words, &args));
        for (const char *p = (*c)->main; p && *p; p += strspn(p, " ")) {
            const size_t length = strcspn(p, " ");
            if (!cs_args_find(args, p, length)) fail_msg("%s: no option %s", (*c)->name, p);
            p += length;
        }
    }
}

TEST(each_allocation_fails_once)
{
    EACH_ALLOCATION_FAILS(n) {
        CS_AUTO(cs_args) *args = NULL;
        if (out_of_memory(parse("f --rank 3 --name a --name b --tol 0.5", &args)))
            assert_null(args);
        else
            assert_true(n > 10);
    }
}

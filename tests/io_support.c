/* Support of the tests of src/io. */
#include <dirent.h>
#include <ftw.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "io/file.h"
#include "io_support.h"

int io_dir_make(void **state)
{
    cs_reason_clear();
    *state = cs_format("%s/cospec-io-XXXXXX", test_temporary());
    return *state && mkdtemp(*state) ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    (void)st;
    (void)kind;
    (void)place;
    return remove(path);
}

int io_dir_remove(void **state)
{
    int failed = nftw(*state, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    cs_free(*state);
    return failed;
}

const char *in_dir(void **state, const char *name)
{
    static char path[8][512];
    static int turn;
    turn = (turn + 1) % 8;
    (void)snprintf(path[turn], sizeof path[turn], "%s/%s", (const char *)*state, name);
    return path[turn];
}

const char *put(void **state, const char *name, const char *content)
{
    const char *path = in_dir(state, name);
    OK(cs_file_write(path, content, (int64_t)strlen(content)));
    return path;
}

const char *put_dir(void **state, const char *name)
{
    const char *path = in_dir(state, name);
    OK(cs_dir_make(path));
    return path;
}

int entries(void **state)
{
    DIR *dir = opendir(*state);
    int count = -2; /* "." and ".." */
    assert_non_null(dir);
    while (readdir(dir)) {
        ++count;
    }
    (void)closedir(dir);
    return count;
}

void assert_content(const char *path, const char *text)
{
    CS_AUTO_FREE char *found = NULL;
    int64_t size = 0;
    OK(cs_file_read(path, 1 << 20, &found, &size));
    assert_string_equal(found, text);
    assert_int_equal(size, strlen(text));
}

static int run_child(cs_status (*fn)(const char *path), const char *path, const char *part,
                     bool full)
{
    pid_t child = test_fork();
    if (child == 0) {
        const struct rlimit limit = {1000, 1000};
        (void)signal(SIGXFSZ, SIG_IGN);
        cs_status status = CS_OK;
        if (!full || setrlimit(RLIMIT_FSIZE, &limit) == 0) {
            status = fn(path);
        }
        _exit(strstr(cs_reason(), part) ? (int)status : 99);
    }
    int code = exit_code(child);
    return code >= 0 && code != 99 ? code : -1;
}

int on_full_disk(cs_status (*fn)(const char *path), const char *path, const char *part)
{
    return run_child(fn, path, part, true);
}

int in_child(cs_status (*fn)(const char *path), const char *path, const char *part)
{
    return run_child(fn, path, part, false);
}

bool comma_locale(void **state)
{
    static const char source[] =
        "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\n"
        "END LC_NUMERIC\n";
    static const char *const posix[] = {"CTYPE", "COLLATE", "MONETARY", "TIME", "MESSAGES"};
    FILE *f = fopen(in_dir(state, "comma.src"), "w");
    if (!f || fputs(source, f) == EOF) {
        return false;
    }
    for (size_t i = 0; i < sizeof posix / sizeof *posix; ++i) {
        (void)fprintf(f, "LC_%s\ncopy \"POSIX\"\nEND LC_%s\n", posix[i], posix[i]);
    }
    CS_AUTO_FREE char *command = cs_format(
        "cd '%s' && localedef -c -i comma.src ./comma > localedef.log 2>&1", (const char *)*state);
    /* Its status also counts warnings: whether the locale works is seen below. */
    bool made = fclose(f) == 0 && command && system(command) != -1;
    char half[8] = "";
    if (made && setenv("LOCPATH", *state, 1) == 0 && setlocale(LC_NUMERIC, "comma")) {
        (void)snprintf(half, sizeof half, "%g", 0.5);
    }
    (void)unsetenv("LOCPATH");
    return strcmp(half, "0,5") == 0;
}

void fail_each_allocation(cs_status (*fn)(const char *path), const char *path)
{
    int64_t n = 0;
    while (test_fail_next(&n)) {
        (void)out_of_memory(fn(path));
    }
    assert_true(n > 3); /* at least some failed */
}

void fail_or_spare_each_allocation(cs_status (*fn)(const char *path), const char *path)
{
    bool failed = true;
    for (int64_t n = 1; failed; ++n) {
        assert_true(n < 100000);
        cs_reason_clear();
        (void)cs_mem_fail_at(n);
        const cs_status status = fn(path);
        failed = cs_mem_fail_at(0) >= n;
        assert_true(status == CS_OK || (failed && status == CS_ERR_MEMORY && *cs_reason()));
    }
    cs_reason_clear();
}

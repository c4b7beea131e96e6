/* Support of the tests of src/io. */
#include <dirent.h>
#include <ftw.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "io/file.h"
#include "io_support.h"

int io_dir_make(void **state)
{
    const char *base = getenv("TMPDIR");
    cs_reason_clear();
    *state = cs_format("%s/cospec-io-XXXXXX", base ? base : "/tmp");
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
    char *found = NULL;
    int64_t size = 0;
    assert_int_equal(cs_file_read(path, 1 << 20, &found, &size), CS_OK);
    assert_string_equal(found, text);
    assert_int_equal(size, strlen(text));
    cs_free(found);
}

int on_full_disk(cs_status (*fn)(const char *path), const char *path, const char *part)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit limit = {1000, 1000};
        (void)signal(SIGXFSZ, SIG_IGN);
        cs_status status = CS_OK;
        if (setrlimit(RLIMIT_FSIZE, &limit) == 0) {
            status = fn(path);
        }
        _exit(strstr(cs_reason(), part) ? (int)status : 99);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) != 99 ? WEXITSTATUS(status) : -1;
}

bool comma_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "da_DK.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (setlocale(LC_NUMERIC, names[i])) {
            return true;
        }
    }
    return false;
}

void fail_each_allocation(cs_status (*fn)(const char *path), const char *path)
{
    cs_status status = CS_ERR_MEMORY;
    int64_t n = 1;
    for (; n < 10000 && status != CS_OK; ++n) {
        cs_reason_clear();
        (void)cs_mem_fail_at(n);
        status = fn(path);
        (void)cs_mem_fail_at(0);
        if (status != CS_OK) {
            assert_int_equal(status, CS_ERR_MEMORY);
            assert_true(strlen(cs_reason()) > 0);
        }
    }
    assert_int_equal(status, CS_OK);
    assert_true(n > 3); /* at least some failed */
    cs_reason_clear();
}

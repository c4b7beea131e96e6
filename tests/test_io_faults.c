/* Every writer and reader of src/io with each of its calls to the system failing in turn: an error
 * that names the file, the old file whole or the new one, no temporary file, no open descriptor.
 *
 * The calls are replaced by those below, for this program and the libraries that it uses. A file is
 * closed all the same when fclose fails, as POSIX has it. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "io/digests.h"
#include "io/file.h"
#include "io/gzip.h"
#include "io/json.h"
#include "io/lock.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/rows.h"
#include "io/safetensors.h"
#include "io/table.h"
#include "io_support.h"

static int calls_left, fault_error; /* the first that fails; 0: none */
static bool failed, renamed, closed_badly;

static bool fails(void)
{
    if (calls_left == 0 || --calls_left > 0) {
        return false;
    }
    failed = true;
    errno = fault_error;
    return true;
}

/* The call of the C library itself. */
static void find_call(void *call, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    assert_non_null(found);
    memcpy(call, &found, sizeof found);
}

#define FAULTY(type, bad, name, parameters, ...)                                                   \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*call) parameters;                                                             \
        if (!call) find_call(&call, #name);                                                        \
        return fails() ? (bad) : call(__VA_ARGS__);                                                \
    }

typedef int (*chooser)(const struct dirent *);
typedef int (*order)(const struct dirent **, const struct dirent **);

FAULTY(FILE *, NULL, fdopen, (int fd, const char *mode), fd, mode)
FAULTY(int, EOF, fflush, (FILE * f), f)
FAULTY(int, -1, fsync, (int fd), fd)
FAULTY(int, -1, fseek, (FILE * f, long at, int from), f, at, from)
FAULTY(int, -1, fseeko, (FILE * f, off_t at, int from), f, at, from)
FAULTY(int, -1, lstat, (const char *path, struct stat *st), path, st)
FAULTY(int, -1, fstat, (int fd, struct stat *st), fd, st)
static bool short_reads; /* pread moves half of the bytes requested */
FAULTY(ssize_t, -1, pread, (int fd, void *to, size_t n, off_t at), fd, to,
       short_reads ? n - n / 2 : n, at)
FAULTY(ssize_t, -1, read, (int fd, void *to, size_t n), fd, to, n)
FAULTY(int, -1, scandir, (const char *dir, struct dirent ***list, chooser choose, order by), dir,
       list, choose, by)

static int stat_error; /* 0: stat works */

int stat(const char *path, struct stat *st)
{
    static int (*call)(const char *, struct stat *);
    if (!call) find_call(&call, "stat");
    errno = stat_error;
    return stat_error ? -1 : call(path, st);
}

int open(const char *path, int flags, ...)
{
    static int (*call)(const char *, int, ...);
    if (!call) find_call(&call, "open");
    const bool of_lock = strstr(path, CS_LOCK_NAME); /* without a record, --force is needed */
    return !of_lock && fails() ? -1 : call(path, flags, 0666); /* all files of src/io are made so */
}

FILE *fopen(const char *path, const char *mode)
{
    static FILE *(*call)(const char *, const char *);
    if (!call) find_call(&call, "fopen");
    const bool of_system = strncmp(path, "/proc/", 6) == 0 ||
                           strncmp(path, "/sys/", 5) == 0; /* how much memory there is */
    return !of_system && fails() ? NULL : call(path, mode);
}

int fclose(FILE *f)
{
    static int (*call)(FILE *);
    if (!call) find_call(&call, "fclose");
    const int bad = fails() ? EOF : 0, code = errno;
    closed_badly |= bad != 0;
    const int closed = call(f);
    errno = bad ? code : errno;
    return bad ? bad : closed;
}

int rename(const char *from, const char *to)
{
    static int (*call)(const char *, const char *);
    if (!call) find_call(&call, "rename");
    if (fails()) return -1;
    renamed = true;
    return call(from, to);
}

static int open_files(void)
{
    DIR *list = opendir("/proc/self/fd");
    int count = 0;
    assert_non_null(list);
    while (readdir(list)) {
        ++count;
    }
    assert_int_equal(closedir(list), 0);
    return count;
}

static cs_status with_fault(cs_status (*fn)(const char *path), const char *path, int at, int error)
{
    calls_left = at;
    fault_error = error;
    failed = renamed = closed_badly = false;
    cs_reason_clear();
    const cs_status status = fn(path);
    calls_left = 0;
    return status;
}

/* --- writers ---------------------------------------------------------------------------------- */

static const double numbers[6] = {1, 2, 3, 4, 5, 6};
static const int64_t shape[2] = {3, 2};

static cs_status write_bytes(const char *path)
{
    return cs_file_write(path, "new", 3);
}

static cs_status write_npy(const char *path)
{
    return cs_npy_write(path, CS_F64, 2, shape, numbers);
}

static cs_status write_stream(const char *path)
{
    cs_npy_stream *s = NULL;
    cs_status status = cs_npy_stream_open(path, CS_F64, 2, &s);
    if (status == CS_OK) status = cs_npy_stream_append(s, numbers, 3);
    if (status == CS_OK) status = cs_npy_stream_close(&s);
    cs_npy_stream_abort(&s);
    return status;
}

static cs_status write_npz(const char *path)
{
    cs_npz_writer *w = NULL;
    cs_status status = cs_npz_create(path, &w);
    if (status == CS_OK) status = cs_npz_add(w, "x", CS_F64, 2, shape, numbers);
    if (status == CS_OK) status = cs_npz_add(w, "v", CS_F64, 1, (int64_t[]){6}, numbers);
    if (status == CS_OK) status = cs_npz_add_text(w, "t", "text");
    if (status == CS_OK) status = cs_npz_commit(&w);
    cs_npz_abort(&w);
    return status;
}

static cs_status write_table(const char *path)
{
    CS_AUTO(cs_table) table = {0};
    cs_status status = cs_table_init(&table, "a,b");
    if (status == CS_OK) status = cs_table_row(&table);
    if (status == CS_OK) status = cs_table_int(&table, "a", 3);
    if (status == CS_OK) status = cs_table_write_csv(&table, path);
    return status;
}

static cs_status write_json(const char *path)
{
    json_auto_t *value = cs_json_numbers(6, numbers);
    cs_status status = cs_json_write(path, value);
    return status;
}

static cs_status write_tensors(const char *path)
{
    const cs_safetensors_entry entry = {.name = "w", .dtype = CS_F64, .ndim = 2, .shape = {3, 2}};
    cs_safetensors_writer *w = NULL;
    cs_status status = cs_safetensors_writer_open(path, 1, &entry, 0, NULL, &w);
    if (status == CS_OK) status = cs_safetensors_writer_put(w, numbers, sizeof numbers);
    if (status == CS_OK) status = cs_safetensors_writer_commit(&w);
    cs_safetensors_writer_abort(&w);
    return status;
}

/* All that is allowed: the old bytes, or, where the folder alone could not be synced, the new. */
static void writes_survive(void **state, cs_status (*fn)(const char *path))
{
    const char *path = in_dir(state, "file");
    char *whole = NULL, *found = NULL;
    int64_t size = 0, now = 0;
    OK(fn(path));
    OK(cs_file_read(path, 1 << 20, &whole, &size));
    const int before = open_files();
    int n = 1;
    for (failed = true; failed; ++n) {
        OK(cs_file_write(path, "old", 3));
        const cs_status status = with_fault(fn, path, n, EIO);
        assert_int_equal(status, failed ? CS_ERR_IO : CS_OK);
        assert_true(!failed || strstr(cs_reason(), *state));
        assert_true(!failed || strstr(cs_reason(), "Input/output error"));
        OK(cs_file_read(path, 1 << 20, &found, &now));
        assert_int_equal(now, renamed ? size : 3);
        assert_memory_equal(found, renamed ? whole : "old", (size_t)now);
        cs_free(found);
        assert_int_equal(entries(state), 1);
        assert_int_equal(open_files(), before);
    }
    assert_true(n > 6); /* open, fdopen, fflush, fsync, fclose, rename and the folder's */
    assert_int_equal(unlink(path), 0);
    cs_free(whole);
}

TEST_IN_DIR(no_writer_loses_a_file)
{
    writes_survive(state, write_bytes);
    writes_survive(state, write_npy);
    writes_survive(state, write_stream);
    writes_survive(state, write_npz);
    writes_survive(state, write_table);
    writes_survive(state, write_json);
    writes_survive(state, write_tensors);
}

/* A file system whose folders cannot be synced, or folders that cannot be read, are no error. */
TEST_IN_DIR(folders_may_refuse_to_be_synced)
{
    const char *path = in_dir(state, "file");
    for (int tolerated = 0, n = 1; tolerated < 2; ++n) {
        const int error = tolerated == 0 ? EACCES : ENOTSUP;
        const cs_status status = with_fault(write_bytes, path, n, error);
        tolerated += status == CS_OK && failed;
        assert_true(failed);
        assert_int_equal(status == CS_OK, renamed && tolerated > 0);
        assert_true(n < 20);
    }
    assert_content(path, "new");
}

/* --- readers ---------------------------------------------------------------------------------- */

static cs_status read_bytes(const char *path)
{
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0;
    cs_status status = cs_file_read(path, 1 << 20, &text, &size);
    return status;
}

static cs_status read_packed(const char *path)
{
    char *text = NULL, sha256[65];
    int64_t size = 0;
    cs_status status = cs_file_unpacked(path, &text, &size, sha256, NULL);
    cs_free(text);
    return status;
}

static cs_status read_npy(const char *path)
{
    CS_AUTO(cs_array) a = {0};
    cs_status status = cs_npy_read(path, 1 << 20, &a);
    if (status == CS_OK) assert_memory_equal(a.data, numbers, sizeof numbers);
    return status;
}

static cs_status read_rows(const char *path)
{
    CS_AUTO_BY(cs_rows_close, cs_rows) rows = {0};
    double x[6] = {0};
    cs_status status = cs_rows_open(path, &rows);
    if (status == CS_OK) status = cs_rows_read_f64(&rows, 0, 3, x);
    if (status == CS_OK) assert_memory_equal(x, numbers, sizeof numbers);
    return status;
}

static cs_status read_npz(const char *path)
{
    cs_npz *npz = NULL;
    CS_AUTO(cs_array) a = {0};
    cs_status status = cs_npz_open(path, 1 << 20, &npz);
    if (status == CS_OK) status = cs_npz_read(npz, "x", &a);
    if (status == CS_OK) assert_memory_equal(a.data, numbers, sizeof numbers);
    cs_npz_close(npz);
    return status;
}

static cs_status read_items(const char *path)
{
    cs_npz *npz = NULL;
    cs_npz_items *items = NULL;
    const cs_array *piece = NULL;
    int64_t count = 0;
    cs_status status = cs_npz_open(path, 1 << 20, &npz);
    if (status == CS_OK) status = cs_npz_items_open(npz, "v", &items, &count);
    for (int64_t i = 0; status == CS_OK && i < count; i += 2) {
        status = cs_npz_items_next(items, 2, &piece);
        if (status == CS_OK) assert_memory_equal(piece->data, numbers + i, 2 * sizeof *numbers);
    }
    cs_npz_items_close(items);
    cs_npz_close(npz);
    return status;
}

static cs_status read_tensors(const char *path)
{
    cs_safetensors *s = NULL;
    double x[6] = {0};
    cs_status status = cs_safetensors_open(path, &s);
    if (status == CS_OK) status = cs_safetensors_verify(s);
    if (status == CS_OK) status = cs_safetensors_read(s, cs_safetensors_at(s, 0), 0, 6, x);
    if (status == CS_OK) assert_memory_equal(x, numbers, sizeof numbers);
    cs_safetensors_free(s);
    return status;
}

/* A failing read of the first bytes does not make compressed data plain. */
static cs_status read_stream(const char *path)
{
    char text[256] = "";
    FILE *stream = NULL;
    cs_status status = cs_stream_open(path, &stream);
    if (status != CS_OK) return status;
    const size_t size = fread(text, 1, sizeof text, stream);
    status = ferror(stream) ? cs_fail(CS_ERR_IO, "%s: %s", path, strerror(errno)) : CS_OK;
    (void)fclose(stream);
    if (status == CS_OK) assert_memory_equal(text, "\x93NUMPY", 6);
    assert_true(status != CS_OK || size == 128 + sizeof numbers);
    return status;
}

static cs_status hash_all(const char *path)
{
    char hex[65];
    int64_t bytes = 0;
    return cs_path_sha256(path, NULL, hex, &bytes);
}

/* Digests of files: all are recorded, or none. */
static cs_status put_digest(const char *dir)
{
    json_auto_t *outputs = json_array();
    cs_status status = cs_digest_put(outputs, dir, "a.npy");
    assert_true(status != CS_OK || json_array_size(outputs) == 1);
    return status;
}

static cs_status list_names(const char *path)
{
    char **name = NULL;
    int64_t count = 0;
    cs_status status = cs_dir_names(path, &name, &count);
    cs_text_list_free(name, count);
    return status;
}

/* A wrong call to close what was read loses nothing: it alone is let pass. */
static void reads_fail(cs_status (*fn)(const char *path), const char *path)
{
    const int before = open_files();
    int refused = 0;
    OK(fn(path));
    failed = true;
    for (int n = 1; failed; ++n) {
        const cs_status status = with_fault(fn, path, n, EIO);
        assert_true(status != CS_OK || !failed || closed_badly);
        assert_true(status == CS_OK || failed);
        assert_true(status == CS_OK || strstr(cs_reason(), path));
        refused += status != CS_OK;
        assert_int_equal(open_files(), before);
        assert_true(n < 200);
    }
    assert_true(refused > 0);
    cs_reason_clear();
}

static void pack(const char *from, const char *to)
{
    CS_AUTO_FREE char *bytes = NULL;
    int64_t size = 0;
    OK(cs_file_read(from, 1 << 20, &bytes, &size));
    gzFile f = gzopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)size), size);
    assert_int_equal(gzclose(f), Z_OK);
}

TEST_IN_DIR(no_reader_takes_an_error_for_the_end)
{
    const char *npy = in_dir(state, "a.npy"), *npz = in_dir(state, "a.npz"),
               *tensors = in_dir(state, "a.safetensors");
    OK(write_npy(npy));
    OK(write_npz(npz));
    OK(write_tensors(tensors));
    reads_fail(read_bytes, npy);
    reads_fail(read_packed, npy);
    reads_fail(read_npy, npy);
    reads_fail(read_rows, npy);
    const char *packed = in_dir(state, "packed.npy");
    pack(npy, packed);
    reads_fail(read_stream, packed);
    reads_fail(read_npy, packed);
    reads_fail(read_rows, packed);
    for (int deflated = 0; deflated < 2; ++deflated) {
        reads_fail(read_npz, npz);
        reads_fail(read_items, npz);
        deflate_archive(npz);
    }
    reads_fail(read_tensors, tensors);
    reads_fail(hash_all, *state);
    reads_fail(put_digest, *state);
    reads_fail(list_names, *state);
}

/* A signal that comes while a file is read: the call is made again. */
TEST_IN_DIR(interrupted_reads_go_on)
{
    const char *npy = in_dir(state, "a.npy"), *npz = in_dir(state, "a.npz");
    OK(write_npy(npy));
    OK(write_npz(npz));
    int went_on = 0, members = 0;
    failed = true;
    for (int n = 1; failed; ++n) {
        went_on += with_fault(read_npy, npy, n, EINTR) == CS_OK && failed;
        went_on += with_fault(read_rows, npy, n, EINTR) == CS_OK && failed;
        members += with_fault(read_items, npz, n, EINTR) == CS_OK && failed;
    }
    assert_true(went_on >= 4); /* header and items, of each */
    assert_true(members >= 6); /* start, end, directory, header of the archive; header and items */
}

TEST_IN_DIR(short_reads_go_on)
{
    const char *npy = in_dir(state, "a.npy"), *packed = in_dir(state, "packed.npy"),
               *npz = in_dir(state, "a.npz"), *deflated = in_dir(state, "deflated.npz");
    OK(write_npy(npy));
    pack(npy, packed);
    OK(write_npz(npz));
    OK(write_npz(deflated));
    deflate_archive(deflated);
    short_reads = true;
    const cs_status status = read_stream(packed), plain = read_npy(npy), stored = read_npz(npz),
                    inflated = read_items(deflated);
    short_reads = false;
    OK(status);
    OK(plain);
    OK(stored);
    OK(inflated);
}

/* Only a name that leads nowhere proves that a file is not there. */
TEST_IN_DIR(a_file_that_cannot_be_examined_is_not_absent)
{
    const char *path = put(state, "a", "text"), *inner = in_dir(state, "a/b");
    bool there = false;
    OK(cs_path_find(path, &there));
    assert_true(there && cs_path_exists(path));
    OK(cs_path_find(inner, &there)); /* ENOTDIR */
    assert_false(there || cs_path_exists(inner) || cs_path_exists(in_dir(state, "c")));
    static const int errors[] = {EIO, EACCES, ELOOP};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; ++i) {
        cs_reason_clear();
        stat_error = errors[i];
        const cs_status status = cs_path_find(path, &there);
        const bool exists = cs_path_exists(path);
        stat_error = 0;
        assert_int_equal(status, CS_ERR_IO);
        assert_non_null(strstr(cs_reason(), strerror(errors[i])));
        assert_non_null(strstr(cs_reason(), path));
        assert_true(exists);
    }
    char hex[65];
    int64_t bytes = 0;
    put(state, "manifest.json", "{\"outputs\": [{\"path\": \"a\", \"sha256\": \"0\"}]}");
    stat_error = EIO; /* the record is read all the same */
    const cs_status status = cs_digest_check_file(path);
    stat_error = 0;
    assert_int_equal(status, CS_ERR_IO);
    assert_fails(cs_path_sha256(path, NULL, hex, &bytes), CS_ERR_INPUT, "manifest.json says 0");
}

/* Inputs kept for every reader (tests/fuzz/regressions/READER/NAME), replayed: nothing crashes, each
 * has a status and a reason; those named ok* are read, so that each reader is known to read
 * something. */
#include <dirent.h>

#include "fuzz/readers.h"
#include "io/file.h"
#include "test.h"

#define KEPT "tests/fuzz/regressions"

static int64_t replay(const fuzz_reader *reader)
{
    char dir[128], **name = NULL, *bytes = NULL;
    int64_t count = 0, size = 0, read = 0;
    (void)snprintf(dir, sizeof dir, KEPT "/%s", reader->name);
    OK(cs_dir_names(dir, &name, &count));
    for (int64_t i = 0; i < count; ++i) {
        CS_AUTO_FREE char *path = cs_path_join(dir, name[i]);
        OK(cs_file_read(path, 1 << 24, &bytes, &size));
        const bool fine = strncmp(name[i], "ok", 2) == 0;
        const cs_status status = fuzz_read(reader, (const uint8_t *)bytes, (size_t)size);
        if (fine != (status == CS_OK)) {
            fail_msg("%s has status %d: %s", path, (int)status, cs_reason());
        }
        cs_reason_clear();
        read += fine;
        cs_free(bytes);
    }
    cs_text_list_free(name, count);
    return read;
}

TEST(kept_inputs_are_read_or_refused)
{
    for (int i = 0; fuzz_reader_at(i); ++i) {
        if (replay(fuzz_reader_at(i)) < 1) {
            fail_msg("no kept input is one that %s reads", fuzz_reader_at(i)->name);
        }
    }
}

/* A folder whose reader is not in the table would never be replayed. */
TEST(every_folder_has_a_reader)
{
    char **name = NULL;
    int64_t count = 0;
    OK(cs_dir_names(KEPT, &name, &count));
    for (int64_t i = 0; i < count; ++i) {
        assert_non_null(fuzz_reader_by_name(name[i]));
    }
    cs_text_list_free(name, count);
}

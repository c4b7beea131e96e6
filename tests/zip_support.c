/* Support of the tests of archives that needs libzip, which only the tests that use it load. */
#include <zip.h>

#include "io_support.h"

void deflate_archive(const char *path)
{
    zip_t *zip = zip_open(path, 0, NULL);
    assert_non_null(zip);
    for (zip_int64_t i = 0; i < zip_get_num_entries(zip, 0); ++i) {
        assert_int_equal(zip_set_file_compression(zip, (zip_uint64_t)i, ZIP_CM_DEFLATE, 0), 0);
    }
    assert_int_equal(zip_close(zip), 0);
}

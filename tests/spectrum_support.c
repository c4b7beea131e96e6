#include "spectrum_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

cs_spectrum spectrum_of(const cs_csr *a, cs_spectrum_options options)
{
    cs_spectrum s = {0};
    cs_status status = cs_spectrum_of(a, &options, &s);
    if (status != CS_OK) {
        fail_msg("%s", cs_reason());
    }
    return s;
}

cs_csr normalised(const cs_csr *a)
{
    cs_csr abar = {0};
    assert_int_equal(cs_normalise(a, &abar, NULL, NULL), CS_OK);
    return abar;
}

cs_csr cycle(int64_t n)
{
    cs_csr a = {0};
    assert_int_equal(cs_csr_init(&a, n, n, 2 * n), CS_OK);
    for (int64_t i = 0; i < n; ++i) {
        int64_t low = i + 1 < n ? i : 0, high = i + 1 < n ? i + 1 : n - 1;
        a.col[2 * i] = (int32_t)low;
        a.col[2 * i + 1] = (int32_t)high;
        a.val[2 * i] = a.val[2 * i + 1] = 3;
        a.ptr[i + 1] = 2 * (i + 1);
    }
    return a;
}

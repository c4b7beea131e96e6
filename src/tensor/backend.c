/* What all backends share. */
#include "tensor/backend.h"

#include <stddef.h>

void cs_backend_free(cs_backend **held)
{
    if (*held) {
        (*held)->free(*held);
        *held = NULL;
    }
}

int64_t cs_real_size(cs_real_kind kind)
{
    switch (kind) {
    case CS_REAL_F64:
        return 8;
    case CS_REAL_BF16:
        return 2;
    default:
        return 4;
    }
}

/* The reference backend: the specification of the operations in plain loops, one thread. */
#pragma once

#include "tensor/backend.h"

cs_status cs_backend_ref(cs_backend **out) CS_MUST_CHECK;   /* float */
cs_status cs_backend_ref64(cs_backend **out) CS_MUST_CHECK; /* double */

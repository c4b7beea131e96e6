/* The reference backend (backend_ref.c) for float. */
#define CS_REF_FLOAT
#include "backend_ref.c" /* NOLINT(bugprone-suspicious-include): the same text for another type */

/* The reference backend (tensor/ref.c) for float. */
#define CS_REF_FLOAT
#include "tensor/ref.c" /* NOLINT(bugprone-suspicious-include): the same text for another type */

/* Whether a drawing by another program is complete. An exit code of 0 does not prove that: gnuplot
 * returns it after failed writes too. */
#pragma once

#include <stdint.h>

/* NULL for a complete drawing, else its fault. format: svg (every element is closed, and </svg> is
 * last), png (every chunk has its checksum, and IEND is last), pdf (startxref gives the place of
 * the table of objects, and %%EOF is last). */
const char *cs_drawing_fault(const char *format, const char *bytes, int64_t size);

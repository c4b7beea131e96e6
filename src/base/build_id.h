/* Which build of the program this is. */
#pragma once

/* The build id of the program, or of the shared object that has this code: the SHA-1 that the linker
 * took of what it linked, in 40 digits (GNU: --build-id=sha1; readelf -n, file). strip does not
 * change it. "" if the linker wrote none. */
const char *cs_build_id(void);

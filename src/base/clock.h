/* Seconds of a clock that only goes forward. */
#pragma once

double cs_seconds(void);

/* Seconds of a clock that only goes forward. */
#pragma once

double cs_seconds(void);

/* Seconds of processors that this process and the children it has waited for have used. */
double cs_processor_seconds(void);

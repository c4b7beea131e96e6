/* Seconds of a monotonic clock. */
#pragma once

double cs_seconds(void);

/* Processor seconds of this process and of the children that it has waited for. */
double cs_processor_seconds(void);

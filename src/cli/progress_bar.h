/* Progress on standard error: a bar on a terminal, one line a minute elsewhere. */
#pragma once

#include "base/progress.h"

/* Takes reports and shows them. Static lifetime. */
extern const cs_progress cs_progress_shown;

/* Clears the bar, if one is incomplete on the terminal. */
void cs_progress_clear(void);

/* Without a terminal: starts a thread that writes a line each `period` seconds (> 0), with or
 * without new reports, until cs_progress_stop. Does nothing on a terminal, and if it already runs.
 */
void cs_progress_start(double period);
void cs_progress_stop(void);

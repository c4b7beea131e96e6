/* Progress on standard error: a bar on a terminal, one line a minute elsewhere. */
#pragma once

#include "base/progress.h"

/* Takes reports and shows them. Static lifetime. */
extern const cs_progress cs_progress_shown;

/* Clears the bar, where one is unfinished on the terminal. */
void cs_progress_clear(void);

/* Off a terminal: starts a thread that writes a line each `period` seconds (> 0), whether or not a
 * report has come, until cs_progress_stop. Does nothing on a terminal, and when it runs already. */
void cs_progress_start(double period);
void cs_progress_stop(void);

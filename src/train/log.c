/* Rows are flushed one by one. What a resumed run drops are whole rows behind its checkpoint and
 * the torn one that a kill may leave. */
#include "base/auto.h"
#include "train/log_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/file.h"
#include "io/number.h"

#define HEADER                                                                                     \
    "step,tokens,loss,learning_rate,grad_norm,tokens_per_second,memory_bytes,eval_loss,skipped,"   \
    "data_seconds\n"

enum { DIGITS = 9, LOG_LIMIT = 1 << 30 };

static cs_status failed(const char *path)
{
    return cs_fail(CS_ERR_IO, "%s: cannot write: %s", path, strerror(errno));
}

/* Bytes of the header and the whole rows whose step is at most `step`. */
static cs_status kept(const char *path, const char *text, int64_t step, int64_t *out)
{
    const char *line = text + strlen(HEADER), *end = NULL;
    if (strncmp(text, HEADER, strlen(HEADER)) != 0) {
        return cs_fail(CS_ERR_INPUT, "%s: not a training log (unexpected header)", path);
    }
    while ((end = strchr(line, '\n')) && strtoll(line, NULL, 10) <= step) {
        line = end + 1;
    }
    *out = line - text;
    return CS_OK;
}

/* Writes the beginning of the log, in one atomic write. */
static cs_status begin(const char *path, int64_t step)
{
    if (step == 0 || !cs_path_exists(path)) {
        return cs_file_write(path, HEADER, (int64_t)strlen(HEADER));
    }
    CS_AUTO_FREE char *text = NULL;
    int64_t size = 0, keep = 0;
    cs_status status = cs_file_read(path, LOG_LIMIT, &text, &size);
    if (status == CS_OK) status = kept(path, text, step, &keep);
    if (status == CS_OK && keep < size) status = cs_file_write(path, text, keep);
    return status;
}

cs_status cs_log_open(const char *dir, int64_t step, cs_log *out)
{
    cs_log log = {.path = cs_path_join(dir, "log.csv")};
    cs_status status = log.path ? begin(log.path, step) : CS_ERR_MEMORY;
    if (status == CS_OK && !(log.stream = fopen(log.path, "ae"))) status = failed(log.path);
    log.since = cs_seconds();
    return CS_DELIVER(status, out, log, cs_log_close);
}

cs_status cs_log_add(cs_log *log, const cs_log_row *row)
{
    char loss[CS_REAL_TEXT] = "", rate[CS_REAL_TEXT], norm[CS_REAL_TEXT] = "", speed[CS_REAL_TEXT],
         eval[CS_REAL_TEXT] = "", data[CS_REAL_TEXT] = "";
    double now = cs_seconds();
    if (!row->empty) {
        cs_real_format(row->loss, DIGITS, loss);
        cs_real_format(row->grad_norm, DIGITS, norm);
    }
    cs_real_format(row->learning_rate, DIGITS, rate);
    cs_real_format((double)(row->tokens - log->tokens) / (now - log->since), 6, speed);
    if (!isnan(row->eval_loss)) {
        cs_real_format(row->eval_loss, DIGITS, eval);
    }
    if (!isnan(row->data_seconds)) {
        cs_real_format(row->data_seconds, 3, data);
    }
    int n = fprintf(log->stream, "%lld,%lld,%s,%s,%s,%s,%lld,%s,%lld,%s\n", (long long)row->step,
                    (long long)row->tokens, loss, rate, norm, speed, (long long)row->memory, eval,
                    (long long)row->skipped, data);
    log->since = now;
    log->tokens = row->tokens;
    return n < 0 || fflush(log->stream) != 0 ? failed(log->path) : CS_OK;
}

cs_status cs_log_sync(cs_log *log)
{
    return fsync(fileno(log->stream)) != 0 ? failed(log->path) : CS_OK;
}

void cs_log_close(cs_log *log)
{
    if (log->stream) {
        (void)fclose(log->stream); /* every row was flushed and checked */
    }
    cs_free(log->path);
    *log = (cs_log){0};
}

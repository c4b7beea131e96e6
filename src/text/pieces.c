/* Two texts and two lists of pieces, which change places at each step. */
#include "text/pieces.h"

#include <string.h>

#include "base/mem.h"
#include "text/regex_private.h"
#include "text/unicode.h"

cs_status cs_pieces_start(cs_pieces *p, const char *text, int64_t size, bool lead)
{
    p->text = text;
    p->size = size;
    p->lead = lead;
    p->fresh = p->cuts = 0;
    cs_status status = cs_pieces_cut(p, 0, size);
    if (status == CS_OK) cs_pieces_turn(p);
    return status;
}

cs_status cs_pieces_put(cs_pieces *p, const char *bytes, int64_t size)
{
    cs_status status = CS_OK;
    if (p->fresh + size > p->made_capacity) {
        status = cs_reserve(&p->made, &p->made_capacity, p->fresh + size, 1);
    }
    if (status == CS_OK && size > 0) {
        memcpy(p->made + p->fresh, bytes, (size_t)size);
        p->fresh += size;
    }
    return status;
}

cs_status cs_pieces_put_char(cs_pieces *p, int32_t c)
{
    if (p->fresh + 4 > p->made_capacity) {
        cs_status status = cs_reserve(&p->made, &p->made_capacity, p->fresh + 4, 1);
        if (status != CS_OK) return status;
    }
    if (c < 0x80) {
        p->made[p->fresh++] = (char)c;
    } else {
        p->fresh += utf8proc_encode_char(c, (utf8proc_uint8_t *)p->made + p->fresh);
    }
    return CS_OK;
}

cs_status cs_pieces_cut(cs_pieces *p, int64_t from, int64_t to)
{
    if (p->cuts == p->cut_capacity) {
        cs_status status = cs_reserve(&p->cut, &p->cut_capacity, p->cuts + 1, sizeof *p->cut);
        if (status != CS_OK) return status;
    }
    p->cut[p->cuts++] = (cs_span){from, to};
    return CS_OK;
}

void cs_pieces_turn(cs_pieces *p)
{
    cs_span *span = p->span;
    int64_t capacity = p->span_capacity;
    p->span = p->cut;
    p->span_capacity = p->cut_capacity;
    p->spans = p->cuts;
    p->cut = span;
    p->cut_capacity = capacity;
    p->cuts = 0;
}

void cs_pieces_turn_text(cs_pieces *p)
{
    char *text = p->own;
    int64_t capacity = p->own_capacity;
    p->own = p->made;
    p->own_capacity = p->made_capacity;
    p->text = p->own ? p->own : "";
    p->size = p->fresh;
    p->made = text;
    p->made_capacity = capacity;
    p->fresh = 0;
    cs_pieces_turn(p);
}

cs_status cs_pieces_turn_whole(cs_pieces *p)
{
    cs_status status = cs_pieces_cut(p, 0, p->fresh);
    if (status == CS_OK) cs_pieces_turn_text(p);
    return status;
}

void cs_pieces_free(cs_pieces *p)
{
    CS_FREE_FIELDS(p, span, own, made, cut, point);
    cs_regex_scratch_free(p->regex);
    memset(p, 0, sizeof *p);
}

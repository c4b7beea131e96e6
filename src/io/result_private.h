/* The tree of a record, only for io/result*.c. */
#pragma once

#include "io/result.h"

typedef enum { NONE, TEXT, INT, REAL, FLAG, OBJECT, ARRAY } cs_item_kind;

struct cs_item {
    cs_item_kind kind;
    cs_result *owner;
    cs_item *parent; /* the containing object or array; NULL: the root */
    char *key;       /* in an object */
    int64_t index;   /* in an array */
    union {
        char *text;
        int64_t integer;
        double real;
        bool flag;
        struct {
            int64_t count, capacity;
            cs_item **child;
        };
    };
};

struct cs_result {
    cs_status status;
    cs_item root;
};

/* The member of an object whose key is key[0..length); NULL if there is none. */
const cs_item *cs_item_child(const cs_item *in, const char *key, size_t length);

cs_status cs_item_to_json(const cs_item *item, json_t **out) CS_MUST_CHECK;

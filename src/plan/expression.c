/* Recursive descent into a postfix program (Aho et al., Compilers, 2.5). Every instruction stands for
 * one character of the text or more, which bounds the program; at most three operands wait on each
 * of the levels of recursion (of a sum, a product, a power or a list), which bounds the stack.
 */
#include "plan/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/enum_names.h"
#include "base/mem.h"
#include "io/number.h"

/* min and max are binary operators in the end. */
static const char *const NAMES[] = {"min",  "max", "round", "floor", "ceil",
                                    "sqrt", "log", "log1p", "exp",   NULL};
static double (*const FUNCTIONS[])(double) = {NULL, NULL, round, floor, ceil,
                                              sqrt, log,  log1p, exp};

typedef struct {
    /* '0': value, 'v': variable, 'f': function; else operator, '<' min, '>' max */
    char kind;
    int variable;
    double value;
    double (*function)(double);
} instruction;

struct cs_expression {
    char *text;
    int size;
    bool varies;
    instruction code[];
};

typedef struct {
    const char *variables, *text, *at;
    int depth;
    cs_expression *out;
} parser;

static const char LENGTH[] = "s";

static cs_status sum(parser *p);
static cs_status with_sign(parser *p);

static cs_status fail(const parser *p, const char *what)
{
    return cs_fail(CS_ERR_USAGE, "\"%.100s%s\": column %d: %s", p->text,
                   strlen(p->text) > 100 ? "..." : "", (int)(p->at - p->text) + 1, what);
}

/* The error that names the text found here and the one expected. */
static cs_status unexpected(const parser *p, const char *wanted)
{
    char what[96], here[16] = "the end";
    if (*p->at) {
        (void)snprintf(here, sizeof here, "\"%c\"", isprint((unsigned char)*p->at) ? *p->at : '?');
    }
    (void)snprintf(what, sizeof what, "%s, but %s was expected", here, wanted);
    return fail(p, what);
}

static char peek(parser *p)
{
    p->at += strspn(p->at, " \t");
    return *p->at;
}

static void emit(parser *p, instruction i)
{
    p->out->varies = p->out->varies || i.kind == 'v';
    p->out->code[p->out->size++] = i;
}

static cs_status number(parser *p)
{
    char text[64];
    size_t n = strspn(p->at, "0123456789."), e = n + 1;
    if (n > 0 && (p->at[n] == 'e' || p->at[n] == 'E')) {
        e += p->at[e] == '-' || p->at[e] == '+';
        n = isdigit((unsigned char)p->at[e]) ? e + strspn(p->at + e, "0123456789") : n;
    }
    instruction i = {.kind = '0'};
    (void)snprintf(text, sizeof text, "%.*s", (int)n, p->at);
    if (n >= sizeof text || !cs_real_scan(text, &i.value)) {
        return fail(p, "not a number in the range of a double");
    }
    p->at += n;
    emit(p, i);
    return CS_OK;
}

/* "(" sum {"," sum} ")" behind a name. */
static cs_status arguments(parser *p, int name)
{
    const bool list = !FUNCTIONS[name];
    const instruction of_one = {.kind = 'f', .function = FUNCTIONS[name]},
                      of_two = {.kind = name == 0 ? '<' : '>'};
    int count = 0;
    cs_status status = peek(p) == '(' ? CS_OK : unexpected(p, "( after a function");
    while (status == CS_OK && (count == 0 || (list && peek(p) == ','))) {
        ++p->at;
        status = sum(p);
        if (!list || count > 0) emit(p, list ? of_two : of_one);
        ++count;
    }
    if (status == CS_OK && peek(p) != ')') status = unexpected(p, list ? ", or )" : ")");
    if (status == CS_OK && list && count < 2) status = fail(p, "min and max need two values");
    p->at += status == CS_OK;
    return status;
}

static cs_status name(parser *p)
{
    char word[16], what[128], names[64] = "";
    size_t n = 0;
    cs_hint hint = {0};
    while (isalnum((unsigned char)p->at[n])) {
        ++n;
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)n, p->at);
    const char *variable = n == 1 ? strchr(p->variables, word[0]) : NULL;
    if (variable) {
        emit(p, (instruction){.kind = 'v', .variable = (int)(variable - p->variables)});
        ++p->at;
        return CS_OK;
    }
    for (int f = 0; NAMES[f]; ++f) {
        if (strcmp(word, NAMES[f]) == 0) {
            p->at += n;
            return arguments(p, f);
        }
        cs_hint_consider(word, NAMES[f], &hint);
    }
    for (const char *v = p->variables; *v; ++v) {
        const size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%c", used ? ", " : "", *v);
    }
    const bool length = strcmp(p->variables, LENGTH) == 0;
    (void)snprintf(what, sizeof what, "unknown name %s (%s %s)%s", word,
                   length ? "the length is" : "the variables are", names, cs_hint_text("", &hint));
    return fail(p, what);
}

static cs_status atom(parser *p)
{
    char c = peek(p);
    if (isdigit((unsigned char)c) || c == '.') {
        return number(p);
    }
    if (isalpha((unsigned char)c)) {
        return name(p);
    }
    if (c != '(') {
        return unexpected(p, "a value");
    }
    ++p->at;
    cs_status status = sum(p);
    if (status == CS_OK && peek(p) != ')') status = unexpected(p, ")");
    p->at += status == CS_OK;
    return status;
}

static cs_status power(parser *p)
{
    cs_status status = atom(p);
    if (status == CS_OK && peek(p) == '^') {
        ++p->at;
        status = with_sign(p);
        emit(p, (instruction){.kind = '^'});
    }
    return status;
}

static double negated(double x)
{
    return -x;
}

/* Every way down leads through here. */
static cs_status with_sign(parser *p)
{
    char c = peek(p);
    if (p->depth == CS_EXPRESSION_DEPTH) {
        return fail(p, "nested too deeply in parentheses, signs or powers");
    }
    ++p->depth;
    p->at += c == '-' || c == '+';
    cs_status status = c == '-' || c == '+' ? with_sign(p) : power(p);
    if (c == '-') {
        emit(p, (instruction){.kind = 'f', .function = negated});
    }
    --p->depth;
    return status;
}

static cs_status chain(parser *p, const char *signs, cs_status (*next)(parser *p))
{
    cs_status status = next(p);
    for (char c; status == CS_OK && (c = peek(p)) != '\0' && strchr(signs, c);) {
        ++p->at;
        status = next(p);
        emit(p, (instruction){.kind = c});
    }
    return status;
}

static cs_status product(parser *p)
{
    return chain(p, "*/", with_sign);
}

static cs_status sum(parser *p)
{
    return chain(p, "+-", product);
}

cs_status cs_expression_parse(const char *text, cs_expression **out)
{
    return cs_expression_parse_in(LENGTH, text, out);
}

cs_status cs_expression_parse_in(const char *variables, const char *text, cs_expression **out)
{
    size_t length = strlen(text);
    if (length > CS_EXPRESSION_TEXT) {
        return cs_fail(CS_ERR_USAGE, "\"%.40s...\": %zu characters exceed the limit of %d", text,
                       length, CS_EXPRESSION_TEXT);
    }
    size_t bytes = sizeof(cs_expression) + (length + 1) * sizeof(instruction);
    parser p = {variables, text, .at = text, .out = cs_calloc(1, bytes)};
    if (!p.out) return CS_ERR_MEMORY;
    p.out->text = cs_strdup(text);
    cs_status status = p.out->text ? sum(&p) : CS_ERR_MEMORY;
    if (status == CS_OK && peek(&p)) status = unexpected(&p, "an operator");
    if (status != CS_OK) {
        cs_expression_free(p.out);
        return status;
    }
    *out = p.out;
    return CS_OK;
}

void cs_expression_free(cs_expression *expression)
{
    if (expression) {
        cs_free(expression->text);
    }
    cs_free(expression);
}

/* A NaN stays one, which fmin and fmax would drop. */
static double binary(char sign, double x, double y)
{
    switch (sign) {
    case '+':
        return x + y;
    case '-':
        return x - y;
    case '*':
        return x * y;
    case '/':
        return x / y;
    case '^':
        return pow(x, y);
    case '<':
        return isnan(x) || x < y ? x : y;
    default:
        return isnan(x) || x > y ? x : y;
    }
}

double cs_expression_at(const cs_expression *e, double s)
{
    return cs_expression_at_all(e, &s);
}

double cs_expression_at_all(const cs_expression *e, const double *value)
{
    double stack[3 * CS_EXPRESSION_DEPTH + 1];
    int top = -1;
    for (const instruction *i = e->code; i < e->code + e->size; ++i) {
        if (i->kind == '0' || i->kind == 'v') {
            stack[++top] = i->kind == 'v' ? value[i->variable] : i->value;
        } else if (i->kind == 'f') {
            stack[top] = i->function(stack[top]);
        } else {
            --top;
            stack[top] = binary(i->kind, stack[top], stack[top + 1]);
        }
    }
    return isnan(stack[0]) ? (double)NAN : stack[0]; /* without its sign */
}

/* A value on the stack of the rules: what it depends on, and its value where that is nothing. */
typedef struct {
    cs_factors on;
    double value;
} dependence;

static bool zero(dependence x)
{
    return x.on == CS_FACTORS_NONE && x.value == 0;
}

static dependence of_binary(char sign, dependence x, dependence y)
{
    const bool sum = sign == '+' || sign == '-', scale = sign == '*' || sign == '/';
    const cs_factors both = x.on | y.on;
    if (both == CS_FACTORS_NONE) {
        return (dependence){both, binary(sign, x.value, y.value)};
    }
    if ((scale && zero(x)) || (sign == '*' && zero(y))) {
        return (dependence){CS_FACTORS_NONE, 0};
    }
    if (sum && (zero(x) || zero(y))) {
        return zero(x) ? y : x;
    }
    /* a root or an integer power of a product is one; of others it may be as well */
    const bool product = scale || (sign == '^' && y.on == CS_FACTORS_NONE);
    const bool mixed = both > CS_FACTORS_PRODUCT || (both == CS_FACTORS_PRODUCT && !product);
    return (dependence){mixed ? CS_FACTORS_MIXED : both, 0};
}

static dependence of_function(double (*function)(double), dependence x)
{
    const bool keeps = function == sqrt || function == negated;
    if (x.on == CS_FACTORS_NONE) {
        return (dependence){x.on, function(x.value)};
    }
    return (dependence){x.on == CS_FACTORS_PRODUCT && !keeps ? CS_FACTORS_MIXED : x.on, 0};
}

cs_factors cs_expression_factors(const cs_expression *e, const cs_factors *group,
                                 const double *value, double *constant)
{
    dependence stack[3 * CS_EXPRESSION_DEPTH + 1];
    int top = -1;
    for (const instruction *i = e->code; i < e->code + e->size; ++i) {
        if (i->kind == '0') {
            stack[++top] = (dependence){CS_FACTORS_NONE, i->value};
        } else if (i->kind == 'v') {
            stack[++top] = (dependence){group[i->variable], value[i->variable]};
        } else if (i->kind == 'f') {
            stack[top] = of_function(i->function, stack[top]);
        } else {
            --top;
            stack[top] = of_binary(i->kind, stack[top], stack[top + 1]);
        }
    }
    *constant = stack[0].value;
    return stack[0].on;
}

bool cs_expression_varies(const cs_expression *expression)
{
    return expression->varies;
}

const char *cs_expression_text(const cs_expression *expression)
{
    return expression->text;
}

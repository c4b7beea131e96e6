/*
 * Help texts have their formulas in ASCII, as a terminal shows them. docs/reference/cli.md has them as equations. This table
 * has both forms, a longer formula before those that it begins with. tests/prose.py finds the formulas that it lacks.
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "cli/opt.h"

static const char *const equations[][2] = {
    {"Abar(X, X+) = A(X, X+) / sqrt(P_C(X) P_G(X+))",
     "\\bar A(X, X^+) = A(X, X^+) / \\sqrt{P_C(X) P_G(X^+)}"},
    {"Abar(X, X+) = A(X, X+) / sqrt(P(X) P(X+))",
     "\\bar A(X, X^+) = A(X, X^+) / \\sqrt{P(X) P(X^+)}"},
    {"tail(t) = sum_{j>t} sigma_j^4   (the right side of Theorem 4.1), t = 0..K",
     "\\text{tail}(t) = \\sum_{j > t} \\sigma_j^4 \\quad \\text{(the right side of Theorem 4.1)}, "
     "\\quad t = 0, \\dots, K"},
    {"||W (f^(X_m) - f^(X_<k))|| <= ||W|| eta (1 - ((k-1)/N)^p) = Delta_k",
     "\\lVert W (\\hat f(X_m) - \\hat f(X_{\\lt k})) \\rVert \\le "
     "\\lVert W \\rVert \\eta (1 - ((k-1)/N)^p) = \\Delta_k"},
    {"perplexity = exp( -mean log p(x_{k+1} | x_1 .. x_k) )",
     "\\text{perplexity} = \\exp(-\\text{mean} \\log p(x_{k+1} \\mid x_1 \\dots x_k))"},
    {"mean_i w_i [-log softmax(W z_i + b)_(y_i)] + (penalty / 2) |W|^2",
     "\\text{mean}_i~w_i [-\\log \\text{softmax}(W z_i + b)_{y_i}] + "
     "(\\text{penalty} / 2) \\lvert W \\rvert^2"},
    {"S_0 = sum w b_S b_S^T,  S_1 = sum w b_S h_k^T",
     "S_0 = \\sum w(S, k) b_S b_S^T, \\quad S_1 = \\sum w(S, k) b_S h_k^T"},
    {"S_xx = E[x x^T],  S_xy = E[x y^T]",
     "S_{xx} = \\mathrm{E}[x x^T], \\quad S_{xy} = \\mathrm{E}[x y^T]"},
    {"score = |P U|^2 / |U|^2", "\\text{score} = \\lVert P U \\rVert^2 / \\lVert U \\rVert^2"},
    {"R = sum_S w(S,.) w(S,.)^T / W(S)", "R = \\sum_S w(S, \\cdot) w(S, \\cdot)^T / W(S)"},
    {"Abar^T Abar = D^{-1/2} (sum_kl R_kl K_kl) D^{-1/2}",
     "\\bar A^T \\bar A = D^{-1/2} \\Big( \\sum_{kl} R_{kl} K_{kl} \\Big) D^{-1/2}"},
    {"(S_1 S_1^T, S_0)", "(S_1 S_1^T, S_0)"},
    {"(S_xy S_xy^T, S_xx)", "(S_{xy} S_{xy}^T, S_{xx})"},
    {"(1 - sigma_2)/2 <= h <= sqrt(1 - sigma_2^2)",
     "(1 - \\sigma_2)/2 \\le h \\le \\sqrt{1 - \\sigma_2^2}"},
    {"sigma_j(coarser) <= sigma_j(finer)",
     "\\sigma_j(\\text{coarser}) \\le \\sigma_j(\\text{finer})"},
    {"8 (l + 1) sqrt(max(width, inner, length)) 2^-24",
     "8 (l + 1) \\sqrt{\\max(\\text{width}, \\text{inner}, \\text{length})} \\cdot 2^{-24}"},
    {"m = max(width, inner, length)", "m = \\max(\\text{width}, \\text{inner}, \\text{length})"},
    {"bound <= least value <= value", "\\text{bound} \\le \\text{least value} \\le \\text{value}"},
    {"1 - (min(l,m)/max(l,m))^2", "1 - (\\min(l, m)/\\max(l, m))^2"},
    {"K_kl(u, v) = P(x_k = u, x_l = v)", "K_{kl}(u, v) = P(x_k = u, x_l = v)"},
    {"cos theta_i = sigma_i(V1^T V2)", "\\cos \\theta_i = \\sigma_i(V_1^T V_2)"},
    {"tail_t = sum_{j>t} sigma_j^4", "\\text{tail}_t = \\sum_{j > t} \\sigma_j^4"},
    {"Abar = A / sqrt(P_C P_G)", "\\bar A = A / \\sqrt{P_C P_G}"},
    {"sigma_j v_j / sqrt(P_G)", "\\sigma_j v_j / \\sqrt{P_G}"},
    {"sigma_k = sigma_{k+1}", "\\sigma_k = \\sigma_{k+1}"},
    {"sum_{j>t} sigma_j^4", "\\sum_{j > t} \\sigma_j^4"},
    {"sum_{j>=2} sigma_j^4", "\\sum_{j \\ge 2} \\sigma_j^4"},
    {"C(n-1, k-1) C(s-n+1, k)", "\\binom{n-1}{k-1} \\binom{s-n+1}{k}"},
    {"sigma_1 .. sigma_8", "\\sigma_1, \\dots, \\sigma_8"},
    {"(misalignment, sigma^2)", "(\\text{misalignment}, \\sigma^2)"},
    {"S = {0..i-1}, k = i", "S = \\{0, \\dots, i - 1\\}, k = i"},
    {"|u(x) - u(y)|^2", "\\lvert u(x) - u(y) \\rvert^2"},
    {"(u, v, |u - v|, u * v)", "(u, v, \\lvert u - v \\rvert, u \\odot v)"},
    {"n = round(rho s)", "n = \\text{round}(\\rho s)"},
    {"k = round(n/t)", "k = \\text{round}(n/t)"},
    {"round(rho s)", "\\text{round}(\\rho s)"},
    {"sqrt(m) 2^-24", "\\sqrt{m} \\cdot 2^{-24}"},
    {"1..s-1", "1, \\dots, s - 1"},
    {"t x t", "t \\times t"},
    {"A(X, X+)", "A(X, X^+)"},
    {"N(sigma > x)", "N(\\sigma > x)"},
    {"t = 0..K", "t = 0, \\dots, K"},
    {"t = 1..K", "t = 1, \\dots, K"},
    {"kappa = tr R", "\\kappa = \\text{tr}~R"},
    {"sigma <= x", "\\sigma \\le x"},
    {"sigma = 1", "\\sigma = 1"},
    {"sigma_j^4", "\\sigma_j^4"},
    {"sigma_j^2", "\\sigma_j^2"},
    {"sigma^4", "\\sigma^4"},
    {"sigma^2", "\\sigma^2"},
    {"sigma_1", "\\sigma_1"},
    {"sigma_k", "\\sigma_k"},
    {"lambda", "\\lambda"},
    {"Q K^T V", "Q K^T V"},
    {"F W'^T", "F W'^T"},
    {"Delta_k", "\\Delta_k"},
    {"(s+1)/n", "(s + 1)/n"},
    {"beta_1", "\\beta_1"},
    {"beta_2", "\\beta_2"},
    {"-log p", "-\\log p"},
    {"kappa", "\\kappa"},
    {"s - 1", "s - 1"},
    {"M / m", "M / m"},
    {"1/2^K", "1/2^K"},
    {"8 d^2", "8 d^2"},
    {"b = 2", "b = 2"},
    {"t = 2", "t = 2"},
    {"N = 0", "N = 0"},
    {"2^-50", "2^{-50}"},
    {"2^18", "2^{18}"},
    {"d^-A", "d^{-A}"},
    {"Abar", "\\bar A"},
    {"n_0", "n_0"},
    {"S_0", "S_0"},
    {"S_1", "S_1"},
    {"w(S, k)", "w(S, k)"},
    {"h_i", "h_i"},
    {"b_S", "b_S"},
    {"N^2", "N^2"},
    {"P_C", "P_C"},
    {"P_G", "P_G"},
    {"X_m", "X_m"},
};

/* A formula that ends with a letter or digit does not end inside a word, a number or a file name. */
static bool ends(const char *text, size_t n, size_t length)
{
    if (n == length || !isalnum((unsigned char)text[n - 1])) return true;
    const bool more = text[n] == '.' && n + 1 < length && isalnum((unsigned char)text[n + 1]);
    return !more && !isalnum((unsigned char)text[n]) && !strchr("_^", text[n]);
}

size_t cs_opt_equation(const char *text, size_t length, const char **tex)
{
    for (size_t i = 0; i < sizeof equations / sizeof *equations; ++i) {
        const size_t n = strlen(equations[i][0]);
        if (n <= length && memcmp(text, equations[i][0], n) == 0 && ends(text, n, length)) {
            *tex = equations[i][1];
            return n;
        }
    }
    return 0;
}

#!/usr/bin/env python3
"""Decides the claims of a study again, from its values alone.

    python3 docs/results/verdicts.py FOLDER...

FOLDER holds values.csv or values.csv.xz, as `cospec reproduce` writes and `plots/pack.sh` publishes it. The
script computes the difference, interval, p-value, adjusted p-value and verdict of every claim, how many signs and
equivalences there are with their error over the study, and every rank correlation. It compares them with
claims.csv, claims-budgets.csv, counts.csv and correlations.csv where the folder has them. For each table it prints the rows and numbers compared and the largest relative difference. It exits
with 1 where a text differs, or a number by more than one part in 10^9.

Verdicts on theorems are not computed again: values.csv has what `cospec verify` reported (PASS, VACUOUS, FAIL,
INCONCLUSIVE or UNSPECIFIED), and the script translates it.

    --print    prints the claims as computed, a line each, and compares nothing
    --seed N   the --seed of `cospec correlate`, for the error over runs (default 0)

The script needs Python 3.10 and no package. It shares no code with the program. docs/explanation/decisions.md has
the formulas, docs/reference/studies.md the columns of all tables.
"""
import argparse
import collections
import csv
import functools
import lzma
import math
import pathlib
import sys

ALPHA = 0.05
NAN, INF = math.nan, math.inf

# The words that tables have for verdicts.
REPRODUCED, OPPOSITE, NOT_REPRODUCED, EQUIVALENT, UNDETERMINED, NOT_TESTED = (
    "reproduced", "opposite at this scale", "not reproduced at this scale", "equivalent", "undetermined", "not tested")
NOT_TESTABLE, UNDERTRAINED = "not testable at this scale", "baseline undertrained"
SIGNS = REPRODUCED, OPPOSITE, NOT_REPRODUCED
# The words for statements of theorems.
HOLDS, VACUOUS, FALSE_AS_PRINTED, FALSE, NOT_SPECIFIED = (
    "holds", "holds, but vacuous", "false as printed", "false", "not specified")
FROM_BEST = HOLDS, VACUOUS, NOT_TESTED, NOT_SPECIFIED, UNDETERMINED, FALSE_AS_PRINTED, FALSE
# The words of studies that compare what nobody has made a claim about (cospec compare).
EXPLORATORY = {"significant": REPRODUCED, "significant the other way": OPPOSITE}


def number(text):
    return float(text) if text else NAN


# --- Student's distribution -------------------------------------------------------------------------------

def beta_fraction(a, b, x):
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for k in range(1, 100000):
        even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
        odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        d, c = 1 / (1 + even * d), 1 + even / c
        value *= d * c
        d, c = 1 / (1 + odd * d), 1 + odd / c
        value *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return value


def log_half_step(a):
    """log Gamma(a + 1/2) - log Gamma(a), for large a by its expansion."""
    if a < 30:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    r = 1 / (a * a)
    return 0.5 * math.log(a) - (1 / 8 - r * (1 / 192 - r * (1 / 640 - r * 17 / 14336))) / a


def student_tail(log_t, df):
    """P(|T| > t) of df degrees of freedom, and its derivative by log t."""
    t = math.exp(log_t)
    if df > 1e8:
        return math.erfc(t / math.sqrt(2)), -t * math.sqrt(2 / math.pi) * math.exp(-t * t / 2)
    ratio = 2 * log_t - math.log(df)  # the logarithm of t^2 / df
    above = ratio if ratio > 40 else math.log1p(math.exp(ratio))
    front = math.exp(log_half_step(df / 2) - 0.5 * math.log(math.pi) - df / 2 * above + 0.5 * (ratio - above))
    x, y = math.exp(-above), math.exp(ratio - above)
    a = df / 2
    tail = front * beta_fraction(a, 0.5, x) / a if x < (a + 1) / (a + 2.5) else 1 - 2 * front * beta_fraction(0.5, a, y)
    return tail, -2 * front


@functools.lru_cache(maxsize=1 << 16)
def student_point(log_alpha, df):
    """The t with P(|T| > t) = alpha: Newton's method in log t for the log of the tail, in a bracket."""
    if log_alpha >= 0:
        return 0.0
    low, high, u = -1.0, 1.0, 0.0
    while math.log(student_tail(low, df)[0]) < log_alpha:
        low *= 2
    while (tail := student_tail(high, df)[0]) > 0 and math.log(tail) > log_alpha:
        high *= 2
        if high > 700:
            return INF
    for _ in range(100):
        tail, slope = student_tail(u, df)
        miss = math.log(tail) - log_alpha if tail > 0 else -INF
        if miss > 0:
            low = u
        else:
            high = u
        step = -miss * tail / slope if tail > 0 and slope < 0 else INF
        if abs(step) <= 1e-15 * max(1, abs(u)):
            break
        u = u + step if low < u + step < high else (low + high) / 2
        if high - low <= 1e-16 * abs(u):
            break
    return math.exp(u)


# --- moderated variances (Smyth 2004) ---------------------------------------------------------------------

def digamma(x):
    below = 0.0
    while x < 12:
        below += 1 / x
        x += 1
    r = 1 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * 691 / 32760)))))
    return math.log(x) - 0.5 / x - below - series


def trigamma(x):
    below = 0.0
    while x < 12:
        below += 1 / (x * x)
        x += 1
    r = 1 / (x * x)
    series = r * (1 / 6 - r * (1 / 30 - r * (1 / 42 - r * (1 / 30 - r * (5 / 66 - r * 691 / 2730)))))
    return below + r / 2 + (1 + series) / x


def trigamma_inverse(y):
    """By bisection of log x: the function falls."""
    low, high = 1e-8, 1e16
    for _ in range(200):
        middle = math.sqrt(low * high)
        if middle in (low, high):
            break
        if trigamma(middle) > y:
            low = middle
        else:
            high = middle
    return middle


# df 0: there is no prior. pooled: the degrees of freedom of all groups together.
Prior = collections.namedtuple("Prior", "df variance pooled")
NO_PRIOR = Prior(0.0, 0.0, 0.0)


def prior_of(groups):
    """The prior of groups (variance, degrees of freedom), by the moments of the logarithms of the variances."""
    groups = [g for g in groups if g[1] > 0]
    pooled = math.fsum(df for _, df in groups)
    ordered = sorted(v for v, _ in groups)
    n = len(groups)
    if n < 3 or not ordered[(n - 1) // 2] > 0:
        return NO_PRIOR._replace(pooled=pooled)
    least = 1e-5 * (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    e = [math.log(max(v, least)) - digamma(df / 2) + math.log(df / 2) for v, df in groups]
    mean = math.fsum(e) / n
    excess = math.fsum((x - mean) ** 2 for x in e) / (n - 1) - math.fsum(trigamma(df / 2) for _, df in groups) / n
    if not excess > 0:
        return Prior(INF, math.fsum(v * df for v, df in groups) / pooled, pooled)
    half = trigamma_inverse(excess)
    return Prior(2 * half, math.exp(mean + digamma(half) - math.log(half)), pooled)


def moderated(prior, variance, df):
    if not prior.df > 0:
        return variance, df
    pooled = prior.variance if math.isinf(prior.df) else (prior.df * prior.variance + df * variance) / (prior.df + df)
    return pooled, min(prior.df + df, prior.pooled)


# --- margins: an error is a list of parts (variance, df, own variance, own df) ----------------------------

def part_of_seeds(prior, count, variance, other_count):
    if count == 0:
        return 0.0, 0.0, 0.0, 0.0
    nu = count - 1
    v, df = moderated(prior, variance, nu)
    off = 0.4 * prior.variance / nu if count == other_count and nu > 0 else 0.0  # one seed has no variance
    return v / count, df, max(0.0, variance - off) / count, nu


def margin(parts, log_alpha):
    square = 0.0
    for variance, df, own, own_df in parts:
        if math.isnan(variance):
            return NAN
        most = student_point(log_alpha, df) ** 2 * variance if variance > 0 else 0.0
        if own > 0:
            most = max(most, student_point(log_alpha, own_df) ** 2 * own)
        square += most
    return math.sqrt(square)


def decision_p(parts, d):
    """The least level at which d is decided: regula falsi (Illinois) for the log of the margin in log alpha."""
    off, any_error = abs(d), margin(parts, math.log(0.5))
    if math.isnan(off) or math.isnan(any_error):
        return NAN
    if off == 0 or any_error == 0:
        return float(off == 0)

    def miss(log_alpha):
        m = margin(parts, log_alpha)
        return math.log(m / off) if m > 0 else -INF
    low, at_low = -690.0, miss(-690.0)
    if at_low < 0:
        return 0.0
    high = -1e-3
    while (at_high := miss(high)) > 0:
        low, at_low, high = high, at_high, high / 32
        if high > -1e-300:
            return 1.0
    side = 0
    for _ in range(200):
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        if not low < middle < high:
            middle = (low + high) / 2
        if high - low <= 4e-15 * (1 + abs(middle)):
            break
        at = miss(middle)
        if at == 0:
            return math.exp(middle)
        if at > 0:
            low, at_low, at_high = middle, at, at_high / 2 if side == 1 else at_high
            side = 1
        else:
            high, at_high, at_low = middle, at, at_low / 2 if side == -1 else at_low
            side = -1
    return math.exp(high)


def small_p(parts, d, matters):
    """The level at which a difference as large as what matters is ruled out, by two one-sided tests."""
    p = decision_p(parts, matters - abs(d))
    return p / 2 if math.isnan(p) or abs(d) < matters else 1.0


def holm(p):
    """Adjusted for all of a family: Holm (1979). NaN stays, and does not count."""
    known = sorted((i for i in range(len(p)) if not math.isnan(p[i])), key=lambda i: p[i])
    adjusted, most = list(p), 0.0
    for rank, i in enumerate(known):
        most = max(most, min(1.0, (len(known) - rank) * p[i]))
        adjusted[i] = most
    return adjusted


# --- seeds needed: the power of the rule by quadrature over the variances that would be estimated ----------

# The power is smooth in the variance of documents, but has a kink in those of seeds.
POINTS, DOCUMENT_POINTS, MOST_SEEDS = 48, 24, 1000000


@functools.lru_cache(maxsize=None)
def estimates(df, points=POINTS):
    """The values of s^2 / sigma^2 and their probabilities."""
    def density(y):
        return 0.5 * df * (math.exp(y) - y - 1)

    def end(step):
        inner, outer = 0.0, step
        while density(outer) < 16:
            inner, outer = outer, 2 * outer
        for _ in range(40):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if density(middle) < 16 else (inner, middle)
        return outer
    low, high = end(-1e-4), end(1e-4)
    y = [low + (high - low) * i / (points - 1) for i in range(points)]
    weight = [math.exp(-density(v)) for v in y]
    total = math.fsum(weight)
    return [(math.exp(v), w / total) for v, w in zip(y, weight)]


def parts_of(points, length):
    return [points[i:i + length] for i in range(0, len(points), length)]


def enough_seeds(prior, variance, fixed, d, n, log_alpha):
    """Whether d is decided with a chance of at least 0.8 with n seeds a side of these variances; fixed: the
    documents' (variance, df)."""
    prior = prior._replace(pooled=max(prior.pooled, 2.0 * (n - 1)))
    count = [n if v > 0 else 0 for v in variance]
    squares = []
    for s in (0, 1):
        seen = estimates(n - 1) if variance[s] > 0 else [(1.0, 1.0)]
        squares.append([(margin([part_of_seeds(prior, count[s], x * variance[s], count[1 - s])], log_alpha) ** 2, w)
                        for x, w in seen])
    base = margin([(*fixed, 0.0, 0.0)], log_alpha) ** 2
    known = not fixed[0] > 0 or math.isinf(fixed[1])
    documents = [(base * x, w) for x, w in ([(1.0, 1.0)] if known else estimates(fixed[1], DOCUMENT_POINTS))]
    sigma = math.sqrt(sum(variance) / n + fixed[0])
    if not sigma > 0:
        return math.sqrt(squares[0][0][0] + squares[1][0][0] + base) < d
    root, erfc, scale = math.sqrt, math.erfc, sigma * math.sqrt(2)

    @functools.lru_cache(maxsize=None)
    def given(seeds):  # twice the power for these squared margins of both sides' seeds: it falls with them
        return math.fsum(w * erfc((root(seeds + s) - d) / scale) for s, w in documents)

    # bounds from cells of the two sides' points suffice unless the power is near 0.8
    for length in (16, 6, 3):
        cells = [[(part[0][0], part[-1][0], math.fsum(w for _, w in part)) for part in parts_of(sorted(s), length)]
                 for s in squares]
        both = [(a, b) for a in cells[0] for b in cells[1]]
        if 0.5 * math.fsum(a[2] * b[2] * given(a[0] + b[0]) for a, b in both) < 0.8 - 1e-5:
            return False
        if 0.5 * math.fsum(a[2] * b[2] * given(a[1] + b[1]) for a, b in both) > 0.8 + 1e-5:
            return True
    return math.fsum(0.5 * w0 * w1 * given(s0 + s1)
                     for s0, w0 in squares[0] for s1, w1 in squares[1] if w0 * w1 > 1e-9) >= 0.8


def least_seeds(prior, variance, fixed, d, log_alpha):
    def enough(n):
        return enough_seeds(prior, variance, fixed, abs(d), n, log_alpha)
    if not enough(MOST_SEEDS):
        return INF
    low, high = 2, 3
    while high < MOST_SEEDS and not enough(high):
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)


# --- sides ------------------------------------------------------------------------------------------------

def jackknife(left_out):
    n = len(left_out)
    if n < 2 or not all(map(math.isfinite, left_out)):
        return NAN
    mean = math.fsum(left_out) / n
    return math.sqrt((n - 1) / n * math.fsum((x - mean) ** 2 for x in left_out))


class Run:
    """One seed of a number: with all documents, and without each block of them."""

    def __init__(self):
        self.value = self.se = self.p = NAN
        self.bias, self.left_out, self.partition = 0.0, [], ""

    def take(self, row):
        if not row["block"]:
            self.value, self.se, self.p = number(row["value"]), number(row["se"]), number(row["p"])
            self.partition = row["partition"]
        elif row["block"] == "0":
            self.bias = number(row["value"])
        else:
            self.left_out.append(number(row["value"]))


class Mean:
    """The mean of a number over runs, by seed, and what its blocks say. seeds is 0 where a file names none."""

    def __init__(self, by_seed):
        runs = list(by_seed.values())
        n = len(runs)
        self.by_seed, self.seeds = by_seed, 0 if "" in by_seed else n
        self.exact_p = NAN if any(math.isnan(r.p) for r in runs) else max(r.p for r in runs)
        self.value = sum(r.value for r in runs) / n
        self.se = sum(r.se for r in runs) / n
        self.bias = sum(r.bias for r in runs) / n
        self.variance = sum((r.value - self.value) ** 2 for r in runs) / (n - 1) if n > 1 else 0.0
        self.partition = runs[0].partition
        alike = len({(len(r.left_out), r.partition) for r in runs}) == 1
        self.left_out = [sum(column) / n for column in zip(*(r.left_out for r in runs))] if alike else []
        self.blocks = len(self.left_out)
        self.jackknife = jackknife(self.left_out)


class Number:
    """The values that sides read, by measure and error: the runs, and their means."""

    def __init__(self):
        self.runs, self.means = collections.defaultdict(Run), {}

    def mean(self, seeds):
        if seeds not in self.means:
            self.means[seeds] = Mean({s: self.runs[s] for s in seeds})
        return self.means[seeds]


class Side:
    """One side of a comparison: a number, or one that the study's file gives."""

    def __init__(self, row, numbers):
        self.label, self.df, self.measure = row["label"], number(row["df"]), row["measure"]
        self.number = numbers[row["measure"], row["error"]] if row["measure"] else Number()
        if not row["measure"]:
            self.number.runs[""].value, self.number.runs[""].se = number(row["value"]), 0.0

    def seeds(self):
        return tuple(self.number.runs)

    def average(self, seeds):
        self.mean = self.number.mean(seeds)


class Comparison:
    def __init__(self, want):
        self.want = want

    def average(self, paired):
        left, right = self.left.seeds(), self.right.seeds()
        if paired:  # of the seeds that both sides have
            left = right = tuple(s for s in left if s in right)
        self.left.average(left)
        self.right.average(right)
        self.paired = paired
        self.d = self.left.mean.value - self.right.mean.value

    def pair_variance(self):
        left, right = self.left.mean, self.right.mean
        off = [run.value - right.by_seed[seed].value - self.d for seed, run in left.by_seed.items()]
        return sum(x * x for x in off) / (left.seeds - 1)

    def documents(self):
        """The error from the documents: of the difference, where both sides have the same blocks, else of each side."""
        left, right = self.left.mean, self.right.mean
        if left.blocks > 1 and left.blocks == right.blocks and left.partition == right.partition:
            differences = [a - b for a, b in zip(left.left_out, right.left_out)]
            error = math.hypot(jackknife(differences), left.bias - right.bias)
            return [(error ** 2, left.blocks - 1, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)]
        return [(math.hypot(side.mean.jackknife, side.mean.bias) ** 2, side.mean.blocks - 1, 0.0, 0.0)
                if side.mean.blocks > 1 and not math.isnan(side.mean.se) else (side.mean.se ** 2, side.df, 0.0, 0.0)
                for side in (self.left, self.right)]

    def parts(self, prior):
        left, right = self.left.mean, self.right.mean
        if self.paired:
            return self.documents() + [(self.pair_variance() / left.seeds, left.seeds - 1, 0.0, 0.0)]
        return self.documents() + [part_of_seeds(prior, left.seeds, left.variance, right.seeds),
                                   part_of_seeds(prior, right.seeds, right.variance, left.seeds)]

    def is_met(self):
        m = margin(self.parts(NO_PRIOR), math.log(ALPHA))
        return self.d > m if self.want == ">" else self.d < -m


# --- claims -----------------------------------------------------------------------------------------------

class Point:
    """A claim at one of its budgets."""

    def __init__(self, row):
        self.budget, self.matters, self.paired = row["budget"], number(row["matters"]), row["paired"] == "1"
        self.effect = number(row["effect"])
        # an equivalence has to exclude what matters, and what the paper found
        self.within = self.matters if math.isnan(self.effect) else min(self.matters, self.effect)
        self.sides, self.baselines = Comparison(row["want"]), {}
        self.marks = collections.defaultdict(dict)  # by kind (floor, ceiling, longer) and side

    def measure(self):
        self.sides.average(self.paired)
        for need in self.baselines.values():
            need.average(False)
        groups = collections.defaultdict(bool)
        for name, need in self.baselines.items():
            met = need.is_met()
            groups[name.split(".")[0]] = groups[name.split(".")[0]] or met
        self.open = not all(groups.values())
        self.bar()

    def bar(self):
        """Whether the metric is at its floor; and whether a side has less than .9 of what it gains in 4 times its steps."""
        for sides in self.marks.values():
            for side in sides.values():
                side.average(side.seeds())
        floor, ceiling, longer = (self.marks[kind] for kind in ("floor", "ceiling", "longer"))

        def gained(side, value):
            start = floor[side].mean.value
            return (value - start) / (ceiling[side].mean.value - start)
        own = {side: gained(side, getattr(self.sides, side).mean.value) for side in floor}
        later = {side: gained(side, longer[side].mean.value) for side in longer}
        self.at_floor = bool(own) and max(own.values()) < 0.1
        self.undertrained = any(later[side] > 0 and own[side] < 0.9 * later[side] for side in later)

    def test(self, prior):
        c = self.sides
        self.d = c.d
        self.margin = self.p = self.small = self.resolution = self.seeds_needed = NAN
        self.parts, self.prior = [], prior
        if {1, 2} & {c.left.mean.seeds, c.right.mean.seeds} or math.isnan(self.d):
            return
        if not math.isnan(c.left.mean.exact_p):
            self.p = c.left.mean.exact_p
            return
        self.parts = c.parts(prior)
        self.margin = margin(self.parts, math.log(ALPHA))
        self.p = decision_p(self.parts, self.d)
        if self.within > 0:
            self.small = small_p(self.parts, self.d, self.within)

    def decide(self, adjusted, small, level):
        self.adjusted, self.small, self.level = adjusted, small, level
        if not math.isnan(self.margin):
            self.resolution = margin(self.parts, math.log(level))
        wanted = self.d > 0 if self.sides.want == ">" else self.d < 0
        self.verdict = (NOT_TESTED if self.open or self.at_floor else UNDERTRAINED if self.undertrained else
                        (REPRODUCED if wanted else OPPOSITE) if adjusted <= ALPHA else EQUIVALENT if small <= ALPHA else
                        NOT_TESTABLE if self.effect < self.resolution else UNDETERMINED)

    def plan(self):
        """The seeds for the difference seen, and where the paper's is not testable for that one."""
        self.effect_seeds = NAN
        seeded = self.sides.left.mean.seeds + self.sides.right.mean.seeds > 0
        if not math.isnan(self.margin) and self.adjusted > ALPHA and seeded and self.d != 0:
            self.seeds_needed = self.seeds_for(self.d)
        if self.verdict == NOT_TESTABLE and seeded:
            self.effect_seeds = self.seeds_for(self.effect)

    def seeds_for(self, d):
        c = self.sides
        left, right = c.left.mean, c.right.mean
        first, second = self.parts[0], self.parts[1]
        fixed = first[:2]
        if second[0] > 0:
            fixed = first[0] + second[0], min(first[1], second[1])
        if c.paired:
            prior, variance = NO_PRIOR, [c.pair_variance(), 0.0]
        else:
            prior = self.prior
            variance = [moderated(prior, s.variance, max(1, s.seeds - 1))[0] if s.seeds else 0.0 for s in (left, right)]
        return least_seeds(prior, variance, fixed, d, math.log(self.level))


class Claim:
    def __init__(self, name, row):
        self.name, self.source, self.family, self.points = name, row["source"], row["family"], {}
        self.everywhere, self.underpowered = row["everywhere"] == "1", row["underpowered"] == "1"
        self.untested = row["untested"] == "1"
        self.audits, self.statement, self.family_size = [], row["label"], 0

    def conclude(self):
        """Over budgets: the verdict of the largest one; a claim about every budget needs all of them."""
        verdicts = [p.verdict for p in self.points.values()]
        tested = set(verdicts) - {NOT_TESTED, UNDERTRAINED}
        if not self.everywhere or len(set(verdicts)) == 1 or not tested:
            return verdicts[-1]
        if OPPOSITE in verdicts:
            return NOT_REPRODUCED
        return EQUIVALENT if tested == {EQUIVALENT} else UNDETERMINED

    def p_of_verdict(self):
        """The adjusted p on which a sign or an equivalence rests."""
        points = list(self.points.values()) if self.everywhere else list(self.points.values())[-1:]
        if self.verdict == NOT_REPRODUCED:
            return min(p.adjusted for p in points if p.verdict == OPPOSITE)
        return max(p.small if self.verdict == EQUIVALENT else p.adjusted for p in points if p.verdict == self.verdict)

    def of_audit(self, row):
        """The verdict on a statement of a theorem: that of `cospec verify`, in words; of several seeds the worst."""
        printed, assumed = row["label"].split()[2] == "printed", row["value"] == "1"
        verdict = {"FAIL": FALSE_AS_PRINTED if printed else FALSE, "INCONCLUSIVE": UNDETERMINED, "VACUOUS": VACUOUS,
                   "PASS": HOLDS if assumed or not printed else NOT_TESTED}.get(row["audit"], NOT_SPECIFIED)
        self.verdict = max(verdict, self.verdict, key=FROM_BEST.index) if self.audits else verdict
        self.audits.append(row["audit"])

    def at(self, verdict):
        return ", ".join(p.budget for p in self.points.values() if p.budget and p.verdict == verdict)

    def row(self):
        if self.audits:
            return {"claim": self.name, "left": self.statement, "right": " ".join(self.audits), "verdict": self.verdict,
                    "seeds": len(self.audits) if len(self.audits) > 1 else NAN}
        p = list(self.points.values())[-1]
        left, right = p.sides.left.mean, p.sides.right.mean
        return {"claim": self.name, "left": p.sides.left.label, "left_value": left.value, "left_se": left.se,
                "want": p.sides.want, "right": p.sides.right.label, "right_value": right.value, "right_se": right.se,
                "seeds": min((n for n in (left.seeds, right.seeds) if n), default=NAN),
                "family": self.family, "family_size": self.family_size,
                "reproduced_at": self.at(REPRODUCED), "opposite_at": self.at(OPPOSITE), **test_row(p),
                "verdict": in_words(self.verdict, p.within)}


def in_words(verdict, within):
    return f"{verdict} within {within:.3g}" if verdict == EQUIVALENT else verdict


def test_row(p):
    return {"difference": p.d, "low": p.d - p.margin, "high": p.d + p.margin, "p": p.p, "p_holm": p.adjusted,
            "resolution": p.resolution, "seeds_needed": p.seeds_needed, "matters": p.matters, "p_small": p.small,
            "effect": p.effect, "effect_seeds": p.effect_seeds, "verdict": in_words(p.verdict, p.within)}


def decide(claims):
    """Decides the claims family by family, budgets and all."""
    families = collections.defaultdict(list)
    for claim in claims.values():
        families[claim.family].append(claim)
    for family in families.values():
        points = [p for claim in family for p in claim.points.values()]
        groups, seen = [], set()
        for p in points:
            p.measure()
            for side in (p.sides.left, p.sides.right):
                counts = side.mean.seeds > 1 and math.isnan(side.mean.exact_p) and not p.paired
                if counts and side.measure not in seen:
                    groups.append((side.mean.variance, side.mean.seeds - 1))
                    seen.add(side.measure)
        prior = prior_of(groups)
        for p in points:
            p.test(prior)
        adjusted, small = holm([p.p for p in points]), holm([p.small for p in points])
        known, decided = sum(not math.isnan(a) for a in adjusted), sum(a <= ALPHA for a in adjusted)
        for p, a, s in zip(points, adjusted, small):
            p.decide(a, s, ALPHA / max(1, known - decided))
            p.plan()
        for claim in family:
            claim.family_size = known
            if claim.points:
                claim.verdict = claim.conclude()
    for claim in claims.values():
        if claim.underpowered or claim.untested:
            claim.verdict = NOT_TESTED if claim.untested else UNDETERMINED
            for p in claim.points.values():
                p.verdict = claim.verdict


def counts(claims):
    """Signs and equivalences apart, of each paper and of all: the families in which one was possible, the chance that at
    least one is wrong (independent families, each at .05; none where there is no verdict), and those that hold if the
    whole study may err in .05."""
    def paper(claim):
        return "this project" if "this project" in claim.source else claim.source.replace(",", " ").split(" ")[0]
    compared = [c for c in claims.values() if c.points]
    for name in list(dict.fromkeys(map(paper, compared))) + ["all"]:
        for kind, verdicts, p in ("sign", SIGNS, "adjusted"), ("equivalence", (EQUIVALENT,), "small"):
            tested = [c for c in compared if not all(math.isnan(getattr(x, p)) for x in c.points.values())]
            families = {c.family for c in tested if name in ("all", paper(c))}
            level = ALPHA / max(1, len({c.family for c in tested}))
            own = [c for c in compared if c.verdict in verdicts and name in ("all", paper(c))]
            yield {"paper": name, "kind": kind, "claims": len(own), "families": len(families),
                   "error": 1 - (1 - ALPHA) ** len(families) if own else NAN, "study_wide": sum(c.p_of_verdict() <= level for c in own)}


# --- rank correlations ------------------------------------------------------------------------------------

def philox(counter, key):
    """Philox 4x32-10 (Salmon and others 2011)."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ c3 ^ k1, p0 & 0xFFFFFFFF
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c0, c1, c2, c3


DRAWS, STREAM_OF_RUNS = 400, 26


@functools.lru_cache(maxsize=None)
def draws_of_runs(objects, runs, seed):
    """Which runs are drawn again: draws x objects x runs."""
    limit = 2 ** 64 - 1 - 2 ** 64 % runs
    draws = []
    for draw in range(DRAWS):
        words, block = [], 0
        chosen = []
        while len(chosen) < objects * runs:
            if not words:
                words = list(philox((block, STREAM_OF_RUNS, draw, 0), (seed & 0xFFFFFFFF, seed >> 32)))
                block += 1
            x = words.pop(0) | words.pop(0) << 32
            if x <= limit:
                chosen.append(x % runs)
        draws.append([chosen[i * runs:(i + 1) * runs] for i in range(objects)])
    return draws


class Order:
    """The pairs of a list of numbers as bits: i above j, and i below j."""

    def __init__(self, x):
        n = len(x)
        bit, everything, width = [1 << i for i in range(n)], (1 << n) - 1, (n + 7) // 8
        above, below = [b""] * n, [b""] * n
        order = sorted(range(n), key=x.__getitem__)
        lower, start = 0, 0
        while start < n:
            end, tied = start + 1, bit[order[start]]
            while end < n and x[order[end]] == x[order[start]]:
                tied |= bit[order[end]]
                end += 1
            rows = lower.to_bytes(width, "little"), (everything ^ lower ^ tied).to_bytes(width, "little")
            for i in order[start:end]:
                above[i], below[i] = rows
            lower |= tied
            start = end
        self.above = int.from_bytes(b"".join(above), "little")
        self.below = int.from_bytes(b"".join(below), "little")
        self.untied = self.above.bit_count()

    def balance(self, other):
        return (self.above & other.above).bit_count() - (self.above & other.below).bit_count()

    def tau(self, other):
        untied = self.untied * other.untied
        return self.balance(other) / math.sqrt(untied) if untied else NAN


def partial(of, x, y, z=None):
    if z is None:
        return of(x, y)
    xy, xz, yz = of(x, y), of(x, z), of(y, z)
    rest = (1 - xz * xz) * (1 - yz * yz)
    return (xy - xz * yz) / math.sqrt(rest) if rest > 0 else NAN


def spearman(x, y):
    """The correlation of mid-ranks, from twice the rank of each, less its mean."""
    def ranks(v):
        return [sum((b < a) - (b > a) for b in v) for a in v]
    a, b = ranks(x), ranks(y)
    square = sum(i * i for i in a) * sum(i * i for i in b)
    return sum(i * j for i, j in zip(a, b)) / math.sqrt(square) if square else NAN


@functools.lru_cache(maxsize=None)
def gaussian_binomial(a, m):
    """The number of inversions between m equal objects put among a others: partitions into m parts of at most a."""
    if a == 0 or m == 0:
        return (1,)
    first, second = gaussian_binomial(a, m - 1), gaussian_binomial(a - 1, m)
    out = [0] * (a * m + 1)
    for i, c in enumerate(first):
        out[i] += c
    for i, c in enumerate(second):
        out[i + m] += c
    return tuple(out)


@functools.lru_cache(maxsize=None)
def inversions(ties):
    """How many orders have each number of inversions, one side having ties of these sizes."""
    counts, before = [1], 0
    for tied in ties:
        step = gaussian_binomial(before, tied)
        product = [0] * (len(counts) + len(step) - 1)
        for i, c in enumerate(counts):
            for j, s in enumerate(step):
                product[i + j] += c * s
        counts, before = product, before + tied
    return counts


def kendall_chance(ties, size):
    """P(|S| >= size) over all orders: exact, in whole numbers."""
    counts = inversions(ties)
    most = len(counts) - 1
    beyond = sum(c for d, c in enumerate(counts) if abs(most - 2 * d) >= size)
    return beyond / sum(counts)


def kendall_p(x, y):
    def ties(v):
        return tuple(sorted(collections.Counter(v).values()))
    a, b = Order(x), Order(y)
    pairs = len(x) * (len(x) - 1) // 2
    if not a.untied or not b.untied or (a.untied < pairs and b.untied < pairs):
        return NAN
    return kendall_chance(ties(x if a.untied < pairs else y), abs(a.balance(b)))


class Quantity:
    """One quantity at one budget: objects x runs, and what follows from it alone."""

    def __init__(self, runs, seed):
        self.runs, self.seed = runs, seed
        self.means = [r[0] + sum((v - r[0]) / len(r) for v in r) for r in runs]
        self.order = Order(self.means)

    @functools.cached_property
    def drawn(self):
        runs = len(self.runs[0])
        wider = math.sqrt(runs / (runs - 1))
        orders = []
        for draw in draws_of_runs(len(self.runs), runs, self.seed):
            x = []
            for own, mean, chosen in zip(self.runs, self.means, draw):
                total = 0.0
                for r in chosen:
                    total += own[r] - mean
                x.append(mean + wider * total / runs)
            orders.append(Order(x))
        return orders

    @functools.cached_property
    def without(self):
        n = len(self.means)
        return [Order(self.means[:i] + self.means[i + 1:]) for i in range(n)]


def correlate(x, y, z):
    n = len(x.means)
    orders = (x.order, y.order) + ((z.order,) if z else ())
    tau = partial(Order.tau, *orders)
    left_out = []
    for i in range(n):
        t = partial(Order.tau, *(q.without[i] for q in (x, y, z) if q))
        left_out.append(math.atanh(t) if abs(t) < 1 else NAN)
    half = jackknife(left_out) * student_point(math.log(ALPHA), n - 1)
    low = high = NAN
    if abs(tau) < 1 and math.isfinite(half):
        low, high = math.tanh(math.atanh(tau) - half), math.tanh(math.atanh(tau) + half)
    runs_se = NAN
    if len(x.runs[0]) > 1:
        drawn = [partial(Order.tau, *t) for t in zip(*(q.drawn for q in (x, y, z) if q))]
        if all(map(math.isfinite, drawn)):
            mean = math.fsum(drawn) / DRAWS
            runs_se = math.sqrt(math.fsum((t - mean) ** 2 for t in drawn) / (DRAWS - 1))
    return {"objects": n, "tau": tau, "p": NAN if z else kendall_p(x.means, y.means), "low": low, "high": high,
            "runs_se": runs_se, "rho": partial(spearman, x.means, y.means, *((z.means,) if z else ()))}


class Atlas:
    """The quantities that `cospec correlate` read, each with its role, and their correlations."""

    def __init__(self):
        self.value, self.exact = {}, {}
        self.objects, self.budgets, self.runs = {}, {}, {}  # in the order of the file

    def take(self, row):
        quantity = row["kind"], row["measure"]
        self.objects[row["side"]] = self.budgets[row["budget"]] = True
        self.exact[quantity] = not row["seed"]
        if row["seed"]:
            self.runs[row["seed"]] = True
        self.value[quantity, row["budget"], row["side"], row["seed"]] = number(row["value"])

    def of(self, role):
        return [quantity for quantity in self.exact if quantity[0] == role]

    def read(self, quantity, budget, o, r):
        return self.value[quantity, budget, o, "" if self.exact[quantity] else r]

    def at(self, quantity, budget):
        """Objects x runs; at the budget "best" each run is that of the budget with the least loss."""
        def best(o, r):
            return min(self.budgets, key=lambda b: self.read(self.of("loss")[0], b, o, r))
        return [[self.read(quantity, best(o, r) if budget == "best" else budget, o, r) for r in self.runs or [""]]
                for o in self.objects]

    def rows(self, seed):
        loss = (self.of("loss") or [None])[0]
        for budget in list(self.budgets) + (["best"] if loss else []):
            values, kept = {q: self.at(q, budget) for q in self.exact}, {}
            for p in self.of("prediction"):
                groups = one_matrix(values[p]) if self.exact[p] else tuple((i,) for i in range(len(values[p])))

                def merged(q):
                    if (q, groups) not in kept:
                        kept[q, groups] = Quantity(mean_of_groups(values[q], groups), seed)
                    return kept[q, groups]
                for y in self.of("outcome"):
                    for given in (None, loss) if loss else (None,):
                        yield {"prediction": p[1], "outcome": y[1], "budget": budget,
                               "given": given[1] if given else "",
                               "runs": 1 if self.exact[p] and self.exact[y] else len(values[p][0]),
                               **correlate(merged(p), merged(y), merged(given) if given else None)}


def one_matrix(values):
    """The objects in groups of equal exact predictions (to 1e-9); each group is one object."""
    groups = []
    for i, (x, *_) in enumerate(values):
        first = next((g for g in groups if abs(values[g[0]][0] - x) <= 1e-9 * abs(values[g[0]][0])), None)
        if first:
            first.append(i)
        else:
            groups.append([i])
    return tuple(map(tuple, groups))


def mean_of_groups(values, groups):
    return [[sum(values[i][r] for i in group) / len(group) for r in range(len(values[0]))] for group in groups]


# --- a study ----------------------------------------------------------------------------------------------

def read_rows(path):
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        for row in rows:
            yield dict(zip(names, row))


def read_study(folder):
    """The claims and, by step, the quantities of correlations."""
    path = next((p for p in [folder / "values.csv"] if p.exists()), folder / "values.csv.xz")
    claims, atlases, numbers = {}, {}, collections.defaultdict(Number)
    for row in read_rows(path):
        kind, name = row["kind"], row["claim"]
        if kind in ("prediction", "outcome", "loss"):
            atlases.setdefault(name, Atlas()).take(row)
            continue
        if kind == "number":
            numbers[row["measure"], row["error"]].runs[row["seed"]].take(row)
            continue
        claim = claims.get(name) or claims.setdefault(name, Claim(name, row))
        if kind == "audit":
            claim.of_audit(row)
            continue
        point = claim.points.get(row["budget"]) or claim.points.setdefault(row["budget"], Point(row))
        if kind in ("floor", "ceiling", "longer"):
            point.marks[kind][row["side"]] = Side(row, numbers)
            continue
        comparison = point.sides if kind == "claim" else point.baselines.get(row["baseline"])
        comparison = comparison or point.baselines.setdefault(row["baseline"], Comparison(row["want"]))
        setattr(comparison, row["side"], Side(row, numbers))
    return claims, atlases


def compare(name, computed, published, texts, numbers):
    """Prints how far a table is from the published one; whether it is the same."""
    count, worst, where, wrong = 0, 0.0, "", []
    if len(computed) != len(published):
        wrong.append(f"{len(computed)} rows, published {len(published)}")
    for ours, theirs in zip(computed, published):
        row = ours.get("claim") or "/".join(ours[k] for k in texts)
        for key in texts:
            if (ours.get(key) or "") != EXPLORATORY.get(theirs[key], theirs[key]):
                wrong.append(f"{row}: {key} is {ours.get(key)!r}, published {theirs[key]!r}")
        for key in numbers:
            a, b = ours.get(key), number(theirs[key])
            a = NAN if a is None else float(a)
            count += 1
            if math.isnan(a) != math.isnan(b) or math.isinf(a) != math.isinf(b):
                wrong.append(f"{row}: {key} is {a!r}, published {theirs[key]!r}")
            elif math.isfinite(a) and a != b:
                # an end of an interval may be near 0: relative to the larger end
                ends = [number(theirs[k]) for k in ("low", "high")] if key in ("difference", "low", "high") else [b]
                off = abs(a - b) / max(1e-300, abs(b), *(abs(e) for e in ends if e == e))
                if off > worst:
                    worst, where = off, f" ({key} of {row})"
                if off > 1e-9:
                    wrong.append(f"{row}: {key} is {a!r}, published {theirs[key]!r}")
    print(f"{name}: {len(computed)} rows, {count} numbers, largest relative difference {worst:.1e}{where}")
    for line in wrong[:20]:
        print(f"  {line}")
    return not wrong


TESTS = ["difference", "low", "high", "p", "p_holm", "resolution", "seeds_needed", "matters", "p_small", "effect",
         "effect_seeds"]


def check(folder, options):
    claims, atlases = read_study(folder)
    decide(claims)
    rows = [claim.row() for claim in claims.values()]
    if options.print:
        for row in rows:
            print("{claim}: {verdict}: ".format(**row) + (
                "{difference:.4g} ({low:.4g} to {high:.4g}), p {p:.3g}, adjusted {p_holm:.3g}".format(**row)
                if "p" in row else row["right"]))
        for row in counts(claims):
            wrong = "no verdict" if math.isnan(row["error"]) else f"at least one wrong with up to {row['error']:.2g}"
            print("{paper}, {kind}: {claims} claims of {families} families, ".format(**row) + wrong
                  + ", {study_wide} hold at .05 for the study".format(**row))
        return True
    good = True
    if (folder / "claims.csv").exists():
        good &= compare(folder / "claims.csv", rows, list(read_rows(folder / "claims.csv")),
                        ["claim", "left", "want", "right", "family", "reproduced_at", "opposite_at", "verdict"],
                        ["left_value", "left_se", "right_value", "right_se", "seeds", "family_size"] + TESTS)
    if (folder / "claims-budgets.csv").exists():
        rows = [{"claim": c.name, "budget": p.budget, "wanted": 1 if p.sides.want == ">" else -1, **test_row(p)}
                for c in claims.values() for p in c.points.values() if p.budget]
        good &= compare(folder / "claims-budgets.csv", rows, list(read_rows(folder / "claims-budgets.csv")),
                        ["claim", "budget", "verdict"], ["wanted"] + TESTS)
    if (folder / "counts.csv").exists():
        good &= compare(folder / "counts.csv", list(counts(claims)), list(read_rows(folder / "counts.csv")),
                        ["paper", "kind"], ["claims", "families", "error", "study_wide"])
    for step, atlas in atlases.items():
        path = next((p for p in (folder / "correlations.csv", folder / step / "correlations.csv") if p.exists()), None)
        if path:
            good &= compare(path, list(atlas.rows(options.seed)), list(read_rows(path)),
                            ["prediction", "outcome", "budget", "given"],
                            ["objects", "runs", "tau", "p", "low", "high", "runs_se", "rho"])
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="+", type=pathlib.Path)
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    good = True
    for folder in options.folder:
        try:
            good &= check(folder, options)
        except OSError as error:
            sys.exit(f"{folder}: no values.csv or values.csv.xz can be read: {error.strerror}")
        except (lzma.LZMAError, KeyError, ValueError) as error:
            sys.exit(f"{folder}: not tables of a study: {type(error).__name__} {error}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

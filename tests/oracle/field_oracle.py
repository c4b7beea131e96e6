"""Best predictions in Gaussian fields, by numpy: every mask is counted, where cs_field_optimum draws.

Fields of 8 x 8, correlation 0.9 of neighbours, patches of 2 (16 a field). The mean squared error of a
hidden pixel given the shown patches is the diagonal of C_tt - C_ts C_ss^-1 C_st. Prints the numbers of
tests/test_field_optimum.c; by hand:

    python tests/oracle/field_oracle.py
"""
from itertools import combinations

import numpy as np

SIDE, PATCH, RHO = 8, 2, 0.9
GRID = SIDE // PATCH
COUNT = GRID * GRID

row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
C = RHO ** (np.abs(row[:, None] - row) + np.abs(column[:, None] - column)).astype(float)
PIXELS = [np.flatnonzero((row // PATCH) * GRID + column // PATCH == t) for t in range(COUNT)]


def error(shown, target):
    """Mean over the pixels of the target patches."""
    s, t = (np.concatenate([PIXELS[k] for k in patches]) for patches in (shown, target))
    left = C[np.ix_(t, t)] - C[np.ix_(t, s)] @ np.linalg.solve(C[np.ix_(s, s)], C[np.ix_(s, t)])
    return np.mean(np.diag(left))


def over_masks(shown):
    """Any other patch, from any set of this size."""
    every = set(range(COUNT))
    return np.mean([error(s, sorted(every - set(s))) for s in combinations(range(COUNT), shown)])


def groups(order, size):
    """Groups of `size` one after another, the first, which is given, of 1 .. size alike."""
    total = count = 0
    for first in range(1, size + 1):
        cuts = [0, *range(first, COUNT, size), COUNT]
        for begin, end in zip(cuts[1:], cuts[2:]):
            total += (end - begin) * error(order[:begin], order[begin:end])
            count += end - begin
    return total / count


if __name__ == "__main__":
    print("masked(unmasked=4)", repr(float(over_masks(4))))
    # GVP's fixed segmentation: n_i = floor((i + 1) T / (K + 1)) = 5, 10, 16.
    print("gvp(groups=2)", repr(float((5 * over_masks(5) + 6 * over_masks(10)) / 11)))
    squares = [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]
    print("group-ar(t=4), squares:2", repr(float(groups(squares, 4))))
    print("ar", repr(float(groups(list(range(COUNT)), 1))))

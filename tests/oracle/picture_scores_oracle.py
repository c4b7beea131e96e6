"""Scores of segmentations and detections, and what is made of the scores of patches, from numpy alone: prints the numbers
that tests/test_patch_heads.c holds. With pycocotools AP50 is COCOeval's too.

Written from the definitions: intersection over union by sets of pixels, AP50 by trying every recall, interpolation by a
matrix of weights. The cases are those of a linear congruential generator that the test has too.
"""
from fractions import Fraction

import numpy as np


class Lots:
    def __init__(self, seed):
        self.x = seed

    def below(self, n):
        self.x = (1103515245 * self.x + 12345) % 2**31
        return (self.x >> 8) % n


def mean_iou(classes, truth, said):
    values = []
    for c in range(classes):
        a, b = set(np.flatnonzero(truth == c)), set(np.flatnonzero(said == c))
        values.append(len(a & b) / len(a | b) if a | b else float("nan"))
    return values, float(np.nanmean(values))


def area(b):
    return (b[2] - b[0]) * (b[3] - b[1])


def overlap(a, b):
    both = [max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])]
    inner = area(both) if both[2] > both[0] and both[3] > both[1] else 0
    return Fraction(inner, area(a) + area(b) - inner)


def average_precision(truths, found):
    """truths: (picture, class, box); found: (picture, class, score, box), with scores that all differ."""
    values = {}
    for c in sorted({t[1] for t in truths}):
        boxes = [t for t in truths if t[1] == c]
        left, hit = list(boxes), []
        for picture, _, _, box in sorted((f for f in found if f[1] == c), key=lambda f: -f[2]):
            best = max((t for t in left if t[0] == picture), key=lambda t: overlap(box, t[2]), default=None)
            good = best is not None and overlap(box, best[2]) >= Fraction(1, 2)
            hit.append(good)
            if good:
                left.remove(best)
        recall = [Fraction(sum(hit[: k + 1]), len(boxes)) for k in range(len(hit))]
        precision = [Fraction(sum(hit[: k + 1]), k + 1) for k in range(len(hit))]
        at = [max((p for p, r in zip(precision, recall) if r >= Fraction(i, 100)), default=Fraction(0)) for i in range(101)]
        values[c] = sum(at) / 101
    return values, sum(values.values()) / len(values)


def boxes_case():
    lots, truths, found = Lots(7), [], []

    def box():
        top, left = lots.below(20), lots.below(20)
        return (top, left, top + 4 + lots.below(9), left + 4 + lots.below(9))

    for picture in range(12):
        for _ in range(1 + lots.below(3)):
            truths.append((picture, lots.below(3), box()))
        for t in [t for t in truths if t[0] == picture]:
            b = tuple(v + lots.below(3) for v in t[2])
            found.append((picture, t[1] if lots.below(4) else (t[1] + 1) % 3, 4096 * lots.below(256) + len(found), b))
        for _ in range(lots.below(3)):
            found.append((picture, lots.below(3), 4096 * lots.below(256) + len(found), box()))
    return truths, found


def coco(truths, found):
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
    wide = lambda b: [b[1], b[0], b[3] - b[1], b[2] - b[0]]
    g = COCO()
    g.dataset = {"images": [{"id": i + 1} for i in range(12)], "categories": [{"id": c + 1} for c in range(3)],
                 "annotations": [{"id": k + 1, "image_id": p + 1, "category_id": c + 1, "bbox": wide(b), "area": area(b), "iscrowd": 0}
                                 for k, (p, c, b) in enumerate(truths)]}
    g.createIndex()
    d = g.loadRes([{"image_id": p + 1, "category_id": c + 1, "bbox": wide(b), "score": float(s)} for p, c, s, b in found])
    e = COCOeval(g, d, "bbox")
    e.evaluate()
    e.accumulate()
    return e.eval["precision"][0, :, :, 0, -1].mean(axis=0)


def bilinear(grid, high, wide):
    """Rows of weights of the centres of patches at the centres of pixels, constant beyond the outermost."""
    def weights(pixels, patches):
        w = np.zeros((pixels, patches))
        for i in range(pixels):
            at = min(max((i + 0.5) * patches / pixels - 0.5, 0), patches - 1)
            for j in range(patches):
                w[i, j] = max(0, 1 - abs(at - j))
        return w
    return np.einsum("ip,pqc,jq->ijc", weights(high, grid.shape[0]), grid, weights(wide, grid.shape[1]))


def main():
    lots = Lots(3)
    pairs = np.array([[lots.below(5), lots.below(4)] for _ in range(400)])
    truth, said = pairs[:, 0], np.where(pairs[:, 1] == 0, 0, pairs[:, 0])  # a quarter is said to be background
    print("iou", *["%.15g" % v for v in mean_iou(6, truth, said)[0]], "%.15g" % mean_iou(6, truth, said)[1])

    truths, found = boxes_case()
    values, mean = average_precision(truths, found)
    print(len(truths), "boxes,", len(found), "detections: ap50", *["%.15g" % values[c] for c in values], "%.15g" % mean)
    without = lambda rows: [r for r in rows if r[0] != 5]
    print("without picture 5: %.15g" % average_precision(without(truths), without(found))[1])
    try:
        print("pycocotools", *["%.15g" % v for v in coco(truths, found)])
    except ImportError:
        print("skip pycocotools: it is not here")

    lots = Lots(11)  # 3 x 4 patches of 4, three classes
    grid = np.array([[[lots.below(1000) for _ in range(3)] for _ in range(4)] for _ in range(3)], float)
    mask = bilinear(grid, 12, 16).argmax(axis=2)
    print("pixels of classes", *np.bincount(mask.ravel(), minlength=3), "weighted by their number", int((mask.ravel() * np.arange(192)).sum()))


main()

"""preprocessor_config.json: AutoImageProcessor -> model of transformers against cospec on the same images, to 1e-5.

    processor_parity.py [CASES]    60 random processors by default

Classes, sizes, filters, crops, means and deviations are drawn, and keys are left out. Resized bytes are those of Pillow 12: a later one is skipped, because it resizes
some images along columns first. A processor that cospec writes must give transformers the values that cospec reads.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from harness import COSPEC, Checks
import PIL
import torch
import transformers
from PIL import Image

TOLERANCE = 1e-5
CLASSES = ["ViT", "DeiT", "Bit", "CLIP", "Siglip", "Beit"]
ENDINGS = ["ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor"]
ABSENT = ["do_convert_rgb", "resample", "do_rescale", "rescale_factor", "do_normalize", "image_mean", "image_std"]  # now and then
checks = Checks("processor")


def states(folder, images):
    with tempfile.TemporaryDirectory() as work:
        np.save(f"{work}/images.npy", images)
        run = subprocess.run([COSPEC, "features", folder, f"{work}/images.npy", "--pooling", "none", "-o", f"{work}/f"],
                             capture_output=True, text=True)
        return np.load(f"{work}/f/layer-2.npy") if run.returncode == 0 else run.stderr


def processor(rng, side, shape):
    """A random processor whose images have the model's side."""
    kind = CLASSES[rng.integers(len(CLASSES))]
    ending = ENDINGS[rng.integers(len(ENDINGS))]
    p = {"feature_extractor_type" if ending == "FeatureExtractor" else "image_processor_type": kind + ending, "do_convert_rgb": bool(rng.integers(2)), "do_resize": True,
         "resample": int(rng.integers(6)), "do_center_crop": bool(rng.integers(2)), "do_rescale": bool(rng.random() < 0.8),
         "rescale_factor": float(rng.choice([1 / 255, 1 / 127.5])), "do_normalize": bool(rng.random() < 0.8),
         "image_mean": rng.random(3).round(3).tolist(), "image_std": (0.2 + rng.random(3)).round(3).tolist()}
    sized = side + 2 * int(rng.integers(1, 5)) if p["do_center_crop"] else side
    p["size"] = {"height": sized, "width": sized}
    if p["do_center_crop"]:
        p["crop_size"] = side if rng.integers(2) else {"height": side, "width": side}
        if rng.integers(2):
            p["size"] = {"shortest_edge": sized}
    if kind in ("ViT", "DeiT", "Beit") and "height" in p["size"] and rng.integers(2):
        p["size"] = sized
    if shape == (side, side) and rng.integers(2):
        p["do_resize"] = p["do_center_crop"] = False
    for key in ABSENT:
        if rng.random() < 0.2:
            del p[key]
    return p


def compare(seed):
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    side = int(rng.choice([8, 12, 16]))
    shape = (side, side) if rng.random() < 0.3 else tuple(int(v) for v in rng.integers(20, 60, 2))
    model = transformers.ViTModel(transformers.ViTConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
                                                         image_size=side, patch_size=4, num_channels=3)).eval()
    images = rng.integers(0, 256, (3, *shape, 3), dtype=np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        made = processor(rng, side, shape)
        with open(f"{folder}/preprocessor_config.json", "w") as f:
            json.dump(made, f)
        theirs = transformers.AutoImageProcessor.from_pretrained(folder, use_fast=False)
        x = theirs([Image.fromarray(i) for i in images], return_tensors="pt")["pixel_values"].float()
        with torch.no_grad():
            want = model(x).last_hidden_state.numpy().reshape(-1, 16)
        got = states(folder, images)
        if isinstance(got, str):
            return f"{seed}: {got} {made}"
        off = np.abs(want - got).max()
        return None if off < TOLERANCE * max(1, np.abs(x).max().item()) else f"{seed}: off by {off:.2g}: {shape} {made}"


def written():
    """The file of a model that was trained here."""
    images = np.random.default_rng(0).integers(0, 256, (8, 8, 8, 3), dtype=np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/images.npy", images)
        subprocess.run([COSPEC, "train", "--corpus", f"{folder}/images.npy", "--objective", "masked", "--mask-ratio", "0.5", "--arch", "vit",
                        "--patch", "2", "--width", "16", "--layers", "2", "--heads", "2", "--batch", "2", "--steps", "2", "-o", f"{folder}/m"],
                       check=True, capture_output=True)
        theirs = transformers.AutoImageProcessor.from_pretrained(f"{folder}/m", use_fast=False)
        x = theirs([Image.fromarray(i) for i in images], return_tensors="np")["pixel_values"]
        off = np.abs(np.moveaxis(x, 1, -1) - images / 255.0).max()
        return None if off < 1e-6 else f"off by {off}"


def sized():
    """--size and --crop of a file, against the processor that training with them writes."""
    rng = np.random.default_rng(5)
    for sizes, shape in ((["--size", "80", "--crop", "70x66"], (170, 131)), (["--size", "90x77"], (60, 181)), (["--crop", "66"], (100, 99)),
                         (["--size", "67"], (67, 68))):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(f"{folder}/in")
            image = Image.fromarray(rng.integers(0, 256, (*shape, 3), dtype=np.uint8))
            image.save(f"{folder}/in/a.jpg", quality=92)
            done = [subprocess.run([COSPEC, *command, *sizes], capture_output=True, text=True) for command in (
                ["data", "stats", f"{folder}/in", "-o", f"{folder}/s"],
                ["train", "--corpus", f"{folder}/in", "--test-share", "0", "--objective", "masked", "--mask-ratio", "0.5", "--arch", "vit", "--patch", "1", "--width", "8",
                 "--layers", "1", "--heads", "1", "--batch", "1", "--steps", "0", "-o", f"{folder}/m"])]
            if any(d.returncode for d in done):
                return " ".join(d.stderr for d in done)
            sheet = np.array(Image.open(f"{folder}/s/contact.png").convert("RGB"))
            got = sheet[:sheet.shape[0] // 16 - 1, :sheet.shape[1] // 12 - 1] / 255.0
            theirs = transformers.AutoImageProcessor.from_pretrained(f"{folder}/m", use_fast=False)
            want = np.moveaxis(theirs(Image.open(f"{folder}/in/a.jpg"), return_tensors="np")["pixel_values"][0], 0, -1)
            if got.shape != want.shape or np.abs(got - want).max() > 1e-6:
                return f"{sizes}: {got.shape} {want.shape} {np.abs(got - want).max() if got.shape == want.shape else ''}"
    return None


def compare_all(count):
    wrong = [w for w in map(compare, range(count)) if w]
    for w in wrong[1:6]:
        print("#", w)
    return f"{len(wrong)} of {count}; {wrong[0]}" if wrong else None


if int(PIL.__version__.split(".")[0]) > 12:
    checks.skip("random_processors", f"Pillow {PIL.__version__} is later than 12")
else:
    checks.run("random_processors", compare_all, int(sys.argv[1]) if len(sys.argv) > 1 else 60)
checks.run("written", written)
checks.run("sized", sized)
checks.exit()

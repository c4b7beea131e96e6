"""Image files against Pillow: each is written by Pillow (or by ImageMagick, if it is there) and read by both."""
import itertools
import os
import shutil
import subprocess
import tempfile

import numpy as np
from PIL import Image, ImageFile, ImageOps

from harness import Checks

COSPEC = os.environ.get("COSPEC", "cospec")
HEIGHT, WIDTH = 70, 66
ImageFile.LOAD_TRUNCATED_IMAGES = True  # files without EOI
checks = Checks("picture_files")


def picture(mode, seed=0):
    """Smooth colours with noise, so that codecs have something to do."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    waves = [127 + 90 * np.sin(x / (5 + 3 * c) + y / (9 - c)) for c in range(4)]
    rgba = np.stack(waves, -1) + rng.normal(0, 12, (HEIGHT, WIDTH, 4))
    rgba = rgba.clip(0, 255).astype(np.uint8)
    rgba[:8, :8, 3] = 0
    image = Image.fromarray(rgba, "RGBA")
    return image if mode == "RGBA" else image.convert("RGB").convert(mode)


def ours(path):
    """The pixels that cospec reads: the first cell of a contact sheet of 16 x 12, which does not scale images of this size."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/in")
        shutil.copy(path, f"{folder}/in/")
        done = subprocess.run([COSPEC, "data", "stats", f"{folder}/in", "-o", f"{folder}/out"], capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.strip()
        sheet = np.array(Image.open(f"{folder}/out/contact.png").convert("RGB"))
        return sheet[:sheet.shape[0] // 16 - 1, :sheet.shape[1] // 12 - 1]


def theirs(path):
    """As cospec defines it: the first frame, turned, over white, rounded."""
    image = ImageOps.exif_transpose(Image.open(path))
    if image.mode in ("P", "PA", "LA") or "transparency" in image.info:
        image = image.convert("RGBA")
    if image.mode == "RGBA":
        v = np.array(image).astype(int)
        return ((2 * (v[..., :3] * v[..., 3:] + 255 * (255 - v[..., 3:])) + 255) // 510).astype(np.uint8)
    return np.array(image.convert("RGB"))


def compare(path, most=0):
    got, want = ours(path), theirs(path)
    if isinstance(got, str):
        return got
    if got.shape != want.shape:
        return f"{got.shape} for {want.shape}"
    off = np.abs(got.astype(int) - want).max()
    return None if off <= most else f"off by {off}"


def exif(orientation):
    made = Image.Exif()
    made[0x0112] = orientation
    return made


def files(folder):
    """Name, and the largest difference: codecs of other versions may round otherwise."""
    def save(name, image, **options):
        image.save(f"{folder}/{name}", **options)
        return name
    rgb, grey, rgba, palette = picture("RGB"), picture("L"), picture("RGBA"), picture("P")
    bit = picture("1")
    for name, image in {"rgb": rgb, "grey": grey, "palette": palette, "bit": bit}.items():
        yield save(f"{name}.bmp", image), 0
        yield save(f"{name}.gif", image), 0
        yield save(f"{name}.png", image), 0
    yield save("alpha.bmp", rgba), 0
    yield save("interlaced.gif", palette, interlace=1), 0
    yield save("clear.gif", rgba), 0
    frames = [picture("P", 1).resize((WIDTH, HEIGHT)), picture("P", 2)]
    yield save("moving.gif", frames[0], save_all=True, append_images=frames[1:]), 0
    for compression in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "tiff_deflate"):
        for name, image in {"rgb": rgb, "grey": grey, "palette": palette, "rgba": rgba, "bit": bit}.items():
            if not (compression == "packbits" and name == "bit"):
                yield save(f"{name}-{compression}.tiff", image, compression=compression), 1 if name == "rgba" else 0
    yield save("cmyk.tiff", picture("RGB").convert("CMYK")), 0
    yield save("cmyk-lzw.tiff", picture("RGB").convert("CMYK"), compression="tiff_lzw"), 0
    yield save("cmyk.jpg", picture("RGB").convert("CMYK"), quality=90), 0
    yield save("jpeg.tiff", rgb, compression="jpeg"), 4
    yield save("fax.tiff", bit, compression="group4"), 0
    yield save("big.tiff", rgb, big_tiff=True), 0
    for quality, lossless in ((30, False), (90, False), (100, True)):
        yield save(f"{quality}.webp", rgb, quality=quality, lossless=lossless), 0
        yield save(f"alpha-{quality}.webp", rgba, quality=quality, lossless=lossless), 0
    yield save("moving.webp", rgb, save_all=True, append_images=[picture("RGB", 3)], lossless=True), 0
    for o in range(1, 9):
        yield save(f"turned-{o}.png", rgb, exif=exif(o)), 0
        yield save(f"turned-{o}.jpg", rgb, exif=exif(o), quality=95), 0
        yield save(f"turned-{o}.webp", rgb, exif=exif(o), lossless=True), 0
        yield save(f"turned-{o}.tiff", rgb, exif=exif(o)), 0
    for progressive, subsampling in itertools.product((False, True), (0, 1, 2)):
        name = save(f"jpeg-{progressive}-{subsampling}.jpg", rgb, progressive=progressive, subsampling=subsampling)
        yield name, 0
        with open(f"{folder}/{name}", "rb") as f:
            data = f.read()
        with open(f"{folder}/no-end-{name}", "wb") as f:
            f.write(data[:-2])
        yield f"no-end-{name}", 0


def magick(folder):
    """Forms that Pillow does not write."""
    picture("RGB").save(f"{folder}/from.png")
    picture("P").save(f"{folder}/from-palette.png")
    for name, options in {"rle8.bmp": ["-type", "Palette", "-compress", "RLE"], "bmp2.bmp": ["-type", "Palette"], "565.bmp": ["-define", "bmp:subtype=RGB565"],
                          "555.bmp": ["-define", "bmp:subtype=RGB555"], "argb.bmp": ["-alpha", "set", "-channel", "A", "-evaluate", "set", "40%"],
                          "tiled.tiff": ["-define", "tiff:tile-geometry=32x32"], "planes.tiff": ["-interlace", "plane"], "16.tiff": ["-depth", "16"],
                          "zip.tiff": ["-compress", "zip"], "cmyk.tiff": ["-colorspace", "CMYK"]}.items():
        to = f"BMP2:{folder}/{name}" if name == "bmp2.bmp" else f"{folder}/{name}"
        done = subprocess.run(["convert", f"{folder}/from.png", *options, to], capture_output=True, text=True)
        if done.returncode == 0:
            yield name


def all_files():
    wrong, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, most in files(folder):
            why = compare(f"{folder}/{name}", most)
            count += 1
            if why:
                wrong.append(f"{name}: {why}")
    return f"{len(wrong)} of {count}: " + "; ".join(wrong) if wrong else None


def of_magick():
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name in magick(folder):
            why = compare(f"{folder}/{name}", 1 if name == "16.tiff" else 0)
            if why:
                wrong.append(f"{name}: {why}")
    return "; ".join(wrong) if wrong else None


checks.run("pillow", all_files)
if shutil.which("convert"):
    checks.run("imagemagick", of_magick)
else:
    checks.skip("imagemagick", "convert is not there")
checks.exit()

"""Models of pictures against transformers: ViTModel, ViTForImageClassification, ViTMAEForPreTraining.

  pictures_parity.py            what cospec reads and writes, to 1e-5: cospec from $COSPEC
  pictures_parity.py --golden   write tests/golden/pictures: tiny random models with their references
  pictures_parity.py --towers   of classes that are read alone; families_parity.py draws them at random
"""
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from harness import Checks, cospec
import torch
import transformers

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "pictures")
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
         "image_size": 8, "patch_size": 2, "num_channels": 3, "layer_norm_eps": 1e-6}
DECODER = {"decoder_hidden_size": 12, "decoder_num_hidden_layers": 2, "decoder_num_attention_heads": 3,
           "decoder_intermediate_size": 20, "mask_ratio": 0.75}
TOLERANCE = 1e-5
checks = Checks("pictures")


def models():
    yield "vit", transformers.ViTModel, transformers.ViTConfig(**SIZES)
    yield "vit-switched", transformers.ViTModel, transformers.ViTConfig(
        **{**SIZES, "qkv_bias": False, "hidden_act": "relu", "layer_norm_eps": 1e-3})
    yield "classifier", transformers.ViTForImageClassification, transformers.ViTConfig(**SIZES, num_labels=3)
    yield "mae", transformers.ViTMAEForPreTraining, transformers.ViTMAEConfig(**SIZES, **DECODER)


FEW = {**SIZES, "intermediate_size": 8}
SIZED = {k: v for k, v in SIZES.items() if k != "intermediate_size"}
TOWERS = {
    "deit": (transformers.DeiTModel, transformers.DeiTConfig(**FEW)), "ijepa": (transformers.IJepaModel, transformers.IJepaConfig(**FEW, qkv_bias=False)),
    "clip": (transformers.CLIPVisionModel, transformers.CLIPVisionConfig(**FEW)),
    "siglip": (transformers.SiglipVisionModel, transformers.SiglipVisionConfig(**FEW, vision_use_head=False)),
    "dinov2": (transformers.Dinov2Model, transformers.Dinov2Config(**SIZED, mlp_ratio=1,
                                                                  use_swiglu_ffn=True)),
    "registers": (transformers.Dinov2WithRegistersModel, transformers.Dinov2WithRegistersConfig(
        **SIZED, mlp_ratio=1, num_register_tokens=2)),
    "beit": (transformers.BeitForMaskedImageModeling, transformers.BeitConfig(
        **FEW, vocab_size=5, use_relative_position_bias=True, use_shared_relative_position_bias=True, use_absolute_position_embeddings=True)),
    "beit-shared": (transformers.BeitModel, transformers.BeitConfig(
        **FEW, use_shared_relative_position_bias=True, use_mask_token=True, use_mean_pooling=False, layer_scale_init_value=0.0)),
    "beit-each": (transformers.BeitForImageClassification, transformers.BeitConfig(**FEW, use_relative_position_bias=True)),
    "deit-teacher": (transformers.DeiTForImageClassificationWithTeacher, transformers.DeiTConfig(**FEW)),
    "ijepa-classes": (transformers.IJepaForImageClassification, transformers.IJepaConfig(**FEW)),
    "dinov2-classes": (transformers.Dinov2ForImageClassification, transformers.Dinov2Config(**SIZED, mlp_ratio=1)),
    "registers-classes": (transformers.Dinov2WithRegistersForImageClassification, transformers.Dinov2WithRegistersConfig(
        **SIZED, mlp_ratio=1, num_register_tokens=2))}


def make(model, folder):
    """Random weights of some size, also where the class begins with zeros; positions that are fixed stay."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    return type(model).from_pretrained(folder).double().eval()


def pictures():
    return np.random.default_rng(1).integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)


def tensor_of(pixels):
    return torch.tensor(pixels / 255.0).permute(0, 3, 1, 2).double()


def reference(model, pixels):
    """States of all layers (the last normed), then logits; of MAE what is predicted of hidden patches."""
    x = tensor_of(pixels)
    with torch.no_grad():
        if isinstance(model, transformers.ViTMAEForPreTraining):
            noise = torch.rand(len(x), 16, generator=torch.Generator().manual_seed(2)).double()
            out = model(x, noise=noise)
            return {"hidden": out.mask.numpy().astype(np.int64), "predicted": out.logits.numpy()}
        base = getattr(model, model.base_model_prefix, model)
        out = base(x, output_hidden_states=True)
        states = [*out.hidden_states[:-1], out.last_hidden_state]
        made = {"states": torch.stack(states).numpy()}
        if base is not model:
            made["logits"] = model(x).logits.numpy()
        return made


def golden(towers):
    torch.manual_seed(0)
    if not towers:
        shutil.rmtree(GOLDEN, ignore_errors=True)
    for name, cls, config in [(name, *TOWERS[name]) for name in TOWERS] if towers else models():
        folder = os.path.join(GOLDEN, name)
        model = make(cls(config), folder)
        pixels = pictures()
        np.savez(os.path.join(folder, "reference.npz"), pixels=pixels,
                 **{key: value.astype(np.float32) if value.dtype == np.float64 else value
                    for key, value in reference(model, pixels).items()})


def near(ours, theirs):
    off = np.abs(ours - theirs).max()
    return None if off < TOLERANCE else f"off by {off:.2g}"


def states_of(folder):
    shutil.rmtree("states", ignore_errors=True)
    cospec("features", folder, "pictures.npy", pooling="none", o="states")
    return np.stack([np.load(f"states/layer-{layer}.npy") for layer in range(3)])


def read():
    for name, cls, config in models():
        model = make(cls(config), name)
        base = getattr(model, "vit", model)
        if name != "mae":
            theirs = reference(model, pictures())["states"].reshape(3, -1, 16)
            checks.run(f"states of {name}", near, states_of(name), theirs)


def write():
    """A model that cospec trained is loaded by the classes without a missing tensor, and computes the same."""
    train = ["train", "--corpus", "pictures.npy", "--objective", "masked", "--mask-ratio", "0.5", "--arch", "vit",
             "--patch", "2", "--width", "16", "--layers", "2", "--heads", "2", "--batch", "2", "--steps", "3"]
    cospec(*train, o="one")
    cospec(*train, decoder_layers=1, target="normalised", o="two")
    for name, cls in (("one", transformers.ViTModel), ("two", transformers.ViTMAEForPreTraining)):
        model, info = cls.from_pretrained(name, output_loading_info=True)
        missing = [key for key in info["missing_keys"] if "pooler" not in key]
        if missing or info["mismatched_keys"]:
            checks.fail(cls.__name__, f"lacks {missing} {info['mismatched_keys']}")
            continue
        base = getattr(model, "vit", model).double().eval()
        if name == "two":
            base.config.mask_ratio = 0.0
            base.embeddings.config.mask_ratio = 0.0
        with torch.no_grad():
            keys = {"noise": torch.arange(16).double().repeat(3, 1)} if name == "two" else {}
            last = base(tensor_of(pictures()), **keys).last_hidden_state
        checks.run(f"{cls.__name__} of cospec's files", near, states_of(name)[2], last.numpy().reshape(-1, 16))


def main():
    if sys.argv[1:] in (["--golden"], ["--towers"]):
        golden(sys.argv[1] == "--towers")
        return
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        np.save("pictures.npy", pictures())
        np.save("pictures.labels.npy", np.array([0, 1, 2]))
        read()
        write()
    checks.exit()


main()

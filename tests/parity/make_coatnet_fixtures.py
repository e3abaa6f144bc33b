#!/usr/bin/env python3
"""Writes tests/data/fixtures/coatnet_*: what timm's CoAtNets compute for an image of 64 x 96. Needs PyTorch and timm.

    make_coatnet_fixtures.py tests/data/fixtures

Inputs and weights follow the rules of the fixtures' generator, so that neither is stored.
"""
import os, sys
import numpy as np
import timm
import torch
from fixture_files import entry, input_entry, rule, seeded_image, tensor_of, write_fixture

ARCHITECTURES = ("coatnet_0_rw_224", "coatnet_rmlp_nano_rw_224", "coatnet_0_224")
SHAPE, CLASSES, SEED, SAMPLES = (1, 3, 64, 96), 10, 0, 64


def size_of(name, shape):
    """(kind, offset, scale) of its rule, which keeps the magnitude of activations."""
    if name.endswith("running_var"):
        return "abs", 0.5, 0.5
    if name.endswith("bias_table"):
        return "uniform", 0.0, 1.5
    if len(shape) > 1:
        return "uniform", 0.0, (3 / np.prod(shape[1:])) ** 0.5
    return ("uniform", 1.0, 0.2) if name.endswith("weight") else ("uniform", 0.0, 0.2)


def tensors(model):
    """Fills the model by rules; returns them."""
    rules = []
    for name, t in model.state_dict().items():
        if not t.is_floating_point():
            continue
        rules.append(rule(name, t.shape, *size_of(name, t.shape)))
        t.copy_(torch.from_numpy(tensor_of(rules[-1], SEED)))
    return rules


def compute(model, x):
    out, hooks = {}, []

    def keep(name):
        def hook(module, inputs, output):
            out.setdefault("tap/" + name, output.clone())

        return hook

    for name, module in model.named_modules():
        if name == "stem" or name.startswith("stages."):
            hooks.append(module.register_forward_hook(keep(name)))
    features = model.forward_features(x)
    taps = dict(out)
    pooled = model.forward_head(features, pre_logits=True)
    logits = model.forward_head(features)
    for hook in hooks:
        hook.remove()
    return taps, {"features": features, "pooled": pooled, "logits": logits}


def wanted(name):
    """The stem, every block, and all of a stage's first block."""
    parts = name.split(".")
    return len(parts) <= 4 or parts[3] == "0"


def make(architecture, folder):
    model = timm.create_model(architecture, img_size=SHAPE[2:], num_classes=CLASSES).eval()
    rules = tensors(model)
    x = seeded_image(SHAPE, SEED)
    single = compute(model, torch.from_numpy(x))
    exact = compute(model.double(), torch.from_numpy(x).double())
    stored = {}

    def entries(exact, single):
        return [entry(name, t.contiguous().numpy(), single[name].contiguous().numpy(), SAMPLES, stored, most=SAMPLES)
                for name, t in exact.items()]

    manifest = {
        "library": {"name": "timm", "version": timm.__version__, "torch": torch.__version__.split("+")[0]},
        "seed": SEED, "arch": architecture, "inputs": [input_entry("input", x, stored, SAMPLES)],
        "taps": entries({name: t for name, t in exact[0].items() if wanted(name)}, single[0]),
        "outputs": entries(exact[1], single[1]), "tensors": rules}
    write_fixture(folder, manifest, stored, indent=None)


if __name__ == "__main__":
    os.environ["TIMM_FUSED_ATTN"] = "0"
    with torch.no_grad():
        for architecture in ARCHITECTURES:
            make(architecture, os.path.join(sys.argv[1], architecture))

#!/usr/bin/env python3
"""Writes tests/data/fixtures/{deeplabv3,fcn,lraspp}_*: what torchvision's networks for classes of pixels compute for
images whose sides are no multiples of anything. Needs PyTorch and torchvision.

    make_segmentation_fixtures.py tests/data/fixtures

Inputs and weights follow the rules of the fixtures' generator, so that neither is stored. The ResNets are narrow, and one
of them has the auxiliary head that only training reads: it is in the checkpoint and in nothing that is compared.
"""
import os, sys
import torch
import torchvision
from torchvision.models import resnet50
from torchvision.models.segmentation import deeplabv3, deeplabv3_mobilenet_v3_large, fcn, lraspp_mobilenet_v3_large
from fixture_files import entry, input_entry, seeded_image, write_fixture
from ferry.recording import run_module
from make_fixture import synthesize

CLASSES, SEED, SAMPLES = 5, 0, 64
# Blocks of the trunks whose inner modules are kept: the first of their kind.
DETAILED = {"1", "4", "13", "14", "16", "layer1.0", "layer2.0", "layer3.0", "layer3.1", "layer4.0", "layer4.1"}


def narrow_resnet():
    return resnet50(weights=None, width_per_group=16, replace_stride_with_dilation=[False, True, True])


def untrained(build, **arguments):
    return build(weights=None, weights_backbone=None, num_classes=CLASSES, **arguments)


NETWORKS = {
    "lraspp_mobilenet_v3_large": (lambda: untrained(lraspp_mobilenet_v3_large), (65, 97)),
    "deeplabv3_mobilenet_v3_large": (lambda: untrained(deeplabv3_mobilenet_v3_large, aux_loss=True), (97, 66)),
    "deeplabv3_resnet50": (lambda: deeplabv3._deeplabv3_resnet(narrow_resnet(), CLASSES, False), (65, 97)),
    "fcn_resnet50": (lambda: fcn._fcn_resnet(narrow_resnet(), CLASSES, True), (51, 83)),
}


def wanted(name):
    """The head, every block, and all of some blocks."""
    parts = name.removeprefix("tap/").split(".")
    if parts[0] != "backbone":
        return parts[0] != "aux_classifier"
    deep = 2 if parts[1].startswith("layer") else 1
    return len(parts) <= 1 + deep or ".".join(parts[1 : 1 + deep]) in DETAILED


def make(architecture, build, size, folder):
    model = build().eval()
    rules = synthesize(model, SEED)
    x = seeded_image((1, 3, *size), SEED)
    single = run_module(model.float(), {"x": x}, True, torch.float32)
    exact = run_module(model.double(), {"x": x}, True, torch.float64)
    stored = {}

    def entry_of(name, exact, single, samples):
        return entry(name, exact, single, samples, stored, most=samples)

    taps = [entry_of("tap/" + name, t, single[0][name], SAMPLES) for name, t in exact[0].items() if wanted(name)]
    manifest = {
        "library": {"name": "torchvision", "version": torchvision.__version__, "torch": torch.__version__.split("+")[0]},
        "arch": architecture, "seed": SEED, "inputs": [input_entry("input", x, stored, 1)],
        "taps": taps, "outputs": [entry_of("out", exact[1]["out"], single[1]["out"], 8 * SAMPLES)], "tensors": rules}
    write_fixture(folder, manifest, stored, indent=None)
    largest = [t["absmax"] for t in taps]
    print(f"  largest numbers {min(largest):.2g} to {max(largest):.2g}")


if __name__ == "__main__":
    for architecture, (build, size) in NETWORKS.items():
        make(architecture, build, size, os.path.join(sys.argv[1], architecture))

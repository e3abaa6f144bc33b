#!/usr/bin/env python3
"""Make parity fixtures of published PyTorch networks, by ferry.fixture() of the Python package.

    make_fixture.py OUT --library torchvision --arch resnet18 --seed 0 1
    make_fixture.py OUT --library timm --arch convnext_atto --weights model.safetensors --input photo.jpg
    make_fixture.py OUT --library transformers --arch microsoft/resnet-50 --weights folder_with_config/

Writes a folder OUT/NAME for each seed, in the format parity-fixture/1 (docs/parity.md).

Without --weights the checkpoint is synthetic: a rule for each tensor stands in the manifest, and make_checkpoint of the
build makes the file from it. Without --input the input follows from the seed, as certificates want it. One photograph
and two seeds are a good start for a new family. Needs torch, and torchvision, timm or transformers as asked for.
"""
import argparse, os, sys
import numpy as np
import torch
from fixture_files import rule, seeded_image, tensor_of
from ferry import fixture

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


# ---- weights --------------------------------------------------------------------------------------------------------


def rule_of(name, tensor):
    """A rule that keeps activations at an ordinary magnitude: weights by fan-in, norms near 1, small shifts."""
    shape = list(tensor.shape)
    if not tensor.is_floating_point():
        return {"name": name, "dtype": "I64", "shape": shape, "kind": "const", "value": 0}
    leaf = name.rsplit(".", 1)[-1]
    kind, offset, scale = "uniform", 0.0, 0.1
    if leaf == "running_var":
        kind, offset, scale = "abs", 0.5, 1.0
    elif leaf == "weight" and len(shape) == 1:
        offset = 1.0
    elif len(shape) > 1:
        scale = np.sqrt(3 / np.prod(shape[1:]))
    return rule(name, shape, kind, offset, scale)


def synthesize(model, seed):
    """Fills the model's own checkpoint by rules, which are returned."""
    rules, state = [], {}
    for name, tensor in model.state_dict().items():
        rules.append(rule_of(name, tensor))
        constant = rules[-1]["kind"] == "const"
        state[name] = torch.zeros_like(tensor) if constant else torch.from_numpy(tensor_of(rules[-1], seed))
    model.load_state_dict(state)
    return rules


def load(model, path):
    if path.endswith(".safetensors"):
        from safetensors.torch import load_file

        state = load_file(path)
    else:
        state = torch.load(path, map_location="cpu")
    model.load_state_dict(state.get("state_dict", state))


def build(args):
    """The model and its library's version."""
    if args.library == "torchvision":
        import torchvision

        return getattr(torchvision.models, args.arch)(num_classes=args.num_classes), torchvision.__version__
    if args.library == "timm":
        import timm

        model = timm.create_model(args.arch, pretrained=False, in_chans=args.in_chans, num_classes=args.num_classes)
        return model, timm.__version__
    import transformers

    source = args.weights if args.weights and os.path.isdir(args.weights) else args.arch
    config = transformers.AutoConfig.from_pretrained(source)
    model = getattr(transformers, (config.architectures or ["AutoModel"])[0])(config)
    return model, transformers.__version__


# ---- fixtures -------------------------------------------------------------------------------------------------------


def photograph(path, height, width):
    from PIL import Image

    image = Image.open(path).convert("RGB")
    scale = max(height / image.height, width / image.width)
    covering = max(width, round(image.width * scale)), max(height, round(image.height * scale))
    image = image.resize(covering, Image.BICUBIC)
    left, top = (image.width - width) // 2, (image.height - height) // 2
    pixels = np.asarray(image.crop((left, top, left + width, top + height)), np.float64) / 255
    return ((pixels - MEAN) / STD).transpose(2, 0, 1)[None].astype(np.float32)


def make(args, seed):
    model, version = build(args)
    rules = None
    if not args.weights:
        rules = synthesize(model, seed)
    elif not os.path.isdir(args.weights):
        load(model, args.weights)
    else:
        model = type(model).from_pretrained(args.weights)
    height, width = args.size
    if args.input:
        image = photograph(args.input, height, width)
    else:
        image = seeded_image((1, args.in_chans, height, width), seed)
    name = (args.name or args.library + "_" + args.arch.replace("/", "_")) + (f"_seed{seed}" if seed else "")
    extra = {"in_chans": args.in_chans}
    if rules is not None:
        extra["tensors"] = rules
    if args.library == "transformers":
        extra["config_file"] = "config.json"
    folder = os.path.join(args.out, name)
    library = {"name": args.library, "version": version}
    fixture(model, image, folder, seed=seed, samples=args.samples, library=library, arch=args.arch, extra=extra)
    if args.library == "transformers":
        model.config.to_json_file(os.path.join(folder, "config.json"))
    print(folder)


def size(text):
    sides = [int(side) for side in text.split("x")]
    return (sides * 2)[:2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", help="folder for the fixtures' folders")
    parser.add_argument("--library", choices=("torchvision", "timm", "transformers"), required=True)
    parser.add_argument("--arch", required=True, help="the library's name of the network")
    parser.add_argument("--name", help="of the fixture; without it LIBRARY_ARCH")
    parser.add_argument("--seed", type=int, nargs="+", default=[0], help="of input and weights; a fixture each")
    parser.add_argument("--weights", help="a checkpoint (.safetensors, .pth), or transformers' folder; else synthetic")
    parser.add_argument("--input", help="a photograph; without it one that follows from the seed")
    parser.add_argument("--size", type=size, default=(224, 224), help="HxW of the input")
    parser.add_argument("--in-chans", type=int, default=3)
    parser.add_argument("--num-classes", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=2048, help="values kept of a tap larger than twice as much")
    args = parser.parse_args()
    for seed in args.seed:
        make(args, seed)


if __name__ == "__main__":
    sys.exit(main())

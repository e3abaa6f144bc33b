"""Writes reparameterized_fixture.inc: what timm's RepViT and FastViT compute where no parity fixture does - RepViT's older
token mixer, FastViT's attention and position encoding - for tests/converter/reparameterized_test.cc.

    python3 tests/converter/make_reparameterized_fixture.py      (timm 1.0, torch 1.13; any versions will do)

The networks are tiny. Inputs and parameters are multiples of 1/64 that the test computes by the same formula. All in double.
"""
import functools
import math
import pathlib

import torch
from timm.models.fastvit import FastVit, RepConditionalPosEnc
from timm.models.repvit import RepVit

POSITIONS = functools.partial(RepConditionalPosEnc, spatial_shape=(7, 7))
NETWORKS = {
    "repvit_legacy": lambda: RepVit(embed_dim=(8, 16, 32, 64), depth=(1, 1, 1, 1), num_classes=3, legacy=True),
    "fastvit_attention": lambda: FastVit(
        layers=(1, 1, 1, 1), embed_dims=(4, 8, 16, 32), mlp_ratios=(2,) * 4, num_classes=3,
        pos_embs=(None, None, None, POSITIONS), token_mixers=("repmixer",) * 3 + ("attention",)),
}


def values(key, shape):
    seed = sum(map(ord, key)) * 11
    numbers = torch.tensor([((i * 37 + seed) % 61 - 30) / 64 for i in range(math.prod(shape))], dtype=torch.float64)
    factor = 16 if "qkv" in key else 1  # so that attention is not uniform
    return numbers.reshape(shape) * factor + (1 if key.endswith("running_var") else 0)


lines = [f"// By make_reparameterized_fixture.py, torch {torch.__version__}: {{case, {{key, shape}}..., logits}}.\n"]
for name, make in NETWORKS.items():
    network = make().double().eval()
    state = {k: values(k, v.shape) for k, v in network.state_dict().items() if v.is_floating_point()}
    network.load_state_dict(state, strict=False)
    with torch.no_grad():
        logits = network(values("input", (1, 3, 64, 64)))[0]
    keys = ", ".join(f'{{"{k}", {{{", ".join(map(str, v.shape))}}}}}' for k, v in state.items())
    lines.append(f'{{"{name}", {{{keys}}}, {{{", ".join(repr(v) for v in logits.tolist())}}}}},\n')
pathlib.Path(__file__).with_name("reparameterized_fixture.inc").write_text("".join(lines))

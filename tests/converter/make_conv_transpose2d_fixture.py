"""Writes conv_transpose2d_fixture.inc: what PyTorch's ConvTranspose2d computes, for tests/converter/ops_test.cc.

    python3 tests/converter/make_conv_transpose2d_fixture.py      (torch 1.13; any version will do)

Inputs, weights and biases are small multiples of 1/8 that the test computes by the same formula, so every sum is exact in
float32 and the fixture holds exact numbers.
"""
import pathlib

import torch

# (in, out, kernel, stride, padding, output_padding, dilation, groups, height, width)
CASES = [
    (3, 2, 3, 2, 1, 1, 1, 1, 3, 4),
    (4, 6, 2, 3, 0, 2, 1, 2, 2, 3),
    (4, 4, 3, 1, 2, 0, 2, 4, 4, 3),
]


def values(count, seed):
    return torch.tensor([((i * 37 + seed) % 19 - 9) / 8 for i in range(count)])


lines = [
    "// ConvTranspose2d of torch %s, by make_conv_transpose2d_fixture.py: {in, out, kernel, stride, padding,"
    % torch.__version__.split("+")[0],
    "// output padding, dilation, groups, height, width, {output, channels first}}.",
]
for case in CASES:
    n_in, n_out, kernel, stride, padding, output_padding, dilation, groups, height, width = case
    module = torch.nn.ConvTranspose2d(n_in, n_out, kernel, stride, padding, output_padding, groups, True, dilation)
    with torch.no_grad():
        module.weight.copy_(values(module.weight.numel(), 1).reshape(module.weight.shape))
        module.bias.copy_(values(n_out, 2))
        y = module(values(n_in * height * width, 3).reshape(1, n_in, height, width))
    numbers = ", ".join("%.9g" % v for v in y.flatten().tolist())
    lines.append("{%s, {%s}}," % (", ".join(map(str, case)), numbers))
pathlib.Path(__file__).with_name("conv_transpose2d_fixture.inc").write_text("\n".join(lines) + "\n")

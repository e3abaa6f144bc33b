"""Writes bicubic_fixture.inc: what PyTorch's interpolate(mode="bicubic", align_corners=False) computes, with
and without antialias, for tests/converter/position_embedding_test.cc.

    python3 tests/converter/make_bicubic_fixture.py      (torch 1.13; any version will do)

Maps are small multiples of 1/8 that the test computes by the same formula. PyTorch computes in double here.
"""
import pathlib

import torch

# (channels, height, width, new height, new width): larger, smaller, one axis each way, from a single position, and
# DINOv2's table
CASES = [
    (2, 3, 3, 5, 7),
    (3, 7, 7, 3, 4),
    (2, 4, 4, 9, 2),
    (2, 1, 1, 3, 2),
    (1, 37, 37, 16, 16),
]

lines = [
    "// torch %s's bicubic, by make_bicubic_fixture.py: {channels, height, width, new height, new width, antialias,"
    % torch.__version__.split("+")[0],
    "// {output, channels first}}.",
]
for case in [size + (antialias,) for antialias in (0, 1) for size in CASES]:
    channels, height, width, new_height, new_width, antialias = case
    count = channels * height * width
    x = torch.tensor([((i * 37 + 3) % 19 - 9) / 8 for i in range(count)], dtype=torch.float64)
    x = x.reshape(1, channels, height, width)
    y = torch.nn.functional.interpolate(
        x, size=(new_height, new_width), mode="bicubic", align_corners=False, antialias=bool(antialias)
    )
    numbers = ", ".join("%.15g" % v for v in y.flatten().tolist())
    lines.append("{%s, {%s}}," % (", ".join(map(str, case)), numbers))
pathlib.Path(__file__).with_name("bicubic_fixture.inc").write_text("\n".join(lines) + "\n")

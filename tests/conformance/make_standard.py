#!/usr/bin/env python3
"""Writes tests/data/onnx/operators/NAME/: single operators of the standard with inputs and outputs.

    make_standard.py OUT_DIR

Outputs are NumPy's or PyTorch's. The folders look like the ONNX project's node tests: model.onnx,
test_data_set_0/input_0.pb and output_0.pb. Needs Debian's python3-torch, python3-torchvision and python3-onnx.
"""
import os
import sys

import numpy as np
import onnx
import torch
import torch.nn.functional as F
import torchvision
from onnx import helper, numpy_helper

random = np.random.default_rng(43)
out_dir = sys.argv[1]


def case(name, op, opset, inputs, outputs, known=(), **attributes):
    """`inputs`: arrays or None; those whose index is in `known` are constants of the file."""
    names = ["" if x is None else "x%d" % i for i, x in enumerate(inputs)]
    node = helper.make_node(op, names, ["y%d" % i for i in range(len(outputs))], **attributes)
    infos = lambda list_: [helper.make_tensor_value_info(n, numpy_helper.from_array(a).data_type, a.shape)
                           for n, a in list_]
    given = [(n, x) for i, (n, x) in enumerate(zip(names, inputs)) if x is not None and i not in known]
    constants = [numpy_helper.from_array(np.asarray(inputs[i]), names[i]) for i in known]
    graph = helper.make_graph([node], "g", infos(given), infos([("y%d" % i, y) for i, y in enumerate(outputs)]),
                              constants)
    folder = os.path.join(out_dir, name, "test_data_set_0")
    os.makedirs(folder, exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="")
    model.ir_version = 8
    onnx.save(model, os.path.join(out_dir, name, "model.onnx"))
    for kind, arrays in (("input", [x for _, x in given]), ("output", outputs)):
        for i, a in enumerate(arrays):
            with open(os.path.join(folder, "%s_%d.pb" % (kind, i)), "wb") as f:
                f.write(numpy_helper.from_array(np.asarray(a)).SerializeToString())


def reals(*shape):
    return random.standard_normal(shape).astype(np.float32)


def parts(z):
    return np.stack([z.real, z.imag], -1).astype(np.float32)


def torch_case(name, op, opset, inputs, result, **more):
    case(name, op, opset, inputs, [result.numpy()], **more)


# Bits
for kind, dtype in (("int32", np.int32), ("uint8", np.uint8), ("int16", np.int16), ("int64", np.int64)):
    info = np.iinfo(np.int32 if dtype == np.int64 else dtype)
    a, b = (random.integers(info.min, info.max, (3, 5), endpoint=True).astype(dtype) for _ in range(2))
    case("bitwise_and_" + kind, "BitwiseAnd", 18, [a, b], [a & b])
    case("bitwise_or_" + kind, "BitwiseOr", 18, [a, b[:1]], [a | b[:1]])
    case("bitwise_xor_" + kind, "BitwiseXor", 18, [a, b], [a ^ b])
    case("bitwise_not_" + kind, "BitwiseNot", 18, [a], [~a])
    mask = np.asarray(15, dtype)
    case("bitwise_mask_" + kind, "BitwiseAnd", 18, [a, mask], [a & mask], known=[1])
for kind, dtype in (("uint8", np.uint8), ("uint16", np.uint16)):
    a, n = random.integers(0, np.iinfo(dtype).max, (2, 4), endpoint=True).astype(dtype), np.array([0, 1, 3, 7], dtype)
    case("shift_left_" + kind, "BitShift", 11, [a, n], [a << n], known=[1], direction="LEFT")
    case("shift_right_" + kind, "BitShift", 11, [a, n], [a >> n], known=[1], direction="RIGHT")
big = np.array([1, 2 ** 40 + 7], np.uint64)
case("shift_known_uint64", "BitShift", 11, [big, np.array([3, 5], np.uint64)], [big >> np.array([3, 5], np.uint64)],
     known=[0, 1], direction="RIGHT")

# Signals
for size in (8, 9):  # of 1, PyTorch's window is 1 where ONNX's formula says 0
    for name, op, window in (("hann", "HannWindow", torch.hann_window), ("blackman", "BlackmanWindow",
                                                                          torch.blackman_window)):
        for periodic in (0, 1):
            torch_case("%s_%d_%d" % (name, size, periodic), op, 17, [np.asarray(size, np.int64)],
                       window(size, periodic=bool(periodic)), known=[0], periodic=periodic)
for size in (8, 9):
    x, z = reals(2, size, 3), reals(2, size, 3) + 1j * reals(2, size, 3)
    length = lambda n: np.asarray(n, np.int64)
    axis = np.asarray(1, np.int64)
    real = x[..., None]
    case("dft_%d" % size, "DFT", 17, [real], [parts(np.fft.fft(x, axis=1))])
    case("dft_last_%d" % size, "DFT", 20, [real], [parts(np.fft.fft(x, axis=2))])
    case("dft_onesided_%d" % size, "DFT", 20, [real, None, axis], [parts(np.fft.rfft(x, axis=1))], known=[2],
         onesided=1)
    case("dft_complex_%d" % size, "DFT", 20, [parts(z), None, axis], [parts(np.fft.fft(z, axis=1))], known=[2])
    case("dft_inverse_%d" % size, "DFT", 20, [parts(z), None, axis], [parts(np.fft.ifft(z, axis=1))], known=[2],
         inverse=1)
    case("dft_padded_%d" % size, "DFT", 17, [real, length(12)], [parts(np.fft.fft(x, 12, axis=1))], known=[1])
    case("dft_cropped_%d" % size, "DFT", 17, [parts(z), length(6)], [parts(np.fft.fft(z, 6, axis=1))], known=[1])
    half = np.fft.rfft(x, axis=1)
    case("dft_inverse_onesided_%d" % size, "DFT", 20, [parts(half), length(size), axis],
         [x[..., None]], known=[1, 2], inverse=1, onesided=1)
signal, window = reals(2, 40), torch.hann_window(16)
frames = lambda w, onesided: torch.view_as_real(torch.stft(
    torch.tensor(signal), 16, 5, window=w, center=False, onesided=onesided, return_complex=True)).transpose(1, 2)
step, size = np.asarray(5, np.int64), np.asarray(16, np.int64)
torch_case("stft_window", "STFT", 17, [signal[..., None], step, window.numpy()],
           frames(window, True).contiguous(), known=[1, 2])
torch_case("stft_two_sided", "STFT", 17, [signal, step, None, size], frames(torch.ones(16), False).contiguous(),
           known=[1, 3], onesided=0)
torch_case("stft_computed_window", "STFT", 17, [signal[..., None], step, window.numpy(), size],
           frames(window, True).contiguous(), known=[1, 3])

# Regions, windows and unpooling
maps = reals(2, 3, 9, 11)
corners = np.array([[1, 2, 6, 7], [0, 0, 20, 16], [-3, -4, 5, 3], [4, 4, 4.2, 4.3], [8, 6, 30, 30]], np.float32)
samples = np.array([0, 1, 1, 0, 1], np.int64)
boxes = torch.tensor(np.concatenate([samples[:, None].astype(np.float32), corners], 1))
for aligned, mode in ((True, "half_pixel"), (False, "output_half_pixel")):
    for ratio in (0, 2, 3):
        y = torchvision.ops.roi_align(torch.tensor(maps), boxes, (3, 2), 0.5, ratio, aligned)
        known = [1, 2] if ratio == 0 else []
        # A region of less than a pixel has no sample without a ratio.
        torch_case("roi_align_%s_%d" % (mode, ratio), "RoiAlign", 16, [maps, corners, samples], y, known=known,
                   coordinate_transformation_mode=mode, output_height=3, output_width=2, sampling_ratio=ratio,
                   spatial_scale=0.5)
        if not aligned:
            torch_case("roi_align_10_%d" % ratio, "RoiAlign", 10, [maps, corners, samples], y, known=known,
                       output_height=3, output_width=2, sampling_ratio=ratio, spatial_scale=0.5)
for name, image, kernel, more in (("plain", (5, 5), (1, 5), {}), ("strides", (6, 7), (3, 2), {"stride": (2, 3)}),
                                  ("pads", (5, 6), (3, 3), {"padding": (1, 2)}),
                                  ("dilations", (7, 8), (2, 3), {"dilation": (2, 3), "padding": 1})):
    sides = lambda key, default: [more.get(key, default)] * 2 if isinstance(more.get(key, default), int) \
        else list(more[key])
    x = F.unfold(torch.randn(2, 3, *image, generator=torch.Generator().manual_seed(1)), kernel, **more)
    torch_case("col2im_" + name, "Col2Im", 18, [x.numpy(), np.array(image, np.int64), np.array(kernel, np.int64)],
               F.fold(x, image, kernel, **more), known=[1, 2], strides=sides("stride", 1),
               dilations=sides("dilation", 1), pads=sides("padding", 0) * 2)
x = torch.tensor(reals(2, 3, 8, 6))
y, indices = F.max_pool2d(x, 2, 2, return_indices=True)
flat = indices + 48 * torch.arange(6).reshape(2, 3, 1, 1)
torch_case("max_unpool", "MaxUnpool", 11, [y.numpy(), flat.numpy()], F.max_unpool2d(y, indices, 2), kernel_shape=[2, 2],
           strides=[2, 2])
padded = F.pad(F.max_unpool2d(y, indices, 2), (0, 1, 0, 2))
torch_case("max_unpool_shape", "MaxUnpool", 11, [y.numpy(), flat.numpy(), np.array(padded.shape, np.int64)], padded,
           known=[2], kernel_shape=[2, 2], strides=[2, 2])
for align in (0, 1):
    for size in ((2, 3, 4, 5), (2, 3, 3, 4, 5)):
        theta = reals(2, len(size) - 2, len(size) - 1)
        torch_case("affine_grid_%d_%dd" % (align, len(size) - 2), "AffineGrid", 20, [theta, np.array(size, np.int64)],
                   F.affine_grid(torch.tensor(theta), size, align_corners=bool(align)), known=[1], align_corners=align)
for n in (1, 2, 3, 4):
    x = reals(2, 3, n, n)
    case("det_%d" % n, "Det", 11, [x], [np.linalg.det(x).astype(np.float32)])
x = reals(6, 6)
case("det_known", "Det", 22, [x], [np.asarray(np.linalg.det(x), np.float32)], known=[0])
x = reals(4, 9, 3)
case("center_crop_pad", "CenterCropPad", 18, [x, np.array([7, 4], np.int64)],
     [np.pad(x[:, 2:6], ((1, 2), (0, 0), (0, 0)))], known=[1], axes=[0, 1])
x = random.uniform(0.5, 1.5, (3, 5)).astype(np.float32)
case("cum_prod", "CumProd", 26, [x, np.asarray(1, np.int64)], [np.cumprod(x, 1)], known=[1])
case("cum_prod_reverse", "CumProd", 26, [x, np.asarray(0, np.int64)], [np.cumprod(x[::-1], 0)[::-1].copy()],
     known=[1], reverse=1)
case("cum_prod_exclusive", "CumProd", 26, [x, np.asarray(1, np.int64)],
     [np.concatenate([np.ones((3, 1), np.float32), np.cumprod(x, 1)[:, :-1]], 1)], known=[1], exclusive=1)
x = reals(2, 3, 4, 5)
for p in (1, 2, 3):
    case("global_lp_pool_%d" % p, "GlobalLpPool", 2, [x],
         [((np.abs(x) ** p).sum((2, 3), keepdims=True) ** (1 / p)).astype(np.float32)], p=p)
cache, update = reals(2, 3, 6, 4), reals(2, 3, 2, 4)
for mode, at in (("linear", [0, 4]), ("circular", [5, 2])):
    y = cache.copy()
    for b in range(2):
        for s in range(2):
            y[b, :, (at[b] + s) % 6] = update[b, :, s]
    for known in ([], [2]):
        case("tensor_scatter_%s_%s" % (mode, "known" if known else "computed"), "TensorScatter", 24,
             [cache, update, np.array(at, np.int64)], [y], known=known, mode=mode)
values = np.array([2, 1, 1, 3, 4, 3, 2], np.float32)
got = np.unique(values, True, True, True)
case("unique", "Unique", 11, [values], [got[0]] + [g.astype(np.int64) for g in got[1:]], known=[0])
rows = np.array([[1, 0, 0], [1, 0, 0], [2, 3, 4]], np.int32)
got = np.unique(rows, True, True, True, axis=0)
case("unique_axis", "Unique", 11, [rows], [got[0]] + [g.astype(np.int64).ravel() for g in got[1:]], known=[0], axis=0)
case("unique_unsorted", "Unique", 11, [values], [np.array([2, 1, 3, 4], np.float32), np.array([0, 1, 3, 4])], known=[0],
     sorted=0)
case("bit_cast", "BitCast", 26, [np.array([1, -2.5], np.float32)], [np.array([1, -2.5], np.float32).view(np.int32)],
     known=[0], to=onnx.TensorProto.INT32)

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


def graph_case(name, opset, nodes, inputs, outputs, constants=()):
    """`inputs`, `outputs` and `constants`: arrays by name."""
    infos = lambda arrays: [helper.make_tensor_value_info(n, numpy_helper.from_array(np.asarray(a)).data_type,
                                                          np.shape(a)) for n, a in arrays.items()]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs),
                              [numpy_helper.from_array(np.asarray(a), n) for n, a in dict(constants).items()])
    folder = os.path.join(out_dir, name, "test_data_set_0")
    os.makedirs(folder, exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="")
    model.ir_version = 8
    onnx.save(model, os.path.join(out_dir, name, "model.onnx"))
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for i, a in enumerate(arrays.values()):
            with open(os.path.join(folder, "%s_%d.pb" % (kind, i)), "wb") as f:
                f.write(numpy_helper.from_array(np.asarray(a)).SerializeToString())


def case(name, op, opset, inputs, outputs, known=(), **attributes):
    """`inputs`: arrays or None; those whose index is in `known` are constants of the file."""
    names = ["" if x is None else "x%d" % i for i, x in enumerate(inputs)]
    named = ["" if y is None else "y%d" % i for i, y in enumerate(outputs)]
    graph_case(name, opset, [helper.make_node(op, names, named, **attributes)],
               {n: x for i, (n, x) in enumerate(zip(names, inputs)) if x is not None and i not in known},
               {n: y for n, y in zip(named, outputs) if y is not None}, {names[i]: inputs[i] for i in known})


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

# Layers with a state: the recurrences of the definition, token by token, in float64
def causal_conv(x, w, bias, past):
    if past is None:
        past = np.zeros((x.shape[0], x.shape[1], w.shape[2] - 1), np.float32)
    padded = np.concatenate([past, x], 2)
    y = sum(padded[:, :, i:i + x.shape[2]].astype(np.float64) * w[:, 0, i, None] for i in range(w.shape[2]))
    return (y + bias[:, None] if bias is not None else y), padded[:, :, x.shape[2]:]


for name, length, kernel, with_bias, with_past, activation in (
        ("plain", 6, 4, 0, 0, None), ("bias_past", 6, 4, 1, 1, "none"), ("past", 5, 3, 0, 1, "swish"),
        ("short", 2, 4, 1, 0, "silu"), ("token", 1, 4, 1, 1, "silu"), ("kernel_of_one", 3, 1, 1, 0, None)):
    x, w = reals(2, 3, length), reals(3, 1, kernel)
    bias, past = reals(3) if with_bias else None, reals(2, 3, kernel - 1) if with_past else None
    y, present = causal_conv(x, w, bias, past)
    if activation in ("silu", "swish"):
        y = y / (1 + np.exp(-y))
    for known in ([1, 2] if with_bias else [1], []):
        case("causal_conv_%s_%s" % (name, "known" if known else "computed"), "CausalConvWithState", 27,
             [x, w, bias, past], [y.astype(np.float32), present if kernel > 1 else None], known=known,
             **({"activation": activation} if activation else {}))


def linear_attention(q, k, v, past, decay, beta, heads_q, heads, rule, scale):
    split = lambda x, h: x.reshape(x.shape[0], x.shape[1], h, -1).transpose(0, 2, 1, 3).astype(np.float64)
    q, k, v = split(q, heads_q), split(k, heads), split(v, heads)
    state = np.zeros((*k.shape[:2], k.shape[3], v.shape[3])) if past is None else past.astype(np.float64)
    outputs = []
    for t in range(q.shape[2]):
        key, value = k[:, :, t], v[:, :, t]
        if decay is not None:
            state = state * np.exp(split(decay, heads)[:, :, t])[..., None]
        if beta is not None:
            rate = beta[:, t].reshape(beta.shape[0], -1, 1)
            value = rate * (value - np.einsum("bhdm,bhd->bhm", state, key))
        state = state + key[..., None] * value[..., None, :]
        read = np.repeat(state, heads_q // heads, 1)
        outputs.append(np.einsum("bhd,bhdm->bhm", q[:, :, t], read) * (scale or q.shape[3] ** -0.5))
    return np.stack(outputs, 1).reshape(q.shape[0], q.shape[2], -1).astype(np.float32), state.astype(np.float32)


for name, rule, heads_q, heads, tokens, past, per_key, beta_heads, scale in (
        ("linear", "linear", 2, 2, 5, 0, 0, 0, 0.0), ("gated", "gated", 4, 2, 5, 1, 0, 0, 0.5),
        ("gated_keys", "gated", 2, 2, 4, 0, 1, 0, 0.0), ("delta", "delta", 2, 1, 5, 1, 0, 1, 0.0),
        ("gated_delta", None, 6, 3, 7, 1, 0, 3, 0.0), ("gated_delta_keys", "gated_delta", 3, 3, 4, 0, 1, 1, 0.25),
        ("token", "gated_delta", 2, 2, 1, 1, 0, 2, 0.0)):
    q, k, v = reals(2, tokens, heads_q * 4), reals(2, tokens, heads * 4), reals(2, tokens, heads * 3)
    state = reals(2, heads, 4, 3) if past else None
    decay = -np.abs(reals(2, tokens, heads * (4 if per_key else 1))) if rule not in ("linear", "delta") else None
    beta = random.uniform(0.1, 0.9, (2, tokens, beta_heads)).astype(np.float32) if beta_heads else None
    more = {**({"update_rule": rule} if rule else {}), **({"scale": scale} if scale else {})}
    case("linear_attention_" + name, "LinearAttention", 27, [q, k, v, state, decay, beta],
         linear_attention(q, k, v, state, decay, beta, heads_q, heads, rule, scale), q_num_heads=heads_q,
         kv_num_heads=heads, **more)


# Caffe's pooling of regions, in float32 as there: a bin's limits depend on the rounding
def max_roi_pool(maps, regions, bins, scale):
    f, y = np.float32, np.zeros((len(regions), maps.shape[1], *bins), np.float32)
    away = lambda x: int(np.copysign(np.floor(np.abs(x) + f(0.5)), x))
    for r, region in enumerate(regions):
        limits = []
        for axis, (first, last) in enumerate(((2, 4), (1, 3))):
            begin, end = (away(f(region[i]) * f(scale)) for i in (first, last))
            bin = f(max(end - begin + 1, 1)) / f(bins[axis])
            clip = lambda x: min(max(int(x) + begin, 0), maps.shape[2 + axis])
            limits.append([(clip(np.floor(f(i) * bin)), clip(np.ceil(f(i + 1) * bin))) for i in range(bins[axis])])
        for i, (top, bottom) in enumerate(limits[0]):
            for j, (left, right) in enumerate(limits[1]):
                if bottom > top and right > left:
                    y[r, :, i, j] = maps[int(region[0]), :, top:bottom, left:right].max((1, 2))
    return y


maps = reals(2, 3, 9, 13)
corners = [[0, 1, 2, 6, 7], [1, 0, 0, 20, 16], [0, -3, -4, 5, 3], [1, 4, 4, 4, 4], [0, 9, 8, 2, 1], [1, 30, 2, 40, 9],
           [0, 2.5, 0.5, 11.5, 7.5], [1, 0, 0, 12, 8]]
regions = np.array(corners, np.float32)
for name, bins, scale in (("plain", (3, 2), 1.0), ("scaled", (2, 4), 0.5), ("many", (7, 7), 0.73)):
    for known in ([], [1]):
        case("max_roi_pool_%s_%s" % (name, "known" if known else "computed"), "MaxRoiPool", 1, [maps, regions],
             [max_roi_pool(maps, regions, bins, scale)], known=known, pooled_shape=bins, spatial_scale=scale)
maps = reals(1, 2, 1, 1)
case("max_roi_pool_one_position", "MaxRoiPool", 22, [maps, np.array([[0, 0, 0, 3, 3]], np.float32)],
     [np.broadcast_to(maps[..., :1], (1, 2, 1, 1)) * np.array([[[[1, 0], [0, 0]]]], np.float32)], pooled_shape=[2, 2])


# N-grams of the definition, counted one by one
def count_grams(tokens, pool, sizes, skips, indexes, mode, weights):
    starts, shortest, longest = sizes
    grams = []
    for i, begin in enumerate(starts):
        end = starts[i + 1] if i + 1 < len(starts) else len(pool)
        grams += [tuple(pool[at:at + i + 1]) for at in range(begin, end, i + 1)]
    y = np.zeros((len(tokens), max(indexes) + 1), np.float32)
    for n in range(shortest, longest + 1):
        for step in range(1, 2 if n == 1 else skips + 2):
            for row, words in enumerate(tokens):
                for at in range(len(words) - step * (n - 1)):
                    gram = tuple(words[at:at + step * (n - 1) + 1:step])
                    if gram in grams:
                        y[row, indexes[grams.index(gram)]] += 1
    y = np.minimum(y, 1) if mode == "IDF" else y
    return y * np.array(weights, np.float32) if weights and mode != "TF" else y


tokens = np.array([[1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8], [8, 6, 7, 5, 6, 8, 1, 2, 3, 5, 7, 8]], np.int64)
pool, weights = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7], [0.5, 1.5, 2.0, 3.0, 0.25, 1.0, 4.0]
for name, mode, shortest, longest, skips, indexes, given in (
        ("bigrams", "TF", 2, 2, 0, [0, 1, 2, 3, 4, 5, 6], None), ("skips", "TF", 1, 2, 5, [0, 1, 2, 3, 4, 5, 6], None),
        ("moved", "TF", 1, 2, 1, [3, 0, 8, 1, 5, 2, 6], None), ("idf", "IDF", 1, 2, 2, [0, 1, 2, 3, 4, 5, 6], weights),
        ("tf_idf", "TFIDF", 2, 2, 1, [0, 1, 2, 3, 4, 5, 6], weights),
        ("words", "TF", 1, 1, 3, [0, 1, 2, 3, 4, 5, 6], None)):
    for shape in ("rows", "one"):
        x = tokens if shape == "rows" else tokens[0].astype(np.int32)
        y = count_grams(np.atleast_2d(x), pool, ([0, 4], shortest, longest), skips, indexes, mode, given)
        case("tf_idf_%s_%s" % (name, shape), "TfIdfVectorizer", 9, [x], [y if shape == "rows" else y[0]], mode=mode,
             min_gram_length=shortest, max_gram_length=longest, max_skip_count=skips, ngram_counts=[0, 4],
             ngram_indexes=indexes, pool_int64s=pool, **({"weights": given} if given else {}))

# Optional values
node, info, kinds = helper.make_node, helper.make_tensor_value_info, onnx.TensorProto
x = reals(2, 3)
absent = helper.make_optional_type_proto(helper.make_tensor_type_proto(kinds.FLOAT, [2, 3]))
graph_case("optional_present", 18, [node("Optional", ["x"], ["o"]), node("OptionalGetElement", ["o"], ["e"]),
                                    node("OptionalHasElement", ["o"], ["h"]), node("Neg", ["e"], ["y"])],
           {"x": x}, {"y": -x, "h": np.array(True)})
graph_case("optional_absent", 15, [node("Optional", [], ["o"], type=absent), node("OptionalHasElement", ["o"], ["h"]),
                                   node("Neg", ["x"], ["y"])], {"x": x}, {"y": -x, "h": np.array(False)})
graph_case("optional_input_absent", 18, [node("OptionalHasElement", [], ["h"]), node("OptionalHasElement", [""], ["i"]),
                                         node("OptionalGetElement", ["x"], ["y"])],
           {"x": x}, {"y": x, "h": np.array(False), "i": np.array(False)})
of_node = lambda made: helper.make_graph([made], "b", [], [info(made.output[0], kinds.FLOAT, None)])
branch = lambda op, inputs, name: of_node(node(op, inputs, [name]))
graph_case("optional_decides", 18, [node("Optional", ["x"], ["o"]), node("OptionalHasElement", ["o"], ["h"]),
                                    node("If", ["h"], ["y"], then_branch=branch("OptionalGetElement", ["o"], "a"),
                                         else_branch=branch("Neg", ["x"], "b"))], {"x": x}, {"y": x})
graph_case("optional_sequence", 18, [node("SequenceConstruct", ["x", "x"], ["s"]), node("Optional", ["s"], ["o"]),
                                     node("OptionalGetElement", ["o"], ["t"]),
                                     node("ConcatFromSequence", ["t"], ["y"], axis=0)],
           {"x": x}, {"y": np.concatenate([x, x])})

# A body for each tensor of a sequence
a, b = reals(4, 3), reals(4, 3)
reals_named = lambda *names: [info(name, kinds.FLOAT, None) for name in names]
body = helper.make_graph([node("Mul", ["p", "q"], ["m"]), node("Add", ["m", "w"], ["r"]), node("Neg", ["p"], ["n"])],
                         "b", reals_named("p", "q"), reals_named("r", "n"))
parts = [a[:2], a[2:]]
for name, second, given in (("tensor", "b", b[:2]), ("sequence", "t", b)):
    nodes = [node("SplitToSequence", ["a", "two"], ["s"], axis=0),
             node("SplitToSequence", ["b", "two"], ["t"], axis=0),
             node("SequenceMap", ["s", second], ["u", "v"], body=body),
             node("ConcatFromSequence", ["u"], ["y"], axis=0), node("ConcatFromSequence", ["v"], ["z"], axis=1)]
    graph_case("sequence_map_" + name, 17, nodes, {"a": a, "b": given},
               {"y": np.concatenate([p * given[-2:] + 2 if i and len(given) > 2 else p * given[:2] + 2
                                     for i, p in enumerate(parts)]),
                "z": np.concatenate([-p for p in parts], 1)}, {"two": np.asarray(2, np.int64), "w": np.float32(2)})

# A condition that the run decides
for value in (True, False):
    sevens = np.full((2, 3), 7, np.float32)
    for name, other, otherwise in (
            ("computed", branch("Exp", ["x"], "b"), np.exp(a[:2])),
            ("constant", of_node(node("Constant", [], ["b"], value=numpy_helper.from_array(sevens))), sevens)):
        graph_case("if_%s_%d" % (name, value), 17,
                   [node("If", ["c"], ["y"], then_branch=branch("Neg", ["x"], "b"), else_branch=other)],
                   {"c": np.array([value]), "x": a[:2]}, {"y": -a[:2] if value else otherwise})

# Loops that the run ends, at most 5 iterations: the state after the last, and a value per iteration
limit = np.asarray(5, np.int64)
stops = helper.make_graph([node("Mul", ["s", "half"], ["t"]), node("ReduceMax", ["t"], ["m"], keepdims=0),
                           node("Greater", ["m", "end"], ["d"]), node("Neg", ["t"], ["u"])], "b",
                          [info("i", kinds.INT64, []), info("c", kinds.BOOL, []), *reals_named("s")],
                          [info("d", kinds.BOOL, []), *reals_named("t", "u")])
for name, largest, start in (("early", 4.0, True), ("all", 400.0, True), ("first", 1.0, True), ("never", 4.0, False)):
    x = (np.abs(a[:2]) / np.abs(a[:2]).max() * largest).astype(np.float32)
    state, each = x, []
    while len(each) < 5 and (state.max() > 1 if each else start):
        state = state * np.float32(0.5)
        each.append(-state)
    stacked = np.stack(each) if each else np.zeros((0, 2, 3), np.float32)
    loops = [node("Loop", ["limit", "c", "x"], ["y", "z"], body=stops)]
    graph_case("loop_" + name, 17, loops, {"x": x, "c": np.array([start])}, {"y": state, "z": stacked},
               {"limit": limit, "half": np.float32(0.5), "end": np.float32(1)})

# Losses
scores, labels = torch.tensor(reals(3, 5, 2, 4)), torch.tensor(random.integers(0, 5, (3, 2, 4)))
weights = torch.tensor(random.uniform(0.2, 2, 5).astype(np.float32))
for reduction in ("none", "sum", "mean"):
    for name, w, ignored in (("plain", None, None), ("weights", weights, None), ("ignored", weights, -1),
                             ("few", None, 2)):
        chosen = torch.where(labels == 1, torch.full_like(labels, -1), labels) if ignored == -1 else labels
        more = {"reduction": reduction, **({} if ignored is None else {"ignore_index": ignored})}
        inputs = [chosen.numpy()] + ([] if w is None else [w.numpy()])
        logs = scores.log_softmax(1)
        torch_case("nll_loss_%s_%s" % (name, reduction), "NegativeLogLikelihoodLoss", 13, [logs.numpy(), *inputs],
                   F.nll_loss(logs, chosen, w, **more), **more)
        case("softmax_loss_%s_%s" % (name, reduction), "SoftmaxCrossEntropyLoss", 13, [scores.numpy(), *inputs],
             [F.cross_entropy(scores, chosen, w, **more).numpy(), logs.numpy()], **more)

# Forms that few files have
x, n = reals(1, 3), random.integers(-9, 9, (2, 3)).astype(np.int64)
case("relu_integers", "Relu", 14, [n], [np.maximum(n, 0)])
case("pad_that_leaves_nothing", "Pad", 13, [x, np.array([2, 0, -1, 1], np.int64), np.float32(0.5)],
     [np.full((2, 4), 0.5, np.float32)], known=[1, 2])
x, scale, shift = reals(2, 6, 5), reals(3), reals(3)
torch_case("group_norm_scale_per_group", "GroupNormalization", 18, [x, scale, shift],
           F.group_norm(torch.tensor(x), 3, torch.tensor(scale).repeat_interleave(2),
                        torch.tensor(shift).repeat_interleave(2)), num_groups=3)
x, soft = np.float32(0.7), np.log1p(np.exp(0.7))
for op, y in (("Elu", x), ("Reciprocal", 1 / x), ("Atan", np.arctan(x)), ("Softplus", soft), ("Mish", x * np.tanh(soft))):
    case("rank_0_" + op.lower(), op, 18, [np.asarray(x)], [np.asarray(y, np.float32)])

# Masked scores as static quantization writes them: a step that holds the lowest Float32
scores, mask = reals(3, 8), np.where(random.random((3, 8)) < 0.3, np.finfo(np.float32).min, 0).astype(np.float32)
step = np.float32(np.finfo(np.float32).max / 255)
rounded = ((np.clip(np.round(mask / step) + 255, 0, 255) - 255) * step).astype(np.float32)
graph_case("masked_quantised", 13, [
    helper.make_node("QuantizeLinear", ["mask", "step", "zero"], ["integers"]),
    helper.make_node("DequantizeLinear", ["integers", "step", "zero"], ["rounded"]),
    helper.make_node("Add", ["scores", "rounded"], ["masked"]), helper.make_node("Softmax", ["masked"], ["y"], axis=-1)],
    {"scores": scores, "mask": mask}, {"y": torch.softmax(torch.tensor(scores + rounded), -1).numpy()},
    {"step": step, "zero": np.uint8(255)})

# Norms of rows, and samples at places, whose number follows from values. Their sums have sizes that do not.
places = np.random.default_rng(7)
flags = np.array([1, 0, 0, 1, 1, 0, 1, 0], np.float32)
rows = places.uniform(-0.9, 0.9, (8, 4)).astype(np.float32)
maps = places.standard_normal((1, 3, 5, 6)).astype(np.float32)
found = torch.tensor(rows[flags > 0])
nodes = [helper.make_node("NonZero", ["flags"], ["nonzero"]), helper.make_node("Squeeze", ["nonzero", "first"], ["index"]),
         helper.make_node("Gather", ["rows", "index"], ["found"], axis=0)]
norms = {"ReduceL1": found.abs().sum(1), "ReduceL2": found.norm(dim=1), "ReduceSumSquare": found.square().sum(1)}
for op, each in norms.items():
    graph_case("counted_" + op.lower(), 18, [
        *nodes, helper.make_node(op, ["found", "second"], ["each"], keepdims=0),
        helper.make_node("ReduceSum", ["each"], ["sum"], keepdims=1),
        helper.make_node(op, ["found", "first"], ["all"], keepdims=0)],
        {"flags": flags, "rows": rows},
        {"sum": each.sum().reshape(1).numpy(),
         "all": {"ReduceL1": found.abs().sum(0), "ReduceL2": found.norm(dim=0),
                 "ReduceSumSquare": found.square().sum(0)}[op].numpy()},
        {"first": np.array([0]), "second": np.array([1])})
graph_case("counted_grid_sample", 16, [
    *nodes, helper.make_node("Gather", ["found", "two"], ["pairs"], axis=1),
    helper.make_node("Unsqueeze", ["pairs", "leading"], ["grid"]),
    helper.make_node("GridSample", ["maps", "grid"], ["samples"], mode="bilinear", align_corners=1),
    helper.make_node("ReduceSum", ["samples", "last"], ["sum"], keepdims=0)],
    {"flags": flags, "rows": rows, "maps": maps},
    {"sum": F.grid_sample(torch.tensor(maps), found[None, None, :, :2], align_corners=True).sum(3).numpy()},
    {"first": np.array([0]), "two": np.array([0, 1]), "leading": np.array([0, 1]), "last": np.array([3])})

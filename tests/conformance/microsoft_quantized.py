"""Cases of make_microsoft.py: quantized operators and weights."""

import numpy as np


def pack_rows(values, bits):
    """Packs [..., n] unsigned integers into bytes along the last dimension, the first in the low bits."""
    per = 8 // bits
    pad = -values.shape[-1] % per
    values = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, pad)])
    groups = values.reshape(*values.shape[:-1], -1, per).astype(np.uint32)
    return sum(groups[..., i] << (bits * i) for i in range(per)).astype(np.uint8)


def scale_of(c, value):
    return c.weight(np.array(value, np.float32))


def matmul_nbits(c):
    for bits in (4, 8, 2):
        for columns, block in ((64, 16), (40, 32)):
            rows, blocks = 5, -(-columns // block)
            x = c.input(c.floats(2, 3, columns))
            packed = pack_rows(c.integers(0, 1 << bits, rows, blocks, block), bits)
            b, scales = c.weight(packed), c.weight(np.abs(c.floats(rows, blocks, scale=0.1)) + np.float32(0.01))
            common = dict(K=columns, N=rows, bits=bits, block_size=block)
            zeros = c.integers(0, 1 << bits, rows, blocks)
            zero_bytes, zero_floats = c.weight(pack_rows(zeros, bits)), c.weight(c.floats(rows, blocks) + np.float32(7))
            bias = c.weight(c.floats(rows))
            integers = np.stack([(packed >> (bits * i)) & ((1 << bits) - 1) for i in range(8 // bits)], -1)
            integers = integers.reshape(rows, blocks, block).astype(np.float32)
            def product(zero):
                w = ((integers - zero) * c.weights[scales][..., None]).reshape(rows, -1)[:, :columns]
                return c.inputs[x].astype(np.float64) @ w.T.astype(np.float64)
            c.node("MatMulNBits", [x, b, scales], defined=[product(1 << (bits - 1))], **common)
            c.node("MatMulNBits", [x, b, scales, zero_bytes], defined=[product(zeros[..., None])], **common)
            if bits == 4:
                c.node("MatMulNBits", [x, b, scales, zero_floats], defined=[product(c.weights[zero_floats][..., None])],
                       **common)
            c.node("MatMulNBits", [x, b, scales, "", "", bias],
                   defined=[product(1 << (bits - 1)) + c.weights[bias]], **common)


def matmul_nbits_order(c):
    """Blocks named by g_idx."""
    x, rows, columns, block = c.input(c.floats(3, 64)), 5, 64, 32
    b = c.weight(pack_rows(c.integers(0, 16, rows, 2, block), 4))
    scales = c.weight(np.abs(c.floats(rows, 2)) + np.float32(0.01))
    order = c.weight(c.integers(0, 2, 64))
    c.node("MatMulNBits", [x, b, scales, "", order], K=columns, N=rows, bits=4, block_size=block)


def matmul_bnb4(c):
    rows, columns, block = 6, 32, 16
    x = c.input(c.floats(3, columns))
    b = c.weight(c.integers(0, 256, rows * columns // 2, dtype=np.uint8))
    absmax = c.weight(np.abs(c.floats(rows * columns // block)))
    for kind in (0, 1):
        c.node("MatMulBnb4", [x, b, absmax], K=columns, N=rows, block_size=block, quant_type=kind)


def gather_blocks(c):
    ids = c.input(c.integers(0, 7, 2, 3, dtype=np.int64))
    for bits in (4, 8):
        data = c.weight(pack_rows(c.integers(0, 1 << bits, 7, 64), bits))
        scales = c.weight(np.abs(c.floats(7, 4)))
        zeros = c.weight(pack_rows(c.integers(0, 1 << bits, 7, 4), bits))
        common = dict(bits=bits, block_size=16, quantize_axis=1, gather_axis=0)
        c.node("GatherBlockQuantized", [data, ids, scales], **common)
        c.node("GatherBlockQuantized", [data, ids, scales, zeros], **common)
    scales = c.weight(np.abs(c.floats(7, 4)))
    for kind in (21, 22):  # ONNX's uint4 and int4
        data = c.packed_weight(kind, (7, 64), c.integers(0, 256, 7 * 32, dtype=np.uint8))
        zeros = c.packed_weight(kind, (7, 4), c.integers(0, 256, 7 * 2, dtype=np.uint8))
        c.node("GatherBlockQuantized", [data, ids, scales], block_size=16, quantize_axis=1, gather_axis=0)
        c.node("GatherBlockQuantized", [data, ids, scales, zeros], block_size=16, quantize_axis=1, gather_axis=0)


def qlinear(c):
    for dtype, low, high in ((np.uint8, 0, 256), (np.int8, -128, 128)):
        a, b = c.input(c.integers(low, high, 2, 3, 16, dtype=dtype)), c.input(c.integers(low, high, 3, 16, dtype=dtype))
        zero = lambda v: c.weight(np.array(v, dtype))
        za, zb, zc = zero(3), zero(-7 if low else 130), zero(5 if low else 120)
        # 0.5 / 0.25: ties
        for sa, sb, sc in ((0.013, 0.021, 0.024), (0.5, 0.25, 1.0)):
            scales = [scale_of(c, s) for s in (sa, sb, sc)]
            for op in ("QLinearAdd", "QLinearMul"):
                c.node(op, [a, scales[0], za, b, scales[1], zb, scales[2] if op == "QLinearAdd" else scale_of(c,
                                                                                                              sc * 8),
                                                                                                              zc],
                       types=[dtype])
        s, out = scale_of(c, 0.05), scale_of(c, 0.004)
        c.node("QLinearSigmoid", [a, s, za, out, zero(-128 if low else 0)], types=[dtype])
        c.node("QLinearLeakyRelu", [a, s, za, s, zc], types=[dtype], alpha=0.3)
        c.node("QLinearSoftmax", [a, s, za, out, zero(-128 if low else 0)], types=[dtype], axis=-1, opset=13)
        c.node("QLinearSoftmax", [a, scale_of(c, 0.02), za, out, zero(-128 if low else 0)], types=[dtype], axis=1,
               opset=11)
        c.node("QLinearSoftmax", [a, scale_of(c, 0.02), za, out, zero(-128 if low else 0)], types=[dtype], axis=1,
               opset=13)
        c.node("QLinearConcat", [scale_of(c, 0.03), zc, a, scale_of(c, 0.02), za, a, scale_of(c, 0.03), zc],
               types=[dtype],
               axis=1)
        condition = c.input(c.integers(0, 2, 2, 3, 16).astype(bool))
        c.node("QLinearWhere", [condition, a, scale_of(c, 0.02), za, b, scale_of(c, 0.03), zb, scale_of(c, 0.04), zc],
               types=[dtype])


def qlinear_pool(c):
    for dtype, low, high in ((np.uint8, 0, 256), (np.int8, -128, 128)):
        x = c.input(c.integers(low, high, 1, 4, 5, 6, dtype=dtype))
        last = c.input(c.integers(low, high, 1, 5, 6, 4, dtype=dtype))
        s, z, t, u = scale_of(c, 0.02), c.weight(np.array(3, dtype)), scale_of(c, 0.011), c.weight(np.array(9, dtype))
        c.node("QLinearGlobalAveragePool", [x, s, z, t, u], types=[dtype])
        c.node("QLinearGlobalAveragePool", [last, s, z, t, u], types=[dtype], channels_last=1)
        c.node("QLinearAveragePool", [x, s, z, t, u], types=[dtype], kernel_shape=[3, 2], pads=[1, 0, 1, 1],
               strides=[2, 2])
        c.node("QLinearAveragePool", [x, s, z, t, u], types=[dtype], kernel_shape=[3, 2], pads=[1, 0, 1, 1],
               count_include_pad=1)
        c.node("QLinearAveragePool", [last, s, z, t, u], types=[dtype], kernel_shape=[2, 2], channels_last=1)
        c.node("NhwcMaxPool", [last], types=[dtype], kernel_shape=[2, 2], strides=[1, 2])


def qlinear_conv(c):
    x, last = c.input(c.integers(0, 256, 1, 4, 5, 6, dtype=np.uint8)), c.input(c.integers(0, 256, 1, 5, 6, 4,
                                                                                          dtype=np.uint8))
    w, b = c.weight(c.integers(-128, 128, 3, 4, 3, 3, dtype=np.int8)), c.weight(c.integers(-500, 500, 3))
    parameters = [scale_of(c, 0.02), c.weight(np.uint8(130)), w, c.weight(np.float32([0.01, 0.02, 0.015])),
                  c.weight(np.zeros(3, np.int8)), scale_of(c, 0.07), c.weight(np.uint8(110)), b]
    c.node("QLinearConv", [x, *parameters], types=[np.uint8], pads=[1, 1, 1, 1])
    c.node("QLinearConv", [last, *parameters], types=[np.uint8], pads=[1, 1, 1, 1], channels_last=1)


def qmatmul(c):
    x = c.input(c.floats(2, 3, 16))
    for dtype, low, high in ((np.int8, -128, 128), (np.uint8, 0, 256)):
        b = c.weight(c.integers(low, high, 16, 5, dtype=dtype))
        scale, zero = scale_of(c, 0.02), c.weight(np.array(4, dtype))
        scales, zeros = c.weight(np.abs(c.floats(5)) + np.float32(0.01)), c.weight(c.integers(0, 9, 5, dtype=dtype))
        bias = c.weight(c.floats(5))
        c.node("DynamicQuantizeMatMul", [x, b, scale, zero, bias])
        c.node("DynamicQuantizeMatMul", [x, b, scales, zeros])
        c.node("DynamicQuantizeMatMul", [x, b, scale])
        a, za = c.input(c.integers(0, 256, 2, 3, 16, dtype=np.uint8)), c.weight(np.uint8(127))
        c.node("MatMulIntegerToFloat", [a, b, scale_of(c, 0.03), scales, za, zeros, bias])
        c.node("MatMulIntegerToFloat", [a, b, scale_of(c, 0.03), scale])
        m, mt = c.input(c.integers(0, 256, 3, 16, dtype=np.uint8)), c.input(c.integers(0, 256, 16, 3, dtype=np.uint8))
        bt = c.weight(np.ascontiguousarray(c.weights[b].T))
        bias32 = c.weight(c.integers(-999, 999, 5))
        out = [scale_of(c, 0.9), c.weight(np.uint8(120))]
        c.node("QGemm", [m, scale_of(c, 0.03), za, b, scale, zero, bias32, *out], types=[np.uint8])
        c.node("QGemm", [mt, scale_of(c, 0.03), za, bt, scales, zeros, bias32], transA=1, transB=1)
        c.node("QGemm", [m, scale_of(c, 0.03), za, b, scale, zero, "", *out], types=[np.uint8], alpha=0.5)


def qattention(c):
    x = c.input(c.integers(0, 256, 2, 4, 6, dtype=np.uint8))
    b = c.weight(c.floats(24))
    sx, zx = scale_of(c, 0.02), c.weight(np.uint8(120))
    mask = c.input(np.array([3, 2], np.int32))
    past = c.input(c.floats(2, 2, 2, 2, 4))
    for dtype, low, high in ((np.int8, -128, 128), (np.uint8, 0, 256)):
        w = c.weight(c.integers(low, high, 6, 24, dtype=dtype))
        zw = c.weight(np.array(0 if low else 125, dtype))
        c.node("QAttention", [x, w, b, sx, scale_of(c, 0.01), "", zx, zw], num_heads=2)
        c.node("QAttention", [x, w, b, sx, scale_of(c, 0.01), mask, zx, zw], num_heads=2)
        c.node("QAttention", [x, w, b, sx, scale_of(c, 0.01), "", zx, zw, past], 2, num_heads=2, unidirectional=1)
    scales = c.weight((np.abs(c.floats(24)) * 0.02 + 0.001).astype(np.float32))
    signed = c.weight(c.integers(-128, 128, 6, 24, dtype=np.int8))
    c.node("QAttention", [x, signed, b, sx, scales, "", zx, c.weight(np.zeros(24, np.int8))], num_heads=2)


def integers(c):
    a, b = c.input(c.integers(0, 256, 3, 4, dtype=np.uint8)), c.input(c.integers(0, 256, 4, dtype=np.uint8))
    za, zb = c.weight(np.uint8(100)), c.weight(np.uint8(17))
    xa, xb = c.inputs[a].astype(np.int32), c.inputs[b].astype(np.int32)
    c.node("MulInteger", [a, za, b, zb], types=[np.int32], defined=[(xa - 100) * (xb - 17)])
    c.node("MulInteger", [a, "", b], types=[np.int32], defined=[xa * xb])
    c.node("ReduceSumInteger", [a], types=[np.uint32], axes=[1], keepdims=0, defined=[xa.sum(1).astype(np.uint32)])
    s, z, t, u = scale_of(c, 0.02), c.weight(np.uint8(3)), scale_of(c, 0.011), c.weight(np.uint8(9))
    mean = ((xa - 3) * np.float32(0.02)).mean(1, keepdims=True)
    c.node("QLinearReduceMean", [a, s, z, t, u], types=[np.uint8], axes=[1], keepdims=1,
           defined=[np.clip(np.rint(mean / np.float32(0.011)) + 9, 0, 255).astype(np.uint8)])
    x = c.input(c.floats(3, 4))
    c.node("QuantizeLinear", [x, s, z], types=[np.uint8])
    c.node("DequantizeLinear", [a, s, z])
    scales, zeros = c.weight(np.float32([0.1, 0.2, 0.3])), c.weight(np.uint8([1, 2, 3]))
    c.node("DequantizeLinear", [a, scales, zeros], axis=0)


CASES = [matmul_nbits, matmul_nbits_order, matmul_bnb4, gather_blocks, qlinear, qlinear_pool, qlinear_conv, qmatmul,
         qattention, integers]

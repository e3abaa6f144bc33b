"""Cases of make_microsoft.py: fused operators, normalizations, and others."""

import math

import numpy as np
from microsoft_case import gelu_tanh, sigmoid, softmax


def fused_conv(c):
    x, w, b = c.input(c.floats(2, 3, 6, 5)), c.weight(c.floats(4, 3, 3, 3, scale=0.3)), c.weight(c.floats(4))
    z = c.input(c.floats(2, 4, 6, 5))
    for activation, params in [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 1.5]),
                               ("HardSigmoid", [0.3, 0.4])]:
        more = {"activation_params": params} if params else {}
        c.node("FusedConv", [x, w, b], activation=activation, pads=[1, 1, 1, 1], **more)
    c.node("FusedConv", [x, w], activation="Relu", strides=[2, 2], kernel_shape=[3, 3])
    c.node("FusedConv", [x, w, b, z], activation="Relu", pads=[1, 1, 1, 1])
    c.node("FusedConv", [x, w, "", z], activation="Relu", pads=[1, 1, 1, 1])
    grouped = c.weight(c.floats(6, 1, 3, 3))
    c.node("FusedConv", [x, grouped], activation="Relu", group=3, dilations=[2, 1], pads=[0, 1, 2, 1])


def fused_matmul(c):
    a, b = c.floats(2, 3, 4), c.floats(2, 4, 5)
    x = {(t, s): c.input(np.ascontiguousarray(np.swapaxes(m, 1, 2) if t else m)) for s, m in (("a", a), ("b", b))
         for t in (0, 1)}
    for ta in (0, 1):
        for tb in (0, 1):
            c.node("FusedMatMul", [x[ta, "a"], x[tb, "b"]], transA=ta, transB=tb, alpha=0.5)
            if tb == 0:
                c.node("TransposeMatMul", [x[ta, "a"], x[tb, "b"]], transA=ta, transB=tb, defined=[a @ b])
    w = c.weight(c.floats(4, 5))
    c.node("FusedMatMul", [x[0, "a"], w], alpha=2.0)
    v = c.weight(c.floats(5, 4))
    c.node("FusedMatMul", [x[0, "a"], v], transB=1)
    v1 = c.inputs[x[0, "a"]] @ c.weights[w] * 0.5
    c.node("FusedMatMulActivation", [x[0, "a"], w], activation="LeakyRelu", activation_alpha=0.2, alpha=0.5,
           defined=[np.where(v1 > 0, v1, 0.2 * v1)])
    c.node("FusedMatMulActivation", [x[0, "a"], w], activation="Softmax", activation_axis=-1, alpha=0.5,
           defined=[softmax(v1)])
    # batch dimensions behind the first: [M,B...,K]
    p, q = c.input(c.floats(3, 2, 4)), c.input(c.floats(4, 2, 5))
    c.node("FusedMatMul", [p, q], transBatchA=1, transBatchB=1, alpha=0.25)
    r, s = c.input(c.floats(4, 2, 3)), c.input(c.floats(5, 2, 4))
    c.node("FusedMatMul", [r, s], transBatchA=1, transBatchB=1, transA=1, transB=1)
    t = c.input(c.floats(3, 2, 6, 4))
    u = c.input(c.floats(2, 6, 4, 5))
    c.node("FusedMatMul", [t, u], transBatchA=1)


def fused_gemm(c):
    a, b, bias = c.input(c.floats(3, 4)), c.weight(c.floats(4, 5)), c.weight(c.floats(5))
    for activation, attributes in [("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu",
                                                                                 {"activation_alpha": 0.2}),
                                   ("Elu", {"activation_alpha": 1.5}), ("Softsign", {}), ("Softplus", {}),
                                   ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4}),
                                   ("Selu", {"activation_alpha": 1.6, "activation_gamma": 1.1}),
                                   ("ThresholdedRelu", {"activation_alpha": 0.7}), ("Celu", {"activation_alpha": 0.6})]:
        c.node("FusedGemm", [a, b, bias], activation=activation, **attributes)
    bt, at = c.weight(c.floats(5, 4)), c.input(c.floats(4, 3))
    c.node("FusedGemm", [at, bt, bias], activation="Relu", transA=1, transB=1, alpha=0.5, beta=2.0)
    d = c.input(c.floats(4, 5))
    c.node("FusedGemm", [a, d], activation="Relu")


def gelu(c):
    x, b = c.input(c.floats(2, 3, 8, scale=2)), c.weight(c.floats(8))
    c.node("Gelu", [x])
    c.node("BiasGelu", [x, b])
    c.node("FastGelu", [x])
    c.node("FastGelu", [x, b])
    c.node("QuickGelu", [x])
    c.node("QuickGelu", [x], alpha=1.0)
    xs, bs = c.inputs[x], c.weights[b]
    w = c.weight(c.floats(8, 4))
    c.node("GemmFastGelu", [x, w], defined=[gelu_tanh(xs @ c.weights[w])])


def fused_bias(c):
    x, skip, b = c.input(c.floats(2, 3, 8)), c.input(c.floats(2, 3, 8)), c.weight(c.floats(8))
    xs, ss, bs = c.inputs[x], c.inputs[skip], c.weights[b]
    c.node("BiasAdd", [x, b, skip], defined=[xs + bs + ss])
    h = xs + bs
    erf = np.vectorize(math.erf)
    right = h[..., 4:]
    c.node("BiasSplitGelu", [x, b], defined=[h[..., :4] * 0.5 * right * (1 + erf(right / np.sqrt(2)))])
    c.node("BiasDropout", [x, b, skip], defined=[xs + bs + ss])
    c.node("BitmaskBiasDropout", [x, b], defined=[xs + bs])
    c.node("BitmaskDropout", [x], defined=[xs])
    scores, mask = c.input(c.floats(2, 4, 3, 5)), c.input(c.floats(2, 1, 1, 5))
    c.node("BiasSoftmax", [scores, mask], axis=3, is_inner_broadcast=1,
           defined=[softmax(c.inputs[scores] + c.inputs[mask])])
    outer = c.input(c.floats(4, 3, 5))
    c.node("BiasSoftmax", [scores, outer], axis=3, is_inner_broadcast=0,
           defined=[softmax(c.inputs[scores] + c.inputs[outer])])
    gate = c.input(c.floats(2, 3, 1))
    c.node("GatedAdd", [x, skip, gate], defined=[xs + ss * c.inputs[gate]])
    g = c.weight(c.floats(4))
    grouped = xs.reshape(2, 3, 2, 4)
    normal = (grouped / np.sqrt((grouped ** 2).mean(-1, keepdims=True) + 0.01) * c.weights[g]).reshape(2, 3, 8)
    c.node("GatedRMSNorm", [x, g, skip], epsilon=0.01, defined=[normal * ss * sigmoid(ss)])
    s = c.weight(-np.abs(c.floats(8)))
    c.node("LinearAttentionGate", [x, b, s, skip], 2, defined=[c.weights[s] * np.log1p(np.exp(h)), sigmoid(ss)])


def skip_norms(c):
    x, skip = c.input(c.floats(2, 3, 8)), c.input(c.floats(2, 3, 8))
    gamma, beta, bias = c.weight(c.floats(8)), c.weight(c.floats(8)), c.weight(c.floats(8))
    one, flat = c.input(c.floats(1, 3, 8)), c.input(c.floats(3, 8))
    c.node("SkipLayerNormalization", [x, skip, gamma, beta])
    c.node("SkipLayerNormalization", [x, skip, gamma, beta, bias], [1, 0, 0, 1], epsilon=0.1)
    c.node("SkipLayerNormalization", [x, one, gamma])
    c.node("SkipLayerNormalization", [x, flat, gamma, "", bias], [1, 0, 0, 1])
    c.node("SkipSimplifiedLayerNormalization", [x, skip, gamma])
    c.node("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], [1, 0, 0, 1], epsilon=0.1)
    c.node("SimplifiedLayerNormalization", [x, gamma], domain="", epsilon=0.1, axis=-1)
    c.node("LayerNormalization", [x, gamma, beta], domain="", epsilon=0.1)


def layer_norm_here(c):
    # Older files have the normalizations in this domain; ONNX Runtime no longer has kernels for them.
    x, gamma, beta = c.input(c.floats(2, 3, 8)), c.weight(c.floats(8)), c.weight(c.floats(8))
    xs, g, b = c.inputs[x], c.weights[gamma], c.weights[beta]
    normal = (xs - xs.mean(-1, keepdims=True)) / np.sqrt(xs.var(-1, keepdims=True) + 0.1)
    c.node("LayerNormalization", [x, gamma, beta], axis=-1, epsilon=0.1, defined=[normal * g + b])
    c.node("SimplifiedLayerNormalization", [x, gamma], axis=-1, epsilon=0.1,
           defined=[xs / np.sqrt((xs ** 2).mean(-1, keepdims=True) + 0.1) * g])


def nhwc(c):
    x, w, b = c.input(c.floats(1, 5, 6, 3)), c.weight(c.floats(4, 3, 3, 3)), c.weight(c.floats(4))
    z = c.input(c.floats(1, 5, 6, 4))
    first = np.transpose(c.inputs[x], (0, 3, 1, 2))
    padded = np.pad(first, ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = np.zeros((1, 4, 5, 6))
    for i in range(3):
        for j in range(3):
            y += np.einsum("oc,nchw->nohw", c.weights[w][:, :, i, j], padded[:, :, i:i + 5, j:j + 6])
    y = np.transpose(y, (0, 2, 3, 1)) + c.weights[b]
    c.node("NhwcConv", [x, w, b], pads=[1, 1, 1, 1], defined=[y])
    c.node("NhwcFusedConv", [x, w, b, z], pads=[1, 1, 1, 1], activation="Relu", defined=[np.maximum(y + c.inputs[z],
                                                                                                    0)])


def group_norms(c):
    x, gamma, beta = c.input(c.floats(2, 3, 4, 8)), c.weight(c.floats(8)), c.weight(c.floats(8))
    skip, vector, bias = c.input(c.floats(2, 3, 4, 8)), c.input(c.floats(2, 8)), c.weight(c.floats(8))

    def norm(v, silu):
        groups = v.reshape(2, 12, 2, 4)
        mean, var = groups.mean((1, 3), keepdims=True), groups.var((1, 3), keepdims=True)
        y = ((groups - mean) / np.sqrt(var + 0.1)).reshape(v.shape) * c.weights[gamma] + c.weights[beta]
        return y * sigmoid(y) if silu else y

    xs = c.inputs[x]
    for activation in (0, 1):
        c.node("GroupNorm", [x, gamma, beta], groups=2, epsilon=0.1, activation=activation, defined=[norm(xs,
                                                                                                          activation)])
    total = xs + c.inputs[skip] + c.weights[bias]
    c.node("SkipGroupNorm", [x, gamma, beta, skip, bias], 2, groups=2, epsilon=0.1, activation=1,
           defined=[norm(total, 1), total])
    total = xs + c.inputs[vector][:, None, None]
    c.node("SkipGroupNorm", [x, gamma, beta, vector], 2, groups=2, epsilon=0.1, activation=0, defined=[norm(total, 0),
                                                                                                       total])
    front = c.input(np.ascontiguousarray(np.transpose(xs, (0, 3, 1, 2))))
    c.node("GroupNorm", [front, gamma, beta], groups=2, epsilon=0.1, activation=0, channels_last=0,
           defined=[np.transpose(norm(xs, 0), (0, 3, 1, 2))])


def stateful(c):
    x, w, b = c.input(c.floats(2, 3, 5)), c.weight(c.floats(3, 1, 3)), c.weight(c.floats(3))
    past, wide = c.input(c.floats(2, 3, 2)), c.input(c.floats(2, 3, 4))
    c.node("CausalConvWithState", [x, w], 2)
    c.node("CausalConvWithState", [x, w, b, past], 2, activation="silu")
    c.node("CausalConvWithState", [x, w, b, wide], 2, activation="swish", dilation=2)
    # two query heads, one key head and four value heads
    q, k, v = c.input(c.floats(2, 4, 8)), c.input(c.floats(2, 4, 4)), c.input(c.floats(2, 4, 12))
    all_keys, state = c.input(c.floats(2, 4, 16)), c.input(c.floats(2, 4, 4, 3))
    decay, beta = c.input(-abs(c.floats(2, 4, 4))), c.input(abs(c.floats(2, 4, 1, scale=0.3)))
    slow = c.input(-abs(c.floats(2, 4, 16)))
    heads = {"q_num_heads": 2, "kv_num_heads": 4}
    c.node("LinearAttention", [q, k, v], 2, update_rule="linear", **heads)
    c.node("LinearAttention", [q, all_keys, v, state, slow], 2, update_rule="gated", scale=0.3, **heads)
    c.node("LinearAttention", [q, all_keys, v, state, "", beta], 2, update_rule="delta", **heads)
    c.node("LinearAttention", [q, k, v, state, decay, beta], 2, update_rule="gated_delta", chunk_size=2, **heads)
    c.node("LinearAttention", [all_keys, all_keys, v, state, decay, beta], 2, q_num_heads=4, kv_num_heads=4)


def movement(c):
    x = c.input(c.floats(3, 4))
    c.node("Pad", [x, c.weight(np.array([1, 0, 0, 2], np.int64)), c.weight(np.float32([2.5]))])
    c.node("Pad", [x, c.weight(np.array([[1, 2, 1, 0]], np.int64))], mode="reflect")
    c.node("ExpandDims", [x, c.weight(np.array(1, np.int32))])
    c.node("ExpandDims", [x, c.weight(np.array([-1], np.int32))])
    c.node("Trilu", [x])
    c.node("Trilu", [x, c.weight(np.array(1, np.int64))], upper=0)
    c.node("UnfoldTensor", [x], dim=-1, size=2, step=1)
    wide = c.input(c.floats(2, 6, 3))
    c.node("UnfoldTensor", [wide], dim=1, size=3, step=2)
    c.node("GatherND", [x, c.weight(np.array([[0, 1], [2, 3]], np.int64))])
    table, ids = c.weight(c.floats(5, 3)), c.input(c.integers(0, 5, 2, 2, dtype=np.int64))
    c.node("TorchEmbedding", [table, ids], defined=[c.weights[table][c.inputs[ids]]])
    start = c.weight(np.float32(1))
    c.node("Range", [start, c.weight(np.float32(7)), c.weight(np.float32(1.5))])
    c.node("Range", [start, c.weight(np.float32(4))])
    c.node("SampleOp", [x])
    image, grid = c.input(c.floats(1, 2, 4, 5)), c.input(c.floats(1, 3, 3, 2, scale=0.6))
    c.node("GridSample", [image, grid], mode="bilinear", padding_mode="border", align_corners=1)


def mathematics(c):
    a, b = c.input(c.floats(3, 4)), c.input(c.floats(5, 4))
    c.node("CDist", [a, b], metric="euclidean")
    c.node("CDist", [a, b], metric="sqeuclidean")
    x, y = c.input(c.floats(3, 2)), c.input(c.floats(3, 2))
    left, right = (c.inputs[n][..., 0] + 1j * c.inputs[n][..., 1] for n in (x, y))
    parts = lambda v: np.stack([v.real, v.imag], -1)
    c.node("ComplexMul", [x, y], defined=[parts(left * right)])
    c.node("ComplexMulConj", [x, y], defined=[parts(left * right.conj())])
    signal = c.input(c.floats(2, 8))
    c.node("Rfft", [signal], signal_ndim=1, normalized=0, onesided=1, defined=[parts(np.fft.rfft(c.inputs[signal]))])
    spectrum = c.input(c.floats(2, 5, 2))
    values = c.inputs[spectrum][..., 0] + 1j * c.inputs[spectrum][..., 1]
    c.node("Irfft", [spectrum], signal_ndim=1, normalized=0, onesided=1, defined=[np.fft.irfft(values, 8)])
    emb = c.input(c.floats(1, 3, 4))
    states = [c.input(c.floats(1, 2, 3, 4)) for _ in range(4)]
    q, q_rot, k, k_rot = (c.inputs[s] for s in states)
    cos, sin = np.cos(c.inputs[emb])[:, None], np.sin(c.inputs[emb])[:, None]
    c.node("GemmaRotaryEmbedding", [emb, *states], 2, defined=[q * cos + q_rot * sin, k * cos + k_rot * sin])


CASES = [fused_conv, fused_matmul, fused_gemm, gelu, fused_bias, skip_norms, layer_norm_here, nhwc, group_norms,
         stateful, movement, mathematics]

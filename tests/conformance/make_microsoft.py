#!/usr/bin/env python3
"""Writes tests/data/onnx/microsoft/NAME/: operators of the domain com.microsoft, with inputs and expected outputs.

    FERRY_PEERS=FOLDER /usr/bin/python3 tests/conformance/make_microsoft.py tests/data/onnx/microsoft [NAME...]

Needs Debian's python3-onnx and python3-numpy, node, and ONNX Runtime from npm (onnxruntime-node) in
FERRY_PEERS/node_modules. The folders look like the ONNX project's node tests: model.onnx, test_data_set_0/input_0.pb and
output_0.pb. The outputs are ONNX Runtime's, without its optimizer; of operators that its CPU provider lacks, NumPy's by the
operator's definition.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft"
TYPES = {"float32": np.float32, "float16": np.float16, "int8": np.int8, "uint8": np.uint8, "bool": np.bool_,
         "int32": np.int32, "uint32": np.uint32, "int64": np.int64}


def type_of(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype) if hasattr(helper, "np_dtype_to_tensor_dtype") else \
        onnx.mapping.NP_TYPE_TO_TENSOR_TYPE[array.dtype]


class Case:
    """A graph of one or more nodes, whose outputs are the case's."""

    def __init__(self, name):
        self.name = name
        self.random = np.random.default_rng(sum(name.encode()))
        self.nodes, self.inputs, self.weights, self.defined, self.outputs = [], {}, {}, {}, []

    def floats(self, *dims, scale=1.0):
        return (self.random.standard_normal(dims) * scale).round(3).astype(np.float32)

    def integers(self, low, high, *dims, dtype=np.int32):
        return self.random.integers(low, high, dims).astype(dtype)

    def input(self, array):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = np.asarray(array)
        return name

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def node(self, op, inputs, outputs=1, domain=DOMAIN, types=None, defined=None, **attributes):
        """Adds a node, all of whose outputs are the case's. outputs: a number, or a list of 0 (omitted) and 1. types: of
        the outputs, float32 by default. defined: the values of the outputs, where ONNX Runtime has no kernel."""
        wanted = [1] * outputs if isinstance(outputs, int) else outputs
        names = [f"y{len(self.nodes)}_{i}" if w else "" for i, w in enumerate(wanted)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"n{len(self.nodes)}", domain=domain, **attributes))
        for i, name in enumerate(n for n in names if n):
            self.outputs.append((name, types[i] if types else np.float32))
            if defined is not None:
                self.defined[name] = np.asarray(defined[i])
        return names

    def model(self, nodes):
        produced = {o for n in nodes for o in n.output}
        graph = helper.make_graph(
            nodes, self.name,
            [helper.make_tensor_value_info(n, type_of(a), a.shape) for n, a in self.inputs.items()],
            [helper.make_tensor_value_info(n, helper_type(t), None) for n, t in self.outputs if n in produced],
            [numpy_helper.from_array(a, n) for n, a in self.weights.items()])
        return helper.make_model(graph, ir_version=8, producer_name="make_microsoft.py",
                                 opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)])


def helper_type(dtype):
    return type_of(np.zeros(1, dtype))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))


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
    for activation, attributes in [("Relu", {}), ("Tanh", {}), ("Sigmoid", {}), ("LeakyRelu", {"activation_alpha": 0.2}),
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
    erf = np.vectorize(__import__("math").erf)
    right = h[..., 4:]
    c.node("BiasSplitGelu", [x, b], defined=[h[..., :4] * 0.5 * right * (1 + erf(right / np.sqrt(2)))])
    c.node("BiasDropout", [x, b, skip], defined=[xs + bs + ss])
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


def attention(c):
    x, w, b = c.input(c.floats(2, 4, 6)), c.weight(c.floats(6, 24, scale=0.4)), c.weight(c.floats(24))
    raw = c.input(np.array([[1, 1, 1, 0], [0, 1, 1, 1]], np.int32))
    full = c.input(c.integers(0, 2, 2, 4, 4) | np.eye(4, dtype=np.int32)[None])
    ends = c.input(np.array([3, 2], np.int32))
    ranges = c.input(np.array([3, 4, 0, 1], np.int32))
    bias = c.input(c.floats(1, 2, 4, 4))
    c.node("Attention", [x, w, b], num_heads=2)
    c.node("Attention", [x, w, b], num_heads=4, scale=0.7)
    c.node("Attention", [x, w, b, raw], num_heads=2)
    c.node("Attention", [x, w, b, full], num_heads=2, mask_filter_value=-5.0)
    c.node("Attention", [x, w, b, ends], num_heads=2)
    c.node("Attention", [x, w, b, ranges], num_heads=2)
    c.node("Attention", [x, w, b], num_heads=2, unidirectional=1)
    c.node("Attention", [x, w, b, raw, "", bias], 2, num_heads=2, unidirectional=1)
    sizes = c.weight(c.floats(6, 20, scale=0.4))
    c.node("Attention", [x, sizes, c.weight(c.floats(20))], num_heads=2, qkv_hidden_sizes=[8, 8, 4])


def attention_past(c):
    x, w, b = c.input(c.floats(2, 3, 6)), c.weight(c.floats(6, 24, scale=0.4)), c.weight(c.floats(24))
    past = c.input(c.floats(2, 2, 2, 2, 4))
    mask = c.input(np.array([[1, 1, 1, 1, 1], [0, 1, 1, 1, 1]], np.int32))
    c.node("Attention", [x, w, b, "", past], 2, num_heads=2, unidirectional=1)
    c.node("Attention", [x, w, b, mask, past], 2, num_heads=2, unidirectional=1)


def multi_head(c):
    q, k, v = c.input(c.floats(2, 3, 8)), c.input(c.floats(2, 5, 8)), c.input(c.floats(2, 5, 12))
    bias, padding = c.weight(c.floats(28)), c.input(np.array([[1, 1, 1, 1, 0], [1, 1, 0, 1, 1]], np.int32))
    ends = c.input(np.array([4, 3], np.int32))
    added = c.input(c.floats(2, 1, 3, 5))
    c.node("MultiHeadAttention", [q, k, v], num_heads=2)
    c.node("MultiHeadAttention", [q, k, v, bias], num_heads=4, scale=0.3)
    c.node("MultiHeadAttention", [q, k, v, bias, padding], num_heads=2)
    c.node("MultiHeadAttention", [q, k, v, "", ends], num_heads=2)
    c.node("MultiHeadAttention", [q, k, v, "", "", added], num_heads=2)
    c.node("MultiHeadAttention", [q, k, v, bias, padding, added], num_heads=2, mask_filter_value=-4.0)
    same = c.input(c.floats(2, 3, 8))
    c.node("MultiHeadAttention", [q, same, same], num_heads=2, unidirectional=1)
    c.node("MultiHeadAttention", [q, k, v, bias, padding, added], [1, 0, 0, 1], num_heads=2, mask_filter_value=-4.0)
    c.node("MultiHeadAttention", [q, same, same], [1, 0, 0, 1], num_heads=2)


def multi_head_packed(c):
    qkv = c.input(c.floats(2, 3, 2, 3, 4))
    parts = [np.swapaxes(c.inputs[qkv][:, :, :, i], 1, 2) for i in range(3)]
    kv, q = c.input(c.floats(2, 5, 2, 2, 4)), c.input(c.floats(2, 3, 8))
    scores = softmax(parts[0] @ np.swapaxes(parts[1], 2, 3) / 2)
    c.node("MultiHeadAttention", [qkv], num_heads=2,
           defined=[np.swapaxes(scores @ parts[2], 1, 2).reshape(2, 3, 8)])
    keys, values = (np.swapaxes(c.inputs[kv][:, :, :, i], 1, 2) for i in range(2))
    queries = np.swapaxes(c.inputs[q].reshape(2, 3, 2, 4), 1, 2)
    scores = softmax(queries @ np.swapaxes(keys, 2, 3) / 2)
    c.node("MultiHeadAttention", [q, kv], num_heads=2, defined=[np.swapaxes(scores @ values, 1, 2).reshape(2, 3, 8)])
    k, v = c.input(c.floats(2, 2, 5, 4)), c.input(c.floats(2, 2, 5, 4))
    bias = c.weight(c.floats(24))
    c.node("MultiHeadAttention", [q, k, v], num_heads=2)
    c.node("MultiHeadAttention", [q, k, v, bias], num_heads=2)


def multi_head_past(c):
    q, k, v = (c.input(c.floats(2, 3, 8)) for _ in range(3))
    past_key, past_value = c.input(c.floats(2, 2, 4, 4)), c.input(c.floats(2, 2, 4, 4))
    bias = c.weight(c.floats(24))
    mask = c.input(np.array([[1] * 7, [0, 1, 1, 1, 1, 1, 1]], np.int32))
    c.node("MultiHeadAttention", [q, k, v, bias, "", "", past_key, past_value], 3, num_heads=2)
    c.node("MultiHeadAttention", [q, k, v, "", mask, "", past_key, past_value], 3, num_heads=2, unidirectional=1)


def embed(c):
    ids, segments = c.input(c.integers(0, 10, 2, 4)), c.input(c.integers(0, 2, 2, 4))
    word, position, segment = c.weight(c.floats(10, 6)), c.weight(c.floats(8, 6)), c.weight(c.floats(2, 6))
    gamma, beta = c.weight(c.floats(6)), c.weight(c.floats(6))
    mask = c.input(np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32))
    places = c.input(c.integers(0, 8, 2, 4))
    types = [np.float32, np.int32, np.float32]
    c.node("EmbedLayerNormalization", [ids, segments, word, position, segment, gamma, beta, mask], 3, types=types)
    c.node("EmbedLayerNormalization", [ids, "", word, position, "", gamma, beta], 2, types=types, epsilon=0.1)
    c.node("EmbedLayerNormalization", [ids, segments, word, position, segment, gamma, beta, "", places], 2, types=types)


def rotary(c):
    cos, sin = c.weight(c.floats(16, 4)), c.weight(c.floats(16, 4))
    x, heads = c.input(c.floats(2, 3, 16)), c.input(c.floats(2, 2, 3, 8))
    first, same = c.input(np.array([5], np.int64)), c.weight(np.array([[1, 2, 3], [1, 2, 3]], np.int64))
    each = c.input(np.array([[1, 2, 3], [0, 7, 4]], np.int64))
    for interleaved in (0, 1):
        for positions in (first, same, each):
            c.node("RotaryEmbedding", [x, positions, cos, sin], interleaved=interleaved)
        c.node("RotaryEmbedding", [heads, each, cos, sin], interleaved=interleaved)
    c.node("RotaryEmbedding", [x, each, cos, sin], scale=2.0)
    half_cos, half_sin = c.weight(c.floats(16, 2)), c.weight(c.floats(16, 2))
    c.node("RotaryEmbedding", [x, each, half_cos, half_sin], num_heads=2, rotary_embedding_dim=4)
    c.node("RotaryEmbedding", [x, same, half_cos, half_sin], num_heads=2, rotary_embedding_dim=4, interleaved=1)


SIZE = 16  # of a head: rotary embeddings need a multiple of 16


def group_query(c):
    q, k, v = c.input(c.floats(1, 4, 4 * SIZE)), c.input(c.floats(1, 4, 2 * SIZE)), c.input(c.floats(1, 4, 2 * SIZE))
    lengths, total = c.input(np.array([3], np.int32)), c.weight(np.array(4, np.int32))
    cos, sin = c.weight(c.floats(16, SIZE // 2)), c.weight(c.floats(16, SIZE // 2))
    packed = c.input(c.floats(1, 4, 8 * SIZE))
    common = dict(num_heads=4, kv_num_heads=2)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total], 3, **common)
    c.node("GroupQueryAttention", [packed, "", "", "", "", lengths, total], 3, **common)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total, cos, sin], 3, do_rotary=1, **common)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total, cos, sin], 3, do_rotary=1, rotary_interleaved=1, **common)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total], 3, local_window_size=2, scale=0.4, **common)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total], 3, softcap=0.8, **common)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total], 3, softcap=0.8, local_window_size=3, **common)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total], 3, smooth_softmax=1, **common)
    sink = c.weight(c.floats(4))
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total, "", "", "", "", sink], 3, **common)
    places = c.input(np.array([[2, 3, 4, 5]], np.int64))
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total, cos, sin, places], 3, do_rotary=1, **common)
    bias = c.input(c.floats(1, 4, 4, 4))
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total, "", "", "", bias], 3, **common)


def group_query_scores(c):
    """Output 3, and attention in both directions."""
    q, k, v = c.input(c.floats(1, 4, 4 * SIZE)), c.input(c.floats(1, 4, 2 * SIZE)), c.input(c.floats(1, 4, 2 * SIZE))
    lengths, total = c.input(np.array([3], np.int32)), c.weight(np.array(4, np.int32))
    common = dict(num_heads=4, kv_num_heads=2)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total], 4, qk_output=2, **common)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total], 3, causal=0, **common)
    c.node("GroupQueryAttention", [q, k, v, "", "", c.weight(np.array([3], np.int32)), total], 3, causal=0, **common)
    norm_q, norm_k = c.weight(c.floats(SIZE)), c.weight(c.floats(SIZE))

    def heads(name, count, weight):
        x = np.swapaxes(c.inputs[name].reshape(1, 4, count, SIZE), 1, 2)
        if weight is None:
            return x
        return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-6) * c.weights[weight]

    queries, keys, values = heads(q, 4, norm_q), heads(k, 2, norm_k), heads(v, 2, None)
    scores = queries @ np.swapaxes(np.repeat(keys, 2, 1), 2, 3) / np.sqrt(SIZE)
    scores = np.where(np.tril(np.ones((4, 4), bool)), scores, -np.inf)
    y = np.swapaxes(softmax(scores) @ np.repeat(values, 2, 1), 1, 2).reshape(1, 4, 4 * SIZE)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total, "", "", "", "", "", "", "", norm_q, norm_k], 3,
           defined=[y, keys, values], **common)


def group_query_past(c):
    past_key, past_value = c.input(c.floats(1, 2, 5, SIZE)), c.input(c.floats(1, 2, 5, SIZE))
    cos, sin = c.weight(c.floats(16, SIZE // 2)), c.weight(c.floats(16, SIZE // 2))
    common = dict(num_heads=4, kv_num_heads=2)
    for tokens in (1, 3):
        q, k, v = c.input(c.floats(1, tokens, 4 * SIZE)), c.input(c.floats(1, tokens, 2 * SIZE)), c.input(c.floats(1, tokens, 2 * SIZE))
        last = np.array([4 + tokens], np.int32)
        total = c.weight(np.array(5 + tokens, np.int32))
        for lengths in (c.input(last), c.weight(last)):
            c.node("GroupQueryAttention", [q, k, v, past_key, past_value, lengths, total, cos, sin], 3, do_rotary=1, **common)
            c.node("GroupQueryAttention", [q, k, v, past_key, past_value, lengths, total], 3, local_window_size=3, **common)
    # a buffer of eight rows, of which five are in use
    buffers = c.input(c.floats(1, 2, 8, SIZE)), c.input(c.floats(1, 2, 8, SIZE))
    q, k, v = c.input(c.floats(1, 1, 4 * SIZE)), c.input(c.floats(1, 1, 2 * SIZE)), c.input(c.floats(1, 1, 2 * SIZE))
    last, total = c.input(np.array([5], np.int32)), c.weight(np.array(6, np.int32))
    c.node("GroupQueryAttention", [q, k, v, *buffers, last, total, cos, sin], 3, do_rotary=1, **common)


def group_query_lengths(c):
    """A batch whose samples have pasts of different lengths."""
    past_key, past_value = c.input(c.floats(2, 2, 5, SIZE)), c.input(c.floats(2, 2, 5, SIZE))
    cos, sin = c.weight(c.floats(16, SIZE // 2)), c.weight(c.floats(16, SIZE // 2))
    q, k, v = c.input(c.floats(2, 1, 4 * SIZE)), c.input(c.floats(2, 1, 2 * SIZE)), c.input(c.floats(2, 1, 2 * SIZE))
    lengths, total = c.input(np.array([5, 3], np.int32)), c.weight(np.array(6, np.int32))
    c.node("GroupQueryAttention", [q, k, v, past_key, past_value, lengths, total, cos, sin], 3, do_rotary=1, num_heads=4,
           kv_num_heads=2)


def pack_rows(values, bits):
    """Packs [..., n] unsigned integers into bytes along the last dimension, the first in the low bits."""
    per = 8 // bits
    pad = -values.shape[-1] % per
    values = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, pad)])
    groups = values.reshape(*values.shape[:-1], -1, per).astype(np.uint32)
    return sum(groups[..., i] << (bits * i) for i in range(per)).astype(np.uint8)


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
    b, absmax = c.weight(c.integers(0, 256, rows * columns // 2, dtype=np.uint8)), c.weight(np.abs(c.floats(rows * columns // block)))
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


def scale_of(c, value):
    return c.weight(np.array(value, np.float32))


def qlinear(c):
    for dtype, low, high in ((np.uint8, 0, 256), (np.int8, -128, 128)):
        a, b = c.input(c.integers(low, high, 2, 3, 16, dtype=dtype)), c.input(c.integers(low, high, 3, 16, dtype=dtype))
        zero = lambda v: c.weight(np.array(v, dtype))
        za, zb, zc = zero(3), zero(-7 if low else 130), zero(5 if low else 120)
        # 0.5 / 0.25: ties
        for sa, sb, sc in ((0.013, 0.021, 0.024), (0.5, 0.25, 1.0)):
            scales = [scale_of(c, s) for s in (sa, sb, sc)]
            for op in ("QLinearAdd", "QLinearMul"):
                c.node(op, [a, scales[0], za, b, scales[1], zb, scales[2] if op == "QLinearAdd" else scale_of(c, sc * 8), zc],
                       types=[dtype])
        s, out = scale_of(c, 0.05), scale_of(c, 0.004)
        c.node("QLinearSigmoid", [a, s, za, out, zero(-128 if low else 0)], types=[dtype])
        c.node("QLinearLeakyRelu", [a, s, za, s, zc], types=[dtype], alpha=0.3)
        c.node("QLinearSoftmax", [a, s, za, out, zero(-128 if low else 0)], types=[dtype], axis=-1, opset=13)
        c.node("QLinearSoftmax", [a, scale_of(c, 0.02), za, out, zero(-128 if low else 0)], types=[dtype], axis=1, opset=11)
        c.node("QLinearSoftmax", [a, scale_of(c, 0.02), za, out, zero(-128 if low else 0)], types=[dtype], axis=1, opset=13)
        c.node("QLinearConcat", [scale_of(c, 0.03), zc, a, scale_of(c, 0.02), za, a, scale_of(c, 0.03), zc], types=[dtype],
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
        c.node("QLinearAveragePool", [x, s, z, t, u], types=[dtype], kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 2])
        c.node("QLinearAveragePool", [x, s, z, t, u], types=[dtype], kernel_shape=[3, 2], pads=[1, 0, 1, 1],
               count_include_pad=1)
        c.node("QLinearAveragePool", [last, s, z, t, u], types=[dtype], kernel_shape=[2, 2], channels_last=1)
        c.node("NhwcMaxPool", [last], types=[dtype], kernel_shape=[2, 2], strides=[1, 2])


def qlinear_conv(c):
    x, last = c.input(c.integers(0, 256, 1, 4, 5, 6, dtype=np.uint8)), c.input(c.integers(0, 256, 1, 5, 6, 4, dtype=np.uint8))
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
    c.node("NhwcFusedConv", [x, w, b, z], pads=[1, 1, 1, 1], activation="Relu", defined=[np.maximum(y + c.inputs[z], 0)])


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
        c.node("GroupNorm", [x, gamma, beta], groups=2, epsilon=0.1, activation=activation, defined=[norm(xs, activation)])
    total = xs + c.inputs[skip] + c.weights[bias]
    c.node("SkipGroupNorm", [x, gamma, beta, skip, bias], 2, groups=2, epsilon=0.1, activation=1,
           defined=[norm(total, 1), total])
    total = xs + c.inputs[vector][:, None, None]
    c.node("SkipGroupNorm", [x, gamma, beta, vector], 2, groups=2, epsilon=0.1, activation=0, defined=[norm(total, 0), total])
    front = c.input(np.ascontiguousarray(np.transpose(xs, (0, 3, 1, 2))))
    c.node("GroupNorm", [front, gamma, beta], groups=2, epsilon=0.1, activation=0, channels_last=0,
           defined=[np.transpose(norm(xs, 0), (0, 3, 1, 2))])


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


CASES = [fused_conv, fused_matmul, fused_gemm, gelu, fused_bias, skip_norms, layer_norm_here, attention, attention_past,
         multi_head, multi_head_packed, multi_head_past, embed, rotary, group_query, group_query_scores, group_query_past, group_query_lengths,
         matmul_nbits, matmul_nbits_order, matmul_bnb4, gather_blocks, qlinear, qlinear_pool, qlinear_conv, qmatmul,
         qattention, integers, nhwc, group_norms, movement, mathematics]


def write_tensor(path, name, array):
    with open(path, "wb") as f:
        f.write(numpy_helper.from_array(array, name).SerializeToString())


def run_all(cases, scratch):
    """ONNX Runtime's outputs by case and name. A node that it cannot run gets the values that the case defines."""
    jobs = []
    for case in cases:
        for i, node in enumerate(case.nodes):  # node by node, so that one without a kernel stops no other
            folder = os.path.join(scratch, f"{case.name}_{i}")
            os.makedirs(folder)
            onnx.save(case.model([node]), os.path.join(folder, "model.onnx"))
            for name, array in case.inputs.items():
                array.tofile(os.path.join(folder, name + ".bin"))
            jobs.append({"model": os.path.join(folder, "model.onnx"), "folder": folder, "level": "disabled",
                         "inputs": [{"name": n, "type": a.dtype.name, "dims": a.shape} for n, a in case.inputs.items()]})
    with open(os.path.join(scratch, "jobs.json"), "w") as f:
        json.dump(jobs, f)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ort_outputs.mjs")
    subprocess.run(["node", script, os.path.join(scratch, "jobs.json")], check=True)
    results = {}
    for case in cases:
        for i, node in enumerate(case.nodes):
            folder = os.path.join(scratch, f"{case.name}_{i}")
            with open(os.path.join(folder, "outputs.json")) as f:
                outputs = json.load(f)
            wanted = [o for o in node.output if o]
            if "error" in outputs:
                if any(o not in case.defined for o in wanted):
                    sys.exit(f"{case.name}, node {i} ({node.op_type}): {outputs['error']}")
                print(f"{case.name}: {node.op_type} is by definition: {outputs['error'][:90]}")
                continue
            for o in outputs:
                array = np.fromfile(os.path.join(folder, o["name"] + ".bin"), TYPES[o["type"]]).reshape(o["dims"])
                results[case.name, o["name"]] = array
                if o["name"] in case.defined:
                    worst = np.abs(array.astype(float) - case.defined[o["name"]].astype(float)).max()
                    if worst > 1e-3:
                        print(f"{case.name}, {o['name']} ({node.op_type}): the definition differs by {worst}")
    return results


def main():
    target, wanted = sys.argv[1], sys.argv[2:]
    cases = []
    for build in CASES:
        if not wanted or build.__name__ in wanted:
            cases.append(Case(build.__name__))
            build(cases[-1])
    with tempfile.TemporaryDirectory() as scratch:
        results = run_all(cases, scratch)
    for case in cases:
        folder = os.path.join(target, case.name)
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        onnx.save(case.model(case.nodes), os.path.join(folder, "model.onnx"))
        for i, (name, array) in enumerate(case.inputs.items()):
            write_tensor(os.path.join(data, f"input_{i}.pb"), name, array)
        for i, (name, dtype) in enumerate(case.outputs):
            array = results.get((case.name, name), case.defined.get(name))
            write_tensor(os.path.join(data, f"output_{i}.pb"), name, np.ascontiguousarray(array.astype(dtype)))


if __name__ == "__main__":
    main()

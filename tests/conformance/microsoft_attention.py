"""Cases of make_microsoft.py: attention and what precedes it."""

import numpy as np
from microsoft_case import DOMAIN, softmax
from onnx import helper

SIZE = 16  # of a head: rotary embeddings need a multiple of 16


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


def relative_positions(c):
    """Added to an input: the bias itself does not depend on one."""
    x = c.input(c.floats(1, 3, 5, 5))
    table, length = c.weight(c.floats(8, 3)), c.weight(np.array([5], np.int64))
    distance = np.arange(5)[None] - np.arange(5)[:, None]

    def bucket(d, buckets, farthest):  # T5's: half exact, half logarithmic
        exact = buckets // 2
        far = exact + (np.log(np.maximum(d, 1) / exact) / np.log(farthest / exact) * (buckets - exact)).astype(int)
        return np.where(d < exact, d, np.minimum(far, buckets - 1))

    both = np.where(distance > 0, 4, 0) + bucket(np.abs(distance), 4, 4)
    before = bucket(np.maximum(-distance, 0), 8, 6)
    for direction, index in ((1, both), (0, before)):
        name = f"bias{direction}"
        c.before.append(helper.make_node("RelativePositionBias", [table, length, length], [name], domain=DOMAIN,
                                        is_bidirectional=direction, max_distance=4 if direction else 6))
        bias = np.transpose(c.weights[table][index], (2, 0, 1))[None]
        c.node("Add", [x, name], domain="", defined=[c.inputs[x] + bias])


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


def group_query(c):
    q, k, v = c.input(c.floats(1, 4, 4 * SIZE)), c.input(c.floats(1, 4, 2 * SIZE)), c.input(c.floats(1, 4, 2 * SIZE))
    lengths, total = c.input(np.array([3], np.int32)), c.weight(np.array(4, np.int32))
    cos, sin = c.weight(c.floats(16, SIZE // 2)), c.weight(c.floats(16, SIZE // 2))
    packed = c.input(c.floats(1, 4, 8 * SIZE))
    common = dict(num_heads=4, kv_num_heads=2)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total], 3, **common)
    c.node("GroupQueryAttention", [packed, "", "", "", "", lengths, total], 3, **common)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total, cos, sin], 3, do_rotary=1, **common)
    c.node("GroupQueryAttention", [q, k, v, "", "", lengths, total, cos, sin], 3, do_rotary=1, rotary_interleaved=1,
           **common)
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
        q, k, v = (c.input(c.floats(1, tokens, heads * SIZE)) for heads in (4, 2, 2))
        last = np.array([4 + tokens], np.int32)
        total = c.weight(np.array(5 + tokens, np.int32))
        for lengths in (c.input(last), c.weight(last)):
            c.node("GroupQueryAttention", [q, k, v, past_key, past_value, lengths, total, cos, sin], 3, do_rotary=1,
                   **common)
            c.node("GroupQueryAttention", [q, k, v, past_key, past_value, lengths, total], 3, local_window_size=3,
                   **common)
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
    c.node("GroupQueryAttention", [q, k, v, past_key, past_value, lengths, total, cos, sin], 3, do_rotary=1,
           num_heads=4,
           kv_num_heads=2)


CASES = [attention, attention_past, multi_head, multi_head_packed, multi_head_past, embed, relative_positions, rotary,
         group_query, group_query_scores, group_query_past, group_query_lengths]

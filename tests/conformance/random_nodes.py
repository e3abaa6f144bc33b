"""Random nodes for random_graphs.py: a function per operator, in every form that any opset has.

A function gets the Maker and a value, and returns (operator, inputs, attributes), with the number of outputs behind
that if it is not 1; None where the operator does not fit the value. What it returns need not be valid: ONNX Runtime
decides. Functions of several nodes return a list of those.
"""
import numpy as np
from onnx import TensorProto, helper

import random_moves

FLOAT, INT, BOOL = "float32", "int64", "bool"
UNARY = ("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish "
         "Identity LeakyRelu Log Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign "
         "Sqrt Tan Tanh ThresholdedRelu Dropout").split()


def unary(m, x):
    op, attributes = m.choice(UNARY), {}
    if op in ("Celu", "Elu", "LeakyRelu", "ThresholdedRelu") and m.coin():
        attributes["alpha"] = m.real(0.1, 1.5)
    if op == "HardSigmoid" and m.coin():
        attributes.update(alpha=m.real(0.1, 0.5), beta=m.real(0, 1))
    if op == "Selu" and m.coin():
        attributes.update(alpha=m.real(0.5, 2), gamma=m.real(0.5, 2))
    if op == "Shrink" and m.coin():
        attributes.update(bias=m.real(0, 1), lambd=m.real(0.1, 1))
    if op == "Gelu" and m.coin():
        attributes["approximate"] = m.choice(["none", "tanh"])
    return op, [x], attributes


def integers(m, x):
    x = m.value(INT)
    return x and (m.choice(["Abs", "Neg", "Sign", "Identity", "Relu", "Not"]), [x], {})


def operand(m, x, low=-2, high=2):
    """A value that broadcasts with x, or nearly always does."""
    shape, kind = m.shape(x), m.kind(x)
    if m.coin():
        fits = [v for v in m.values if m.kind(v) == kind and m.broadcasts(shape, m.shape(v))]
        return m.choice(fits)
    other = [d if m.coin() else 1 for d in shape][m.integer(0, len(shape) + 1):]
    if m.integer(4) == 0 and len(other) < 5:
        other = [m.integer(1, 4)] * (len(shape) == len(other)) + other
    return m.constant(m.array(kind, other, low, high), data=True)


def binary(m, x):
    x = m.value(m.choice([FLOAT, FLOAT, INT, BOOL])) or x
    kind = m.kind(x)
    if kind == BOOL:
        return m.choice(["And", "Or", "Xor", "Equal"]), m.shuffled([x, operand(m, x)]), {}
    ops = ["Add", "Sub", "Mul", "Div", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal", "PRelu"]
    return m.choice(ops + ["Mod"] * (kind == INT)), m.shuffled([x, operand(m, x, 1, 4)]), {}


def mod(m, x):
    return "Mod", [x, operand(m, x, 1, 4)], {"fmod": 1}


def power(m, x):
    base = x if m.coin() else m.constant(m.array(FLOAT, m.shape(x), 0.5, 2), data=True)
    exponent = m.choice([np.float32(2), np.float32([3]), np.float32(0.5), np.float32(-1), np.float32(0), np.int64(2),
                         m.array(FLOAT, m.shape(x)[-1:], -2, 2)])
    return "Pow", [base, m.constant(exponent)], {}


def variadic(m, x):
    inputs = [x] + [operand(m, x) for _ in range(m.integer(0, 3))]
    return m.choice(["Sum", "Mean", "Max", "Min"]), m.shuffled(inputs), {}


def prelu(m, x):
    shape = m.shape(x)
    channels = [shape[1]] + [1] * (len(shape) - 2) if len(shape) > 1 else [1]
    slope = m.choice([channels, [1], shape[-1:], channels[:1], shape])
    return "PRelu", [x, m.constant(m.array(FLOAT, slope), data=True)], {}


def logic(m, x):
    x = m.value(BOOL)
    return x and (m.choice(["Not", "Identity"]), [x], {})


def is_special(m, x):
    return m.choice(["IsNaN", "IsInf"]), [x], {}


def where(m, x):
    condition = m.value(BOOL) if m.coin() else None
    if condition is None or not m.broadcasts(m.shape(condition), m.shape(x)):
        condition = m.constant(m.array(BOOL, [d if m.coin() else 1 for d in m.shape(x)]), data=True)
    x = m.value(m.kind(x)) if m.integer(3) == 0 else x
    return "Where", [condition, *m.shuffled([x, operand(m, x)])], {}


def cast(m, x):
    x = m.value() or x
    to = m.choice([TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL, TensorProto.UINT8,
                   TensorProto.INT8, TensorProto.DOUBLE])
    return "Cast", [x], {"to": to}


def back_to_float(m, x):
    kinds = [v for v in m.values if m.kind(v) != FLOAT]
    return kinds and ("Cast", [m.choice(kinds)], {"to": TensorProto.FLOAT})


def clip(m, x):
    low, high = m.choice([(-0.5, 0.7), (0, 6), (None, 0.3), (-0.2, None)])
    if m.coin():
        return "Clip", [x], {k: float(v) for k, v in (("min", low), ("max", high)) if v is not None}
    names = ["" if v is None else m.constant(np.float32(v), data=True) for v in (low, high)]
    return "Clip", [x] + (names if names[1] else names[:1]), {}


# ---- products

def matmul(m, x):
    shape = m.shape(x)
    if m.integer(4) == 0:
        fits = [v for v in m.values if m.kind(v) == FLOAT and m.shape(v)]
        return "MatMul", [x, m.choice(fits)], {}
    out = m.integer(1, 6)
    if m.coin():
        other = m.choice([[shape[-1], out], [shape[-1]], [*shape[:-2], shape[-1], out], [1, shape[-1], out]])
        return "MatMul", [x, m.constant(m.scaled(other, shape[-1]), data=True)], {}
    rows = shape[-2] if len(shape) > 1 else shape[-1]
    return "MatMul", [m.constant(m.scaled(m.choice([[out, rows], [rows], [2, 1, out, rows]]), rows), data=True), x], {}


def gemm(m, x):
    shape = m.shape(x)
    if len(shape) != 2:
        return None
    ta, tb, out = m.integer(2), m.integer(2), m.integer(1, 7)
    inner, rows = (shape[0], shape[1]) if ta else (shape[1], shape[0])
    weight = m.constant(m.scaled([out, inner] if tb else [inner, out], inner), data=True)
    c = m.choice([None, [out], [1, out], [rows, 1], [rows, out], [], [1]])
    more = {"alpha": m.real(-1, 2), "beta": m.real(-1, 2)} if m.coin() else {}
    return "Gemm", [x, weight] + ([] if c is None else [m.constant(m.array(FLOAT, c), data=True)]), \
        {"transA": ta, "transB": tb, **more}


def einsum(m, x):
    shape = m.shape(x)
    letters = "abcdef"[:len(shape)]
    form = m.integer(4)
    if form == 0:
        return "Einsum", [x], {"equation": "%s->%s" % (letters, "".join(m.shuffled(list(letters))[:m.integer(1, 4)]))}
    if form == 1:
        weight = m.constant(m.scaled([shape[-1], 3], shape[-1]), data=True)
        return "Einsum", [x, weight], {"equation": "%s,%sz->%sz" % (letters, letters[-1], letters[:-1])}
    if form == 2:
        return "Einsum", [x, m.constant(m.array(FLOAT, shape[:1]), data=True)], \
            {"equation": "%s,a->%s" % (letters, letters[::-1])}
    return "Einsum", [x, m.constant(m.scaled([shape[-1], 2], shape[-1]))], {"equation": "...i,ij->...j"}


# ---- windows

def window(m, sides, dilate=True, transposed=False):
    count = len(sides)
    kernel = [m.integer(1, min(4, s + 2)) for s in sides]
    attributes = {"kernel_shape": kernel} if m.coin() else {}
    if m.coin():
        attributes["strides"] = [m.integer(1, 4) for _ in sides]
    if dilate and m.integer(3) == 0:
        attributes["dilations"] = [m.integer(1, 3) for _ in sides]
    form = m.integer(6)
    if form < 3:
        attributes["pads"] = [m.integer(0, max(1, min(3, kernel[i % count]))) for i in range(2 * count)]
    elif form == 3:
        # Of dilated kernels, and where kernels are smaller than strides, ONNX Runtime has other sizes and padding than
        # the definition.
        strides = attributes.get("strides", [1] * count)
        plain = "dilations" not in attributes and not transposed and all(s <= k for s, k in zip(strides, kernel))
        attributes["auto_pad"] = m.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]) if plain else "VALID"
    return kernel, attributes


def convolution(m, x):
    shape = m.shape(x)
    if not 3 <= len(shape) <= 5:
        return None
    kernel, attributes = window(m, shape[2:])
    group = m.choice([1, 1, shape[1]] + [g for g in (2, 3) if shape[1] % g == 0])
    out = group * m.integer(1, 4)
    weight = m.constant(m.scaled([out, shape[1] // group, *kernel], shape[1] // group * np.prod(kernel)), data=True)
    bias = [m.constant(m.array(FLOAT, [out]), data=True)] if m.coin() else []
    return "Conv", [x, weight, *bias], {**attributes, **({"group": group} if group > 1 or m.coin() else {})}


def transposed_convolution(m, x):
    shape = m.shape(x)
    if not 3 <= len(shape) <= 4:
        return None
    kernel, attributes = window(m, shape[2:], transposed=True)
    group = m.choice([1, 1, shape[1]] + [g for g in (2, 3) if shape[1] % g == 0])
    each = m.integer(1, 4)
    weight = m.constant(m.scaled([shape[1], each, *kernel], shape[1] * np.prod(kernel)))
    bias = [m.constant(m.array(FLOAT, [each * group]))] if m.coin() else []
    if m.integer(3) == 0:
        attributes["output_padding"] = [m.integer(0, 2) for _ in kernel]
    if m.integer(5) == 0:
        attributes["output_shape"] = [s * 2 for s in shape[2:]]
    return "ConvTranspose", [x, weight, *bias], {**attributes, "group": group}


def pool(m, x):
    shape = m.shape(x)
    if not 3 <= len(shape) <= 5:
        return None
    op = m.choice(["MaxPool", "AveragePool", "AveragePool", "LpPool"])
    kernel, attributes = window(m, shape[2:])
    attributes["kernel_shape"] = kernel
    if m.coin():
        attributes["ceil_mode"] = m.integer(2)
    if op == "AveragePool" and m.coin():
        attributes["count_include_pad"] = m.integer(2)
    if op == "LpPool" and m.coin():
        attributes["p"] = m.integer(1, 3)
    if op == "MaxPool" and m.integer(4) == 0:
        attributes["storage_order"] = m.integer(2)
        return op, [x], attributes, 2
    return op, [x], attributes


def global_pool(m, x):
    return m.choice(["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]), [x], {}


# ---- normalizations

def batch_norm(m, x):
    channels = m.shape(x)[1:2]
    vector = lambda low, high: m.constant(m.array(FLOAT, channels, low, high), data=True)
    return "BatchNormalization", [x, vector(0.5, 2), vector(-1, 1), vector(-1, 1), vector(0.5, 2)], \
        {"epsilon": 0.01} if m.coin() else {}


def instance_norm(m, x):
    channels = m.shape(x)[1:2]
    return "InstanceNormalization", [x, m.constant(m.array(FLOAT, channels), data=True),
                                     m.constant(m.array(FLOAT, channels), data=True)], {"epsilon": 0.1}


def layer_norm(m, x):
    axis = m.axis(x)
    shape = m.shape(x)[axis:]
    scale = m.constant(m.array(FLOAT, shape), data=True)
    if m.integer(3) == 0:
        return "RMSNormalization", [x, scale], {"axis": axis, "epsilon": 0.1}
    return "LayerNormalization", [x, scale] + ([m.constant(m.array(FLOAT, shape), data=True)] if m.coin() else []), \
        {"axis": axis, "epsilon": 0.1}


def group_norm(m, x):
    shape = m.shape(x)
    groups = m.choice([g for g in (1, 2, 3, shape[1]) if shape[1] % g == 0]) if len(shape) > 1 else 1
    vector = [m.constant(m.array(FLOAT, [m.choice([groups, shape[1]]) if m.opset < 21 else shape[1]]), data=True)
              for _ in range(2)] if len(shape) > 2 else []
    return "GroupNormalization", [x, *vector], {"num_groups": groups, "epsilon": 0.1}


def lrn(m, x):
    return "LRN", [x], {"size": m.integer(1, 6), "alpha": m.real(0.1, 1), "beta": m.real(0.2, 1),
                        "bias": m.real(0.5, 2)}


def lp_norm(m, x):
    return "LpNormalization", [x], {"axis": m.axis(x), "p": m.integer(1, 3)}


def mean_variance_norm(m, x):
    rank = len(m.shape(x))
    return "MeanVarianceNormalization", [x], {"axes": sorted(m.some(range(rank)))} if m.coin() or rank != 4 else {}


# ---- reductions

REDUCE = ["Reduce" + kind for kind in "Mean Sum Max Min Prod L1 L2 SumSquare LogSum LogSumExp".split()]


def reduce(m, x):
    x = m.value(m.choice([FLOAT, FLOAT, FLOAT, INT])) or x
    rank = len(m.shape(x))
    axes = [a - rank * m.integer(2) for a in m.some(range(rank))]
    attributes = {"keepdims": m.integer(2)} if m.coin() else {}
    inputs = [x]
    form = m.integer(4)
    if form == 0:
        attributes["axes"] = axes
    elif form < 3:
        inputs.append(m.constant(np.array(axes, np.int64)))
    if m.integer(6) == 0:
        attributes["noop_with_empty_axes"] = m.integer(2)
    return m.choice(REDUCE), inputs, attributes


def arg_best(m, x):
    x = m.value(m.choice([FLOAT, INT])) or x
    attributes = {"axis": m.axis(x), "keepdims": m.integer(2)}
    if m.coin():
        attributes["select_last_index"] = m.integer(2)
    return m.choice(["ArgMax", "ArgMin"]), [x], attributes


def softmax(m, x):
    return m.choice(["Softmax", "LogSoftmax", "Hardmax"]), [x], {"axis": m.axis(x)} if m.integer(4) else {}


def cumulative(m, x):
    x = m.value(m.choice([FLOAT, INT])) or x
    return "CumSum", [x, m.constant(np.asarray(m.axis(x), np.int64))], {"exclusive": m.integer(2),
                                                                        "reverse": m.integer(2)}


def top_k(m, x):
    x = m.value(m.choice([FLOAT, INT])) or x
    axis = m.axis(x)
    k = m.integer(1, m.shape(x)[axis] + 1)
    attributes = {"axis": axis} if m.coin() or axis != -1 else {}
    if m.integer(4) == 0:
        return "TopK", [x], {**attributes, "k": k}, 2
    if m.coin():
        attributes["largest"] = m.integer(2)
    return "TopK", [x, m.constant(np.array([k], np.int64))], attributes, 2


# ---- quantisation

def quantised(m, x):
    per_axis = m.coin()
    axis = m.axis(x)
    shape = m.shape(x)[axis:][:1] if per_axis and axis >= 0 else []
    dtype = m.choice([np.uint8, np.int8])
    scale = m.constant(m.array(FLOAT, shape, 0.01, 0.1))
    zero = m.constant(np.asarray(m.random.integers(0, 100, shape), dtype))
    middle = m.fresh()
    more = {"axis": axis} if shape else {}
    return [("QuantizeLinear", [x, scale, zero], more, [middle]),
            ("DequantizeLinear", [middle, scale, zero], more, [m.fresh()])]


def dequantised(m, x):
    shape = m.shape(x)
    codes = m.constant(m.random.integers(-128, 127, shape).astype(np.int8))
    return [("DequantizeLinear", [codes, m.constant(np.float32(0.02))], {}, [v := m.fresh()]),
            ("Add", [x, v], {}, [m.fresh()])]


# ---- recurrent layers, attention

def recurrent(m, x):
    shape = m.shape(x)
    if len(shape) != 3:
        return None
    op, gates = m.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    direction = m.choice(["forward", "reverse", "bidirectional"])
    d, h = 2 if direction == "bidirectional" else 1, m.integer(1, 5)
    inputs = [x, m.constant(m.scaled([d, gates * h, shape[2]], shape[2])), m.constant(m.scaled([d, gates * h, h], h))]
    inputs.append(m.constant(m.array(FLOAT, [d, 2 * gates * h])) if m.coin() else "")
    inputs.append(m.constant(m.random.integers(1, shape[0] + 1, shape[1]).astype(np.int32)) if m.coin() else "")
    inputs.append(m.constant(m.array(FLOAT, [d, shape[1], h]), data=True) if m.coin() else "")
    attributes = {"direction": direction, "hidden_size": h}
    if op == "GRU":
        attributes["linear_before_reset"] = m.integer(2)
    if m.integer(4) == 0:
        attributes["clip"] = 0.5
    while inputs[-1] == "":
        inputs.pop()
    return op, inputs, attributes, m.integer(1, 4 if op == "LSTM" else 3)


def attention(m, x):
    shape = m.shape(x)
    if len(shape) != 4 or m.opset < 23:
        return None
    k = m.constant(m.array(FLOAT, [shape[0], shape[1], 5, shape[3]]), data=True)
    v = m.constant(m.array(FLOAT, [shape[0], shape[1], 5, 3]), data=True)
    return "Attention", [x, k, v], {"is_causal": m.integer(2)} if m.coin() else {}


# ---- graphs inside nodes

def body(nodes, inputs, outputs):
    info = lambda name, kind: helper.make_tensor_value_info(name, kind, None)
    return helper.make_graph(nodes, "body", [info(*i) for i in inputs], [info(*o) for o in outputs])


def loop(m, x):
    made = body([helper.make_node("Mul", ["s", "s"], ["t"]), helper.make_node("Tanh", ["t"], ["u"]),
                 helper.make_node("Add", ["u", x], ["v"]), helper.make_node("Identity", ["c"], ["d"])],
                [("i", TensorProto.INT64), ("c", TensorProto.BOOL), ("s", TensorProto.FLOAT)],
                [("d", TensorProto.BOOL), ("v", TensorProto.FLOAT), ("u", TensorProto.FLOAT)])
    return "Loop", [m.constant(np.asarray(m.integer(1, 4), np.int64)), "", x], {"body": made}, 2


def scan(m, x):
    shape = m.shape(x)
    if len(shape) < 2:
        return None
    axis = m.integer(len(shape))
    state = m.constant(m.array(FLOAT, shape[:axis] + shape[axis + 1:]), data=True)
    made = body([helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Sigmoid", ["t"], ["u"])],
                [("s", TensorProto.FLOAT), ("e", TensorProto.FLOAT)],
                [("u", TensorProto.FLOAT), ("t", TensorProto.FLOAT)])
    return "Scan", [state, x], {"body": made, "num_scan_inputs": 1, "scan_input_axes": [axis],
                                "scan_input_directions": [m.integer(2)], "scan_output_axes": [m.integer(len(shape))],
                                "scan_output_directions": [m.integer(2)]}, 2


def decision(m, x):
    """An If whose condition is a constant, or computed."""
    branch = lambda op: body([helper.make_node(op, [x], ["b"])], [], [("b", TensorProto.FLOAT)])
    attributes = {"then_branch": branch("Neg"), "else_branch": branch("Abs")}
    if m.coin():
        return "If", [m.constant(np.array(bool(m.integer(2))))], attributes
    names = [m.fresh() for _ in range(2)]
    return [("ReduceMax", [x], {"keepdims": 0}, [names[0]]),
            ("Greater", [names[0], m.constant(np.float32(1))], {}, [names[1]]),
            ("If", [names[1]], attributes, [m.fresh()])]


def sequence(m, x):
    shape = m.shape(x)
    axis = m.axis(x)
    names = [m.fresh() for _ in range(4)]
    keep = {} if m.coin() else {"keepdims": m.integer(2)}
    at = m.constant(np.asarray(m.integer(-1, 1), np.int64))
    nodes = [("SplitToSequence", [x], {"axis": axis, **keep}, [names[0]])]
    if m.coin():
        return nodes + [("SequenceAt", [names[0], at], {}, [names[1]])]
    insert = [("SequenceAt", [names[0], at], {}, [names[1]]), ("SequenceInsert", [names[0], names[1]], {}, [names[2]])]
    return nodes + insert + [("ConcatFromSequence", [names[2]], {"axis": min(axis % len(shape), len(shape) - 2)
                                                                if keep.get("keepdims") == 0 else axis,
                                                                "new_axis": 0}, [names[3]])]


def shape_of(m, x):
    return m.choice(["Shape", "Size"]), [m.value() or x], {}


def eye_like(m, x):
    return ("EyeLike", [x], {"k": m.integer(-2, 3)}) if len(m.shape(x)) == 2 else None


def bits(m, x):
    x = m.value(INT)
    return x and (m.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor"]), [x, operand(m, x, 0, 8)], {})


def dft(m, x):
    if m.opset < 17 or len(m.shape(x)) < 2:
        return None
    shape = m.shape(x)
    axis = m.integer(len(shape))
    names = [m.fresh(), m.fresh()]
    unsqueezed = ("Unsqueeze", [x, m.constant(np.array([len(shape)], np.int64))], {}, [names[0]])
    if m.opset < 20:
        return [unsqueezed, ("DFT", [names[0]], {"axis": axis, "onesided": m.integer(2)}, [names[1]])]
    return [unsqueezed, ("DFT", [names[0], "", m.constant(np.asarray(axis, np.int64))], {"onesided": m.integer(2)},
                         [names[1]])]


HELPERS = ("operand", "window", "body")
FUNCTIONS = random_moves.FUNCTIONS + [f for name, f in list(globals().items())
                                      if getattr(f, "__module__", "") == __name__ and name not in HELPERS]
# Drawn more often: they have more forms than others.
FUNCTIONS += 2 * [unary, binary] + [convolution, convolution, pool, pool, reduce, matmul, back_to_float,
                                    random_moves.slices, random_moves.resize]

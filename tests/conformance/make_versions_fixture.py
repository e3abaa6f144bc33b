#!/usr/bin/env python3
"""Writes versions_fixture.inc: ONNX files of old opsets, of newer schemas and with small types, and their results.

Results are NumPy's, by the definition that the changelog of ONNX has for the operator and its opset. Needs python3-onnx
and python3-numpy. With --models FOLDER the files are written there, too, to try them elsewhere.
"""
import os
import sys

import numpy as np
from onnx import AttributeProto, FunctionProto, TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
rows, models = [], {}
random = np.random.default_rng(7)
TYPES = {np.dtype("float32"): TensorProto.FLOAT, np.dtype("int32"): TensorProto.INT32,
         np.dtype("bool"): TensorProto.BOOL, np.dtype("int64"): TensorProto.INT64,
         np.dtype("float16"): TensorProto.FLOAT16}


def model(opset, nodes, inputs, outputs, constants=(), functions=(), ir_version=3, more_opsets=()):
    def infos(values):
        return [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in values]
    constants = [c if isinstance(c, TensorProto) else numpy_helper.from_array(c[1], c[0]) for c in constants]
    # Before IR version 4, initializers are inputs as well.
    listed = infos(inputs) + [helper.make_tensor_value_info(c.name, c.data_type, list(c.dims)) for c in constants]
    graph = helper.make_graph(nodes, "g", listed if ir_version < 4 else infos(inputs), infos(outputs), constants)
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, v) for d, v in more_opsets]
    made = helper.make_model(graph, opset_imports=imports, functions=list(functions))
    made.ir_version = ir_version
    return made


def add(name, made, inputs, outputs=(), says=""):
    """`inputs` and `outputs`: arrays, in the file's order; or the sentence that refuses the file."""
    data = made.SerializeToString()
    models[name] = data

    def braces(arrays):
        texts = []
        for a in arrays:
            a = np.asarray(a)
            values = ", ".join("%.9g" % v for v in a.astype(np.float64).ravel())
            texts.append("{{%s}, {%s}}" % (", ".join(map(str, a.shape)), values))
        return "{%s}" % ", ".join(texts)

    rows.append('{"%s",\n "%s",\n %s, %s,\n "%s"},' % (name, data.hex(), braces(inputs), braces(outputs), says))


def one(name, opset, op, inputs, outputs=(), says="", constants=(), **attributes):
    """A file of one node; `inputs` are x0, x1...; `constants` follow them."""
    names = ["x%d" % i for i in range(len(inputs))]
    node = helper.make_node(op, names + [c[0] for c in constants],
                            ["y%d" % i for i in range(max(len(outputs), 1))], **attributes)
    kinds = [TYPES[y.dtype] for y in outputs] or [TensorProto.FLOAT]
    made = model(opset, [node], [(n, TYPES[x.dtype], x.shape) for n, x in zip(names, inputs)],
                 [("y%d" % i, kind, None) for i, kind in enumerate(kinds)], constants)
    add(name, made, inputs, outputs, says)


def floats(*shape):
    return random.integers(-8, 9, shape).astype(np.float32) / 4


# ---- old opsets: broadcasting along an axis
a, channel, square = floats(2, 3, 4), floats(3), floats(4, 4)
vector, last, pair = floats(4), floats(4) + 5, floats(2, 3)
along = channel.reshape(3, 1)
for opset in (1, 6):
    one("add_axis_%d" % opset, opset, "Add", [a, channel], [a + along], broadcast=1, axis=1)
one("mul_axis_of_equal_sizes", 6, "Mul", [square, vector], [square * vector.reshape(4, 1)], broadcast=1, axis=0)
one("sub_axis_of_a_constant", 6, "Sub", [a], [a - along], constants=[("c", channel)], broadcast=1, axis=1)
one("div_last_dimensions", 6, "Div", [a, last], [a / last], broadcast=1)
one("pow_axis", 6, "Pow", [np.abs(a) + 1, channel], [(np.abs(a) + 1) ** along], broadcast=1, axis=1)
one("add_two_dimensions", 6, "Add", [a, pair], [a + pair.reshape(2, 3, 1)], broadcast=1, axis=0)
one("greater_axis", 1, "Greater", [a, channel], [a > along], broadcast=1, axis=1)
one("less_axis", 1, "Less", [a, channel], [a < along], broadcast=1, axis=1)
whole = (a * 4).astype(np.int32)
whole_channel = (channel * 4).astype(np.int32)
one("equal_axis", 1, "Equal", [whole, whole_channel], [whole == whole_channel.reshape(3, 1)], broadcast=1, axis=1)
bits, few = a > 0, channel > 0
one("and_axis", 1, "And", [bits, few], [bits & few.reshape(3, 1)], broadcast=1, axis=1)
one("or_axis", 1, "Or", [bits, few], [bits | few.reshape(3, 1)], broadcast=1, axis=1)
one("xor_axis", 1, "Xor", [bits, few], [bits ^ few.reshape(3, 1)], broadcast=1, axis=1)
one("add_of_one_element", 6, "Add", [a, np.full((1, 1), 2, np.float32)], [a + 2], broadcast=1)
one("add_without_broadcast", 6, "Add", [a, last], says="inputs of [2,3,4] and [4] without broadcast=1")
one("add_that_does_not_fit", 6, "Add", [a, channel], says="[3] does not broadcast to [2,3,4]", broadcast=1)
one("add_axis_in_a_newer_opset", 7, "Add", [a, last], axis=1,
    says="attribute 'axis' is 1: it is not supported in opset 7")

# ---- old opsets, operator by operator
x4 = floats(2, 3, 4, 4)
slope = np.abs(channel) + 0.25
one("prelu_slope_per_channel", 6, "PRelu", [x4], [np.where(x4 < 0, x4 * slope.reshape(3, 1, 1), x4)],
    constants=[("slope", slope)])
m, k = floats(2, 3), floats(3, 4)
one("gemm_broadcast", 6, "Gemm", [m], [m @ k + last], constants=[("b", k), ("c", last)], broadcast=1)
one("gemm_without_broadcast", 6, "Gemm", [m], says="C is [4] for a product of [2,4] without broadcast=1",
    constants=[("b", k), ("c", last)])
gamma, beta, mean, var = slope, channel, floats(3), np.abs(floats(3)) + 1
statistics = [("gamma", gamma), ("beta", beta), ("mean", mean), ("var", var)]


def normalized(x, shape):
    g, b, m_, v = [c[1].reshape(shape) for c in statistics]
    return ((x - m_) / np.sqrt(v + 1e-5) * g + b).astype(np.float32)


one("batch_normalization_is_test", 6, "BatchNormalization", [x4], [normalized(x4, (3, 1, 1))], constants=statistics,
    is_test=1)
one("batch_normalization_in_training", 6, "BatchNormalization", [x4], says="attribute 'is_test' is 0",
    constants=statistics)
x2 = floats(2, 3, 2)
statistics = [(name, np.abs(floats(3, 2)) + 0.5) for name in ("gamma", "beta", "mean", "var")]
one("batch_normalization_per_element", 7, "BatchNormalization", [x2], [normalized(x2, (3, 2))],
    constants=statistics, spatial=0)
one("batch_normalization_spatial_in_opset_9", 9, "BatchNormalization", [x2], constants=statistics, spatial=0,
    says="attribute 'spatial' is 0: it is not supported in opset 9")
one("dropout_is_test", 6, "Dropout", [a], [a], is_test=1)
one("dropout_mask", 7, "Dropout", [a], [a, 0 * a], ratio=0.25)  # as in ONNX Runtime: it is undefined here
one("dropout_in_training", 6, "Dropout", [a], says="it is in training mode")
one("cast_by_name", 1, "Cast", [a], [a.astype(np.int32)], to="INT32")
one("concat_channels", 1, "Concat", [a, a], [np.concatenate([a, a], 1)])
one("concat_without_axis", 4, "Concat", [a, a], says="attribute 'axis' is missing")
one("selu_1", 1, "Selu", [a], [(1.0507 * np.where(a > 0, a, 1.6732 * (np.exp(a) - 1))).astype(np.float32)])
one("pad_by_paddings", 1, "Pad", [a], [np.pad(a, ((0, 0), (1, 0), (0, 2)), constant_values=3)],
    paddings=[0, 1, 0, 0, 0, 2], value=3.0)
one("pad_by_pads", 2, "Pad", [a], [np.pad(a, ((0, 0), (1, 0), (0, 2)), mode="edge")], pads=[0, 1, 0, 0, 0, 2],
    mode="edge")
blocks = x4.reshape(2, 3, 2, 2, 2, 2)
one("lp_pool_of_float_p", 1, "LpPool", [x4], [np.sqrt((blocks ** 2).sum((3, 5)))], kernel_shape=[2, 2], strides=[2, 2],
    p=2.0)
up = x4.repeat(2, 2).repeat(3, 3)
one("upsample_by_sides", 1, "Upsample", [x4], [up], height_scale=2.0, width_scale=3.0)
one("upsample_by_scales", 7, "Upsample", [x4], [up], scales=[1.0, 1.0, 2.0, 3.0])
# As in the node tests of ONNX 1.5, and in ONNX Runtime.
counted = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)
one("resize_10_shrinks", 10, "Resize", [counted], [np.array([[[[1, 3]]]], np.float32)],
    constants=[("scales", np.array([1, 1, 0.6, 0.6], np.float32))])
one("tile_along_an_axis", 1, "Tile", [a], [np.tile(a, (1, 2, 1))],
    constants=[("tiles", np.array(2, np.float32)), ("axis", np.array(1, np.float32))])
one("split_along_an_axis", 1, "Split", [a], [a[:, :1], a[:, 1:]], axis=1, split=[1, 2])
one("split_without_axis", 1, "Split", [a], says="attribute 'axis' is missing")
index = np.array([1, -1, 3], np.int64)
one("one_hot_of_negative_indices", 9, "OneHot", [index], [np.array([[2, 5, 2], [2, 2, 2], [2, 2, 2]], np.float32)],
    constants=[("depth", np.array([3], np.int64)), ("values", np.array([2, 5], np.float32))])
one("one_hot_of_counted_indices", 11, "OneHot", [index], [np.array([[2, 5, 2], [2, 2, 5], [2, 2, 2]], np.float32)],
    constants=[("depth", np.array([3], np.int64)), ("values", np.array([2, 5], np.float32))])
e = np.exp(a.reshape(2, 12))
one("softmax_of_two_dimensions", 11, "Softmax", [a], [(e / e.sum(1, keepdims=True)).reshape(a.shape)])
one("log_softmax_of_two_dimensions", 1, "LogSoftmax", [a], [np.log(e / e.sum(1, keepdims=True)).reshape(a.shape)])
one("clip_by_attributes", 6, "Clip", [a], [np.clip(a, -0.5, 1)], min=-0.5, max=1.0)
one("reshape_by_attribute", 1, "Reshape", [a], [a.reshape(2, 2, 6)], shape=[0, 2, -1])
thin = floats(1, 3, 1)
one("squeeze_by_attribute", 1, "Squeeze", [thin], [thin[:, :, 0]], axes=[2])
one("unsqueeze_by_attribute", 11, "Unsqueeze", [a], [a[:, None, :, :, None]], axes=[1, -1])
one("slice_by_attributes", 1, "Slice", [a], [a[:, 1:, :-1]], axes=[1, 2], starts=[1, 0], ends=[9, -1])
one("reduce_by_attribute", 11, "ReduceSum", [a], [a.sum(1)], axes=[1], keepdims=0)
order = np.argsort(-a, axis=2, kind="stable")[:, :, :2]
one("top_k_by_attribute", 1, "TopK", [a], [np.take_along_axis(a, order, 2), order.astype(np.int64)], k=2)
one("relu_with_consumed_inputs", 1, "Relu", [a], [np.maximum(a, 0)], consumed_inputs=[1])
deep = floats(1, 8, 2, 3)
one("depth_to_space", 1, "DepthToSpace", [deep],
    [deep.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)], blocksize=2)
qkv = floats(1, 2, 3, 4)
one("attention_window", 25, "Attention", [qkv, qkv, qkv], left_window_size=1,
    says="attribute 'left_window_size' is 1: it is not supported in opset 25")

# IR version 1 names neither opset nor the types of attributes.
first = helper.make_node("LeakyRelu", ["x0"], ["y0"], alpha=0.5)
first.attribute[0].ClearField("type")
oldest = model(1, [first], [("x0", TensorProto.FLOAT, a.shape)], [("y0", TensorProto.FLOAT, None)], ir_version=1)
oldest.ClearField("opset_import")
add("ir_version_1", oldest, [a], [np.where(a < 0, a * np.float32(0.5), a)])


# ---- newer files
def relu(opset=17, ir_version=8):
    return model(opset, [helper.make_node("Relu", ["x0"], ["y0"])], [("x0", TensorProto.FLOAT, a.shape)],
                 [("y0", TensorProto.FLOAT, a.shape)], [("unused", channel)], ir_version=ir_version)


def field(message, number, text=b"?"):
    """`message` with a field of bytes that the schema does not have."""
    tag = number << 3 | 2
    message.MergeFromString(bytes([tag & 127 | 128, tag >> 7]) + bytes([len(text)]) + text)


add("newest_ir_version", relu(ir_version=14), [a], [np.maximum(a, 0)])
add("newer_ir_version", relu(ir_version=15), [a], says="its IR version is 15, the newest that is understood is 14")
add("newest_opset", relu(opset=28), [a], [np.maximum(a, 0)])
add("newer_opset", relu(opset=29), [a], says="it needs opset 29 of ai.onnx, the newest that is understood is 28")
for message, of in (("ModelProto", lambda m_: m_), ("GraphProto", lambda m_: m_.graph),
                    ("NodeProto", lambda m_: m_.graph.node[0]), ("TensorProto", lambda m_: m_.graph.initializer[0]),
                    ("ValueInfoProto", lambda m_: m_.graph.input[0]), ("TypeProto", lambda m_: m_.graph.output[0].type),
                    ("OperatorSetIdProto", lambda m_: m_.opset_import[0])):
    made = relu()
    field(of(made), 99)
    add("field_99_of_" + message, made, [a], says="field 99 of " + message)
made = relu()
made.graph.node[0].attribute.append(helper.make_attribute("alpha", 1.0))
field(made.graph.node[0].attribute[0], 99)
add("field_99_of_AttributeProto", made, [a], says="field 99 of AttributeProto 'alpha'")
made = relu()
made.graph.node[0].attribute.append(helper.make_attribute("alpha", 1.0))
made.graph.node[0].attribute[0].MergeFromString(bytes([0xa0, 0x01, 77]))  # type = 77
add("unknown_type_of_attribute", made, [a], says="field 20 of AttributeProto 'alpha', or its value,")
made = relu()
made.metadata_props.add(key="author", value="someone")
field(made.graph, 16, b"\x0a\x01k\x12\x01v")           # metadata_props
field(made.graph.node[0], 9, b"\x0a\x01k\x12\x01v")    # metadata_props
field(made.graph.node[0], 10, b"\x0a\x04mesh")         # device_configurations
field(made, 26, b"\x0a\x04mesh\x10\x02")               # configuration
made.graph.node[0].doc_string = "text"
add("annotations", made, [a], [np.maximum(a, 0)])
made = relu()
made.graph.initializer[0].segment.begin = 1
add("segments", made, [a], says="tensor 'unused' is stored in segments")


# ---- functions
def function(nodes, opset, attributes=(), defaults=(), overload=b""):
    made_ = FunctionProto(name="F", domain="local", input=["x"], output=["y"], node=nodes, attribute=attributes,
                          opset_import=[helper.make_opsetid("", opset)])
    for default in defaults:
        field(made_, 11, default.SerializeToString())
    if overload:
        field(made_, 13, overload)
    return made_


def leaky():
    node = helper.make_node("LeakyRelu", ["x"], ["y"])
    node.attribute.append(AttributeProto(name="alpha", type=AttributeProto.FLOAT, ref_attr_name="slope"))
    return node


def call(overload=b"", **attributes):
    node = helper.make_node("F", ["x0"], ["y0"], domain="local", **attributes)
    if overload:
        field(node, 8, overload)
    return node


def calling(name, functions, node, expected=(), says="", opset=17):
    add(name, model(opset, [node], [("x0", TensorProto.FLOAT, a.shape)], [("y0", TensorProto.FLOAT, None)],
                    functions=functions, ir_version=10, more_opsets=[("local", 1)]), [a], expected, says)


def leaked(slope_):
    return [np.where(a < 0, a * np.float32(slope_), a)]


default = helper.make_attribute("slope", 0.25)
calling("attribute_default", [function([leaky()], 17, defaults=[default])], call(), leaked(0.25))
calling("attribute_over_default", [function([leaky()], 17, defaults=[default])], call(slope=0.5), leaked(0.5))
calling("attribute_without_default", [function([leaky()], 17, ["slope"])], call(), leaked(0.01))
calling("attribute_that_is_not_there", [function([leaky()], 17)], call(slope=0.5),
        says="with attribute 'slope', which it does not have")
overloads = [function([helper.make_node("Neg", ["x"], ["y"])], 17),
             function([helper.make_node("Relu", ["x"], ["y"])], 17, overload=b"second")]
calling("function_without_overload", overloads, call(), [-a])
calling("function_by_overload", overloads, call(b"second"), [np.maximum(a, 0)])
calling("function_of_no_overload", overloads, call(b"third"), says="no function of that name with the overload 'third'")
calling("function_twice", overloads[:1] * 2, call(), says="two functions have the name 'F'")
calling("function_of_its_own_opset", [function([helper.make_node("Softmax", ["x"], ["y"], axis=1)], 11)], call(),
        [(e / e.sum(1, keepdims=True)).reshape(a.shape)])
calling("function_of_a_newer_opset", [function([helper.make_node("Relu", ["x"], ["y"])], 29)], call(),
        says="it needs opset 29 of ai.onnx")


# ---- small types
def packed(values, bits):
    codes = [int(v) & (1 << bits) - 1 for v in np.asarray(values).ravel()]
    each = 8 // bits
    codes += [0] * (-len(codes) % each)
    return [sum(codes[i + j] << bits * j for j in range(each)) for i in range(0, len(codes), each)]


def small(name, kind, shape, data, raw):
    tensor = TensorProto(name=name, data_type=kind, dims=shape)
    if raw:
        tensor.raw_data = bytes(data)
    else:
        tensor.int32_data.extend(data)
    return tensor


def dequantised(name, kind, weight, data, scale, zero=None, zero_data=None, raw=True, values=None, **attributes):
    """x0 + DequantizeLinear(w, scale, zero). `values`: of the scale and the zero point for each weight."""
    constants = [small("w", kind, weight.shape, data, raw), ("scale", scale)]
    if zero is not None:
        constants.append(small("zero", kind, zero.shape, zero_data, raw))
    nodes = [helper.make_node("DequantizeLinear", ["w", "scale", "zero"][:len(constants)], ["d"], **attributes),
             helper.make_node("Add", ["x0", "d"], ["y0"])]
    x = floats(*weight.shape)
    scales, zeros = values
    add(name, model(25, nodes, [("x0", TensorProto.FLOAT, x.shape)], [("y0", TensorProto.FLOAT, None)], constants,
                    ir_version=13), [x], [(x + (weight - zeros) * scales).astype(np.float32)])


UINT4, INT4, UINT2, INT2, FLOAT4 = 21, 22, 25, 26, 23
w = random.integers(-8, 8, (3, 5))
two = np.array(0.5, np.float32)
dequantised("int4_per_tensor", INT4, w, packed(w, 4), two, values=(0.5, 0))
dequantised("int4_in_int32_data", INT4, w, packed(w, 4), two, raw=False, values=(0.5, 0))
columns = (np.arange(5) + 1).astype(np.float32) / 8
zero = np.array([1, -8, 7, 0, -3])
dequantised("int4_per_channel", INT4, w, packed(w, 4), columns, zero, packed(zero, 4), axis=1, values=(columns, zero))
u = random.integers(0, 16, (6, 4))
scales = (np.arange(8).reshape(2, 4) + 1).astype(np.float32) / 8
zeros = random.integers(0, 16, (2, 4))
dequantised("uint4_in_blocks", UINT4, u, packed(u, 4), scales, zeros, packed(zeros, 4), axis=0, block_size=3,
            values=(scales.repeat(3, 0), zeros.repeat(3, 0)))
q = random.integers(0, 4, (3, 3))
dequantised("uint2_per_tensor", UINT2, q, packed(q, 2), two, values=(0.5, 0))
dequantised("int2_per_tensor", INT2, q - 2, packed(q - 2, 2), two, values=(0.5, 0))
# By hand from the tables of the specification: sign, exponent, mantissa.
four = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -6])
dequantised("float4e2m1", FLOAT4, four, packed([0, 1, 2, 3, 4, 5, 6, 7, 9, 15], 4), two, values=(0.5, 0))
dequantised("float8e4m3fn", 17, np.array([1, 448, -448, 2.0 ** -9, 0.875 * 2.0 ** -6]), [0x38, 0x7e, 0xfe, 0x01, 0x07],
            two, values=(0.5, 0))
dequantised("float8e4m3fnuz", 18, np.array([1, 240, -240, 2.0 ** -10]), [0x40, 0x7f, 0xff, 0x01], two, values=(0.5, 0))
dequantised("float8e5m2", 19, np.array([1, 57344, -57344, 2.0 ** -16]), [0x3c, 0x7b, 0xfb, 0x01], two, values=(0.5, 0))
dequantised("float8e5m2fnuz", 20, np.array([1, 57344, -57344, 2.0 ** -17]), [0x40, 0x7f, 0xff, 0x01], two,
            values=(0.5, 0))


def beside_complex(read):
    pair_ = TensorProto(name="c", data_type=TensorProto.COMPLEX64, dims=[1], float_data=[1, 2])
    return model(17, [helper.make_node("Add" if read else "Relu", ["x0", "c"] if read else ["x0"], ["y0"])],
                 [("x0", TensorProto.FLOAT, a.shape)], [("y0", TensorProto.FLOAT, None)], [pair_], ir_version=8)


add("complex_numbers", beside_complex(True), [a],
    says="node 'y0' (Add, opset 17): tensor 'c' has elements of type complex64, which are not supported")
add("complex_numbers_unread", beside_complex(False), [a], [np.maximum(a, 0)])
add("quantized_to_float8",
    model(19, [helper.make_node("QuantizeLinear", ["x0", "scale", "zero"], ["y0"])],
          [("x0", TensorProto.FLOAT, a.shape)], [("y0", TensorProto.FLOAT, None)],
          [("scale", two), small("zero", 17, [], [0], True)], ir_version=9), [a], says="it quantizes to float8e4m3fn")

# ---- constant outputs beside computed ones
constants = [("scale", np.array(4.605, np.float32)), ("ids", np.array([3, -1], np.int64)), ("on", np.array([True])),
             ("map", floats(1, 2, 2, 3)), ("weight", floats(2, 2).astype(np.float16))]
nodes = [helper.make_node("Exp", ["scale"], ["y0"]), helper.make_node("Relu", ["x0"], ["y1"])]
nodes += [helper.make_node("Identity", [c[0]], ["y%d" % (i + 2)]) for i, c in enumerate(constants[1:])]
expected = [np.exp(np.float32(4.605)), np.maximum(a, 0)] + [c[1] for c in constants[1:]]
made = model(17, nodes, [("x0", TensorProto.FLOAT, a.shape)],
             [("y%d" % i, TYPES[np.asarray(y).dtype], np.asarray(y).shape) for i, y in enumerate(expected)],
             constants, ir_version=8)
add("constant_outputs", made, [a], expected)
made = model(17, [helper.make_node("Relu", ["x0"], ["y0"]), helper.make_node("Identity", ["none"], ["y1"])],
             [("x0", TensorProto.FLOAT, a.shape)], [("y0", TensorProto.FLOAT, None), ("y1", TensorProto.FLOAT, None)],
             [("none", np.zeros((2, 0), np.float32))], ir_version=8)
add("constant_output_without_elements", made, [a], [np.maximum(a, 0)])
made = model(17, [helper.make_node("Relu", ["x0"], ["y0"]), helper.make_node("Identity", ["ids"], ["y1"])],
             [("x0", TensorProto.FLOAT, a.shape)], [("y0", TensorProto.FLOAT, None), ("y1", TensorProto.INT64, None)],
             [("ids", np.array([1 << 40], np.int64))], ir_version=8)
add("constant_output_beyond_32_bits", made, [a], says="output 'y1': 1099511627776 is beyond 32 bits")

if len(sys.argv) > 2 and sys.argv[1] == "--models":
    for name, data in models.items():
        with open(os.path.join(sys.argv[2], name + ".onnx"), "wb") as file:
            file.write(data)
with open(os.path.join(HERE, "versions_fixture.inc"), "w", encoding="utf-8") as file:
    file.write("// By make_versions_fixture.py: name, file, inputs, outputs or the sentence that refuses it.\n")
    file.write("\n".join(rows) + "\n")
print("%d cases" % len(rows))

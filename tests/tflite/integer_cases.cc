// Operators on integers with scales.
#include <cmath>

#include "tests/tflite/operator_cases.h"

namespace ferry::testing::on_integers {
namespace {

using Act = schema::ActivationFunctionType;
using Kind = schema::BuiltinOptions;
using Op = schema::BuiltinOperator;
using Padding = schema::Padding;
using Shape = FileBuilder::Shape;
using Type = FileBuilder::Type;
using Outputs = std::vector<int>;

// How integers stand for real numbers: (integer - zero) * scale.
struct Affine {
  float scale;
  int64_t zero;
};
constexpr Affine kIn = {0.05f, -10}, kIn2 = {0.03f, 20}, kOut = {0.08f, 5};
constexpr int64_t kUnsigned = 128;  // what unsigned integers add to zero points

auto scales(FileBuilder& b, Type type, Affine affine) {
  return b.scale({affine.scale}, {affine.zero + (type == Type::UINT8 ? kUnsigned : 0)});
}
int input(FileBuilder& b, const Shape& shape, Affine affine = kIn, Type type = Type::INT8) {
  return b.input(shape, type, scales(b, type, affine));
}
int output(FileBuilder& b, const Shape& shape, Affine affine = kOut, Type type = Type::INT8) {
  return b.activation(shape, type, scales(b, type, affine));
}
int add(FileBuilder& b, Op op, const std::vector<int>& inputs, int to, Kind kind = Kind::NONE,
        flatbuffers::Offset<void> options = 0, int version = 2) {
  b.op(op, inputs, {to}, kind, options, version);
  return to;
}

template <typename T>
std::vector<T> integers(size_t count, uint32_t seed, float low, float high) {
  std::vector<T> out;
  for (const float v : random_values(count, seed, low, high)) out.push_back(static_cast<T>(std::nearbyint(v)));
  return out;
}

// A weight of -127 to 127 with a scale per index of `axis`, and the bias that fits it.
struct Weights {
  int filter, bias;
};
template <typename Bias = int32_t>
Weights weights(FileBuilder& b, const Shape& shape, int axis, float input_scale) {
  const auto channels = static_cast<size_t>(shape[static_cast<size_t>(axis)]);
  std::vector<float> by_channel, of_bias;
  for (size_t c = 0; c < channels; ++c) {
    by_channel.push_back(0.004f + 0.003f * static_cast<float>(c % 5));
    of_bias.push_back(by_channel.back() * input_scale);
  }
  const std::vector<int64_t> zeros(channels);
  Weights out;
  out.filter = b.constant_of(shape, Type::INT8, integers<int8_t>(FileBuilder::elements(shape), 1, -127, 127),
                             b.scale(by_channel, zeros, axis));
  out.bias = b.constant_of({static_cast<int32_t>(channels)}, sizeof(Bias) == 4 ? Type::INT32 : Type::INT64,
                           integers<Bias>(channels, 2, -3000, 3000), b.scale(of_bias, zeros));
  return out;
}
// Unsigned integers with one scale and a zero point, as TensorFlow's first quantiser wrote them.
Weights unsigned_weights(FileBuilder& b, const Shape& shape, int axis, float input_scale, int64_t zero) {
  const int32_t channels = shape[static_cast<size_t>(axis)];
  Weights out;
  out.filter = b.constant_of(shape, Type::UINT8, integers<uint8_t>(FileBuilder::elements(shape), 1, 1, 255),
                             b.scale({0.008f}, {zero}));
  out.bias = b.constant_of({channels}, Type::INT32, integers<int32_t>(static_cast<size_t>(channels), 2, -3000, 3000),
                           b.scale({0.008f * input_scale}, {0}));
  return out;
}

auto conv_options(FileBuilder& b, Padding padding, int stride, Act act) {
  return schema::CreateConv2DOptions(b.fbb, padding, stride, stride, act).Union();
}

template <Padding padding, int stride, Act act>
Outputs conv(FileBuilder& b) {
  const int x = input(b, {1, 7, 6, 3});
  const auto [filter, bias] = weights(b, {8, 3, 2, 3}, 0, kIn.scale);
  const bool same = padding == Padding::SAME;
  const Shape out = {1, same ? (7 + stride - 1) / stride : (7 - 3) / stride + 1,
                     same ? (6 + stride - 1) / stride : (6 - 2) / stride + 1, 8};
  return {add(b, Op::CONV_2D, {x, filter, bias}, output(b, out), Kind::Conv2DOptions,
              conv_options(b, padding, stride, act), 3)};
}

// 1x1, over many channels: long sums.
Outputs pointwise(FileBuilder& b) {
  const int x = input(b, {1, 5, 4, 160});
  const auto [filter, bias] = weights(b, {24, 1, 1, 160}, 0, kIn.scale);
  return {add(b, Op::CONV_2D, {x, filter, bias}, output(b, {1, 5, 4, 24}, {0.5f, -3}), Kind::Conv2DOptions,
              conv_options(b, Padding::SAME, 1, Act::NONE), 3)};
}

template <int multiplier, int stride, Act act>
Outputs depthwise(FileBuilder& b) {
  const int x = input(b, {1, 7, 7, 6});
  const int side = (7 + stride - 1) / stride, out = 6 * multiplier;
  const auto [filter, bias] = weights(b, {1, 3, 3, out}, 3, kIn.scale);
  return {add(b, Op::DEPTHWISE_CONV_2D, {x, filter, bias}, output(b, {1, side, side, out}),
              Kind::DepthwiseConv2DOptions,
              schema::CreateDepthwiseConv2DOptions(b.fbb, Padding::SAME, stride, stride, multiplier, act).Union(), 3)};
}

template <Act act>
Outputs fully_connected(FileBuilder& b) {
  const int x = input(b, {3, 40});
  const auto filter = b.constant_of({5, 40}, Type::INT8, integers<int8_t>(200, 1, -127, 127), b.scale({0.004f}, {0}));
  const auto bias =
      b.constant_of({5}, Type::INT32, integers<int32_t>(5, 2, -3000, 3000), b.scale({0.004f * kIn.scale}, {0}));
  return {add(b, Op::FULLY_CONNECTED, {x, filter, bias}, output(b, {3, 5}), Kind::FullyConnectedOptions,
              schema::CreateFullyConnectedOptions(b.fbb, act).Union(), 4)};
}

// The filter's zero point makes multiples of up to -117 and 138.
Outputs unsigned_conv(FileBuilder& b) {
  const int x = input(b, {1, 7, 6, 3}, kIn, Type::UINT8);
  const auto [filter, bias] = unsigned_weights(b, {8, 3, 2, 3}, 0, kIn.scale, 127);
  return {add(b, Op::CONV_2D, {x, filter, bias}, output(b, {1, 7, 6, 8}, {0.15f, 5}, Type::UINT8), Kind::Conv2DOptions,
              conv_options(b, Padding::SAME, 1, Act::RELU6), 1)};
}

Outputs unsigned_depthwise(FileBuilder& b) {
  const int x = input(b, {1, 7, 7, 6}, kIn, Type::UINT8);
  const auto [filter, bias] = unsigned_weights(b, {1, 3, 3, 6}, 3, kIn.scale, 128);
  return {add(b, Op::DEPTHWISE_CONV_2D, {x, filter, bias}, output(b, {1, 7, 7, 6}, {0.15f, 5}, Type::UINT8),
              Kind::DepthwiseConv2DOptions,
              schema::CreateDepthwiseConv2DOptions(b.fbb, Padding::SAME, 1, 1, 1, Act::NONE).Union(), 1)};
}

template <Op op, Kind kind, Type type, Act act>
Outputs arithmetic(FileBuilder& b) {
  const int x = input(b, {2, 3, 8}, kIn, type), y = input(b, {2, 3, 8}, kIn2, type);
  const auto options = op == Op::ADD   ? schema::CreateAddOptions(b.fbb, act).Union()
                       : op == Op::SUB ? schema::CreateSubOptions(b.fbb, act).Union()
                                       : schema::CreateMulOptions(b.fbb, act).Union();
  return {add(b, op, {x, y}, output(b, {2, 3, 8}, op == Op::MUL ? Affine{0.3f, 5} : kOut, type), kind, options)};
}

// Of a constant, per channel.
Outputs scaled(FileBuilder& b) {
  const int x = input(b, {2, 3, 8});
  const int c = b.constant_of({8}, Type::INT8, integers<int8_t>(8, 3, -128, 127), b.scale({0.01f}, {-30}));
  return {add(b, Op::MUL, {x, c}, output(b, {2, 3, 8}), Kind::MulOptions, schema::CreateMulOptions(b.fbb).Union())};
}

template <Op op, Padding padding, Type type>
Outputs pool(FileBuilder& b) {
  const int x = input(b, {1, 7, 6, 16}, kIn, type);
  const Shape out = padding == Padding::SAME ? Shape{1, 4, 3, 16} : Shape{1, 3, 2, 16};
  return {add(b, op, {x}, output(b, out, kIn, type), Kind::Pool2DOptions,
              schema::CreatePool2DOptions(b.fbb, padding, 2, 2, 3, 3).Union(), type == Type::UINT8 ? 1 : 2)};
}

Outputs mean(FileBuilder& b) {
  const int x = input(b, {2, 5, 5, 16});
  return {add(b, Op::MEAN, {x, b.vector({1, 2})}, output(b, {2, 16}, {0.02f, -4}), Kind::ReducerOptions,
              schema::CreateReducerOptions(b.fbb, false).Union())};
}

Outputs sum(FileBuilder& b) {
  const int x = input(b, {2, 5, 16});
  return {add(b, Op::SUM, {x, b.vector({1})}, output(b, {2, 16}, {0.2f, -4}), Kind::ReducerOptions,
              schema::CreateReducerOptions(b.fbb, false).Union())};
}

template <Op op>
Outputs function(FileBuilder& b) {
  const int x = input(b, {2, 3, 40});
  const bool sigmoid = op == Op::LOGISTIC, tanh = op == Op::TANH;
  const Affine to = sigmoid ? Affine{1.0f / 256, -128} : tanh ? Affine{1.0f / 128, 0} : kOut;
  return {add(b, op, {x}, output(b, {2, 3, 40}, to), Kind::NONE, 0, op == Op::HARD_SWISH ? 1 : 2)};
}

Outputs leaky_relu(FileBuilder& b) {
  const int x = input(b, {2, 3, 40});
  return {add(b, Op::LEAKY_RELU, {x}, output(b, {2, 3, 40}), Kind::LeakyReluOptions,
              schema::CreateLeakyReluOptions(b.fbb, 0.3f).Union())};
}

template <Op op>
Outputs same_scale(FileBuilder& b) {
  const int x = input(b, {2, 3, 40});
  return {add(b, op, {x}, output(b, {2, 3, 40}, kIn))};
}

Outputs softmax(FileBuilder& b) {
  const int x = input(b, {4, 10});
  return {add(b, Op::SOFTMAX, {x}, output(b, {4, 10}, {1.0f / 256, -128}), Kind::SoftmaxOptions,
              schema::CreateSoftmaxOptions(b.fbb, 1.0f).Union())};
}

Outputs prelu(FileBuilder& b) {
  const int x = input(b, {1, 3, 2, 8});
  const int slope = b.constant_of({1, 1, 8}, Type::INT8, integers<int8_t>(8, 3, -128, 127), b.scale({0.004f}, {9}));
  return {add(b, Op::PRELU, {x, slope}, output(b, {1, 3, 2, 8}), Kind::NONE, 0, 1)};
}

template <Type type>
Outputs concatenation(FileBuilder& b) {
  const int x = input(b, {2, 3, 4}, kIn, type), y = input(b, {2, 3, 2}, kIn, type);
  return {add(b, Op::CONCATENATION, {x, y}, output(b, {2, 3, 6}, kIn, type), Kind::ConcatenationOptions,
              schema::CreateConcatenationOptions(b.fbb, -1).Union(), type == Type::UINT8 ? 1 : 2)};
}

Outputs pad(FileBuilder& b) {
  const int x = input(b, {1, 2, 3, 2});
  return {add(b, Op::PAD, {x, b.constant({4, 2}, std::vector<int32_t>{0, 0, 1, 2, 0, 1, 0, 0})},
              output(b, {1, 5, 4, 2}, kIn))};
}

Outputs reshape(FileBuilder& b) {
  const int x = input(b, {2, 3, 4});
  return {add(b, Op::RESHAPE, {x, b.vector({4, -1})}, output(b, {4, 6}, kIn), Kind::NONE, 0, 1)};
}

Outputs transpose(FileBuilder& b) {
  const int x = input(b, {2, 3, 4});
  return {add(b, Op::TRANSPOSE, {x, b.vector({2, 0, 1})}, output(b, {4, 2, 3}, kIn))};
}

Outputs strided_slice(FileBuilder& b) {
  const int x = input(b, {5, 4, 6});
  return {add(b, Op::STRIDED_SLICE, {x, b.vector({1, 0, 1}), b.vector({4, 4, 6}), b.vector({1, 1, 2})},
              output(b, {3, 4, 3}, kIn), Kind::StridedSliceOptions, schema::CreateStridedSliceOptions(b.fbb).Union())};
}

Outputs split(FileBuilder& b) {
  const int x = input(b, {2, 6});
  const Outputs parts = {output(b, {2, 3}, kIn), output(b, {2, 3}, kIn)};
  b.op(Op::SPLIT, {b.scalar(1), x}, parts, Kind::SplitOptions, schema::CreateSplitOptions(b.fbb, 2).Union(), 2);
  return parts;
}

Outputs nearest(FileBuilder& b) {
  const int x = input(b, {1, 4, 5, 2});
  return {add(b, Op::RESIZE_NEAREST_NEIGHBOR, {x, b.vector({7, 3})}, output(b, {1, 7, 3, 2}, kIn),
              Kind::ResizeNearestNeighborOptions, schema::CreateResizeNearestNeighborOptions(b.fbb).Union())};
}

template <bool half>
Outputs bilinear(FileBuilder& b) {
  const int x = input(b, {1, 4, 5, 8});
  return {add(b, Op::RESIZE_BILINEAR, {x, b.vector({8, 10})}, output(b, {1, 8, 10, 8}, kIn),
              Kind::ResizeBilinearOptions, schema::CreateResizeBilinearOptions(b.fbb, false, half).Union())};
}

Outputs transpose_conv(FileBuilder& b) {
  const int x = input(b, {1, 4, 4, 3});
  const auto [filter, bias] = weights(b, {2, 3, 3, 3}, 0, kIn.scale);
  static_cast<void>(bias);
  return {add(b, Op::TRANSPOSE_CONV, {b.vector({1, 8, 8, 2}), filter, x}, output(b, {1, 8, 8, 2}),
              Kind::TransposeConvOptions, schema::CreateTransposeConvOptions(b.fbb, Padding::SAME, 2, 2).Union())};
}

template <Type from, Type to>
Outputs requantized(FileBuilder& b) {
  const int x = input(b, {2, 60}, kIn, from);
  return {add(b, Op::QUANTIZE, {x}, output(b, {2, 60}, {0.07f, 12}, to), Kind::QuantizeOptions,
              schema::CreateQuantizeOptions(b.fbb).Union())};
}

Outputs quantized(FileBuilder& b) {
  const int x = b.input({2, 60});
  return {add(b, Op::QUANTIZE, {x}, output(b, {2, 60}, kIn2), Kind::QuantizeOptions,
              schema::CreateQuantizeOptions(b.fbb).Union(), 1)};
}

Outputs dequantized(FileBuilder& b) {
  const int x = input(b, {2, 60});
  return {add(b, Op::DEQUANTIZE, {x}, b.activation({2, 60}), Kind::DequantizeOptions,
              schema::CreateDequantizeOptions(b.fbb).Union())};
}

Outputs fake_quant(FileBuilder& b) {
  const int x = b.input({2, 60});
  return {add(b, Op::FAKE_QUANT, {x}, b.activation({2, 60}), Kind::FakeQuantOptions,
              schema::CreateFakeQuantOptions(b.fbb, -1.5f, 3.1f, 8, false).Union(), 1)};
}

Outputs arg_max(FileBuilder& b) {
  const int x = input(b, {2, 60});
  return {add(b, Op::ARG_MAX, {x, b.scalar(1)}, b.activation({2}, Type::INT32), Kind::ArgMaxOptions,
              schema::CreateArgMaxOptions(b.fbb, Type::INT32).Union())};
}

template <Op op>
Outputs extremum(FileBuilder& b) {
  const int x = input(b, {2, 3, 8}), y = input(b, {3, 1});
  return {add(b, op, {x, y}, output(b, {2, 3, 8}, kIn), Kind::MaximumMinimumOptions,
              schema::CreateMaximumMinimumOptions(b.fbb).Union())};
}

// Activations of 16 bits, weights of 8.
Outputs conv_of_16_bits(FileBuilder& b) {
  const Affine in = {0.0002f, 0}, out = {0.0003f, 0};
  const int x = input(b, {1, 7, 6, 3}, in, Type::INT16);
  const auto [filter, bias] = weights<int64_t>(b, {8, 3, 2, 3}, 0, in.scale);
  return {add(b, Op::CONV_2D, {x, filter, bias}, output(b, {1, 7, 6, 8}, out, Type::INT16), Kind::Conv2DOptions,
              conv_options(b, Padding::SAME, 1, Act::RELU), 4)};
}

// What a block of MobileNetV2 has: a sum of a convolution and its input.
Outputs residual(FileBuilder& b) {
  const int x = input(b, {1, 6, 6, 8});
  const auto [wide, wide_bias] = weights(b, {16, 1, 1, 8}, 0, kIn.scale);
  const int expanded = add(b, Op::CONV_2D, {x, wide, wide_bias}, output(b, {1, 6, 6, 16}, {6.0f / 255, -128}),
                           Kind::Conv2DOptions, conv_options(b, Padding::SAME, 1, Act::RELU6), 3);
  const auto [narrow, narrow_bias] = weights(b, {8, 1, 1, 16}, 0, 6.0f / 255);
  const int projected = add(b, Op::CONV_2D, {expanded, narrow, narrow_bias}, output(b, {1, 6, 6, 8}, {0.1f, 2}),
                            Kind::Conv2DOptions, conv_options(b, Padding::SAME, 1, Act::NONE), 3);
  return {add(b, Op::ADD, {x, projected}, output(b, {1, 6, 6, 8}, {0.11f, -1}), Kind::AddOptions,
              schema::CreateAddOptions(b.fbb).Union())};
}

}  // namespace

const std::vector<OperatorCase>& cases() {
  static const std::vector<OperatorCase> kCases = {
      {"int8_add", arithmetic<Op::ADD, Kind::AddOptions, Type::INT8, Act::NONE>},
      {"int8_add_relu", arithmetic<Op::ADD, Kind::AddOptions, Type::INT8, Act::RELU>},
      {"int8_arg_max", arg_max},
      {"int8_average_pool_same", pool<Op::AVERAGE_POOL_2D, Padding::SAME, Type::INT8>},
      {"int8_average_pool_valid", pool<Op::AVERAGE_POOL_2D, Padding::VALID, Type::INT8>},
      {"int8_bilinear", bilinear<false>},
      {"int8_bilinear_half_pixel", bilinear<true>},
      {"int8_concatenation", concatenation<Type::INT8>},
      {"int8_conv_relu", conv<Padding::VALID, 2, Act::RELU>},
      {"int8_conv_relu6", conv<Padding::SAME, 2, Act::RELU6>},
      {"int8_conv_same", conv<Padding::SAME, 1, Act::NONE>},
      {"int8_depthwise", depthwise<1, 1, Act::RELU6>},
      {"int8_depthwise_multiplier", depthwise<2, 1, Act::NONE>},
      {"int8_depthwise_strided", depthwise<1, 2, Act::RELU>},
      {"int8_dequantize", dequantized},
      {"int8_fully_connected", fully_connected<Act::NONE>},
      {"int8_fully_connected_relu", fully_connected<Act::RELU>},
      {"int8_hard_swish", function<Op::HARD_SWISH>},
      {"int8_leaky_relu", leaky_relu},
      {"int8_logistic", function<Op::LOGISTIC>},
      {"int8_max_pool_same", pool<Op::MAX_POOL_2D, Padding::SAME, Type::INT8>},
      {"int8_maximum", extremum<Op::MAXIMUM>},
      {"int8_mean", mean},
      {"int8_minimum", extremum<Op::MINIMUM>},
      {"int8_mul", arithmetic<Op::MUL, Kind::MulOptions, Type::INT8, Act::NONE>},
      {"int8_mul_constant", scaled},
      {"int8_nearest", nearest},
      {"int8_pad", pad},
      {"int8_pointwise", pointwise},
      {"int8_prelu", prelu},
      {"int8_quantize", quantized},
      {"int8_quantize_from_uint8", requantized<Type::UINT8, Type::INT8>},
      {"int8_quantize_to_uint8", requantized<Type::INT8, Type::UINT8>},
      {"int8_relu", same_scale<Op::RELU>},
      {"int8_relu6", same_scale<Op::RELU6>},
      {"int8_requantize", requantized<Type::INT8, Type::INT8>},
      {"int8_reshape", reshape},
      {"int8_residual", residual},
      {"int8_softmax", softmax},
      {"int8_split", split},
      {"int8_strided_slice", strided_slice},
      {"int8_sub", arithmetic<Op::SUB, Kind::SubOptions, Type::INT8, Act::NONE>},
      {"int8_sum", sum},
      {"int8_tanh", function<Op::TANH>},
      {"int8_transpose", transpose},
      {"int8_transpose_conv", transpose_conv},
      {"int16_conv", conv_of_16_bits},
      {"fake_quant", fake_quant},
      {"uint8_add", arithmetic<Op::ADD, Kind::AddOptions, Type::UINT8, Act::NONE>},
      {"uint8_average_pool", pool<Op::AVERAGE_POOL_2D, Padding::SAME, Type::UINT8>},
      {"uint8_concatenation", concatenation<Type::UINT8>},
      {"uint8_conv", unsigned_conv},
      {"uint8_depthwise", unsigned_depthwise},
      {"uint8_max_pool", pool<Op::MAX_POOL_2D, Padding::VALID, Type::UINT8>},
      {"uint8_mul", arithmetic<Op::MUL, Kind::MulOptions, Type::UINT8, Act::NONE>},
  };
  return kCases;
}

}  // namespace ferry::testing::on_integers

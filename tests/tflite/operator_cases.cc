#include "tests/tflite/operator_cases.h"

#include <cmath>

#include "converter/tflite/constants.h"

namespace ferry::testing {
namespace {

using Act = schema::ActivationFunctionType;
using Kind = schema::BuiltinOptions;
using Op = schema::BuiltinOperator;
using Padding = schema::Padding;
using Shape = FileBuilder::Shape;
using Type = FileBuilder::Type;
using Outputs = std::vector<int>;

// One output of an operator without options, or with these.
int add(FileBuilder& b, Op op, const std::vector<int>& inputs, const Shape& out, Kind kind = Kind::NONE,
        flatbuffers::Offset<void> options = 0, Type type = Type::FLOAT32) {
  const int output = b.activation(out, type);
  b.op(op, inputs, {output}, kind, options);
  return output;
}

template <Op op>
Outputs unary(FileBuilder& b) {
  const int x = b.input({2, 3, 5});
  return {add(b, op, {x}, {2, 3, 5})};
}

// Of x * x + 0.1.
template <Op op>
Outputs unary_of_positive(FileBuilder& b) {
  const int x = b.input({2, 3, 5});
  const int squares =
      add(b, Op::SQUARE, {x}, {2, 3, 5}, Kind::SquareOptions, schema::CreateSquareOptions(b.fbb).Union());
  const int above = add(b, Op::ADD, {squares, b.constant({1}, std::vector<float>{0.1f})}, {2, 3, 5}, Kind::AddOptions,
                        schema::CreateAddOptions(b.fbb).Union());
  return {add(b, op, {above}, {2, 3, 5})};
}

template <Op op>
Outputs binary(FileBuilder& b) {
  const int x = b.input({2, 3, 5}), y = b.input({3, 1});
  return {add(b, op, {x, y}, {2, 3, 5})};
}

// The comparison selects between the inputs.
template <Op op>
Outputs comparison(FileBuilder& b) {
  const int x = b.input({2, 3, 5}), y = b.input({2, 3, 5});
  const int less = add(b, op, {x, y}, {2, 3, 5}, Kind::NONE, 0, Type::BOOL);
  return {add(b, Op::SELECT_V2, {less, x, y}, {2, 3, 5}, Kind::SelectV2Options,
              schema::CreateSelectV2Options(b.fbb).Union())};
}

template <Op op, bool keep>
Outputs reduction(FileBuilder& b) {
  const int x = b.input({2, 3, 4, 5});
  const Shape out = keep ? Shape{2, 1, 1, 5} : Shape{2, 5};
  return {
      add(b, op, {x, b.vector({1, -2})}, out, Kind::ReducerOptions, schema::CreateReducerOptions(b.fbb, keep).Union())};
}

template <Padding padding, int stride, int dilation, int height>
Outputs conv(FileBuilder& b) {
  const int x = b.input({2, 7, 6, 3});
  const int w = padding == Padding::SAME ? 6 / stride : (6 - dilation) / stride;
  return {add(b, Op::CONV_2D, {x, b.random({4, 3, 2, 3}, 1), b.random({4}, 2)}, {2, height, w, 4}, Kind::Conv2DOptions,
              schema::CreateConv2DOptions(b.fbb, padding, stride, stride, Act::RELU6, dilation, dilation).Union())};
}

Outputs grouped_conv(FileBuilder& b) {
  const int x = b.input({1, 5, 5, 4});
  return {add(b, Op::CONV_2D, {x, b.random({6, 3, 3, 2}, 1), b.random({6}, 2)}, {1, 5, 5, 6}, Kind::Conv2DOptions,
              schema::CreateConv2DOptions(b.fbb, Padding::SAME, 1, 1).Union())};
}

template <int multiplier, int stride>
Outputs depthwise(FileBuilder& b) {
  const int x = b.input({1, 7, 7, 3});
  const int side = (7 + stride - 1) / stride, out = 3 * multiplier;
  return {
      add(b, Op::DEPTHWISE_CONV_2D, {x, b.random({1, 3, 3, out}, 1), b.random({out}, 2)}, {1, side, side, out},
          Kind::DepthwiseConv2DOptions,
          schema::CreateDepthwiseConv2DOptions(b.fbb, Padding::SAME, stride, stride, multiplier, Act::RELU).Union())};
}

template <Padding padding, int stride, int out>
Outputs transposed(FileBuilder& b) {
  const int x = b.input({1, 4, 4, 3});
  return {add(b, Op::TRANSPOSE_CONV, {b.vector({1, out, out, 2}), b.random({2, 3, 3, 3}, 1), x}, {1, out, out, 2},
              Kind::TransposeConvOptions, schema::CreateTransposeConvOptions(b.fbb, padding, stride, stride).Union())};
}

template <bool keep>
Outputs fully_connected(FileBuilder& b) {
  const int x = b.input({2, 3, 6});
  const Shape out = keep ? Shape{2, 3, 4} : Shape{6, 4};
  return {add(
      b, Op::FULLY_CONNECTED, {x, b.random({4, 6}, 1), b.random({4}, 2)}, out, Kind::FullyConnectedOptions,
      schema::CreateFullyConnectedOptions(b.fbb, Act::RELU, schema::FullyConnectedOptionsWeightsFormat::DEFAULT, keep)
          .Union())};
}

// Of computed weights, without a bias.
Outputs computed_weights(FileBuilder& b) {
  const int x = b.input({3, 6}), w = b.input({4, 6});
  return {add(b, Op::FULLY_CONNECTED, {x, w, -1}, {3, 4}, Kind::FullyConnectedOptions,
              schema::CreateFullyConnectedOptions(b.fbb).Union())};
}

template <Op op, Padding padding>
Outputs pool(FileBuilder& b) {
  const int x = b.input({1, 7, 6, 3});
  const Shape out = padding == Padding::SAME ? Shape{1, 4, 3, 3} : Shape{1, 3, 2, 3};
  return {add(b, op, {x}, out, Kind::Pool2DOptions, schema::CreatePool2DOptions(b.fbb, padding, 2, 2, 3, 3).Union())};
}

template <Act act>
Outputs activated(FileBuilder& b) {
  const int x = b.input({2, 3, 5}), y = b.input({5});
  return {add(b, Op::ADD, {x, y}, {2, 3, 5}, Kind::AddOptions, schema::CreateAddOptions(b.fbb, act).Union())};
}

Outputs softmax(FileBuilder& b) {
  const int x = b.input({2, 5});
  return {add(b, Op::SOFTMAX, {x}, {2, 5}, Kind::SoftmaxOptions, schema::CreateSoftmaxOptions(b.fbb, 2.5f).Union())};
}

template <bool approximate>
Outputs gelu(FileBuilder& b) {
  const int x = b.input({2, 3, 5});
  return {add(b, Op::GELU, {x}, {2, 3, 5}, Kind::GeluOptions, schema::CreateGeluOptions(b.fbb, approximate).Union())};
}

Outputs leaky_relu(FileBuilder& b) {
  const int x = b.input({2, 3, 5});
  return {add(b, Op::LEAKY_RELU, {x}, {2, 3, 5}, Kind::LeakyReluOptions,
              schema::CreateLeakyReluOptions(b.fbb, 0.3f).Union())};
}

Outputs prelu(FileBuilder& b) {
  const int x = b.input({1, 3, 2, 5});
  return {add(b, Op::PRELU, {x, b.random({1, 1, 5}, 1)}, {1, 3, 2, 5})};
}

Outputs power(FileBuilder& b) {
  const int x = b.input({2, 3, 5});
  const int e = add(b, Op::EXP, {x}, {2, 3, 5}, Kind::ExpOptions, schema::CreateExpOptions(b.fbb).Union());
  return {add(b, Op::POW, {e, x}, {2, 3, 5}, Kind::PowOptions, schema::CreatePowOptions(b.fbb).Union())};
}

Outputs l2_normalization(FileBuilder& b) {
  const int x = b.input({2, 3, 5});
  return {
      add(b, Op::L2_NORMALIZATION, {x}, {2, 3, 5}, Kind::L2NormOptions, schema::CreateL2NormOptions(b.fbb).Union())};
}

Outputs response_normalization(FileBuilder& b) {
  const int x = b.input({1, 2, 2, 6});
  return {add(b, Op::LOCAL_RESPONSE_NORMALIZATION, {x}, {1, 2, 2, 6}, Kind::LocalResponseNormalizationOptions,
              schema::CreateLocalResponseNormalizationOptions(b.fbb, 1, 1.0f, 0.5f, 0.75f).Union())};
}

Outputs arg_max(FileBuilder& b) {
  const int x = b.input({2, 6, 3});
  return {add(b, Op::ARG_MAX, {x, b.scalar(1)}, {2, 3}, Kind::ArgMaxOptions,
              schema::CreateArgMaxOptions(b.fbb, Type::INT32).Union(), Type::INT32)};
}

Outputs arg_min(FileBuilder& b) {
  const int x = b.input({2, 6, 3});
  return {add(b, Op::ARG_MIN, {x, b.scalar(1)}, {2, 3}, Kind::ArgMinOptions,
              schema::CreateArgMinOptions(b.fbb, Type::INT32).Union(), Type::INT32)};
}

Outputs topk(FileBuilder& b) {
  const int x = b.input({3, 7}), values = b.activation({3, 2}), indices = b.activation({3, 2}, Type::INT32);
  b.op(Op::TOPK_V2, {x, b.scalar(2)}, {values, indices}, Kind::TopKV2Options,
       schema::CreateTopKV2Options(b.fbb).Union());
  return {values, indices};
}

Outputs reshape(FileBuilder& b) {
  const int x = b.input({2, 3, 4});
  return {add(b, Op::RESHAPE, {x, b.vector({4, -1})}, {4, 6})};
}

// The new shape is computed from the input's.
Outputs reshape_by_shape(FileBuilder& b) {
  const int x = b.input({2, 3, 4});
  const int shape = add(b, Op::SHAPE, {x}, {3}, Kind::ShapeOptions,
                        schema::CreateShapeOptions(b.fbb, Type::INT32).Union(), Type::INT32);
  const int first =
      add(b, Op::STRIDED_SLICE, {shape, b.vector({0}), b.vector({1}), b.vector({1})}, {}, Kind::StridedSliceOptions,
          schema::CreateStridedSliceOptions(b.fbb, 0, 0, 0, 0, 1).Union(), Type::INT32);
  const int to = add(b, Op::PACK, {first, b.scalar(12)}, {2}, Kind::PackOptions,
                     schema::CreatePackOptions(b.fbb, 2, 0).Union(), Type::INT32);
  return {add(b, Op::RESHAPE, {x, to}, {2, 12})};
}

Outputs squeeze(FileBuilder& b) {
  const int x = b.input({1, 3, 1, 4});
  const int y = add(b, Op::SQUEEZE, {x}, {1, 3, 4}, Kind::SqueezeOptions,
                    schema::CreateSqueezeOptions(b.fbb, b.fbb.CreateVector(std::vector<int32_t>{-2})).Union());
  return {add(b, Op::EXPAND_DIMS, {y, b.scalar(1)}, {1, 1, 3, 4})};
}

Outputs broadcast(FileBuilder& b) {
  const int x = b.input({3, 1, 2}), y = b.activation({2, 3, 4, 2});
  b.op(Op::BROADCAST_TO, {x, b.vector({2, 3, 4, 2})}, {y}, Kind::NONE, 0, 2);  // the interpreter has no version 1
  return {y};
}

Outputs tile(FileBuilder& b) {
  const int x = b.input({2, 3});
  return {add(b, Op::TILE, {x, b.vector({2, 3})}, {4, 9})};
}

Outputs pack(FileBuilder& b) {
  const int x = b.input({2, 3}), y = b.input({2, 3});
  return {add(b, Op::PACK, {x, y}, {2, 2, 3}, Kind::PackOptions, schema::CreatePackOptions(b.fbb, 2, 1).Union())};
}

Outputs unpack(FileBuilder& b) {
  const int x = b.input({2, 3, 2});
  const Outputs parts = {b.activation({2, 2}), b.activation({2, 2}), b.activation({2, 2})};
  b.op(Op::UNPACK, {x}, parts, Kind::UnpackOptions, schema::CreateUnpackOptions(b.fbb, 3, 1).Union());
  return parts;
}

template <bool value>
Outputs pad(FileBuilder& b) {
  const int x = b.input({1, 2, 3, 2});
  std::vector<int> inputs = {x, b.constant({4, 2}, std::vector<int32_t>{0, 0, 1, 2, 0, 1, 1, 0})};
  if (value) inputs.push_back(b.constant({}, std::vector<float>{0.5f}));
  return {add(b, value ? Op::PADV2 : Op::PAD, inputs, {1, 5, 4, 3})};
}

template <schema::MirrorPadMode mode>
Outputs mirror_pad(FileBuilder& b) {
  const int x = b.input({3, 4});
  return {add(b, Op::MIRROR_PAD, {x, b.constant({2, 2}, std::vector<int32_t>{2, 1, 0, 3})}, {6, 7},
              Kind::MirrorPadOptions, schema::CreateMirrorPadOptions(b.fbb, mode).Union())};
}

Outputs reverse(FileBuilder& b) {
  const int x = b.input({2, 3, 4});
  return {add(b, Op::REVERSE_V2, {x, b.vector({1})}, {2, 3, 4})};
}

Outputs transpose(FileBuilder& b) {
  const int x = b.input({2, 3, 4});
  return {add(b, Op::TRANSPOSE, {x, b.vector({2, 0, 1})}, {4, 2, 3})};
}

Outputs concatenation(FileBuilder& b) {
  const int x = b.input({2, 3, 2}), y = b.input({2, 1, 2});
  return {add(b, Op::CONCATENATION, {x, y}, {2, 4, 2}, Kind::ConcatenationOptions,
              schema::CreateConcatenationOptions(b.fbb, -2).Union())};
}

Outputs depth_to_space(FileBuilder& b) {
  const int x = b.input({1, 2, 3, 8});
  return {add(b, Op::DEPTH_TO_SPACE, {x}, {1, 4, 6, 2}, Kind::DepthToSpaceOptions,
              schema::CreateDepthToSpaceOptions(b.fbb, 2).Union())};
}

Outputs space_to_depth(FileBuilder& b) {
  const int x = b.input({1, 4, 6, 2});
  return {add(b, Op::SPACE_TO_DEPTH, {x}, {1, 2, 3, 8}, Kind::SpaceToDepthOptions,
              schema::CreateSpaceToDepthOptions(b.fbb, 2).Union())};
}

Outputs space_to_batch(FileBuilder& b) {
  const int x = b.input({1, 3, 5, 2});
  return {add(b, Op::SPACE_TO_BATCH_ND, {x, b.vector({2, 3}), b.constant({2, 2}, std::vector<int32_t>{1, 0, 0, 1})},
              {6, 2, 2, 2})};
}

Outputs batch_to_space(FileBuilder& b) {
  const int x = b.input({6, 2, 2, 2});
  return {add(b, Op::BATCH_TO_SPACE_ND, {x, b.vector({2, 3}), b.constant({2, 2}, std::vector<int32_t>{1, 0, 0, 1})},
              {1, 3, 5, 2})};
}

Outputs slice(FileBuilder& b) {
  const int x = b.input({3, 4, 5});
  return {add(b, Op::SLICE, {x, b.vector({1, 0, 2}), b.vector({-1, 3, 2})}, {2, 3, 2})};
}

Outputs split(FileBuilder& b) {
  const int x = b.input({2, 6});
  const Outputs parts = {b.activation({2, 3}), b.activation({2, 3})};
  b.op(Op::SPLIT, {b.scalar(1), x}, parts, Kind::SplitOptions, schema::CreateSplitOptions(b.fbb, 2).Union());
  return parts;
}

Outputs split_v(FileBuilder& b) {
  const int x = b.input({2, 6});
  const Outputs parts = {b.activation({2, 1}), b.activation({2, 3}), b.activation({2, 2})};
  b.op(Op::SPLIT_V, {x, b.vector({1, -1, 2}), b.scalar(1)}, parts, Kind::SplitVOptions,
       schema::CreateSplitVOptions(b.fbb, 3).Union());
  return parts;
}

// From the end backwards, one element, and a masked end.
Outputs strided_slice(FileBuilder& b) {
  const int x = b.input({5, 4, 6});
  return {add(b, Op::STRIDED_SLICE, {x, b.vector({-1, 2, 1}), b.vector({0, 3, 9}), b.vector({-2, 1, 2})}, {2, 3},
              Kind::StridedSliceOptions, schema::CreateStridedSliceOptions(b.fbb, 0, 4, 0, 0, 2).Union())};
}

Outputs gather(FileBuilder& b) {
  const int x = b.input({3, 4, 2});
  return {add(b, Op::GATHER, {x, b.constant({2, 2}, std::vector<int32_t>{3, 0, 1, 1})}, {3, 2, 2, 2},
              Kind::GatherOptions, schema::CreateGatherOptions(b.fbb, 1).Union())};
}

Outputs gather_nd(FileBuilder& b) {
  const int x = b.input({3, 4, 2});
  return {add(b, Op::GATHER_ND, {x, b.constant({3, 2}, std::vector<int32_t>{2, 3, 0, 0, 1, 2})}, {3, 2})};
}

Outputs scatter_nd(FileBuilder& b) {
  const int x = b.input({3, 2});
  return {add(b, Op::SCATTER_ND, {b.constant({3, 1}, std::vector<int32_t>{2, 0, 2}), x, b.vector({4, 2})}, {4, 2})};
}

Outputs one_hot(FileBuilder& b) {
  const int x = b.input({5}, Type::INT32);
  const int on = b.constant({}, std::vector<float>{2}), off = b.constant({}, std::vector<float>{-1});
  return {add(b, Op::ONE_HOT, {x, b.scalar(4), on, off}, {5, 4}, Kind::OneHotOptions,
              schema::CreateOneHotOptions(b.fbb, -1).Union())};
}

Outputs embedding_lookup(FileBuilder& b) {
  const int x = b.input({5}, Type::INT32);
  return {add(b, Op::EMBEDDING_LOOKUP, {x, b.random({8, 3}, 1)}, {5, 3})};
}

template <bool corners, bool half>
Outputs bilinear(FileBuilder& b) {
  const int x = b.input({1, 4, 5, 2});
  return {add(b, Op::RESIZE_BILINEAR, {x, b.vector({7, 3})}, {1, 7, 3, 2}, Kind::ResizeBilinearOptions,
              schema::CreateResizeBilinearOptions(b.fbb, corners, half).Union())};
}

template <bool corners, bool half>
Outputs nearest(FileBuilder& b) {
  const int x = b.input({1, 4, 5, 2});
  return {add(b, Op::RESIZE_NEAREST_NEIGHBOR, {x, b.vector({7, 3})}, {1, 7, 3, 2}, Kind::ResizeNearestNeighborOptions,
              schema::CreateResizeNearestNeighborOptions(b.fbb, corners, half).Union())};
}

Outputs batch_matmul(FileBuilder& b) {
  const int x = b.input({2, 3, 4}), y = b.input({2, 5, 4});
  return {add(b, Op::BATCH_MATMUL, {x, y}, {2, 3, 5}, Kind::BatchMatMulOptions,
              schema::CreateBatchMatMulOptions(b.fbb, false, true).Union())};
}

template <bool exclusive, bool reverse>
Outputs cumsum(FileBuilder& b) {
  const int x = b.input({2, 5});
  return {add(b, Op::CUMSUM, {x, b.scalar(1)}, {2, 5}, Kind::CumsumOptions,
              schema::CreateCumsumOptions(b.fbb, exclusive, reverse).Union())};
}

Outputs add_n(FileBuilder& b) {
  const int x = b.input({2, 3}), y = b.input({2, 3}), z = b.input({2, 3});
  return {add(b, Op::ADD_N, {x, y, z}, {2, 3})};
}

Outputs casts(FileBuilder& b) {
  const int x = b.input({2, 9});
  const int scaled = add(b, Op::MUL, {x, b.constant({1}, std::vector<float>{7})}, {2, 9}, Kind::MulOptions,
                         schema::CreateMulOptions(b.fbb).Union());
  const int whole = add(b, Op::CAST, {scaled}, {2, 9}, Kind::CastOptions,
                        schema::CreateCastOptions(b.fbb, Type::FLOAT32, Type::INT32).Union(), Type::INT32);
  const int three = b.scalar(3);
  const int divided = add(b, Op::FLOOR_DIV, {whole, three}, {2, 9}, Kind::NONE, 0, Type::INT32);
  return {add(b, Op::CAST, {divided}, {2, 9}, Kind::CastOptions,
              schema::CreateCastOptions(b.fbb, Type::INT32, Type::FLOAT32).Union())};
}

// A convolution whose float16 weights are dequantised.
Outputs half_weights(FileBuilder& b) {
  const int x = b.input({1, 4, 4, 2});
  const std::vector<uint16_t> ones(3 * 2 * 2 * 2, 0x3c00), halves = {0x3800, 0xb800, 0x3400};
  const int w = add(b, Op::DEQUANTIZE, {b.constant_of({3, 2, 2, 2}, Type::FLOAT16, ones)}, {3, 2, 2, 2});
  const int bias = add(b, Op::DEQUANTIZE, {b.constant_of({3}, Type::FLOAT16, halves)}, {3});
  return {add(b, Op::CONV_2D, {x, w, bias}, {1, 3, 3, 3}, Kind::Conv2DOptions,
              schema::CreateConv2DOptions(b.fbb, Padding::VALID, 1, 1).Union())};
}

// Rows 0 and 2 of a 3x4 matrix have values, as compressed sparse rows.
Outputs densify(FileBuilder& b) {
  const int x = b.input({3, 4});
  const auto vector = [&](const std::vector<int32_t>& values) {
    return schema::CreateInt32Vector(b.fbb, b.fbb.CreateVector(values)).Union();
  };
  const auto segments = vector({0, 2, 2, 3}), indices = vector({1, 3, 0});
  const std::vector<flatbuffers::Offset<schema::DimensionMetadata>> levels = {
      schema::CreateDimensionMetadata(b.fbb, schema::DimensionType::DENSE, 3),
      schema::CreateDimensionMetadata(b.fbb, schema::DimensionType::SPARSE_CSR, 0,
                                      schema::SparseIndexVector::Int32Vector, segments,
                                      schema::SparseIndexVector::Int32Vector, indices)};
  const auto sparsity = schema::CreateSparsityParameters(b.fbb, b.fbb.CreateVector(std::vector<int32_t>{0, 1}), 0,
                                                         b.fbb.CreateVector(levels));
  const int matrix = b.constant_of({3, 4}, Type::FLOAT32, std::vector<float>{1, 2, 3}, 0, sparsity);
  const int dense = add(b, Op::DENSIFY, {matrix}, {3, 4});
  return {add(b, Op::ADD, {x, dense}, {3, 4}, Kind::AddOptions, schema::CreateAddOptions(b.fbb).Union())};
}

}  // namespace

const std::vector<OperatorCase>& operator_cases() {
  static const std::vector<OperatorCase> kCases = {
      {"abs", unary<Op::ABS>},
      {"activation_relu", activated<Act::RELU>},
      {"activation_relu6", activated<Act::RELU6>},
      {"activation_relu_n1_to_1", activated<Act::RELU_N1_TO_1>},
      {"add_n", add_n},
      {"arg_max", arg_max},
      {"arg_min", arg_min},
      {"average_pool_same", pool<Op::AVERAGE_POOL_2D, Padding::SAME>},
      {"average_pool_valid", pool<Op::AVERAGE_POOL_2D, Padding::VALID>},
      {"batch_matmul", batch_matmul},
      {"batch_to_space", batch_to_space},
      {"bilinear", bilinear<false, false>},
      {"bilinear_align_corners", bilinear<true, false>},
      {"bilinear_half_pixel", bilinear<false, true>},
      {"broadcast_to", broadcast},
      {"cast", casts},
      {"ceil", unary<Op::CEIL>},
      {"concatenation", concatenation},
      {"conv_dilated", conv<Padding::VALID, 1, 2, 3>},
      {"conv_grouped", grouped_conv},
      {"conv_same_strided", conv<Padding::SAME, 2, 1, 4>},
      {"conv_same", conv<Padding::SAME, 1, 1, 7>},
      {"cos", unary<Op::COS>},
      {"cumsum", cumsum<false, false>},
      {"cumsum_exclusive_reverse", cumsum<true, true>},
      {"densify", densify},
      {"depth_to_space", depth_to_space},
      {"depthwise", depthwise<1, 1>},
      {"depthwise_multiplier", depthwise<2, 1>},
      {"depthwise_strided", depthwise<1, 2>},
      {"elu", unary<Op::ELU>},
      {"embedding_lookup", embedding_lookup},
      {"equal", comparison<Op::EQUAL>},
      {"exp", unary<Op::EXP>},
      {"float16_weights", half_weights},
      {"floor", unary<Op::FLOOR>},
      {"floor_div", binary<Op::FLOOR_DIV>},
      {"floor_mod", binary<Op::FLOOR_MOD>},
      {"fully_connected", fully_connected<false>},
      {"fully_connected_computed", computed_weights},
      {"fully_connected_keep", fully_connected<true>},
      {"gather", gather},
      {"gather_nd", gather_nd},
      {"gelu", gelu<false>},
      {"gelu_approximate", gelu<true>},
      {"greater", comparison<Op::GREATER>},
      {"greater_equal", comparison<Op::GREATER_EQUAL>},
      {"hard_swish", unary<Op::HARD_SWISH>},
      {"l2_normalization", l2_normalization},
      {"l2_pool", pool<Op::L2_POOL_2D, Padding::SAME>},
      {"leaky_relu", leaky_relu},
      {"less", comparison<Op::LESS>},
      {"less_equal", comparison<Op::LESS_EQUAL>},
      {"local_response_normalization", response_normalization},
      {"log", unary_of_positive<Op::LOG>},
      {"log_softmax", unary<Op::LOG_SOFTMAX>},
      {"logistic", unary<Op::LOGISTIC>},
      {"max_pool_same", pool<Op::MAX_POOL_2D, Padding::SAME>},
      {"max_pool_valid", pool<Op::MAX_POOL_2D, Padding::VALID>},
      {"maximum", binary<Op::MAXIMUM>},
      {"mean", reduction<Op::MEAN, false>},
      {"mean_keep", reduction<Op::MEAN, true>},
      {"minimum", binary<Op::MINIMUM>},
      {"mirror_pad_reflect", mirror_pad<schema::MirrorPadMode::REFLECT>},
      {"mirror_pad_symmetric", mirror_pad<schema::MirrorPadMode::SYMMETRIC>},
      {"nearest", nearest<false, false>},
      {"nearest_align_corners", nearest<true, false>},
      {"nearest_half_pixel", nearest<false, true>},
      {"neg", unary<Op::NEG>},
      {"not_equal", comparison<Op::NOT_EQUAL>},
      {"one_hot", one_hot},
      {"pack", pack},
      {"pad", pad<false>},
      {"pad_v2", pad<true>},
      {"pow", power},
      {"prelu", prelu},
      {"reduce_max", reduction<Op::REDUCE_MAX, false>},
      {"reduce_min", reduction<Op::REDUCE_MIN, true>},
      {"reduce_prod", reduction<Op::REDUCE_PROD, false>},
      {"relu", unary<Op::RELU>},
      {"relu6", unary<Op::RELU6>},
      {"relu_0_to_1", unary<Op::RELU_0_TO_1>},
      {"relu_n1_to_1", unary<Op::RELU_N1_TO_1>},
      {"reshape", reshape},
      {"reshape_by_shape", reshape_by_shape},
      {"reverse", reverse},
      {"round", unary<Op::ROUND>},
      {"rsqrt", unary_of_positive<Op::RSQRT>},
      {"scatter_nd", scatter_nd},
      {"sign", unary<Op::SIGN>},
      {"sin", unary<Op::SIN>},
      {"slice", slice},
      {"softmax", softmax},
      {"space_to_batch", space_to_batch},
      {"space_to_depth", space_to_depth},
      {"split", split},
      {"split_v", split_v},
      {"sqrt", unary_of_positive<Op::SQRT>},
      {"squared_difference", binary<Op::SQUARED_DIFFERENCE>},
      {"squeeze", squeeze},
      {"strided_slice", strided_slice},
      {"sum", reduction<Op::SUM, false>},
      {"tanh", unary<Op::TANH>},
      {"tile", tile},
      {"topk", topk},
      {"transpose", transpose},
      {"transpose_conv_same", transposed<Padding::SAME, 2, 8>},
      {"transpose_conv_same_odd", transposed<Padding::SAME, 2, 7>},
      {"transpose_conv_valid", transposed<Padding::VALID, 2, 9>},
      {"unpack", unpack},
  };
  return kCases;
}

std::vector<double> case_input(const schema::Tensor& tensor, size_t count, size_t i) {
  const auto seed = static_cast<uint32_t>(100 + i);
  std::vector<double> values;
  if (tflite::is_quantised(tensor)) {
    const bool wide = tensor.type() == Type::INT16, is_unsigned = tensor.type() == Type::UINT8;
    const float low = wide ? -32768 : is_unsigned ? 0 : -128, high = wide ? 32768 : low + 256;
    for (const float v : random_values(count, seed, low, high)) values.push_back(std::floor(static_cast<double>(v)));
  } else if (tflite::is_float(tensor.type())) {
    for (const float v : random_values(count, seed, -4, 4)) values.push_back(static_cast<double>(v));
  } else {
    for (size_t k = 0; k < count; ++k) values.push_back(static_cast<double>((k * 5 + 1) % 4));
  }
  return values;
}

}  // namespace ferry::testing

// Shape inference, and the parameters and inputs that it refuses, with their messages.
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/size_code.h"
#include "sdk/operators/type_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "converter/graph/graph.h"

namespace ferry {
namespace {

constexpr int kHuge = std::numeric_limits<int>::max();
constexpr int kLowest = std::numeric_limits<int>::min();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename Params>
Status infer(const Params& params, const std::vector<Shape>& inputs, Shape* output) {
  fbs::OperatorT op;
  op.params.Set(Params(params));
  const SerializedOp serialized(op);
  return infer_shape(*serialized, inputs, output);
}

template <typename Params>
void expect_shape(const Params& params, const std::vector<Shape>& inputs, const Shape& expected) {
  Shape output;
  const Status status = infer(params, inputs, &output);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(to_string(output), to_string(expected));
}

template <typename Params>
void expect_refusal(const Params& params, const std::vector<Shape>& inputs, ferry_status code,
                    const std::string& message) {
  Shape output{7};
  const Status status = infer(params, inputs, &output);
  EXPECT_EQ(status.code(), code) << message;
  EXPECT_EQ(status.message(), message);
  EXPECT_EQ(output.rank, 0) << "an output shape in spite of the refusal";
}

template <typename Params, typename Change>
Params with(const Change& change) {
  Params params;
  change(params);
  return params;
}

TEST(ShapeRules, ConvTranspose2d) {
  using P = fbs::ConvTranspose2dT;
  const P plain;
  expect_shape(plain, {{2, 5, 7, 3}, {8, 3, 1, 3}, {8}}, {2, 7, 7, 8});
  expect_shape(
      with<P>([](P& p) { p.stride_h = 2, p.stride_w = 3, p.pad_top = 1, p.pad_right = 2, p.output_padding_h = 1; }),
      {{1, 4, 5, 3}, {6, 3, 3, 3}}, {1, 9, 13, 6});
  expect_shape(with<P>([](P& p) { p.dilation_h = 2, p.dilation_w = 4, p.groups = 2; }),
               {{1, 9, 9, 4}, {6, 3, 3, 2}, {6}}, {1, 13, 17, 6});

  const std::vector<Shape> fits = {{1, 9, 9, 4}, {8, 3, 3, 4}};
  expect_refusal(plain, {{1, 9, 9, 32}, {64, 3, 3, 16}}, FERRY_SHAPE_MISMATCH,
                 "conv_transpose2d: weight [64,3,3,16] expects 16 input channels, got 32");
  expect_refusal(with<P>([](P& p) { p.groups = 3; }), {{1, 9, 9, 12}, {8, 3, 3, 4}}, FERRY_SHAPE_MISMATCH,
                 "conv_transpose2d: 8 output channels do not divide into 3 groups");
  expect_refusal(plain, {{1, 9, 9, 4}, {8, 3, 3, 4}, {7}}, FERRY_SHAPE_MISMATCH,
                 "conv_transpose2d: bias [7] does not fit 8 output channels, expected [8]");
  expect_refusal(plain, {{1, 9, 9, 4}}, FERRY_CORRUPT, "conv_transpose2d: takes 2 to 3 inputs, got 1");
  expect_refusal(with<P>([](P& p) { p.pad_top = 11; }), fits, FERRY_SHAPE_MISMATCH,
                 "conv_transpose2d: output dimension 1 would be 0, expected 1 to 2147483647");
  expect_refusal(with<P>([](P& p) { p.stride_w = 1 << 20; }), {{1, 1, 4096, 4}, {8, 3, 3, 4}}, FERRY_SHAPE_MISMATCH,
                 "conv_transpose2d: output dimension 2 would be 4293918723, expected 1 to 2147483647");
  for (const int bad : {0, -1, kLowest, kHuge}) {
    expect_refusal(with<P>([=](P& p) { p.stride_h = bad; }), fits, FERRY_CORRUPT,
                   "conv_transpose2d: stride_h is " + std::to_string(bad) + ", expected 1 to 1048576");
  }
  for (const int bad : {-1, 2, kLowest, kHuge}) {
    const auto strides = [=](P& p) { p.stride_h = 2, p.stride_w = 3, p.output_padding_h = bad; };
    expect_refusal(
        with<P>(strides), fits, FERRY_CORRUPT,
        "conv_transpose2d: output padding " + std::to_string(bad) + "x0 is not on 0 to below the strides 2x3");
  }
  expect_refusal(with<P>([](P& p) { p.output_min = 2, p.output_max = 1; }), fits, FERRY_CORRUPT,
                 "conv_transpose2d: clamps to [2, 1], expected a minimum not above the maximum");
}

TEST(ShapeRules, DeformConv2d) {
  using P = fbs::DeformConv2dT;
  const P plain;
  expect_shape(plain, {{2, 5, 7, 3}, {8, 3, 1, 3}, {8}, {2, 3, 7, 6}}, {2, 3, 7, 8});
  expect_shape(plain, {{2, 5, 7, 3}, {8, 3, 1, 3}, {8}, {2, 3, 7, 6}, {2, 3, 7, 3}}, {2, 3, 7, 8});
  expect_shape(with<P>([](P& p) { p.dilation_h = 2, p.dilation_w = 4, p.groups = 2, p.offset_groups = 4; }),
               {{1, 9, 9, 4}, {6, 3, 3, 2}, {6}, {1, 5, 1, 72}}, {1, 5, 1, 6});
  expect_shape(with<P>([](P& p) { p.stride_h = 2, p.stride_w = 3, p.pad_top = 3, p.pad_right = 2; }),
               {{1, 224, 224, 3}, {64, 7, 7, 3}, {64}, {1, 111, 74, 98}}, {1, 111, 74, 64});

  const std::vector<Shape> fits = {{1, 9, 9, 4}, {8, 3, 3, 4}, {8}, {1, 7, 7, 18}};
  expect_refusal(plain, {fits[0], fits[1], fits[2]}, FERRY_CORRUPT, "deform_conv2d: takes 4 to 5 inputs, got 3");
  expect_refusal(plain, {fits[0], fits[1], {7}, fits[3]}, FERRY_SHAPE_MISMATCH,
                 "deform_conv2d: bias [7] does not fit 8 output channels, expected [8]");
  expect_refusal(plain, {fits[0], {8, 3, 3, 2}, fits[2], fits[3]}, FERRY_SHAPE_MISMATCH,
                 "deform_conv2d: weight [8,3,3,2] expects 2 input channels, got 4");
  expect_refusal(plain, {fits[0], fits[1], fits[2], {1, 7, 7, 9}}, FERRY_SHAPE_MISMATCH,
                 "deform_conv2d: offsets [1,7,7,9], expected [1,7,7,18]");
  expect_refusal(plain, {fits[0], fits[1], fits[2], {1, 7, 9, 18}}, FERRY_SHAPE_MISMATCH,
                 "deform_conv2d: offsets [1,7,9,18], expected [1,7,7,18]");
  expect_refusal(plain, {fits[0], fits[1], fits[2], {7, 7, 18}}, FERRY_SHAPE_MISMATCH,
                 "deform_conv2d: offsets [7,7,18], expected [1,7,7,18]");
  expect_refusal(plain, {fits[0], fits[1], fits[2], fits[3], {1, 7, 7, 18}}, FERRY_SHAPE_MISMATCH,
                 "deform_conv2d: mask [1,7,7,18], expected [1,7,7,9]");
  expect_refusal(with<P>([](P& p) { p.offset_groups = 3; }), fits, FERRY_SHAPE_MISMATCH,
                 "deform_conv2d: 4 input channels do not divide into 3 offset groups");
  for (const int bad : {0, -1, kLowest, kHuge}) {
    expect_refusal(with<P>([=](P& p) { p.offset_groups = bad; }), fits, FERRY_CORRUPT,
                   "deform_conv2d: offset_groups is " + std::to_string(bad) + ", expected 1 to 1048576");
    expect_refusal(with<P>([=](P& p) { p.stride_w = bad; }), fits, FERRY_CORRUPT,
                   "deform_conv2d: stride_w is " + std::to_string(bad) + ", expected 1 to 1048576");
  }
}

TEST(ShapeRules, Conv2d) {
  using P = fbs::Conv2dT;
  const P plain;
  expect_shape(plain, {{2, 5, 7, 3}, {8, 3, 1, 3}, {8}}, {2, 3, 7, 8});
  expect_shape(plain, {{1, 1, 1, 3}, {8, 1, 1, 3}}, {1, 1, 1, 8});
  expect_shape(with<P>([](P& p) { p.stride_h = 2, p.stride_w = 3, p.pad_top = 3, p.pad_right = 2; }),
               {{1, 224, 224, 3}, {64, 7, 7, 3}}, {1, 111, 74, 64});
  expect_shape(with<P>([](P& p) { p.dilation_h = 2, p.dilation_w = 4, p.groups = 2; }),
               {{1, 9, 9, 4}, {6, 3, 3, 2}, {6}}, {1, 5, 1, 6});

  const std::vector<Shape> fits = {{1, 9, 9, 4}, {8, 3, 3, 4}};
  expect_refusal(plain, {{1, 9, 9, 32}, {64, 3, 3, 16}}, FERRY_SHAPE_MISMATCH,
                 "conv2d: weight [64,3,3,16] expects 16 input channels, got 32");
  expect_refusal(with<P>([](P& p) { p.groups = 3; }), {{1, 9, 9, 12}, {8, 3, 3, 4}}, FERRY_SHAPE_MISMATCH,
                 "conv2d: 8 output channels do not divide into 3 groups");
  expect_refusal(with<P>([](P& p) { p.groups = 1 << 20; }), {{1, 9, 9, 4}, {8, 3, 3, kHuge}}, FERRY_SHAPE_MISMATCH,
                 "conv2d: weight [8,3,3,2147483647] expects 2251799812636672 input channels, got 4");
  expect_refusal(plain, {{1, 9, 9, 4}, {8, 3, 3, 4}, {1, 8}}, FERRY_SHAPE_MISMATCH,
                 "conv2d: bias [1,8] does not fit 8 output channels, expected [8]");
  expect_refusal(plain, {{9, 9, 4}, {8, 3, 3, 4}}, FERRY_SHAPE_MISMATCH,
                 "conv2d: input [9,9,4] has rank 3, expected 4");
  expect_refusal(plain, {{1, 9, 9, 4}, {8, 4}}, FERRY_SHAPE_MISMATCH, "conv2d: weight [8,4] has rank 2, expected 4");
  expect_refusal(plain, {{1, 2, 9, 4}, {8, 3, 3, 4}}, FERRY_SHAPE_MISMATCH,
                 "conv2d: a window of height 3 does not fit an input of 2, padded by 0 and 0");
  expect_refusal(plain, {{1, 9, 9, 4}}, FERRY_CORRUPT, "conv2d: takes 2 to 3 inputs, got 1");
  expect_refusal(plain, {}, FERRY_CORRUPT, "conv2d: takes 2 to 3 inputs, got 0");
  for (const int bad : {0, -1, kLowest, kHuge, (1 << 20) + 1}) {
    const std::string got = std::to_string(bad) + ", expected 1 to 1048576";
    expect_refusal(with<P>([=](P& p) { p.stride_h = bad; }), fits, FERRY_CORRUPT, "conv2d: stride_h is " + got);
    expect_refusal(with<P>([=](P& p) { p.stride_w = bad; }), fits, FERRY_CORRUPT, "conv2d: stride_w is " + got);
    expect_refusal(with<P>([=](P& p) { p.dilation_h = bad; }), fits, FERRY_CORRUPT, "conv2d: dilation_h is " + got);
    expect_refusal(with<P>([=](P& p) { p.dilation_w = bad; }), fits, FERRY_CORRUPT, "conv2d: dilation_w is " + got);
    expect_refusal(with<P>([=](P& p) { p.groups = bad; }), fits, FERRY_CORRUPT, "conv2d: groups is " + got);
  }
  for (const int bad : {-1, kLowest, kHuge}) {
    const std::string got = std::to_string(bad) + ", expected 0 to 1048576";
    expect_refusal(with<P>([=](P& p) { p.pad_top = bad; }), fits, FERRY_CORRUPT, "conv2d: pad_top is " + got);
    expect_refusal(with<P>([=](P& p) { p.pad_left = bad; }), fits, FERRY_CORRUPT, "conv2d: pad_left is " + got);
    expect_refusal(with<P>([=](P& p) { p.pad_bottom = bad; }), fits, FERRY_CORRUPT, "conv2d: pad_bottom is " + got);
    expect_refusal(with<P>([=](P& p) { p.pad_right = bad; }), fits, FERRY_CORRUPT, "conv2d: pad_right is " + got);
  }
  expect_refusal(with<P>([](P& p) { p.output_min = 2, p.output_max = 1; }), fits, FERRY_CORRUPT,
                 "conv2d: clamps to [2, 1], expected a minimum not above the maximum");
  expect_refusal(with<P>([](P& p) { p.output_max = kNan; }), fits, FERRY_CORRUPT,
                 "conv2d: clamps to [-inf, nan], expected a minimum not above the maximum");
}

TEST(ShapeRules, RefusesShapesThatDoNotFitInMemory) {
  using P = fbs::Conv2dT;
  const P wide = with<P>([](P& p) { p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 1 << 20; });
  expect_refusal(wide, {{1, 9, 9, 4}, {8, 3, 3, 4}}, FERRY_SHAPE_MISMATCH,
                 "conv2d: output [1,2097159,2097159,8] has more than " FERRY_MAX_ELEMENTS " elements");
  expect_refusal(fbs::SoftmaxT(), {{kHuge, kHuge}}, FERRY_SHAPE_MISMATCH,
                 "softmax: input [2147483647,2147483647] has more than " FERRY_MAX_ELEMENTS " elements");
  expect_refusal(fbs::SoftmaxT(), {{1, 0, 3}}, FERRY_SHAPE_MISMATCH, "softmax: input [1,0,3] has a dimension below 1");
  expect_refusal(fbs::SoftmaxT(), {{1, -5, 3}}, FERRY_SHAPE_MISMATCH,
                 "softmax: input [1,-5,3] has a dimension below 1");
}

TEST(ShapeRules, Linear) {
  expect_shape(fbs::LinearT(), {{5, 3}, {8, 3}, {8}}, {5, 8});
  expect_shape(fbs::LinearT(), {{3}, {8, 3}}, {8});
  expect_refusal(fbs::LinearT(), {{5, 4}, {8, 3}}, FERRY_SHAPE_MISMATCH,
                 "linear: weight [8,3] expects 3 input channels, got 4");
  expect_refusal(fbs::LinearT(), {{}, {8, 3}}, FERRY_SHAPE_MISMATCH,
                 "linear: the input is a scalar, expected at least one dimension");
  expect_refusal(fbs::LinearT(), {{5, 3}, {8, 3}, {3}}, FERRY_SHAPE_MISMATCH,
                 "linear: bias [3] does not fit 8 output channels, expected [8]");
}

TEST(ShapeRules, Pool2d) {
  using P = fbs::Pool2dT;
  const auto pool = [](int kernel, int stride, int pad, bool ceil_mode) {
    P p;
    p.kernel_h = p.kernel_w = kernel;
    p.stride_h = p.stride_w = stride;
    p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = pad;
    p.ceil_mode = ceil_mode;
    return p;
  };
  expect_shape(pool(3, 2, 1, false), {{1, 112, 112, 64}}, {1, 56, 56, 64});
  expect_shape(pool(3, 2, 0, true), {{1, 12, 13, 4}}, {1, 6, 6, 4});
  expect_shape(pool(2, 2, 0, true), {{1, 7, 1, 4}}, {1, 4, 1, 4});
  // A last window that would begin in the trailing padding is omitted (PyTorch 1.5 and later).
  expect_shape(pool(2, 2, 1, true), {{1, 3, 4, 4}}, {1, 2, 3, 4});
  expect_shape(pool(1, 2, 0, true), {{1, 4, 4, 4}}, {1, 2, 2, 4});
  expect_refusal(pool(3, 2, 3, false), {{1, 9, 9, 4}}, FERRY_CORRUPT,
                 "pool2d: padding 3,3,3,3 is not smaller than the kernel 3x3");
  expect_refusal(pool(0, 1, 0, false), {{1, 9, 9, 4}}, FERRY_CORRUPT, "pool2d: kernel_h is 0, expected 1 to 1048576");
  expect_refusal(pool(5, 1, 0, false), {{1, 9, 4, 4}}, FERRY_SHAPE_MISMATCH,
                 "pool2d: a window of width 5 does not fit an input of 4, padded by 0 and 0");
  expect_refusal(with<P>([](P& p) { p.kind = static_cast<fbs::PoolKind>(2); }), {{1, 9, 9, 4}}, FERRY_UNSUPPORTED,
                 "pool2d: unknown kind 2");
}

TEST(ShapeRules, Unary) {
  using P = fbs::UnaryT;
  expect_shape(P(), {{2, 3}}, {2, 3});
  expect_refusal(with<P>([](P& p) { p.alpha = kNan; }), {{2, 3}}, FERRY_CORRUPT,
                 "unary: clamps to [nan, 0], expected a minimum not above the maximum");
  expect_refusal(with<P>([](P& p) { p.kind = fbs::UnaryKind::LeakyRelu, p.alpha = kNan; }), {{2, 3}}, FERRY_CORRUPT,
                 "unary: the slope of a leaky ReLU is nan, expected a finite number");
  expect_refusal(with<P>([](P& p) { p.kind = static_cast<fbs::UnaryKind>(200); }), {{2, 3}}, FERRY_UNSUPPORTED,
                 "unary: unknown kind 200");
  expect_refusal(P(), {{2, 3}, {2, 3}}, FERRY_CORRUPT, "unary: takes 1 input, got 2");
}

TEST(ShapeRules, Binary) {
  using P = fbs::BinaryT;
  expect_shape(P(), {{2, 3}, {2, 3}}, {2, 3});
  expect_shape(P(), {{3, 1, 5}, {4, 1}}, {3, 4, 5});
  expect_shape(P(), {{}, {2}}, {2});
  expect_refusal(P(), {{2, 3}, {2, 4}}, FERRY_SHAPE_MISMATCH, "binary: [2,3] and [2,4] do not broadcast");
  expect_refusal(P(), {{1 << 20, 1}, {1, kHuge}}, FERRY_SHAPE_MISMATCH,
                 "binary: output [1048576,2147483647] has more than " FERRY_MAX_ELEMENTS " elements");
  expect_refusal(P(), {{2}}, FERRY_CORRUPT, "binary: takes 2 inputs, got 1");
  expect_refusal(with<P>([](P& p) { p.kind = static_cast<fbs::BinaryKind>(99); }), {{2}, {2}}, FERRY_UNSUPPORTED,
                 "binary: unknown kind 99");
  expect_refusal(with<P>([](P& p) { p.output_min = kNan; }), {{2}, {2}}, FERRY_CORRUPT,
                 "binary: clamps to [nan, inf], expected a minimum not above the maximum");
}

TEST(ShapeRules, Reduce) {
  using P = fbs::ReduceT;
  const auto reduce = [](std::vector<int> axes, bool keep_dims = false) {
    P p;
    p.axes = std::move(axes);
    p.keep_dims = keep_dims;
    return p;
  };
  expect_shape(reduce({1, 2}), {{2, 7, 7, 5}}, {2, 5});
  expect_shape(reduce({1, 2}, true), {{2, 7, 7, 5}}, {2, 1, 1, 5});
  expect_shape(reduce({0}), {{7}}, {});
  expect_refusal(reduce({}), {{7}}, FERRY_CORRUPT, "reduce: no axes, expected at least one");
  expect_refusal(reduce({1, 1}), {{7, 7}}, FERRY_CORRUPT,
                 "reduce: axis 1 is out of order, expected ascending axes from 0");
  expect_refusal(reduce({-1}), {{7, 7}}, FERRY_CORRUPT,
                 "reduce: axis -1 is out of order, expected ascending axes from 0");
  expect_refusal(reduce({2}), {{7, 7}}, FERRY_SHAPE_MISMATCH, "reduce: axis 2 is outside input [7,7]");
  expect_refusal(reduce({kHuge}), {{7, 7}}, FERRY_SHAPE_MISMATCH, "reduce: axis 2147483647 is outside input [7,7]");
  expect_refusal(with<P>([](P& p) { p.axes = {0}, p.kind = static_cast<fbs::ReduceKind>(9); }), {{7}},
                 FERRY_UNSUPPORTED, "reduce: unknown kind 9");
}

TEST(ShapeRules, Concat) {
  using P = fbs::ConcatT;
  const auto concat = [](int axis) { return with<P>([=](P& p) { p.axis = axis; }); };
  expect_shape(concat(1), {{2, 3}, {2, 4}, {2, 1}}, {2, 8});
  expect_refusal(concat(0), {}, FERRY_CORRUPT, "concat: takes at least 1 input, got 0");
  expect_refusal(concat(-1), {{2, 3}}, FERRY_CORRUPT, "concat: axis is -1, expected 0 or more");
  expect_refusal(concat(2), {{2, 3}}, FERRY_SHAPE_MISMATCH, "concat: axis 2 is outside input [2,3]");
  expect_refusal(concat(1), {{2, 3}, {3, 3}}, FERRY_SHAPE_MISMATCH, "concat: [3,3] does not join [2,3] along axis 1");
  expect_refusal(concat(1), {{2, 3}, {2}}, FERRY_SHAPE_MISMATCH, "concat: [2] does not join [2,3] along axis 1");
  expect_refusal(concat(0), {{kHuge}, {kHuge}}, FERRY_SHAPE_MISMATCH,
                 "concat: output dimension 0 would be 4294967294, expected 1 to 2147483647");
}

TEST(ShapeRules, PixelShuffle) {
  using P = fbs::PixelShuffleT;
  const auto shuffle = [](int factor) { return with<P>([=](P& p) { p.factor = factor; }); };
  expect_shape(shuffle(3), {{2, 4, 5, 18}}, {2, 12, 15, 2});
  expect_refusal(shuffle(2), {{2, 4, 5, 6}}, FERRY_SHAPE_MISMATCH,
                 "pixel_shuffle: 6 channels are not a multiple of 4, the factor's square");
  expect_refusal(shuffle(0), {{2, 4, 5, 6}}, FERRY_CORRUPT, "pixel_shuffle: factor is 0, expected 1 to 1048576");
  expect_refusal(shuffle(1 << 20), {{2, 4, 5, 6}}, FERRY_SHAPE_MISMATCH,
                 "pixel_shuffle: 6 channels are not a multiple of 1099511627776, the factor's square");
}

TEST(ShapeRules, Resize2d) {
  using P = fbs::Resize2dT;
  expect_shape(with<P>([](P& p) { p.scale_w = 3; }), {{2, 4, 5, 6}}, {2, 8, 15, 6});
  expect_refusal(with<P>([](P& p) { p.scale_h = -2; }), {{2, 4, 5, 6}}, FERRY_CORRUPT,
                 "resize2d: scale_h is -2, expected 1 to 1048576");
  expect_refusal(with<P>([](P& p) { p.scale_h = 1 << 20; }), {{1, 4096, 1, 1}}, FERRY_SHAPE_MISMATCH,
                 "resize2d: output dimension 1 would be 4294967296, expected 1 to 2147483647");
  expect_refusal(with<P>([](P& p) { p.kind = static_cast<fbs::ResizeKind>(3); }), {{2, 4, 5, 6}}, FERRY_UNSUPPORTED,
                 "resize2d: unknown kind 3");
}

TEST(ShapeRules, Pad) {
  using P = fbs::PadT;
  const auto pad = [](std::vector<int> before, std::vector<int> after) {
    P p;
    p.before = std::move(before);
    p.after = std::move(after);
    return p;
  };
  expect_shape(pad({1, 0}, {2, 3}), {{4, 5}}, {7, 8});
  expect_shape(pad({}, {}), {{}}, {});
  expect_refusal(pad({1}, {2, 3}), {{4, 5}}, FERRY_SHAPE_MISMATCH,
                 "pad: before has 1 entries for input [4,5], expected 2");
  expect_refusal(pad({1, 1}, {}), {{4, 5}}, FERRY_SHAPE_MISMATCH,
                 "pad: after has 0 entries for input [4,5], expected 2");
  expect_refusal(pad({1, -1}, {0, 0}), {{4, 5}}, FERRY_CORRUPT, "pad: an entry of before is -1, expected 0 to 1048576");
  expect_refusal(pad({1, 1}, {0, kHuge}), {{4, 5}}, FERRY_CORRUPT,
                 "pad: an entry of after is 2147483647, expected 0 to 1048576");
}

TEST(ShapeRules, Reshape) {
  using P = fbs::ReshapeT;
  const auto reshape = [](std::vector<int> shape) { return with<P>([&](P& p) { p.shape = shape; }); };
  expect_shape(reshape({0, -1}), {{2, 3, 4}}, {2, 12});
  expect_shape(reshape({-1, 1, 24}), {{2, 3, 4}}, {1, 1, 24});
  expect_shape(reshape({}), {{1, 1}}, {});
  expect_refusal(reshape({-1, -1}), {{2, 3}}, FERRY_CORRUPT,
                 "reshape: dimensions 0 and 1 are both -1, expected at most one");
  expect_shape(reshape({0, -3, -4, 5}), {{2, 12, 5}, {1, 3, 4, 7}}, {2, 3, 4, 5});
  expect_refusal(reshape({-2}), {{2, 3}}, FERRY_CORRUPT,
                 "reshape: a size refers to dimension 0 of a second input, which is missing");
  expect_refusal(reshape({5, -1}), {{2, 3}}, FERRY_SHAPE_MISMATCH,
                 "reshape: [5,1] does not hold the 6 elements of [2,3]");
  expect_refusal(reshape({5}), {{2, 3}}, FERRY_SHAPE_MISMATCH, "reshape: [5] does not hold the 6 elements of [2,3]");
  expect_refusal(reshape({}), {{2, 3}}, FERRY_SHAPE_MISMATCH, "reshape: [] does not hold the 6 elements of [2,3]");
  expect_refusal(reshape({kHuge, kHuge, kHuge, -1}), {{2, 3}}, FERRY_SHAPE_MISMATCH,
                 "reshape: [2147483647,2147483647,2147483647,1] does not hold the 6 elements of [2,3]");
  expect_refusal(reshape({1, 1, 0}), {{2, 3}}, FERRY_SHAPE_MISMATCH,
                 "reshape: dimension 2 copies the input's, but the input is [2,3]");
  expect_refusal(reshape({1, 1, 1, 1, 1, 1, 6}), {{2, 3}}, FERRY_SHAPE_MISMATCH,
                 "reshape: the output has more than 6 dimensions");
  expect_refusal(reshape({-1}), {{1 << 20, 1 << 12}}, FERRY_SHAPE_MISMATCH,
                 "reshape: [1] does not hold the 4294967296 elements of [1048576,4096]");
}

TEST(ShapeRules, Transpose) {
  using P = fbs::TransposeT;
  const auto transpose = [](std::vector<int> perm) { return with<P>([&](P& p) { p.perm = perm; }); };
  expect_shape(transpose({2, 0, 1}), {{3, 4, 5}}, {5, 3, 4});
  expect_refusal(transpose({0, 1}), {{3, 4, 5}}, FERRY_SHAPE_MISMATCH,
                 "transpose: perm has 2 entries for input [3,4,5], expected 3");
  expect_refusal(transpose({0, 0, 1}), {{3, 4, 5}}, FERRY_CORRUPT,
                 "transpose: perm has 0 at 1, expected each of 0 to 2 once");
  expect_refusal(transpose({0, 3, 1}), {{3, 4, 5}}, FERRY_CORRUPT,
                 "transpose: perm has 3 at 1, expected each of 0 to 2 once");
  expect_refusal(transpose({-1, 0, 1}), {{3, 4, 5}}, FERRY_CORRUPT,
                 "transpose: perm has -1 at 0, expected each of 0 to 2 once");
}

TEST(ShapeRules, Slice) {
  using P = fbs::SliceT;
  const auto slice = [](std::vector<int> begin, std::vector<int> size) {
    P p;
    p.begin = std::move(begin);
    p.size = std::move(size);
    return p;
  };
  expect_shape(slice({1, 0}, {2, -1}), {{4, 5}}, {2, 5});
  expect_refusal(slice({1}, {2, -1}), {{4, 5}}, FERRY_SHAPE_MISMATCH,
                 "slice: begin has 1 entries for input [4,5], expected 2");
  expect_refusal(slice({0, 0}, {2, 0}), {{4, 5}}, FERRY_CORRUPT, "slice: dimension 1 has size 0, expected another");
  expect_shape(slice({-3, -1}, {2, -1}), {{4, 5}}, {2, 1});  // from the end
  expect_refusal(slice({-5, 0}, {2, -1}), {{4, 5}}, FERRY_SHAPE_MISMATCH,
                 "slice: elements -1 to 1 of dimension 0 are outside input [4,5]");
  expect_shape(slice({1, 0}, {-3, -2}), {{4, 5}, {1, 3}}, {3, 1});
  expect_refusal(slice({1, 0}, {-4, -1}), {{4, 5}, {1, 3}}, FERRY_CORRUPT,
                 "slice: a size refers to dimension 2 of a second input, which is missing");
  expect_refusal(slice({1, 0}, {2, -kHuge / 2}), {{4, 5}}, FERRY_CORRUPT,
                 "slice: a size refers to dimension 5 of a second input, which is missing");
  expect_refusal(slice({2, 0}, {-3, -1}), {{4, 5}, {1, 3}}, FERRY_SHAPE_MISMATCH,
                 "slice: elements 2 to 5 of dimension 0 are outside input [4,5]");
  expect_refusal(slice({3, 0}, {2, -1}), {{4, 5}}, FERRY_SHAPE_MISMATCH,
                 "slice: elements 3 to 5 of dimension 0 are outside input [4,5]");
  expect_refusal(slice({4, 0}, {-1, -1}), {{4, 5}}, FERRY_SHAPE_MISMATCH,
                 "slice: elements 4 to 4 of dimension 0 are outside input [4,5]");
  expect_refusal(slice({kHuge, 0}, {kHuge, -1}), {{4, 5}}, FERRY_SHAPE_MISMATCH,
                 "slice: elements 2147483647 to 4294967294 of dimension 0 are outside input [4,5]");
}

TEST(ShapeRules, Softmax) {
  expect_shape(fbs::SoftmaxT(), {{2, 3}}, {2, 3});
  expect_refusal(fbs::SoftmaxT(), {{}}, FERRY_SHAPE_MISMATCH,
                 "softmax: the input is a scalar, expected at least one dimension");
}

TEST(ShapeRules, CastAndSelect) {
  expect_shape(fbs::CastT(), {{2, 3}}, {2, 3});
  expect_refusal(with<fbs::CastT>([](auto& p) { p.to = static_cast<fbs::DType>(99); }), {{2}}, FERRY_UNSUPPORTED,
                 "cast: unknown type 99");
  expect_shape(fbs::SelectT(), {{2, 1, 1}, {3, 1}, {4}}, {2, 3, 4});
  expect_refusal(fbs::SelectT(), {{2}, {2}, {3}}, FERRY_SHAPE_MISMATCH, "select: [2] and [3] do not broadcast");
}

TEST(ShapeRules, TopK) {
  using P = fbs::TopKT;
  expect_shape(with<P>([](P& p) { p.k = 3; }), {{2, 5}}, {2, 3});
  expect_refusal(P(), {{}}, FERRY_SHAPE_MISMATCH, "top_k: the input is a scalar, expected at least one dimension");
  expect_refusal(with<P>([](P& p) { p.k = 6; }), {{2, 5}}, FERRY_SHAPE_MISMATCH, "top_k: 6 elements of 5");
  expect_refusal(with<P>([](P& p) { p.k = 0; }), {{2, 5}}, FERRY_CORRUPT, "top_k: k is 0, expected 1 or more");
}

TEST(ShapeRules, GatherAndScatter) {
  using P = fbs::GatherT;
  const auto gather = [](fbs::GatherKind kind, int axis) {
    return with<P>([=](P& p) { p.kind = kind, p.axis = axis; });
  };
  expect_shape(gather(fbs::GatherKind::Slices, 1), {{2, 5, 7}, {3, 4}}, {2, 3, 4, 7});
  expect_shape(gather(fbs::GatherKind::Elements, 1), {{2, 5, 7}, {2, 9, 3}}, {2, 9, 3});
  expect_shape(gather(fbs::GatherKind::Tuples, 1), {{2, 5, 7, 8}, {2, 9, 2}}, {2, 9, 8});
  expect_refusal(gather(fbs::GatherKind::Slices, -1), {{2}, {2}}, FERRY_CORRUPT,
                 "gather: axis is -1, expected 0 or more");
  expect_refusal(gather(fbs::GatherKind::Slices, 1), {{2}, {2}}, FERRY_SHAPE_MISMATCH,
                 "gather: axis 1 is outside input [2]");
  expect_refusal(gather(fbs::GatherKind::Elements, 1), {{2, 5}, {3, 1}}, FERRY_SHAPE_MISMATCH,
                 "gather: indices [3,1] do not fit input [2,5]");
  expect_refusal(gather(fbs::GatherKind::Tuples, 1), {{2, 5}, {3, 1}}, FERRY_SHAPE_MISMATCH,
                 "gather: indices [3,1] do not fit input [2,5]");
  expect_refusal(gather(fbs::GatherKind::Tuples, 0), {{2, 5}, {3, 3}}, FERRY_SHAPE_MISMATCH,
                 "gather: indices [3,3] do not fit input [2,5]");
  expect_refusal(gather(static_cast<fbs::GatherKind>(9), 0), {{2}, {2}}, FERRY_UNSUPPORTED, "gather: unknown kind 9");
  expect_shape(fbs::ScatterT(), {{2, 5}, {1, 5}, {1, 5}}, {2, 5});
  expect_refusal(fbs::ScatterT(), {{2, 5}, {1, 5}, {5}}, FERRY_SHAPE_MISMATCH, "scatter: updates [5], expected [1,5]");
}

TEST(ShapeRules, NonMaxSuppression) {
  using P = fbs::NonMaxSuppressionT;
  expect_shape(with<P>([](P& p) { p.max_boxes = 5; }), {{2, 9, 4}, {2, 3, 9}}, {30, 3});
  expect_shape(with<P>([](P& p) { p.max_boxes = 50; }), {{2, 9, 4}, {2, 3, 9}}, {54, 3});
  expect_refusal(P(), {{2, 9, 4}, {2, 3, 8}}, FERRY_SHAPE_MISMATCH,
                 "non_max_suppression: boxes [2,9,4] and scores [2,3,8], expected [N,B,4] and [N,C,B]");
  expect_refusal(with<P>([](P& p) { p.max_boxes = 0; }), {{2, 9, 4}, {2, 3, 9}}, FERRY_CORRUPT,
                 "non_max_suppression: max_boxes is 0, expected 1 or more");
  expect_refusal(with<P>([](P& p) { p.iou_threshold = -1; }), {{2, 9, 4}, {2, 3, 9}}, FERRY_CORRUPT,
                 "non_max_suppression: thresholds are -1 and -inf, expected 0 or more and a number");
}

TEST(ShapeRules, Recurrence) {
  const auto lstm = [](auto change) {
    return with<fbs::RecurrenceT>([&](fbs::RecurrenceT& p) {
      p.f = std::make_unique<fbs::GateFunction>();
      p.g = std::make_unique<fbs::GateFunction>();
      p.h = std::make_unique<fbs::GateFunction>();
      change(p);
    });
  };
  const auto plain = [&] { return lstm([](fbs::RecurrenceT&) {}); };
  expect_shape(plain(), {{7, 3, 20}, {20, 5}, {2, 1, 5}}, {9, 3, 5});
  expect_shape(plain(), {{7, 3, 20}, {20, 5}, {2, 3, 5}, {3}}, {9, 3, 5});
  expect_refusal(plain(), {{7, 3, 20}, {20, 5}, {2, 2, 5}}, FERRY_SHAPE_MISMATCH,
                 "recurrence: state [2,2,5], expected [2,3,5]");
  expect_refusal(plain(), {{7, 3, 20}, {20, 5}, {1, 3, 5}}, FERRY_SHAPE_MISMATCH,
                 "recurrence: state [1,3,5], expected [2,3,5]");
  expect_refusal(plain(), {{7, 3, 20}, {20, 5}, {2, 3, 5}, {4}}, FERRY_SHAPE_MISMATCH,
                 "recurrence: lengths [4], expected [3]");
  expect_refusal(plain(), {{7, 3, 20}, {23, 5}, {2, 3, 5}}, FERRY_SHAPE_MISMATCH,
                 "recurrence: input [7,3,20] and recurrence [23,5] do not fit 4 gates of 5 and 0 rows more");
  expect_shape(lstm([](fbs::RecurrenceT& p) { p.peepholes = true; }), {{7, 3, 20}, {23, 5}, {2, 3, 5}}, {9, 3, 5});
  expect_refusal(lstm([](fbs::RecurrenceT& p) { p.h = nullptr; }), {{7, 3, 20}, {20, 5}, {2, 3, 5}}, FERRY_CORRUPT,
                 "recurrence: function h is missing");
  expect_refusal(lstm([](fbs::RecurrenceT& p) { p.f = nullptr; }), {{7, 3, 20}, {20, 5}, {2, 3, 5}}, FERRY_CORRUPT,
                 "recurrence: function f is missing");
  expect_refusal(
      lstm([](fbs::RecurrenceT& p) { *p.g = fbs::GateFunction(static_cast<fbs::GateFunctionKind>(99), 0.0f, 0.0f); }),
      {{7, 3, 20}, {20, 5}, {2, 3, 5}}, FERRY_UNSUPPORTED, "recurrence: function g is of unknown kind 99");
  expect_refusal(lstm([](fbs::RecurrenceT& p) { p.cell = static_cast<fbs::RecurrentCell>(9); }),
                 {{7, 3, 20}, {20, 5}, {2, 3, 5}}, FERRY_UNSUPPORTED, "recurrence: unknown cell 9");
  expect_refusal(lstm([](fbs::RecurrenceT& p) { p.clip = -1; }), {{7, 3, 20}, {20, 5}, {2, 3, 5}}, FERRY_CORRUPT,
                 "recurrence: clip is -1, expected more than 0");
}

TEST(ShapeRules, SizesAreParts) {
  const auto slice = [](std::vector<int32_t> begin, std::vector<int32_t> size) {
    return with<fbs::SliceT>([&](fbs::SliceT& p) { p.begin = begin, p.size = size; });
  };
  const auto part = [](int dim, int32_t divisor, bool up) { return SizeCode{dim, divisor, up}.encode(); };
  for (const int32_t divisor : {1, 2, 3, 32})
    for (const bool up : {false, true})
      for (int dim = 0; dim < FERRY_MAX_RANK; ++dim) {
        const SizeCode back = SizeCode::decode(part(dim, divisor, up));
        EXPECT_EQ(back.dim, dim);
        EXPECT_EQ(back.divisor, divisor);
        EXPECT_EQ(back.up, up);
      }
  EXPECT_EQ(part(1, 1, false), -3) << "as in earlier versions";
  expect_shape(slice({0, 0}, {-1, part(1, 2, false)}), {{2, 7}, {3, 7}}, {2, 3});
  expect_shape(slice({0, 0}, {-1, part(1, 2, true)}), {{2, 7}, {3, 7}}, {2, 4});
  expect_shape(slice({0, kLastElements}, {-1, part(1, 2, true)}), {{2, 7}, {3, 7}}, {2, 4});
  expect_refusal(slice({0, kLastElements}, {-1, 8}), {{2, 7}}, FERRY_SHAPE_MISMATCH,
                 "slice: elements -1 to 7 of dimension 1 are outside input [2,7]");
  expect_refusal(slice({0, kLastElements}, {-1, -1}), {{2, 7}}, FERRY_SHAPE_MISMATCH,
                 "slice: elements 8 to 7 of dimension 1 are outside input [2,7]");
  expect_refusal(slice({0, 0}, {-1, part(1, 8, false)}), {{2, 7}, {3, 7}}, FERRY_SHAPE_MISMATCH,
                 "slice: a size is dimension 1 of [3,7] divided by 8, which is 0");
  expect_refusal(slice({0, 0}, {-1, kLowest + (1 << 24)}), {{2, 7}, {3, 7}}, FERRY_CORRUPT,
                 "slice: a size refers to dimension 6 of a second input, which is missing");
  expect_shape(slice({0, 2}, {all_but(0), all_but(3)}), {{2, 7}}, {2, 2});
  expect_shape(slice({0, -4}, {-1, all_but(1)}), {{2, 7}}, {2, 3});
  expect_refusal(slice({0, 2}, {-1, all_but(5)}), {{2, 7}}, FERRY_SHAPE_MISMATCH,
                 "slice: elements 2 to 2 of dimension 1 are outside input [2,7]");
  expect_refusal(slice({0, kLastElements}, {-1, all_but((1 << 24) - 1)}), {{2, 7}}, FERRY_SHAPE_MISMATCH,
                 "slice: elements 8 to -16777208 of dimension 1 are outside input [2,7]");
  const auto pad = [](std::vector<int32_t> multiple) {
    return with<fbs::PadT>([&](fbs::PadT& p) { p.before = {0, 1}, p.after = {0, 2}, p.multiple = multiple; });
  };
  expect_shape(pad({1, 4}), {{3, 5}}, {3, 8});
  expect_shape(pad({5, 4}), {{3, 6}}, {5, 12});
  expect_refusal(pad({0, 4}), {{3, 5}}, FERRY_CORRUPT, "pad: an entry of multiple is 0, expected 1 to 1048576");
  expect_refusal(pad({4}), {{3, 5}}, FERRY_SHAPE_MISMATCH, "pad: multiple has 1 entries for input [3,5], expected 2");
}

TEST(ShapeRules, Loops) {
  using Begin = fbs::LoopBeginT;
  using End = fbs::LoopEndT;
  expect_shape(Begin(), {{5, 2}, {1}, {3, 4}, {}}, {1});
  expect_refusal(Begin(), {{5}}, FERRY_CORRUPT, "loop_begin: takes 2 to 65 inputs, got 1");
  expect_refusal(Begin(), {{}, {1}}, FERRY_SHAPE_MISMATCH,
                 "loop_begin: the extent has no dimension, expected the number of steps as its first");
  expect_refusal(Begin(), {{5}, {2}}, FERRY_SHAPE_MISMATCH, "loop_begin: count [2], expected [1]");
  const auto end = [](int states, bool unlimited = false) {
    return with<End>([=](End& p) { p.states = states, p.unlimited = unlimited; });
  };
  const std::vector<Shape> inputs = {{5, 2}, {1}, {1}, {1}, {3, 4}, {3, 4}, {7}};
  expect_shape(end(1), inputs, {1});
  expect_refusal(end(1, true), inputs, FERRY_CORRUPT, "loop_end: 1 rows of an unlimited number of steps");
  expect_refusal(end(-1), inputs, FERRY_CORRUPT, "loop_end: -1 states, expected 0 to 63");
  expect_refusal(end(2), inputs, FERRY_CORRUPT, "loop_end: takes 8 to 69 inputs, got 7");
  expect_refusal(end(1), {{5, 2}, {1}, {1}, {1}, {3, 4}, {4, 3}}, FERRY_SHAPE_MISMATCH,
                 "loop_end: state 0 is [3,4], but [4,3] in the next step");
  expect_refusal(end(0), {{5}, {}, {1}, {1}}, FERRY_SHAPE_MISMATCH, "loop_end: index [], expected [1]");
  expect_refusal(end(0), {{5}, {1}, {1}, {1, 1}}, FERRY_SHAPE_MISMATCH, "loop_end: condition [1,1], expected [1]");
  expect_refusal(end(0), {{5}, {1}, {1}, {1}, {1, 1, 1, 1, 1, 1}}, FERRY_SHAPE_MISMATCH,
                 "loop_end: the output has more than 6 dimensions");

  const fbs::LoopEndT one = end(1);
  fbs::OperatorT op;
  op.params.Set(fbs::LoopEndT(one));
  const SerializedOp serialized(op);
  Shape shapes[3];
  ASSERT_TRUE(infer_shapes(*serialized, inputs, {}, shapes).ok());
  EXPECT_EQ(to_string(shapes[1]), "[3,4]");
  EXPECT_EQ(to_string(shapes[2]), "[5,7]");
  using fbs::DType;
  const Type f{DType::Float32}, i{DType::Int32};
  Type types[3];
  EXPECT_TRUE(infer_types(*serialized, std::vector<Type>{f, i, i, i, i, i, f}, types).ok());
  EXPECT_EQ(types[0].dtype, DType::Int32);
  EXPECT_EQ(types[1].dtype, DType::Int32);
  EXPECT_EQ(types[2].dtype, DType::Float32);
  EXPECT_EQ(infer_types(*serialized, std::vector<Type>{f, i, i, i, i, f, f}, types).message(),
            "loop_end: state 0 is of another type in the next step, expected Int32");
  EXPECT_EQ(infer_types(*serialized, std::vector<Type>{f, i, i, f, i, i, f}, types).message(),
            "loop_end: input 3 is of type Float32, expected Int32");
}

TEST(TypeRules, ListTheElementTypesOfOperators) {
  using fbs::DType;
  const auto expect = [](auto params, const std::vector<Type>& inputs, DType gives, const char* refusal = "") {
    fbs::OperatorT op;
    op.params.Set(std::move(params));
    const SerializedOp serialized(op);
    Type type;
    const Status status = infer_type(*serialized, inputs, &type);
    EXPECT_EQ(status.message(), refusal);
    EXPECT_TRUE(!status.ok() || type.dtype == gives) << to_string(type);
  };
  constexpr DType kReal = DType::Float32, kWhole = DType::Int32;
  constexpr Type kScaled{DType::Int8, true}, kScaledNibbles{DType::Int4, true}, kFloat16{DType::Float16};
  expect(fbs::SoftmaxT(), {{kReal}}, kReal);
  expect(fbs::SoftmaxT(), {{kWhole}}, kReal, "softmax: input 0 is of type Int32, expected Float32");
  expect(fbs::TransposeT(), {{kWhole}}, kWhole);
  expect(fbs::TransposeT(), {{DType::Int64}}, kWhole, "transpose: input 0 is of type Int64, expected Float32 or Int32");
  expect(fbs::BinaryT(), {{kWhole}, {kReal}}, kReal, "binary: input 1 is of type Float32, expected Int32");
  expect(with<fbs::BinaryT>([](auto& p) { p.kind = fbs::BinaryKind::Less; }), {{kReal}, {kReal}}, kWhole);
  expect(with<fbs::BinaryT>([](auto& p) { p.kind = fbs::BinaryKind::And; }), {{kReal}, {kReal}}, kWhole,
         "binary: input 0 is of type Float32, expected Int32");
  expect(with<fbs::BinaryT>([](auto& p) { p.output_min = 0; }), {{kWhole}, {kWhole}}, kWhole,
         "binary: clamps Int32, expected an addition or the like of Float32");
  expect(with<fbs::PadT>([](auto& p) { p.value = 0.5f; }), {{kWhole}}, kWhole,
         "pad: pads Int32 with 0.5, expected a whole number within 2^30");
  expect(with<fbs::CastT>([](auto& p) { p.to = DType::Bool; }), {{kReal}}, kWhole);
  expect(with<fbs::CastT>([](auto& p) { p.to = DType::Float16; }), {{kWhole}}, kReal);
  expect(fbs::SelectT(), {{kWhole}, {kReal}, {kReal}}, kReal);
  expect(fbs::SelectT(), {{kReal}, {kReal}, {kReal}}, kReal, "select: input 0 is of type Float32, expected Int32");
  expect(fbs::GatherT(), {{kReal}, {kWhole}}, kReal);
  expect(fbs::GatherT(), {{kReal}, {kReal}}, kReal, "gather: input 1 is of type Float32, expected Int32");
  expect(fbs::TopKT(), {{kReal}}, kWhole);
  expect(fbs::LinearT(), {{kReal}, kScaled, kFloat16}, kReal);
  expect(fbs::LinearT(), {{kReal}, kScaledNibbles}, kReal);
  expect(fbs::LinearT(), {{kReal}, {DType::Int8}}, kReal,
         "linear: input 1 is of type Int8, expected Float32, Float16, Int8 with scales or Int4 with scales");
  expect(fbs::LinearT(), {{kReal}, {kReal}, kScaled}, kReal,
         "linear: input 2 is of type Int8 with scales, expected Float32 or Float16");
  expect(fbs::MatMulT(), {{kReal}, {kReal}}, kReal);
  expect(fbs::MatMulT(), {{kWhole}, {kWhole}}, kReal, "matmul: input 0 is of type Int32, expected Float32");
  expect(fbs::MatMulT(), {{kReal}, kFloat16}, kReal, "matmul: input 1 is of type Float16, expected Float32");
  expect(fbs::ExpertsT(), {{kReal}, {kWhole}, {kReal}, kScaled, kScaledNibbles}, kReal);
  expect(fbs::ExpertsT(), {{kReal}, {kWhole}, {kReal}, kFloat16, {kReal}, {kReal}, kFloat16}, kReal);
  expect(fbs::ExpertsT(), {{kReal}, {kReal}, {kReal}, {kReal}, {kReal}}, kReal,
         "experts: input 1 is of type Float32, expected Int32");
  expect(fbs::ExpertsT(), {{kReal}, {kWhole}, kScaled, {kReal}, {kReal}}, kReal,
         "experts: input 2 is of type Int8 with scales, expected Float32");
  expect(fbs::ConvTranspose2dT(), {{kReal}, kScaled}, kReal,
         "conv_transpose2d: input 1 is of type Int8 with scales, expected Float32 or Float16");
  constexpr DType kByte = DType::Int8;
  constexpr Type kInteger{.dtype = kByte, .quantized = true, .float_scale = 0.5f};
  constexpr Type kOther{.dtype = kByte, .quantized = true, .zero_point = 1, .float_scale = 0.5f};
  constexpr Type kAlongColumns{.dtype = kByte, .quantized = true, .axis = 1};
  expect(fbs::RequantizeT(), {{kReal}}, kByte);
  expect(fbs::RequantizeT(), {kInteger}, kByte);
  expect(with<fbs::RequantizeT>([](auto& p) { p.to = kReal; }), {kInteger}, kReal);
  expect(with<fbs::RequantizeT>([](auto& p) { p.to = kReal; }), {{kReal}}, kReal,
         "requantize: input 0 is of type Float32, expected quantised Int8");
  expect(fbs::LookupT(), {kInteger, kOther}, kByte);
  expect(fbs::LookupT(), {kInteger, {kByte}}, kByte, "lookup: input 1 is of type Int8, expected quantised Int8");
  expect(fbs::Conv2dT(), {kInteger, kScaled, {kWhole}}, kByte);
  expect(fbs::Conv2dT(), {kInteger, kScaled, {kReal}}, kByte, "conv2d: input 2 is of type Float32, expected Int32");
  expect(fbs::Conv2dT(), {{kReal}, kInteger}, kReal,
         "conv2d: input 1 is of type quantised Int8, expected Float32, Float16, Int8 with scales or Int4 with scales");
  expect(fbs::LinearT(), {kInteger, kAlongColumns}, kByte,
         "linear: the weight has scales along axis 1, in blocks of 0; an Int8 input needs scales along axis 0 and no "
         "blocks");
  expect(fbs::ConcatT(), {kInteger, kInteger}, kByte);
  expect(fbs::ConcatT(), {kInteger, kOther}, kByte, "concat: input 1 has another scale or zero point than input 0");
  expect(fbs::SoftmaxT(), {kInteger}, kReal, "softmax: input 0 is of type quantised Int8, expected Float32");
  expect(with<fbs::Resize2dT>([](auto& p) { p.kind = fbs::ResizeKind::Bilinear; }), {kInteger}, kReal,
         "resize2d: input 0 is of type quantised Int8, expected Float32");
  expect(fbs::GatherT(), {kFloat16, {kWhole}}, kReal);
  expect(with<fbs::GatherT>([](auto& p) { p.kind = fbs::GatherKind::Tuples; }), {kFloat16, {kWhole}}, kReal,
         "gather: input 0 is of type Float16, expected Float32 or Int32");
}

TEST(ShapeRules, CausalAttention) {
  const auto attention = [](bool causal, int32_t window) {
    return with<fbs::AttentionT>([=](fbs::AttentionT& p) { p.causal = causal, p.window = window; });
  };
  expect_shape(attention(true, 3), {{1, 4, 8}, {1, 9, 8}, {1, 9, 8}}, {1, 4, 8});
  expect_refusal(attention(true, 0), {{1, 4, 8}, {1, 3, 8}, {1, 3, 8}}, FERRY_SHAPE_MISMATCH,
                 "attention: causal with 4 queries and 3 keys, expected no more queries than keys");
  expect_refusal(attention(true, -1), {{1, 4, 8}, {1, 9, 8}, {1, 9, 8}}, FERRY_CORRUPT,
                 "attention: the window is -1, expected 0 or more, and 0 where attention is not causal");
  expect_refusal(attention(false, 1), {{1, 4, 8}, {1, 9, 8}, {1, 9, 8}}, FERRY_CORRUPT,
                 "attention: the window is 1, expected 0 or more, and 0 where attention is not causal");
}

TEST(ShapeRules, AttentionWithSoftcap) {
  const auto capped = [](float softcap) {
    return with<fbs::AttentionT>([=](fbs::AttentionT& p) { p.softcap = softcap; });
  };
  expect_shape(capped(50), {{1, 4, 8}, {1, 9, 8}, {1, 9, 8}}, {1, 4, 8});
  for (const auto& [softcap, text] : std::vector<std::pair<float, std::string>>{
           {-1.0f, "-1"}, {INFINITY, "inf"}, {std::nanf(""), "nan"}, {1e-40f, "9.99995e-41"}})
    expect_refusal(capped(softcap), {{1, 4, 8}, {1, 9, 8}, {1, 9, 8}}, FERRY_CORRUPT,
                   "attention: the softcap is " + text + ", expected 0 or a normal number above 0");
}

TEST(ShapeRules, AttentionWithSinks) {
  const auto p = with<fbs::AttentionT>([](fbs::AttentionT& a) { a.heads = a.kv_heads = 2, a.sinks = true; });
  expect_shape(p, {{1, 4, 8}, {1, 9, 8}, {1, 9, 8}, {2}}, {1, 4, 8});
  expect_shape(p, {{1, 4, 8}, {1, 9, 8}, {1, 9, 8}, {1, 1, 4, 9}, {2}}, {1, 4, 8});
  expect_refusal(p, {{1, 4, 8}, {1, 9, 8}, {1, 9, 8}}, FERRY_CORRUPT, "attention: takes 4 to 6 inputs, got 3");
  expect_refusal(p, {{1, 4, 8}, {1, 9, 8}, {1, 9, 8}, {1, 1, 4, 9}}, FERRY_SHAPE_MISMATCH,
                 "attention: sinks [1,1,4,9], expected one of each head, [2]");
  expect_refusal(p, {{1, 4, 8}, {1, 9, 8}, {1, 9, 8}, {3}}, FERRY_SHAPE_MISMATCH,
                 "attention: sinks [3], expected one of each head, [2]");
}

TEST(ShapeRules, Experts) {
  using P = fbs::ExpertsT;
  const std::vector<Shape> fits = {{2, 3, 8}, {2, 3, 4}, {2, 3, 4}, {5, 20, 8}, {5, 8, 10}, {5, 20}, {5, 8}};
  const auto refused = [&](size_t place, const Shape& shape, const std::string& message) {
    std::vector<Shape> shapes = fits;
    shapes[place] = shape;
    expect_refusal(P(), shapes, FERRY_SHAPE_MISMATCH, message);
  };
  expect_shape(P(), fits, {2, 3, 8});
  expect_shape(P(), {fits.begin(), fits.begin() + 5}, {2, 3, 8});
  expect_refusal(P(), {fits.begin(), fits.begin() + 6}, FERRY_CORRUPT, "experts: takes 5 inputs, got 6");
  expect_refusal(P(), {fits.begin(), fits.begin() + 4}, FERRY_CORRUPT, "experts: takes 5 inputs, got 4");
  refused(0, {}, "experts: the input is a scalar, expected at least one dimension");
  refused(0, {2, 3, 9},
          "experts: gate_up [5,20,8] and down [5,8,10] do not fit 9 channels, expected [E,2*H,C] and [E,C,H]");
  refused(1, {2, 4}, "experts: chosen [2,4] and shares [2,3,4] do not fit input [2,3,8]");
  refused(1, {}, "experts: chosen [] and shares [2,3,4] do not fit input [2,3,8]");
  refused(2, {2, 3, 5}, "experts: chosen [2,3,4] and shares [2,3,5] do not fit input [2,3,8]");
  refused(3, {5, 21, 8},
          "experts: gate_up [5,21,8] and down [5,8,10] do not fit 8 channels, expected [E,2*H,C] and [E,C,H]");
  refused(4, {4, 8, 10},
          "experts: gate_up [5,20,8] and down [4,8,10] do not fit 8 channels, expected [E,2*H,C] and [E,C,H]");
  refused(4, {8, 10}, "experts: down [8,10] has rank 2, expected 3");
  refused(5, {5, 10}, "experts: biases [5,10] and [5,8], expected [5,20] and [5,8]");
  refused(6, {5, 20}, "experts: biases [5,20] and [5,20], expected [5,20] and [5,8]");
  constexpr int kRows = 1 << 21;
  expect_refusal(P(), {{kRows, 1}, {kRows, 1}, {kRows, 1}, {1, kRows, 1}, {1, 1, kRows / 2}}, FERRY_SHAPE_MISMATCH,
                 "experts: 2097152 rows of 1048576 hidden channels, expected at most 2^31 rows and " FERRY_MAX_ELEMENTS
                 " elements");
  expect_refusal(with<P>([](P& p) { p.activation = static_cast<fbs::ExpertsActivation>(9); }), fits, FERRY_UNSUPPORTED,
                 "experts: unknown activation 9");
  for (const float bad : {0.0f, -1.0f, kNan})
    expect_refusal(with<P>([=](P& p) { p.limit = bad; }), fits, FERRY_CORRUPT,
                   "experts: limit is " +
                       std::string(bad == 0  ? "0"
                                   : bad < 0 ? "-1"
                                             : "nan") +
                       " and alpha 1.702, expected one above 0 and a finite number");
}

TEST(ShapeRules, MatMul) {
  const auto matmul = [](bool a, bool b) {
    return with<fbs::MatMulT>([=](fbs::MatMulT& p) { p.transpose_a = a, p.transpose_b = b; });
  };
  const fbs::MatMulT plain;
  expect_shape(plain, {{4, 9}, {9, 5}}, {4, 5});
  expect_shape(matmul(true, false), {{9, 4}, {9, 5}}, {4, 5});
  expect_shape(matmul(false, true), {{4, 9}, {5, 9}}, {4, 5});
  expect_shape(matmul(true, true), {{9, 4}, {5, 9}}, {4, 5});
  expect_shape(plain, {{7, 4, 9}, {9, 5}}, {7, 4, 5});
  expect_shape(plain, {{4, 9}, {2, 1, 9, 5}}, {2, 1, 4, 5});
  expect_shape(plain, {{2, 1, 3, 1, 4, 9}, {6, 1, 8, 9, 5}}, {2, 6, 3, 8, 4, 5});
  expect_refusal(plain, {{4, 9}}, FERRY_CORRUPT, "matmul: takes 2 inputs, got 1");
  expect_refusal(plain, {{4, 9}, {9, 5}, {5}}, FERRY_CORRUPT, "matmul: takes 2 inputs, got 3");
  expect_refusal(plain, {{9}, {9, 5}}, FERRY_SHAPE_MISMATCH, "matmul: input [9] has rank 1, expected at least 2");
  expect_refusal(plain, {{4, 9}, {}}, FERRY_SHAPE_MISMATCH, "matmul: input [] has rank 0, expected at least 2");
  expect_refusal(plain, {{4, 9}, {5, 9}}, FERRY_SHAPE_MISMATCH,
                 "matmul: [4,9] and [5,9] have inner dimensions 9 and 5, expected equal ones");
  expect_refusal(matmul(true, true), {{4, 9}, {9, 5}}, FERRY_SHAPE_MISMATCH,
                 "matmul: [4,9] transposed and [9,5] transposed have inner dimensions 4 and 5, expected equal ones");
  expect_refusal(plain, {{2, 4, 9}, {3, 9, 5}}, FERRY_SHAPE_MISMATCH, "matmul: [2] and [3] do not broadcast");
  expect_refusal(plain, {{1 << 30, 1}, {1, 1 << 30}}, FERRY_SHAPE_MISMATCH,
                 "matmul: output [1073741824,1073741824] has more than " FERRY_MAX_ELEMENTS " elements");
}

TEST(ShapeRules, States) {
  const std::vector<StateShape> states = {{.bound = {1, 10, 4}, .axis = 1},
                                          {.bound = {1, 10, 4}, .axis = 1, .length = 7}};
  Shape output;
  const auto infer = [&](auto params, const Shape& x) {
    fbs::OperatorT op;
    op.params.Set(std::move(params));
    return std::string(infer_shape(*SerializedOp(op), std::span(&x, 1), &output, states).message());
  };
  const auto append = [](uint32_t state) { return with<fbs::AppendT>([=](auto& p) { p.state = state; }); };
  const auto positions = [](uint32_t state, int axis) {
    return with<fbs::PositionsT>([=](auto& p) { p.state = state, p.axis = axis; });
  };
  EXPECT_EQ(infer(append(0), {1, 3, 4}), "");
  EXPECT_EQ(to_string(output), "[1,3,4]");
  EXPECT_EQ(infer(append(1), {1, 3, 4}), "");
  EXPECT_EQ(to_string(output), "[1,10,4]");
  EXPECT_EQ(infer(positions(1, 0), {3, 4}), "");
  EXPECT_EQ(to_string(output), "[3]");
  EXPECT_EQ(infer(append(2), {1, 3, 4}), "append: state 2 of 2 does not exist");
  EXPECT_EQ(infer(append(0), {1, 3, 5}),
            "append: input [1,3,5] does not fit state 0, which grows to [1,10,4] along dimension 1");
  EXPECT_EQ(infer(append(0), {3, 4}),
            "append: input [3,4] does not fit state 0, which grows to [1,10,4] along dimension 1");
  EXPECT_EQ(infer(append(1), {1, 4, 4}), "append: state 1 holds 7 of at most 10, there is no room for 4 more");
  EXPECT_EQ(infer(positions(1, 1), {1, 4}), "positions: state 1 holds 7 of at most 10, there is no room for 4 more");
  EXPECT_EQ(infer(positions(0, 2), {1, 4}), "positions: axis is 2, the input [1,4]");
}

TEST(ShapeRules, StatesWithAWindow) {
  StateShape state{.bound = {1, 1000, 4}, .axis = 1, .length = 700, .window = 10};
  EXPECT_EQ(state.newest_first(), 691);
  EXPECT_EQ(state.oldest_needed(), 576) << "the last multiple of 64 that leaves 9 tokens and 64 to go back";
  EXPECT_EQ(state.max_held(), 9 + 64 + 63);
  state.first = 576;
  EXPECT_EQ(to_string(state.shape()), "[1,124,4]");
  EXPECT_EQ(to_string(state.largest({1, 3, 4})), "[1,139,4]");
  EXPECT_EQ(to_string(state.largest({1, 900, 4})), "[1,1000,4]");
  Shape output;
  fbs::OperatorT op;
  op.params.Set(with<fbs::AppendT>([](auto& p) { p.state = 0; }));
  const Shape x{1, 300, 4}, too_long{1, 301, 4};
  EXPECT_EQ(infer_shape(*SerializedOp(op), std::span(&x, 1), &output, std::span(&state, 1)).message(), "");
  EXPECT_EQ(to_string(output), "[1,424,4]");
  EXPECT_EQ(infer_shape(*SerializedOp(op), std::span(&too_long, 1), &output, std::span(&state, 1)).message(),
            "append: state 0 holds 700 of at most 1000, there is no room for 301 more");
  state.length = 80;
  state.first = 0;
  EXPECT_EQ(state.oldest_needed(), 0);
  state.window = INT32_MAX;
  state.length = 1000;
  EXPECT_EQ(state.oldest_needed(), 0);
  EXPECT_EQ(state.max_held(), 1000);
}

TEST(ShapeRules, StatesOfFixedSize) {
  const std::vector<StateShape> states = {{.bound = {2, 3, 6}, .axis = -1},
                                          {.bound = {2, 2, 4, 5, 7}, .axis = -1, .length = INT32_MAX - 8},
                                          {.bound = {1, 10, 4}, .axis = 1}};
  Shape output;
  const auto infer = [&](auto params, const std::vector<Shape>& inputs) {
    fbs::OperatorT op;
    op.params.Set(std::move(params));
    return std::string(infer_shape(*SerializedOp(op), inputs, &output, states).message());
  };
  const auto conv = [](uint32_t state) { return with<fbs::CausalConv1dT>([=](auto& p) { p.state = state; }); };
  EXPECT_EQ(infer(conv(0), {{2, 9, 6}, {4, 6}}), "");
  EXPECT_EQ(to_string(output), "[2,9,6]");
  EXPECT_EQ(infer(conv(0), {{2, 9, 6}, {4, 6}, {6}}), "");
  EXPECT_EQ(infer(conv(0), {{2, 9, 6}, {4, 6}, {4}}),
            "causal_conv1d: bias [4] does not fit 6 output channels, expected [6]");
  EXPECT_EQ(infer(conv(0), {{2, 9, 6}}), "causal_conv1d: takes 2 to 3 inputs, got 1");
  EXPECT_EQ(infer(conv(0), {{2, 9, 6}, {1, 6}}),
            "causal_conv1d: weight [1,6] does not fit input [2,9,6], expected 2 rows or more of 6");
  EXPECT_EQ(infer(conv(0), {{2, 9, 6}, {3, 6}}), "causal_conv1d: state 0 is [2,3,6], the inputs need [2,2,6]");
  EXPECT_EQ(infer(conv(2), {{1, 9, 4}, {11, 4}}),
            "causal_conv1d: state 2 grows along dimension 1, expected one of fixed size");
  EXPECT_EQ(infer(conv(3), {{2, 9, 6}, {4, 6}}), "causal_conv1d: state 3 of 3 does not exist");

  const auto delta = [](uint32_t state) { return with<fbs::GatedDeltaRuleT>([=](auto& p) { p.state = state; }); };
  const Shape q{2, 8, 10}, v{2, 8, 28}, g{2, 8, 4};
  EXPECT_EQ(infer(delta(1), {q, q, v, g, g}), "");
  EXPECT_EQ(to_string(output), "[2,8,28]");
  EXPECT_EQ(infer(delta(1), {q, q, v, g}), "gated_delta_rule: takes 5 inputs, got 4");
  EXPECT_EQ(infer(delta(0), {q, q, v, g, g}), "gated_delta_rule: state [2,3,6] has rank 3, expected 5");
  const auto misfit = [&](const std::vector<Shape>& inputs) {
    return infer(delta(1), inputs).find("do not fit heads of 5 channels") != std::string::npos;
  };
  EXPECT_TRUE(misfit({{2, 8, 4}, {2, 8, 4}, v, g, g})) << "less than one head";
  EXPECT_TRUE(misfit({{2, 8, 15}, {2, 8, 15}, v, g, g})) << "4 heads on 3 of keys";
  EXPECT_TRUE(misfit({q, {2, 8, 20}, v, g, g}));
  EXPECT_TRUE(misfit({q, q, {2, 8, 30}, g, g}));
  EXPECT_TRUE(misfit({q, q, {2, 7, 28}, g, g}));
  EXPECT_TRUE(misfit({q, q, v, g, {2, 8, 2}}));
  EXPECT_EQ(infer(delta(1), {q, q, {2, 8, 24}, g, g}),
            "gated_delta_rule: state 1 is [2,2,4,5,7], the inputs need [2,2,4,5,6]");
  const Shape long_q{2, 9, 10}, long_v{2, 9, 28}, long_g{2, 9, 4};
  EXPECT_EQ(infer(delta(1), {long_q, long_q, long_v, long_g, long_g}),
            "gated_delta_rule: state 1 holds 2147483639 of at most 2147483647, there is no room for 9 more");

  const auto append = with<fbs::AppendT>([](auto& p) { p.state = 0; });
  EXPECT_EQ(infer(append, {{2, 3, 6}}), "append: state 0 is of fixed size, expected one that grows");
  const auto positions = with<fbs::PositionsT>([](auto& p) { p.state = 1, p.axis = 1; });
  EXPECT_EQ(infer(positions, {{2, 8}}), "");
  EXPECT_EQ(to_string(output), "[8]");
}

TEST(ShapeRules, RefusesOperatorsWithoutParameters) {
  Shape output;
  const SerializedOp none{fbs::OperatorT()};
  const Status status = infer_shape(*none, {}, &output);
  EXPECT_EQ(status.code(), FERRY_CORRUPT);
  EXPECT_EQ(status.message(), "unknown: the operator has no parameters");
}

TEST(ShapeRules, RefusesOperatorsOfALaterVersion) {
  flatbuffers::FlatBufferBuilder builder;
  const auto params = fbs::CreateSoftmax(builder);
  const auto later = static_cast<fbs::OpParams>(static_cast<int>(fbs::OpParams::MAX) + 1);
  builder.Finish(fbs::CreateOperator(builder, 0, 0, 0, later, params.Union()));
  Shape output;
  const Status status = infer_shape(*flatbuffers::GetRoot<fbs::Operator>(builder.GetBufferPointer()), {}, &output);
  EXPECT_EQ(status.code(), FERRY_UNSUPPORTED);
  EXPECT_EQ(status.message(),
            "operator type " + std::to_string(static_cast<int>(later)) + " is unknown to this version");
}

TEST(ShapeRules, EveryOperatorHasAName) {
  for (const fbs::OpParams type : fbs::EnumValuesOpParams()) {
    if (type == fbs::OpParams::NONE) continue;
    EXPECT_STRNE(op_name(type), "unknown") << EnumNameOpParams(type);
  }
  EXPECT_STREQ(op_name(static_cast<fbs::OpParams>(99)), "unknown");
}

}  // namespace
}  // namespace ferry

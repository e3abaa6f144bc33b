// Canaries detect a driver that computes a kernel wrongly before a model relies on it. Faults are planted in the
// shaders one by one; a canary must detect each, and results must be right nevertheless.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "converter/pack/pack.h"
#include "converter/quantize/quantize.h"
#include "converter/reference/interpreter.h"
#include "sdk/gpu/device/pipelines.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/graph/session.h"
#include "tests/gpu/canary_networks.h"
#include "tests/gpu/planted_fault.h"
#include "tests/support/blobs.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

constexpr double kCanaryTestBound = 1e-5;  // maximum difference from the CPU's results over their maximum magnitude
constexpr double kCanaryTestFloat16Bound = 5e-3;  // the same, for float16

// ---- faults ---------------------------------------------------------------------------------------------------------

struct PlantedFault {
  const char* kernel;
  const char* file;  // in shaders/; "": no fault
  const char* from;  // occurs once in it
  const char* to;
  Tensor (*network)(Graph&);
  bool half = false;
};

using fbs::ExpertsActivation;
using fbs::PoolKind;
using fbs::ResizeKind;
using fbs::ScatterKind;
using fbs::UnaryKind;

// At least one network for every kernel.
constexpr PlantedFault kNone[] = {
    {"conv2d", "", "", "", conv},
    {"conv2d", "", "", "", uneven_conv, true},
    {"winograd_input", "", "", "", conv},
    {"winograd_output", "", "", "", conv, true},
    {"winograd_pack", "", "", "", conv},
    {"conv2d_depthwise", "", "", "", depthwise, true},
    {"conv2d_depthwise", "", "", "", uneven_depthwise},
    {"conv2d_grouped", "", "", "", grouped, true},
    {"conv_transpose2d", "", "", "", transposed, true},
    {"matmul", "", "", "", linear},
    {"matmul_shared", "", "", "", linear, true},
    {"matvec", "", "", "", few_rows, true},
    {"matvec_subgroup", "", "", "", few_rows},
    {"conv2d_float16", "", "", "", conv, true},
    {"matmul_float16", "", "", "", linear, true},
    {"matmul_shared_float16", "", "", "", linear, true},
    {"matmul_float16", "", "", "", linear_of_integers<quantize_to_int4>, true},
    {"matmul_shared_float16", "", "", "", linear_of_integers<quantize_to_int8>, true},
    {"matmul", "", "", "", linear_of_integers<quantize_to_int8>},
    {"matmul_shared", "", "", "", linear_of_integers<quantize_to_int4>, true},
    {"matvec", "", "", "", few_rows_of_integers<quantize_to_int4>},
    {"pack_quantized", "", "", "", linear_of_integers<quantize_to_int4>, true},
    {"elementwise", "", "", "", riders, true},
    {"elementwise", "", "", "", two_vectors},
    {"elementwise", "", "", "", activation<UnaryKind::Sqrt>},
    {"elementwise", "", "", "", activation<UnaryKind::Exp>, true},
    {"elementwise", "", "", "", activation<UnaryKind::Sin>},
    {"elementwise", "", "", "", activation<UnaryKind::Cos>, true},
    {"upload", "", "", "", activation<UnaryKind::Abs>},
    {"download", "", "", "", activation<UnaryKind::Neg>},
    {"pack", "", "", "", linear},
    {"broadcast", "", "", "", broadcast, true},
    {"pool2d", "", "", "", pool<PoolKind::Max, true>, true},
    {"pool2d", "", "", "", pool<PoolKind::Average, true>},
    {"pool2d", "", "", "", pool<PoolKind::Average, false>},
    {"reduce_rows", "", "", "", mean_of_rows, true},
    {"reduce", "", "", "", sum_of_channels, true},
    {"resize2d", "", "", "", resize<ResizeKind::Nearest>},
    {"resize2d", "", "", "", resize<ResizeKind::Bilinear>, true},
    {"resize2d", "", "", "", upscaled},
    {"norm", "", "", "", layer_norm, true},
    {"norm", "", "", "", group_norm},
    {"norm", "", "", "", grn, true},
    {"norm", "", "", "", rms_norm},
    {"reduce_rows", "", "", "", grn},
    {"attention", "", "", "", attention},
    {"attention", "", "", "", attention, true},
    {"attention", "", "", "", attention_to_all},
    {"attention", "", "", "", attention_to_all, true},
    {"matmul_batch", "", "", "", product<false, false>},
    {"matmul_batch", "", "", "", product<true, true>, true},
    {"deform_conv2d", "", "", "", deformed<true>},
    {"deform_conv2d", "", "", "", deformed<false>, true},
    {"experts", "", "", "", mixture<ExpertsActivation::Silu>},
    {"experts", "", "", "", mixture<ExpertsActivation::GeluTanh>, true},
    {"experts", "", "", "", mixture_of_bytes},
    {"causal_conv1d", "", "", "", causal_conv},
    {"causal_conv1d", "", "", "", causal_conv, true},
    {"gated_delta_rule", "", "", "", delta_rule},
    {"gated_delta_rule", "", "", "", delta_rule, true},
    {"top_k", "", "", "", best_places, true},
    {"top_k", "", "", "", smallest_values},
    {"gather", "", "", "", elements_of_rows},
    {"gather", "", "", "", elements_of_rows, true},
    {"scatter", "", "", "", updated_rows<ScatterKind::Set>},
    {"scatter", "", "", "", updated_rows<ScatterKind::Add>, true},
    {"rotary_embedding", "", "", "", rotary_embedding<false>, true},
    {"rotary_embedding", "", "", "", rotary_embedding<true>},
    {"window", "", "", "", window_partition, true},
    {"window", "", "", "", window_reverse},
    {"softmax", "", "", "", softmax, true},
    {"softmax_subgroup", "", "", "", softmax},
    {"concat", "", "", "", concat<1>},
    {"concat", "", "", "", concat<3>, true},
    {"strided_copy", "", "", "", transpose},
    {"strided_copy", "", "", "", pad, true},
    {"strided_copy", "", "", "", slice},
    {"reshape", "", "", "", reshape, true},
};

constexpr PlantedFault kFaults[] = {
    // Transfers and packing.
    {"upload", "upload.comp", "row * push.channels + first + lane;", "row * push.channels + first;",
     activation<UnaryKind::Abs>},
    {"upload", "upload.comp", "first + lane < push.channels", "first + lane <= push.channels",
     activation<UnaryKind::Abs>},
    {"upload", "upload.comp", "float(integers[at])", "input_data[at]", mixture<ExpertsActivation::Silu>},
    {"download", "download.comp", "first + lane < push.channels", "first + lane < push.channels - 1",
     activation<UnaryKind::Abs>},
    {"pack", "pack.comp", "lane * push.stride_lane", "lane", linear},
    {"pack", "pack.glsl", "at[0] = i / push.size_b", "at[0] = i % push.size_b", linear},
    {"pack", "pack.comp", "push.output_offset + i", "i", linear},
    {"elementwise", "common.glsl", "packHalf2x16(value.zw)", "packHalf2x16(value.wz)", activation<UnaryKind::Abs>,
     true},

    // Elementwise steps, alone and fused into others.
    {"elementwise", "common.glsl", "first + 4 <= length ? value", "first <= length ? value",
     activation<UnaryKind::Exp>},
    {"elementwise", "common.glsl", "gl_GlobalInvocationID.y * (", "gl_GlobalInvocationID.x / 2 * (",
     activation<UnaryKind::Abs>},
    {"elementwise", "elementwise.comp", "i >= push.rows * push.row_quads", "i + 1 >= push.rows * push.row_quads",
     activation<UnaryKind::Abs>},
    {"elementwise", "epilogue.glsl", "clamp(x, args.x, args.y)", "max(x, args.x)", activation<UnaryKind::Clamp>},
    {"elementwise", "epilogue.glsl", "lessThan(x, vec4(0))", "lessThan(x, vec4(-1))", activation<UnaryKind::LeakyRelu>},
    {"elementwise", "sigmoid.glsl", "1 / (1 + exp(-max(x, vec4(-87))))", "exp(x) / (1 + exp(x))",
     activation<UnaryKind::Sigmoid>},
    {"elementwise", "epilogue.glsl", "1 - 2 / (exp(2 * clamp(x, -10, 10)) + 1)", "(exp(2 * x) - 1) / (exp(2 * x) + 1)",
     activation<UnaryKind::Tanh>},
    {"elementwise", "epilogue.glsl", "x * clamp(x / 6 + 0.5, 0, 1)", "x * clamp(x / 6 + 0.5, 0, 2)",
     activation<UnaryKind::HardSwish>},
    {"elementwise", "epilogue.glsl", "return clamp(x / 6", "return clamp(x / 3", activation<UnaryKind::HardSigmoid>},
    {"elementwise", "sigmoid.glsl", "0.044715", "0.04", activation<UnaryKind::GeluTanh>},
    {"elementwise", "epilogue.glsl", "1.421413741", "1.4", activation<UnaryKind::Gelu>},
    {"elementwise", "epilogue.glsl", "return silu(x, 1)", "return sigmoid(x)", activation<UnaryKind::Silu>},
    {"elementwise", "elementwise.comp", "sine(x, kStep0 == kCos)", "sine(x, false)", activation<UnaryKind::Cos>, true},
    {"elementwise", "sine.glsl", "if (x < 0) angle = -angle;", "", activation<UnaryKind::Sin>},
    {"elementwise", "sine.glsl", "next << shift |", "next << 0 |", activation<UnaryKind::Cos>},
    {"elementwise", "sine.glsl", "+= mantissa * high", "+= mantissa + high", activation<UnaryKind::Sin>},
    {"elementwise", "epilogue.glsl", "vector++ * push.row_quads", "vector * push.row_quads", two_vectors},
    {"elementwise", "epilogue.glsl", "kReverseSub: return operand - x", "kReverseSub: return x - operand", two_vectors},
    {"elementwise", "epilogue.glsl", "row / push.operand_rows", "row % push.operand_rows", riders},
    {"elementwise", "epilogue.glsl", "greaterThan(x, vec4(0))", "lessThan(x, vec4(0))", riders},
    {"elementwise", "epilogue.glsl", "vector++ * push.row_quads + quad", "vector++ * push.row_quads", riders, true},

    // Convolutions.
    {"conv2d", "conv2d.comp", "tile.y % push.tiles_x * kTileRows", "tile.y % push.tiles_x", conv},
    {"conv2d", "conv2d.comp", "int(line / push.output_height)", "int(line % push.output_height)", conv},
    {"conv2d", "conv2d.comp", "tile.x >= push.row_quads || tile.y >= push.tiles",
     "tile.x >= push.row_quads || tile.y + 1 >= push.tiles", conv},
    {"conv2d", "conv2d.comp", "first_x + r < push.output_width && ", "", conv},
    {"conv2d", "conv2d.comp", "ky * push.kernel_w + kx", "kx * push.kernel_h + ky", uneven_conv},
    {"conv2d", "conv2d.comp", "ky < push.kernel_h", "ky + 1 < push.kernel_h", uneven_conv},
    {"conv2d", "conv2d.comp", "reads[r] ? LOAD_INPUT_TERM(inputs[r] + i) : TERM(0)", "LOAD_INPUT_TERM(inputs[r] + i)",
     conv},
    {"conv2d", "conv.glsl", "at * stride - pad", "at * stride - pad + 1", uneven_conv},
    {"conv2d", "conv.glsl", "tap * dilation; }", "tap; }", uneven_conv},
    {"conv2d", "conv.glsl", "at >= 0 && at < extent", "at >= 0 && at <= extent", conv},
    {"conv2d", "conv2d.comp", "push.stride_w, push.dilation_w", "push.stride_h, push.dilation_w", uneven_conv},
    {"conv2d", "tile.glsl", "push.bias == 0", "push.bias != 0", conv},
    {"conv2d", "tile.glsl", "sum += x.z * weights.z;", "sum += x.z * weights.y;", conv, true},
    {"conv2d", "tile.glsl", "if (row >= block_rows)", "if (row + 1 >= block_rows)", conv},
    {"conv2d", "tile.glsl", "group / column_blocks * block_rows + row", "row", conv},
    {"conv2d_depthwise", "conv2d_depthwise.comp", "ky * push.kernel_w;", "ky;", depthwise},
    {"conv2d_depthwise", "conv2d_depthwise.comp", "column - r * kStrideW < kKernelW",
     "column - r * kStrideW + 1 < kKernelW", depthwise},
    {"conv2d_depthwise", "conv2d_depthwise.comp", "if (first_x + r < push.output_width)", "", depthwise},
    {"conv2d_depthwise", "conv2d_depthwise.comp", "left + int(kx) * push.dilation_w", "left + int(kx)",
     uneven_depthwise},
    {"conv2d_depthwise", "conv2d_depthwise.comp", "const vec4 bias = LOAD_BIAS(quad)", "const vec4 bias = vec4(0)",
     uneven_depthwise, true},
    {"conv2d_grouped", "conv2d_grouped.comp", "/ push.group_outputs * push.group_inputs", "/ push.group_outputs",
     grouped},
    {"conv2d_grouped", "conv2d_grouped.comp", "(push.group_inputs + 3) / 4 * 4", "push.group_inputs", grouped},
    {"conv2d_grouped", "conv2d_grouped.comp", "[at % 4]", "[lane]", grouped},
    {"conv_transpose2d", "conv.glsl", "scaled >= 0 && scaled % stride == 0", "scaled >= 0", transposed},
    {"conv_transpose2d", "conv_transpose2d.comp", "kTileRows * stride + along % stride", "kTileRows * stride",
     transposed},
    {"conv_transpose2d", "conv_transpose2d.comp", "if (from % stride != back % stride) continue;", "", transposed},
    {"winograd_input", "winograd_input.comp", "- push.pad_left", "", conv},
    {"winograd_input", "winograd_input.comp", "column < push.width", "column <= push.width", conv},
    {"winograd_input", "winograd_input.comp", "x[first + 4 * step] = even_b - odd_b",
     "x[first + 4 * step] = even_b + odd_b", conv},
    {"winograd_output", "winograd_output.comp", "left + column >= push.width", "left + column > push.width", conv},
    {"winograd_output", "winograd_output.comp", "+ bias, pixel", ", pixel", conv},
    {"winograd_output", "winograd_output.comp", "kA * odd_a + kB * odd_b", "kA * odd_a + kA * odd_b", conv},

    // Products.
    {"matmul", "matmul.comp", "tile.y + r < push.rows && ", "", linear},
    {"matmul", "tile.glsl", "i < (end)", "i + 1 < (end)", linear},
    {"matmul", "matmul.comp", "(z * push.rows + min(tile.y + r, push.rows - 1))", "min(tile.y, push.rows - 1)", linear},
    {"matmul_shared", "matmul_shared.comp", "thread / kThreadsQuads * kTileRows", "thread / kThreadsQuads", linear},
    {"matmul_shared", "matmul_shared.comp", "first += kDepth", "first += kDepth + 1", linear},
    {"matvec", "matvec.comp", "kSplit / 2", "kSplit / 4", few_rows},
    {"matvec", "matvec.glsl", "i += kSplit", "i += kSplit + 1", few_rows},
    {"matvec", "matvec.glsl", "share.row + r, share.quad)", "share.row, share.quad + 1)", few_rows},
    {"matvec_subgroup", "matvec_subgroup.comp", "subgroupAdd(sums[r])", "sums[r]", few_rows},
    {"matvec_subgroup", "matvec_subgroup.comp", "i < gl_NumSubgroups", "i + 1 < gl_NumSubgroups", few_rows},

    // In float16: blocks skipped, repeated, added twice; values after the last block; a missing block.
    {"matmul_float16", "tile.glsl", "first += kFloat16Block", "first += 2 * kFloat16Block", linear, true},
    {"matmul_float16", "tile.glsl", "ADD_QUAD(first + i)", "ADD_QUAD(i)", linear, true},
    {"matmul_float16", "tile.glsl", "if (first < (end))", "if (false)", linear, true},
    {"matmul_float16", "tile.glsl", "block_sums[k] = TERM(0)", "block_sums[k] = TERM(sums[k])", linear, true},
    {"conv2d_float16", "tile.glsl", "ADD_QUAD(first + i)", "ADD_QUAD(i)", conv, true},
    {"conv2d_float16", "tile.glsl", "sums[k] += vec4(block_sums[k])", "sums[k] = vec4(block_sums[k])", conv, true},
    {"conv2d_float16", "conv2d.comp", ": TERM(0)", ": TERM(1)", conv, true},
    {"matmul_shared_float16", "tile.glsl", "sums[k] += vec4(block_sums[k])", "sums[k] += vec4(block_sums[0])", linear,
     true},
    {"matmul_shared_float16", "tile.glsl", "unpackFloat2x16((quad).y))", "unpackFloat2x16((quad).x))", linear, true},
    {"matmul_float16", "weights.glsl", "TERM(scale * bytes(second.y))", "TERM(bytes(second.y))",
     linear_of_integers<quantize_to_int8>, true},

    {"pack_quantized", "pack_quantized.comp", "push.output_offset + i", "i", linear_of_integers<quantize_to_int8>},
    {"pack_quantized", "pack_quantized.comp", " << (kBits - kSourceBits)", "", linear_of_integers<quantize_to_int4>},
    {"pack_quantized", "pack_quantized.comp", "(1 + i % in_word)", "(in_word - i % in_word)",
     linear_of_integers<quantize_to_int4>, true},
    {"matmul", "weights.glsl", "uvec4(24, 16, 8, 0)) >> 24", "uvec4(24, 16, 8, 0) >> 24)",
     linear_of_integers<quantize_to_int8>},
    {"matmul", "weights.glsl", "at / 2 + 1", "at / 2", linear_of_integers<quantize_to_int8>, true},
    {"matmul", "weights.glsl", "i / kScaleQuads * 2", "0", linear_of_integers<quantize_to_int4>},
    {"matmul", "weights.glsl", "push.input_quads / kScaleQuads", "1", linear_of_integers<quantize_to_int4>},
    {"matmul_shared", "weights.glsl", "at / 2 % 2", "at % 2", linear_of_integers<quantize_to_int4>},
    {"matvec", "weights.glsl", "words.x >> 16", "words.x", few_rows_of_integers<quantize_to_int4>, true},

    // The others.
    {"broadcast", "broadcast.comp", "at * push.b_stride[d + 1]", "at * push.b_stride[d]", broadcast},
    {"broadcast", "broadcast.comp", "b = b.xxxx", "b = b.yyyy", broadcast},
    {"pool2d", "pool2d.comp", "uintBitsToFloat(0xff800000)", "0.0", pool<PoolKind::Max, true>},
    {"pool2d", "pool2d.comp", "u < x1; ++u", "u <= x1; ++u", pool<PoolKind::Max, true>},
    {"pool2d", "pool2d.comp", "push.stride & 0xffff", "push.stride >> 16", pool<PoolKind::Max, true>},
    {"pool2d", "pool2d.comp", "push.height + push.bottom", "push.height", pool<PoolKind::Average, true>},
    {"pool2d", "pool2d.comp", "kCountPadding != 0", "kCountPadding == 0", pool<PoolKind::Average, false>},
    {"reduce_rows", "reduce_rows.comp", "* push.scale", "", mean_of_rows},
    {"reduce_rows", "reduce_rows.comp", "i += kShares", "i += kShares + 1", mean_of_rows},
    {"reduce_rows", "reduce_rows.comp", "half_shares = kShares / 2", "half_shares = kShares / 4", mean_of_rows, true},
    {"reduce", "reduce.comp", "[at.y % 4]", "[0]", sum_of_channels},
    {"reduce", "reduce.comp", "r += kInvocations", "r += kInvocations + 1", sum_of_channels},
    {"resize2d", "resize2d.comp", "% push.out_width * push.factor_w", "% push.out_width * push.factor_h",
     resize<ResizeKind::Nearest>},
    {"resize2d", "resize2d.comp", "push.factor_h + push.offset_h", "push.factor_h", resize<ResizeKind::Bilinear>},
    {"resize2d", "resize2d.comp", "weights_x[u] *", "weights_y[u] *", resize<ResizeKind::Bilinear>},
    {"resize2d", "resize2d.comp", "clamp(x - before + u, 0, push.width - 1)", "max(x - before + u, 0)", upscaled},
    {"resize2d", "resize2d.comp", "(int(kCells) - 1) / 2", "0", upscaled},
    {"resize2d", "resize2d.comp", "1.25 * t - 2.25", "1.5 * t - 2.5", upscaled, true},
    {"norm", "norm.comp", "if (squares == 1) value *= value;", "", layer_norm},
    {"norm", "norm.comp", "n = kShares / 2", "n = kShares / 4", layer_norm},
    {"norm", "norm.comp", "mean + push.epsilon", "abs(mean) + 1", layer_norm, true},
    {"norm", "norm.comp", "LOAD_WEIGHT(push.row_quads + quad)", "LOAD_WEIGHT(quad)", layer_norm},
    {"norm", "norm.comp", "greaterThanEqual(channel, uvec4(begin))", "bvec4(true)", group_norm},
    {"norm", "norm.comp", "/ push.group_size - first_group", "/ push.group_size", group_norm},
    {"norm", "norm.comp", "number / bundles * push.rows", "number / bundles", group_norm},
    {"norm", "norm.comp", "means[group.w]", "means[group.x]", group_norm, true},
    {"norm", "norm.comp", "means.x + push.epsilon", "1", grn},
    {"norm", "norm.comp", "kKind == kUncentered ? 0 : mean", "mean", rms_norm},
    {"reduce_rows", "reduce_rows.comp", "kSquares == 1", "kSquares == 2", grn},
    {"attention", "attention.comp", "(n * kv_heads + kv_head) * push.keys", "(n * kv_heads + head) * push.keys",
     attention},
    {"attention", "attention.comp", "n * push.keys * kv_heads + kv_head", "n * push.keys * kv_heads", attention_to_all},
    {"attention", "attention.comp", "block * step)", "block)", attention_to_all},
    {"attention", "attention.comp", "[head % 4]", "[0]", attention_to_all},
    {"attention", "attention.comp", "total = vec4(1)", "total = vec4(0)", attention_to_all},
    {"attention", "attention.comp", "n % bias.y", "n / bias.y", attention},
    {"attention", "attention.comp", "head % bias.z", "0", attention},
    {"attention", "attention.comp", "[at % 4]", "[0]", attention},
    {"attention", "attention.comp", "vec4 correction = exp(former - largest)", "vec4 correction = vec4(1)", attention},
    {"attention", "attention.comp", "i < push.key_quads", "i + 1 < push.key_quads", attention, true},
    {"attention", "attention.comp", "sums[r] / total[r]", "sums[r] / total[0]", attention},
    {"attention", "attention.comp", "last - block); ++i", "last - block - 1); ++i", attention},
    {"matmul_batch", "matmul_batch.comp", "* push.b_stride[d]", "* push.a_stride[d]", product<false, false>},
    {"matmul_batch", "matmul_batch.comp", "tile.y % row_tiles", "tile.y", product<false, false>},
    {"matmul_batch", "matmul_batch.comp", "? LOAD_OPERAND(b + (first + k) * push.b_quads + quad) : vec4(0)",
     "|| true ? LOAD_OPERAND(b + (first + k) * push.b_quads + quad) : vec4(0)", product<false, false>},
    {"matmul_batch", "matmul_batch.comp", "first_row + r < push.rows && ", "", product<true, true>},
    {"matmul_batch", "matmul_batch.comp", "x[r] * w : w * x[r]", "w * x[r] : x[r] * w", product<false, true>},
    {"matmul_batch", "matmul_batch.comp", "block = transpose(block);", "", product<true, false>},
    {"matmul_batch", "matmul_batch.comp", "mask_lanes(sums[r * kTileQuads + q], (first_quad + q) * 4, push.channels)",
     "sums[r * kTileQuads + q]", product<true, true>, true},
    {"deform_conv2d", "deform_conv2d.comp", "push.first_mask + cell", "cell", deformed<true>},
    {"deform_conv2d", "deform_conv2d.comp", "operand(pixel, 2 * cell + 1)", "operand(pixel, 2 * cell)",
     deformed<false>},
    {"deform_conv2d", "deform_conv2d.comp", "block * taps + tap", "tap", deformed<true>, true},
    {"deform_conv2d", "deform_conv2d.comp", "y + 1 < push.input_height ? down : 0", "down", deformed<false>},
    {"experts", "experts.comp", "LOAD_OPERAND(push.shares + at)", "LOAD_OPERAND(at)", mixture<ExpertsActivation::Silu>},
    {"experts", "experts.comp", "row % push.chosen", "0", mixture<ExpertsActivation::Silu>},
    {"experts", "experts.comp", "* kMatrices + m", "* kMatrices", mixture<ExpertsActivation::GeluTanh>, true},
    {"experts", "experts.comp", "token * push.chosen + i : token", "token : token", mixture<ExpertsActivation::Silu>},
    {"experts", "experts.comp", "n = kSplit / 2", "n = kSplit / 4", mixture<ExpertsActivation::Silu>},
    {"experts", "experts.comp", "push.limit, push.limit) + 1", "push.limit, push.limit)",
     mixture<ExpertsActivation::ClampedSwish>},
    {"experts", "weights.glsl", "|| kBytesInBlocks", "", mixture_of_bytes},
    {"top_k", "top_k.comp", "a.y > b.y", "a.y < b.y", best_places},
    {"top_k", "top_k.comp", "* push.largest", "", smallest_values},
    {"top_k", "top_k.comp", "n = kInvocations / 2", "n = kInvocations / 4", best_places},
    {"gather", "gather.comp", "[place % 4]", "[lane]", smallest_values, true},
    {"gather", "gather.comp", "places[lane] + int(push.channels)", "0", elements_of_rows},
    {"gather", "gather.comp", "row * push.row_quads + ", "", elements_of_rows},
    {"scatter", "scatter.comp", "index + int(push.channels)", "index", updated_rows<ScatterKind::Set>},
    {"scatter", "scatter.comp", "value[place - first], LOAD", "LOAD_INPUT(i)[place - first], LOAD",
     updated_rows<ScatterKind::Add>},
    {"scatter", "scatter.comp", "row * push.count_quads + k / 4", "k / 4", updated_rows<ScatterKind::Mul>},
    {"scatter", "scatter.comp", "update > there", "update < there", updated_rows<ScatterKind::Max>},
    {"scatter", "scatter.comp", "update < there", "update > there", updated_rows<ScatterKind::Min>, true},
    {"download", "download.comp", "int(value[lane])", "floatBitsToInt(value[lane])", best_places},
    {"rotary_embedding", "rotary_embedding.comp", "LOAD_OPERAND(angle)", "LOAD_WEIGHT(angle)", rotary_embedding<false>},
    {"rotary_embedding", "rotary_embedding.comp", "row % push.tokens", "0", rotary_embedding<false>},
    {"rotary_embedding", "rotary_embedding.comp", "negative ? -turned", "negative ? turned", rotary_embedding<true>},
    {"rotary_embedding", "rotary_embedding.comp", "[other % 4]", "[lane]", rotary_embedding<true>, true},
    {"window", "window.comp", "cell % push.window_w + push.shift_w", "cell % push.window_w", window_partition},
    {"window", "window.comp", "x % push.width;", "min(x, push.width - 1);", window_partition},
    {"window", "window.comp", "image * windows_y", "image * windows_x", window_reverse},
    {"window", "window.comp", "y % push.window_h) * push.window_w", "y % push.window_h) * push.window_h",
     window_reverse},
    {"softmax", "softmax.glsl", "largest = reduce_max(largest);", "largest = 0;", softmax},
    {"softmax", "softmax.glsl", "- largest), quad * 4, push.channels)", "- largest), 0, 4)", softmax},
    {"softmax", "softmax.comp", "n = kInvocations / 2", "n = kInvocations / 4", softmax},
    {"softmax_subgroup", "softmax_subgroup.comp", "uint i = 1", "uint i = 2", softmax},
    {"causal_conv1d", "causal_conv1d.comp", "push.bias == 0", "true", causal_conv},
    {"causal_conv1d", "causal_conv1d.comp", "push.tokens + t - push.past", "t - push.past", causal_conv, true},
    {"causal_conv1d", "causal_conv1d.comp", "token(n, push.tokens + t, quad);", "token(n, t, quad);", causal_conv},
    {"gated_delta_rule", "gated_delta_rule.comp", "state[i] *= decay;", "", delta_rule},
    {"gated_delta_rule", "gated_delta_rule.comp", "head / push.shared_heads", "head % push.shared_heads", delta_rule},
    {"gated_delta_rule", "gated_delta_rule.comp", "+ state_data[push.left + at]", "", delta_rule, true},
    {"gated_delta_rule", "gated_delta_rule.comp", "state_data[at] = state[i];", "", delta_rule},
    {"gated_delta_rule", "gated_delta_rule.comp", "uint p = 0;", "uint p = 1;", delta_rule},
    {"concat", "concat.comp", "if (quad * 4 < push.first)", "if (false)", concat<3>},
    {"concat", "concat.comp", "[c % 4]", "[lane]", concat<3>},
    {"concat", "concat.comp", " + push.row_offset", "", concat<1>},
    {"strided_copy", "strided_copy.comp", "at += c * push.stride[d]", "at += c", transpose},
    {"strided_copy", "strided_copy.comp", "[e % 4]", "[lane]", slice},
    {"strided_copy", "strided_copy.comp", "vec4(push.fill)", "vec4(0)", pad},
    {"strided_copy", "strided_copy.comp", "at = push.base", "at = 0", slice, true},
    {"reshape", "reshape.comp", "e % push.in_channels", "e % push.channels", reshape},
};

gpu::Kernel kernel_of(const std::string& name) {
  for (size_t i = 0; i < gpu::kKernelCount; ++i)
    if (gpu::kernel_name(static_cast<gpu::Kernel>(i)) == name) return static_cast<gpu::Kernel>(i);
  ADD_FAILURE() << "no kernel " << name;
  return {};
}

// A device that cannot run the kernel may skip the case.
bool may_lack(const gpu::Device& device, const std::string& kernel) {
  return kernel.ends_with("_float16") ? !device.limits().float16_arithmetic : !device.limits().subgroup_arithmetic;
}

bool is_packer(gpu::Kernel kernel) { return kernel == gpu::Kernel::Pack || kernel == gpu::Kernel::PackQuantized; }

// ---- sessions -------------------------------------------------------------------------------------------------------

class CanaryCase {
 public:
  explicit CanaryCase(const PlantedFault& fault) : fault_(fault) {
    graph_.add_output("y", fault.network(graph_), fbs::Layout::Same);
    blob_ = std::make_unique<AlignedBytes>(pack(graph_));
    const Status status = Model::open_memory(blob_->data(), blob_->size(), &model_);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  // Makes the kernel the first choice for the network, if `device` can run it.
  bool choose(gpu::Device& device) const;
  // Results are right, whatever the canaries report.
  void run(const SessionOptions& options, BackendReport* report) const;

 private:
  std::vector<float> compute(const SessionOptions& options, BackendReport* report) const;
  std::vector<float> interpret() const;
  bool quantized() const {
    return std::any_of(graph_.table.tensors.begin(), graph_.table.tensors.end(),
                       [](const auto& tensor) { return tensor->quantization != nullptr; });
  }

  const PlantedFault& fault_;
  Graph graph_;
  std::unique_ptr<AlignedBytes> blob_;
  std::shared_ptr<Model> model_;
};

bool CanaryCase::choose(gpu::Device& device) const {
  Shapes shapes;
  for (const TensorId t : graph_.tensors()) shapes.push_back(graph_.shape(t));
  PerTensor<bool> kept(shapes.size(), false);
  kept[graph_.table.outputs[0]->tensor] = true;
  const gpu::Storage storage = fault_.half ? gpu::Storage::Float16 : gpu::Storage::Float32;
  const std::vector<gpu::Chain> chains = gpu::make_chains(*model_, shapes, kept);
  EXPECT_EQ(chains.size(), 1u);
  const gpu::Kernel kernel = kernel_of(fault_.kernel);
  const fbs::OpParams type = model_->graph().operators()->Get(0)->params_type();
  for (int alternative = 0; alternative < gpu::alternatives(type); ++alternative) {
    device.pipelines().set_tuned(gpu::signature(*model_, chains[0], shapes, storage), alternative);
    gpu::Program program;
    EXPECT_TRUE(gpu::make_program(*model_, shapes, kept, device, storage, &program).ok());
    for (const gpu::Step& step : program.steps)
      for (const gpu::Dispatch& dispatch : step.dispatches)
        if (dispatch.variant.kernel == kernel) return true;
    for (const gpu::Region& region : program.weights)
      for (const gpu::Piece& piece : region.pieces)
        if (piece.kernel == kernel) return true;
    if (kernel == gpu::Kernel::Upload || kernel == gpu::Kernel::Download) return true;
  }
  return false;
}

std::vector<float> CanaryCase::compute(const SessionOptions& options, BackendReport* report) const {
  std::unique_ptr<Session> session;
  Status status = Session::create(model_, options, &session);
  if (status.ok()) {
    const std::vector<reference::Array> inputs = inputs_of(graph_);
    for (size_t i = 0; i < inputs.size(); ++i) {
      void* data = session->data(graph_.table.inputs[i]->tensor);
      const std::vector<double>& values = inputs[i].values;
      if (inputs[i].dtype == fbs::DType::Int32) {
        std::copy(values.begin(), values.end(), static_cast<int32_t*>(data));
      } else {
        std::transform(values.begin(), values.end(), static_cast<float*>(data),
                       [](double value) { return static_cast<float>(value); });
      }
    }
    status = session->run();
  }
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return {};
  *report = session->computing().report();
  const TensorId output = graph_.table.outputs[0]->tensor;
  const auto* values = static_cast<const float*>(session->data(output));
  return {values, values + graph_.shape(output).elements()};
}

std::vector<float> CanaryCase::interpret() const {
  const std::map<TensorId, reference::Array> computed = reference::interpret(graph_, inputs_of(graph_));
  const std::vector<double>& output = computed.at(graph_.table.outputs[0]->tensor).values;
  return {output.begin(), output.end()};
}

void CanaryCase::run(const SessionOptions& options, BackendReport* report) const {
  SessionOptions on_cpu;
  on_cpu.num_threads = 1;
  BackendReport ignored;
  const std::vector<float> got = compute(options, report);
  // The CPU quantizes the rows that are multiplied with integers.
  const bool exact = report->cpu_operators == 0 && quantized();
  const std::vector<float> expected = exact ? interpret() : compute(on_cpu, &ignored);
  ASSERT_EQ(got.size(), expected.size());
  double worst = 0, largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) continue;
    const double difference = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
    worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  EXPECT_LE(worst / largest, fault_.half ? kCanaryTestFloat16Bound : kCanaryTestBound);
}

SessionOptions on_gpu(const std::string& gpu, const PlantedFault& fault) {
  SessionOptions options;
  options.num_threads = 1;
  options.backend = FERRY_BACKEND_GPU;
  options.precision = fault.half ? FERRY_PRECISION_FLOAT16 : FERRY_PRECISION_FLOAT32;
  options.gpu_required = true;
  options.gpu_device = gpu.c_str();
  return options;
}

std::string join(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

TEST(Canary, SingsForEveryKernel) {
  for (const std::string& gpu : test_gpus())
    for (const PlantedFault& none : kNone) {
      SCOPED_TRACE(gpu + ": " + none.kernel);
      std::shared_ptr<gpu::Device> device;
      ASSERT_TRUE(gpu::Device::open(gpu.c_str(), nullptr, false, &device).ok());
      const CanaryCase network(none);
      if (!network.choose(*device)) {
        EXPECT_TRUE(may_lack(*device, none.kernel)) << "no alternative uses it";
        continue;
      }
      BackendReport report;
      network.run(on_gpu(gpu, none), &report);
      EXPECT_EQ(join(report.notes), "");
      EXPECT_EQ(report.canary_failures, 0u);
      EXPECT_GE(report.canary_count, 1u);
      EXPECT_EQ(report.cpu_operators, 0u);
    }
}

TEST(Canary, DiesOfEveryFault) {
  if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
  const std::string gpu = test_gpus()[0];
  const ScratchFolder scratch;
  std::vector<std::vector<uint32_t>> codes(std::size(kFaults));
  std::atomic<size_t> next = 0;
  std::vector<std::thread> compilers;
  for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1u); ++i)
    compilers.emplace_back([&] {
      for (size_t f = next++; f < codes.size(); f = next++) {
        const PlantedFault& fault = kFaults[f];
        codes[f] = compile_with_fault(fault.kernel, fault.file, fault.from, fault.to, fault.half,
                                      std::filesystem::path(scratch.path()) / std::to_string(f));
      }
    });
  for (std::thread& compiler : compilers) compiler.join();

  for (size_t f = 0; f < codes.size(); ++f) {
    const PlantedFault& fault = kFaults[f];
    SCOPED_TRACE(std::string(fault.file) + ": " + fault.from + " -> " + fault.to);
    ASSERT_FALSE(codes[f].empty()) << "the fault is not planted: not once in the file, or no GLSL";
    std::shared_ptr<gpu::Device> device;
    ASSERT_TRUE(gpu::Device::open(gpu.c_str(), nullptr, false, &device).ok());
    const gpu::Kernel kernel = kernel_of(fault.kernel);
    device->pipelines().shaders().replace(kernel, fault.half ? gpu::Storage::Float16 : gpu::Storage::Float32,
                                          std::move(codes[f]));
    const CanaryCase network(fault);
    if (!network.choose(*device)) {
      EXPECT_TRUE(may_lack(*device, fault.kernel)) << "no alternative uses it";
      continue;
    }
    BackendReport report;
    network.run(on_gpu(gpu, fault), &report);
    EXPECT_GE(report.canary_failures, 1u);
    // Faults of kernels that every canary needs are attributed to the kernel under test.
    if (kernel == gpu::Kernel::Upload || kernel == gpu::Kernel::Download || is_packer(kernel)) continue;
    const std::string notes = join(report.notes);
    EXPECT_NE(notes.find(std::string("driver's ") + fault.kernel + " "), std::string::npos) << notes;
  }
}

// Verdicts on a driver are stored for the app's next run.
TEST(Canary, IsRemembered) {
  for (const std::string& gpu : test_gpus()) {
    SCOPED_TRACE(gpu);
    const PlantedFault none{"resize2d", "", "", "", resize<ResizeKind::Bilinear>};
    const ScratchFolder scratch;
    const std::string folder = scratch.path().string();
    SessionOptions options = on_gpu(gpu, none);
    options.gpu_cache_dir = folder.c_str();
    BackendReport first, second, third;
    const CanaryCase network(none);
    network.run(options, &first);
    EXPECT_GT(first.canary_ms, 0);
    EXPECT_EQ(first.cpu_operators, 0u);
    network.run(options, &second);
    EXPECT_EQ(second.canary_ms, 0);
    EXPECT_EQ(second.canary_count, first.canary_count);
    {
      std::shared_ptr<gpu::Device> device;
      ASSERT_TRUE(gpu::Device::open(gpu.c_str(), folder.c_str(), false, &device).ok());
      const gpu::Variant variant{gpu::Kernel::Resize2d, gpu::Storage::Float32, 8, {64, 1, 1, 0, 0, 0, 0, 2}};
      ASSERT_EQ(device->pipelines().verdict(variant), gpu::Pipelines::Verdict::Right);
      device->pipelines().set_verdict(variant, gpu::Pipelines::Verdict::Wrong);
    }
    network.run(options, &third);
    EXPECT_EQ(third.canary_failures, 1u);
    EXPECT_EQ(third.cpu_operators, 1u);
  }
}

}  // namespace
}  // namespace ferry::testing

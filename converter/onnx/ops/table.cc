#include <algorithm>
#include <span>
#include <string_view>

#include "converter/onnx/ops/microsoft/microsoft.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

constexpr const char* kCondition =
    "its condition must be known at conversion, or both branches return tensors of one type and one shape";
constexpr const char* kImage = "the network's inputs are pixels: decode the image before";
constexpr const char* kRandom = "its results are random: make them an input of the network";
constexpr const char* kStrings = "strings are not supported";

// Every operator of ONNX's own domain, sorted. Without a function: why it is refused.
constexpr OpRow kOps[] = {
    {"Abs", abs},
    {"Acos", acos},
    {"Acosh", acosh},
    {"Add", add},
    {"AffineGrid", affine_grid},
    {"And", logical_and},
    {"ArgMax", arg_max},
    {"ArgMin", arg_min},
    {"Asin", asin},
    {"Asinh", asinh},
    {"Atan", atan},
    {"Atanh", atanh},
    {"Attention", attention},
    {"AveragePool", average_pool},
    {"BatchNormalization", batch_normalization},
    {"Bernoulli", nullptr, kRandom},
    {"BitCast", bit_cast},
    {"BitShift", bit_shift},
    {"BitwiseAnd", bitwise_and},
    {"BitwiseNot", bitwise_not},
    {"BitwiseOr", bitwise_or},
    {"BitwiseXor", bitwise_xor},
    {"BlackmanWindow", blackman_window},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"CausalConvWithState", causal_conv_with_state},
    {"Ceil", ceil},
    {"Celu", celu},
    {"CenterCropPad", center_crop_pad},
    {"Clip", clip},
    {"Col2Im", col2im},
    {"Compress", compress},
    {"Concat", concat},
    {"ConcatFromSequence", concat_from_sequence, nullptr, Reads::Sequences},
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"Conv", conv},
    {"ConvInteger", conv_integer},
    {"ConvTranspose", conv_transpose},
    {"Cos", cos},
    {"Cosh", cosh},
    {"CumProd", cum_prod},
    {"CumSum", cum_sum},
    {"DFT", dft},
    {"DeformConv", deform_conv},
    {"DepthToSpace", depth_to_space, nullptr, Reads::Moved},
    {"DequantizeLinear", dequantize_linear, nullptr, Reads::Int8},
    {"Det", det},
    {"Div", div},
    {"Dropout", dropout},
    {"DynamicQuantizeLinear", dynamic_quantize_linear},
    {"Einsum", einsum},
    {"Elu", elu},
    {"Equal", equal},
    {"Erf", erf},
    {"Exp", exp},
    {"Expand", expand},
    {"EyeLike", eye_like},
    {"Flatten", flatten, nullptr, Reads::Moved},
    {"Floor", floor},
    {"GRU", gru},
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"Gelu", gelu},
    {"Gemm", gemm},
    {"GlobalAveragePool", global_average_pool},
    {"GlobalLpPool", global_lp_pool},
    {"GlobalMaxPool", global_max_pool},
    {"Greater", greater},
    {"GreaterOrEqual", greater_or_equal},
    {"GridSample", grid_sample},
    {"GroupNormalization", group_normalization},
    {"HammingWindow", hamming_window},
    {"HannWindow", hann_window},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", hard_swish},
    {"Hardmax", hardmax},
    {"Identity", identity, nullptr, Reads::Sequences},
    {"If", nullptr, kCondition},
    {"ImageDecoder", nullptr, kImage},
    {"InstanceNormalization", instance_normalization},
    {"IsInf", is_inf},
    {"IsNaN", is_nan},
    {"LRN", local_response_normalization},
    {"LSTM", lstm},
    {"LayerNormalization", layer_normalization},
    {"LeakyRelu", leaky_relu},
    {"Less", less},
    {"LessOrEqual", less_or_equal},
    {"LinearAttention", linear_attention},
    {"Log", log},
    {"LogSoftmax", log_softmax},
    {"Loop", without_body, nullptr, Reads::Sequences},
    {"LpNormalization", lp_normalization},
    {"LpPool", lp_pool},
    {"MatMul", matmul},
    {"MatMulInteger", matmul_integer},
    {"Max", max},
    {"MaxPool", max_pool, nullptr, Reads::Moved},
    {"MaxRoiPool", max_roi_pool},
    {"MaxUnpool", max_unpool},
    {"Mean", mean},
    {"MeanVarianceNormalization", mean_variance_normalization},
    {"MelWeightMatrix", mel_weight_matrix},
    {"Min", min},
    {"Mish", mish},
    {"Mod", mod},
    {"Mul", mul},
    {"Multinomial", nullptr, kRandom},
    {"Neg", neg},
    {"NegativeLogLikelihoodLoss", negative_log_likelihood_loss},
    {"NonMaxSuppression", non_max_suppression},
    {"NonZero", non_zero},
    {"Not", logical_not},
    {"OneHot", one_hot},
    {"Optional", optional, nullptr, Reads::Sequences},
    {"OptionalGetElement", optional_get_element, nullptr, Reads::Sequences},
    {"OptionalHasElement", optional_has_element, nullptr, Reads::Sequences},
    {"Or", logical_or},
    {"PRelu", prelu},
    {"Pad", pad},
    {"Pow", pow},
    {"QLinearConv", qlinear_conv, nullptr, Reads::Int8},
    {"QLinearMatMul", qlinear_matmul, nullptr, Reads::Int8},
    {"QuantizeLinear", quantize_linear},
    {"RMSNormalization", rms_normalization},
    {"RNN", rnn},
    {"RandomNormal", nullptr, kRandom},
    {"RandomNormalLike", nullptr, kRandom},
    {"RandomUniform", nullptr, kRandom},
    {"RandomUniformLike", nullptr, kRandom},
    {"Range", range},
    {"Reciprocal", reciprocal},
    {"ReduceL1", reduce_l1},
    {"ReduceL2", reduce_l2},
    {"ReduceLogSum", reduce_log_sum},
    {"ReduceLogSumExp", reduce_log_sum_exp},
    {"ReduceMax", reduce_max},
    {"ReduceMean", reduce_mean},
    {"ReduceMin", reduce_min},
    {"ReduceProd", reduce_prod},
    {"ReduceSum", reduce_sum},
    {"ReduceSumSquare", reduce_sum_square},
    {"RegexFullMatch", nullptr, kStrings},
    {"Relu", relu},
    {"Reshape", reshape, nullptr, Reads::Moved},
    {"Resize", resize},
    {"ReverseSequence", reverse_sequence},
    {"RoiAlign", roi_align},
    {"RotaryEmbedding", rotary_embedding},
    {"Round", round},
    {"STFT", stft},
    {"Scan", without_body},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"Selu", selu},
    {"SequenceAt", sequence_at, nullptr, Reads::Sequences},
    {"SequenceConstruct", sequence_construct},
    {"SequenceEmpty", sequence_empty},
    {"SequenceErase", sequence_erase, nullptr, Reads::Sequences},
    {"SequenceInsert", sequence_insert, nullptr, Reads::Sequences},
    {"SequenceLength", sequence_length, nullptr, Reads::Sequences},
    {"SequenceMap", without_body, nullptr, Reads::Sequences},
    {"Shape", shape},
    {"Shrink", shrink},
    {"Sigmoid", sigmoid},
    {"Sign", sign},
    {"SimplifiedLayerNormalization", rms_normalization},  // ONNX Runtime's name
    {"Sin", sin},
    {"Sinh", sinh},
    {"Size", size},
    {"Slice", slice, nullptr, Reads::Moved},
    {"Softmax", softmax},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss},
    {"Softplus", softplus},
    {"Softsign", softsign},
    {"SpaceToDepth", space_to_depth, nullptr, Reads::Moved},
    {"Split", split},
    {"SplitToSequence", split_to_sequence},
    {"Sqrt", sqrt},
    {"Squeeze", squeeze, nullptr, Reads::Moved},
    {"StringConcat", nullptr, kStrings},
    {"StringNormalizer", nullptr, kStrings},
    {"StringSplit", nullptr, kStrings},
    {"Sub", sub},
    {"Sum", sum},
    {"SwiGLU", swiglu},
    {"Swish", swish},
    {"Tan", tan},
    {"Tanh", tanh},
    {"TensorScatter", tensor_scatter},
    {"TfIdfVectorizer", tf_idf_vectorizer},
    {"ThresholdedRelu", thresholded_relu},
    {"Tile", tile},
    {"TopK", top_k},
    {"Transpose", transpose, nullptr, Reads::Moved},
    {"Trilu", trilu},
    {"Unique", unique},
    {"Unsqueeze", unsqueeze, nullptr, Reads::Moved},
    {"Upsample", resize},
    {"Where", where},
    {"Xor", logical_xor},
};

// Operators that patterns insert.
constexpr OpRow kFerryOps[] = {
    {"Attention", ferry_attention},
    {"CachedAttention", ferry_cached_attention},
    {"DequantizedRows", ferry_dequantized_rows},
    {"DynamicConv", ferry_dynamic_conv},
    {"DynamicProduct", ferry_dynamic_product},
    {"FilledPlaces", ferry_filled_places},
    {"Gelu", ferry_gelu},
    {"GeluTanh", ferry_gelu_tanh},
    {"GroupNorm", ferry_group_norm},
    {"HardSwish", hard_swish},
    {"KeypointsOfHeatmaps", ferry_keypoints_of_heatmaps},
    {"LayerNorm", ferry_layer_norm},
    {"MaskBias", ferry_mask_bias},
    {"PasteMasks", ferry_paste_masks},
    {"Positions", ferry_positions},
    {"QuantizeDequantize", ferry_quantize_dequantize},
    {"RmsNorm", ferry_rms_norm},
    {"ScatterRows", ferry_scatter_rows},
    {"Silu", ferry_silu},
};

// Other domains that files name, and why their operators are refused.
struct Domain {
  std::string_view name;
  const char* refused;
};

constexpr const char* kOneProcessor =
    "ONNX Runtime wrote it for one processor at optimization level 'all': write the file at level 'extended'";

constexpr Domain kDomains[] = {
    {"ai.onnx.ml", "trees, vectorizers and other classical models are not supported"},
    {"ai.onnx.preview.training", "it belongs to training"},
    {"ai.onnx.training", "it belongs to training"},
    {"ai.onnx.contrib", "it is of onnxruntime-extensions: convert the network without its tokenizer or decoder"},
    {"com.microsoft.extensions",
     "it is of onnxruntime-extensions: convert the network without its tokenizer or decoder"},
    {"com.microsoft.nchwc", kOneProcessor},
    {"com.ms.internal.nhwc", kOneProcessor},
    {"org.pytorch.aten", "it calls PyTorch: export the network without ATen fallbacks"},
};

const OpRow* find(const Node& node) {
  const std::span<const OpRow> rows = operators_of(node.domain);
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const OpRow& r) { return r.op == node.op; });
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace

std::span<const OpRow> operators_of(std::string_view domain) {
  if (domain.empty()) return kOps;
  if (domain == "com.microsoft") return microsoft::rows();
  return domain == "ferry" ? std::span<const OpRow>(kFerryOps) : std::span<const OpRow>();
}

OpFunction find_op(const Node& node) {
  const OpRow* row = find(node);
  return row ? row->function : nullptr;
}

Reads reads_of(const Node& node) {
  const OpRow* row = find(node);
  return row ? row->reads : Reads::Plain;
}

std::string why_unsupported(const Node& node) {
  if (node.domain.empty()) {
    const OpRow* row = find(node);
    return row ? row->refused : "the operator is not supported: ONNX has none of this name";
  }
  const std::string name = node.op + " of domain '" + node.domain + "' is not supported";
  if (const OpRow* row = find(node)) return name + ": " + row->refused;
  for (const Domain& domain : kDomains)
    if (domain.name == node.domain) return name + ": " + domain.refused;
  if (!operators_of(node.domain).empty()) return name + ": the domain has no operator of this name";
  return name + ": operators are those of ONNX and of 'com.microsoft', or functions in the file";
}

}  // namespace ferry::onnx

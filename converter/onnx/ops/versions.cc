// ONNX's changelog as a table: for each operator, what its import function is right for, and how nodes of older opsets
// become nodes that it understands.
#include "converter/onnx/versions.h"

#include <algorithm>
#include <array>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// Before opset 7, B broadcasts to A with broadcast=1 only: from dimension `axis` of A on, or to A's last dimensions.
void broadcast_along_axis(Op& op, Node*) {
  const Dims a = op.dims(0), b = op.dims(1);
  const int64_t axis = op.integer("axis", -1);
  if (op.integer("broadcast", 0) == 0) {
    if (a != b)
      op.refuse("inputs of %s and %s without broadcast=1, which opset %d needs", to_string(a).c_str(),
                to_string(b).c_str(), op.opset());
    return;
  }
  if (count_elements(b) == 1) return op.reshape_input(1, {});
  const size_t first = axis == -1 && b.size() <= a.size() ? a.size() - b.size() : static_cast<size_t>(axis);
  bool fits = axis >= -1 && b.size() <= a.size() && first <= a.size() - b.size();
  for (size_t i = 0; fits && i < b.size(); ++i) fits = b[i] == 1 || b[i] == a[first + i];
  if (!fits)
    op.refuse("%s does not broadcast to %s from dimension %lld on", to_string(b).c_str(), to_string(a).c_str(),
              static_cast<long long>(axis));
  Dims to = b;
  to.resize(a.size() - first, 1);
  op.reshape_input(1, to);
}

// Before opset 7, C has the shape of the product without broadcast=1.
void gemm_without_broadcast(Op& op, Node*) {
  if (op.integer("broadcast", 0) != 0 || op.rank(0) != 2 || op.rank(1) != 2) return;
  const Dims wanted = {op.dims(0)[op.integer("transA", 0) != 0 ? 1 : 0],
                       op.dims(1)[op.integer("transB", 0) != 0 ? 0 : 1]};
  if (op.dims(2) != wanted)
    op.refuse("C is %s for a product of %s without broadcast=1, which opset %d needs", to_string(op.dims(2)).c_str(),
              to_string(wanted).c_str(), op.opset());
}

// Before opset 7, a slope of C elements is one per channel.
void slope_per_channel(Op& op, Node*) {
  const Dims slope = op.dims(1);
  if (slope.size() != 1 || slope[0] == 1 || op.rank(0) < 3) return;
  if (slope[0] != op.dims(0)[1])
    op.refuse("%lld slopes for %lld channels", static_cast<long long>(slope[0]), static_cast<long long>(op.dims(0)[1]));
  Dims to(static_cast<size_t>(op.rank(0)) - 1, 1);
  to[0] = slope[0];
  op.reshape_input(1, to);
}

// Before opset 7, an attribute decides between training and inference, and its default is training.
void only_inference(Op& op, Node*) {
  if (op.integer("is_test", 0) == 0)
    op.refuse("it is in training mode: attribute 'is_test' is 0, its default in opset %d", op.opset());
}

void split_with_axis(Op& op, Node*) {
  if (!op.has_attribute("axis")) op.refuse("attribute 'axis' is missing, which has no default in opset 1");
}

void concat_channels(Op&, Node* node) {
  node->attributes.emplace("axis", Attribute{.kind = Attribute::Kind::Int, .ints = {1}});
}

// The constants of these versions are written with fewer digits.
void selu_constants(Op& op, Node* node) {
  for (const auto& [name, value] : {std::pair{"alpha", op.opset() < 6 ? 1.6732 : 1.67326}, {"gamma", 1.0507}})
    node->attributes.emplace(name, Attribute{.kind = Attribute::Kind::Float, .floats = {value}});
}

void cast_by_name(Op& op, Node* node) {
  std::string name = op.text("to", "");
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  constexpr std::array<std::string_view, 14> kNames = {"UNDEFINED", "FLOAT",  "UINT8",  "INT8",   "UINT16",
                                                       "INT16",     "INT32",  "INT64",  "STRING", "BOOL",
                                                       "FLOAT16",   "DOUBLE", "UINT32", "UINT64"};
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) op.refuse("attribute 'to' is '%s', expected a type like FLOAT", name.c_str());
  node->attributes["to"] = Attribute{.kind = Attribute::Kind::Int, .ints = {found - kNames.begin()}};
}

void pad_by_paddings(Op&, Node* node) {
  const auto paddings = node->attributes.extract("paddings");
  if (!paddings.empty()) node->attributes["pads"] = paddings.mapped();
}

void pool_by_float(Op& op, Node* node) {
  const double p = op.number("p", 2);
  if (p != 1 && p != 2) op.refuse("attribute 'p' is %g, expected 1 or 2", p);
  node->attributes["p"] = Attribute{.kind = Attribute::Kind::Int, .ints = {to_integer(p)}};
}

void upsample_by_sides(Op& op, Node* node) {
  const double height = op.number("height_scale", 0), width = op.number("width_scale", 0);
  node->attributes["scales"] = Attribute{.kind = Attribute::Kind::Floats, .floats = {1, 1, height, width}};
}

// Sorted by operator, then opset. ONNX has some of these operators only from a later opset on than the first row here,
// which then holds for all.
constexpr char kConvolution[] = "auto_pad dilations group kernel_shape pads strides";
constexpr char kLegacy[] = "consumed_inputs";  // an old hint to reuse memory
constexpr char kOldBinary[] = "axis broadcast consumed_inputs";
constexpr char kOldReduce[] = "axes keepdims", kReduce[] = "axes keepdims noop_with_empty_axes";

constexpr OpsetRow kRows[] = {
    {"Abs", 1, kLegacy},
    {"Acos", 7, ""},
    {"Acosh", 9, ""},
    {"Add", 1, kOldBinary, broadcast_along_axis},
    {"Add", 7, ""},
    {"AffineGrid", 20, "align_corners"},
    {"And", 1, kOldBinary, broadcast_along_axis},
    {"And", 7, ""},
    {"ArgMax", 1, "axis keepdims select_last_index"},
    {"ArgMin", 1, "axis keepdims select_last_index"},
    {"Asin", 7, ""},
    {"Asinh", 9, ""},
    {"Atan", 7, ""},
    {"Atanh", 9, ""},
    {"Attention", 23,
     "is_causal kv_num_heads left_window_size=-1 q_num_heads qk_matmul_output_mode right_window_size=-1 scale softcap "
     "softmax_precision"},
    {"AveragePool", 1, "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    {"BatchNormalization", 1, "consumed_inputs epsilon is_test momentum spatial", only_inference},
    {"BatchNormalization", 7, "epsilon momentum spatial"},
    {"BatchNormalization", 9, "epsilon momentum training_mode"},
    {"BitCast", 26, "to"},
    {"BitShift", 11, "direction"},
    {"BitwiseAnd", 18, ""},
    {"BitwiseNot", 18, ""},
    {"BitwiseOr", 18, ""},
    {"BitwiseXor", 18, ""},
    {"BlackmanWindow", 17, "output_datatype periodic"},
    {"Cast", 1, "to", cast_by_name},
    {"Cast", 6, "round_mode saturate to"},
    {"CastLike", 15, "round_mode saturate"},
    {"CausalConvWithState", 27, "activation"},
    {"Ceil", 1, kLegacy},
    {"Celu", 12, "alpha"},
    {"CenterCropPad", 18, "axes"},
    {"Clip", 1, "consumed_inputs max min"},
    {"Clip", 11, ""},
    {"Col2Im", 18, "dilations pads strides"},
    {"Compress", 9, "axis"},
    {"Concat", 1, "axis", concat_channels},
    {"Concat", 4, "axis"},
    {"ConcatFromSequence", 11, "axis new_axis"},
    {"Constant", 1, "sparse_value value value_float value_floats value_int value_ints value_string value_strings"},
    {"ConstantOfShape", 9, "value"},
    {"Conv", 1, kConvolution},
    {"ConvInteger", 10, kConvolution},
    {"ConvTranspose", 1, "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    {"Cos", 7, ""},
    {"Cosh", 9, ""},
    {"CumProd", 26, "exclusive reverse"},
    {"CumSum", 11, "exclusive reverse"},
    {"DFT", 17, "axis inverse onesided"},
    {"DeformConv", 19, "dilations group kernel_shape offset_group pads strides"},
    {"DepthToSpace", 1, "blocksize"},
    {"DepthToSpace", 11, "blocksize mode"},
    {"DequantizeLinear", 10, ""},
    {"DequantizeLinear", 13, "axis block_size output_dtype"},
    {"Det", 11, ""},
    {"Div", 1, kOldBinary, broadcast_along_axis},
    {"Div", 7, ""},
    {"Dropout", 1, "consumed_inputs is_test ratio", only_inference},
    {"Dropout", 7, "ratio"},
    {"Dropout", 12, "seed"},
    {"DynamicQuantizeLinear", 11, ""},
    {"Einsum", 12, "equation"},
    {"Elu", 1, "alpha consumed_inputs"},
    {"Equal", 1, kOldBinary, broadcast_along_axis},
    {"Equal", 7, ""},
    {"Erf", 9, ""},
    {"Exp", 1, kLegacy},
    {"Expand", 8, ""},
    {"EyeLike", 9, "dtype k"},
    {"Flatten", 1, "axis"},
    {"Floor", 1, kLegacy},
    {"GRU", 1,
     "activation_alpha activation_beta activations clip direction hidden_size layout linear_before_reset "
     "output_sequence"},
    {"Gather", 1, "axis"},
    {"GatherElements", 11, "axis"},
    {"GatherND", 11, "batch_dims"},
    {"Gelu", 20, "approximate"},
    {"Gemm", 1, "alpha beta broadcast transA transB", gemm_without_broadcast},
    {"Gemm", 7, "alpha beta transA transB"},
    {"GlobalAveragePool", 1, ""},
    {"GlobalLpPool", 1, "p"},
    {"GlobalMaxPool", 1, ""},
    {"Greater", 1, kOldBinary, broadcast_along_axis},
    {"Greater", 7, ""},
    {"GreaterOrEqual", 12, ""},
    {"GridSample", 16, "align_corners mode padding_mode"},
    {"GroupNormalization", 18, "epsilon num_groups stash_type"},
    {"HammingWindow", 17, "output_datatype periodic"},
    {"HannWindow", 17, "output_datatype periodic"},
    {"HardSigmoid", 1, "alpha beta consumed_inputs"},
    {"HardSwish", 14, ""},
    {"Hardmax", 1, "axis"},
    {"Identity", 1, ""},
    {"If", 1, "else_branch then_branch"},
    {"InstanceNormalization", 1, "consumed_inputs epsilon"},
    {"IsInf", 10, "detect_negative detect_positive"},
    {"IsNaN", 9, ""},
    {"LRN", 1, "alpha beta bias size"},
    {"LSTM", 1,
     "activation_alpha activation_beta activations clip direction hidden_size input_forget layout output_sequence"},
    {"LayerNormalization", 1, "axis epsilon stash_type"},  // ONNX's from 17, ONNX Runtime's before
    {"LeakyRelu", 1, "alpha consumed_inputs"},
    {"Less", 1, kOldBinary, broadcast_along_axis},
    {"Less", 7, ""},
    {"LessOrEqual", 12, ""},
    {"LinearAttention", 27, "chunk_size kv_num_heads q_num_heads scale update_rule"},
    {"Log", 1, kLegacy},
    {"LogSoftmax", 1, "axis"},
    {"Loop", 1, "body"},
    {"LpNormalization", 1, "axis p"},
    {"LpPool", 1, "auto_pad kernel_shape p pads strides", pool_by_float},
    {"LpPool", 2, "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    {"MatMul", 1, ""},
    {"MatMulInteger", 10, ""},
    {"Max", 1, kLegacy},
    {"MaxPool", 1, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    {"MaxRoiPool", 1, "pooled_shape spatial_scale"},
    {"MaxUnpool", 9, "kernel_shape pads strides"},
    {"Mean", 1, kLegacy},
    {"MeanVarianceNormalization", 9, "axes"},
    {"MelWeightMatrix", 17, "output_datatype"},
    {"Min", 1, kLegacy},
    {"Mish", 18, ""},
    {"Mod", 10, "fmod"},
    {"Mul", 1, kOldBinary, broadcast_along_axis},
    {"Mul", 7, ""},
    {"Neg", 1, kLegacy},
    {"NegativeLogLikelihoodLoss", 12, "ignore_index reduction"},
    {"NonMaxSuppression", 10, "center_point_box"},
    {"NonZero", 9, ""},
    {"Not", 1, ""},
    {"OneHot", 9, "axis"},
    {"Optional", 15, "type"},
    {"OptionalGetElement", 15, ""},
    {"OptionalHasElement", 15, ""},
    {"Or", 1, kOldBinary, broadcast_along_axis},
    {"Or", 7, ""},
    {"PRelu", 1, kLegacy, slope_per_channel},
    {"PRelu", 7, ""},
    {"Pad", 1, "mode paddings value", pad_by_paddings},
    {"Pad", 2, "mode pads value"},
    {"Pad", 11, "mode"},
    {"Pow", 1, kOldBinary, broadcast_along_axis},
    {"Pow", 7, ""},
    {"QLinearConv", 10, kConvolution},
    {"QLinearMatMul", 10, ""},
    {"QuantizeLinear", 10, ""},
    {"QuantizeLinear", 13, "axis block_size output_dtype precision=0 precision=1 saturate"},
    {"RMSNormalization", 23, "axis epsilon stash_type"},
    {"RNN", 1, "activation_alpha activation_beta activations clip direction hidden_size layout output_sequence"},
    {"Range", 11, "stash_type"},
    {"Reciprocal", 1, kLegacy},
    {"ReduceL1", 1, kOldReduce},
    {"ReduceL1", 18, kReduce},
    {"ReduceL2", 1, kOldReduce},
    {"ReduceL2", 18, kReduce},
    {"ReduceLogSum", 1, kOldReduce},
    {"ReduceLogSum", 18, kReduce},
    {"ReduceLogSumExp", 1, kOldReduce},
    {"ReduceLogSumExp", 18, kReduce},
    {"ReduceMax", 1, kOldReduce},
    {"ReduceMax", 18, kReduce},
    {"ReduceMean", 1, kOldReduce},
    {"ReduceMean", 18, kReduce},
    {"ReduceMin", 1, kOldReduce},
    {"ReduceMin", 18, kReduce},
    {"ReduceProd", 1, kOldReduce},
    {"ReduceProd", 18, kReduce},
    {"ReduceSum", 1, kOldReduce},
    {"ReduceSum", 13, kReduce},
    {"ReduceSumSquare", 1, kOldReduce},
    {"ReduceSumSquare", 18, kReduce},
    {"Relu", 1, kLegacy},
    {"Reshape", 1, "consumed_inputs shape"},
    {"Reshape", 5, "allowzero"},
    {"Resize", 10, "mode"},
    {"Resize", 11,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
     "keep_aspect_ratio_policy mode nearest_mode"},
    {"ReverseSequence", 10, "batch_axis time_axis"},
    {"RoiAlign", 10, "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale"},
    {"RotaryEmbedding", 23, "interleaved num_heads rotary_embedding_dim"},
    {"Round", 11, ""},
    {"STFT", 17, "onesided"},
    {"Scan", 9, "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions"},
    {"Scatter", 9, "axis"},
    {"ScatterElements", 11, "axis reduction"},
    {"ScatterND", 11, "reduction"},
    {"Selu", 1, "alpha consumed_inputs gamma", selu_constants},
    {"Selu", 6, "alpha gamma"},
    {"SequenceAt", 11, ""},
    {"SequenceConstruct", 11, ""},
    {"SequenceEmpty", 11, "dtype"},
    {"SequenceErase", 11, ""},
    {"SequenceInsert", 11, ""},
    {"SequenceLength", 11, ""},
    {"SequenceMap", 17, "body"},
    {"Shape", 1, "end start"},
    {"Shrink", 9, "bias lambd"},
    {"Sigmoid", 1, kLegacy},
    {"Sign", 9, ""},
    {"SimplifiedLayerNormalization", 1, "axis epsilon stash_type"},  // ONNX Runtime's
    {"Sin", 7, ""},
    {"Sinh", 9, ""},
    {"Size", 1, ""},
    {"Slice", 1, "axes ends starts"},
    {"Slice", 10, ""},
    {"Softmax", 1, "axis"},
    {"SoftmaxCrossEntropyLoss", 12, "ignore_index reduction"},
    {"Softplus", 1, ""},
    {"Softsign", 1, ""},
    {"SpaceToDepth", 1, "blocksize"},
    {"Split", 1, "axis split", split_with_axis},
    {"Split", 2, "axis split"},
    {"Split", 13, "axis num_outputs"},
    {"SplitToSequence", 11, "axis keepdims"},
    {"Sqrt", 1, kLegacy},
    {"Squeeze", 1, "axes"},
    {"Squeeze", 13, ""},
    {"Sub", 1, kOldBinary, broadcast_along_axis},
    {"Sub", 7, ""},
    {"Sum", 1, kLegacy},
    {"SwiGLU", 28, "alpha"},
    {"Swish", 24, "alpha"},
    {"Tan", 7, ""},
    {"Tanh", 1, kLegacy},
    {"TensorScatter", 24, "axis mode"},
    {"TfIdfVectorizer", 9,
     "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s pool_strings weights"},
    {"ThresholdedRelu", 10, "alpha"},
    {"Tile", 1, ""},
    {"TopK", 1, "axis k"},
    {"TopK", 10, "axis largest sorted"},
    {"Transpose", 1, "perm"},
    {"Trilu", 14, "upper"},
    {"Unique", 11, "axis sorted"},
    {"Unsqueeze", 1, "axes"},
    {"Unsqueeze", 13, ""},
    {"Upsample", 1, "height_scale mode width_scale", upsample_by_sides},
    {"Upsample", 7, "mode scales"},
    {"Upsample", 9, "mode"},
    {"Where", 9, ""},
    {"Xor", 1, kOldBinary, broadcast_along_axis},
    {"Xor", 7, ""},
};

constexpr bool before(const OpsetRow& a, const OpsetRow& b) { return a.op != b.op ? a.op < b.op : a.from < b.from; }
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows), before));

// Whether `list` has the attribute, with its value where it names one.
bool lists(std::string_view list, const std::string& name, const Attribute& attribute) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    const std::string_view item = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (item == name) return true;
    if (attribute.kind == Attribute::Kind::Int && item == name + "=" + std::to_string(attribute.ints.front()))
      return true;
  }
  return false;
}

}  // namespace

const OpsetRow* find_opset_row(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  const OpsetRow* found = nullptr;
  for (const OpsetRow& row : kRows)
    if (row.op == node.op && (found == nullptr || row.from <= node.opset)) found = &row;
  return found;
}

std::string unread_attribute(const OpsetRow& row, const Node& node) {
  for (const auto& [name, attribute] : node.attributes) {
    if (lists(row.attributes, name, attribute)) continue;
    const bool one = attribute.kind == Attribute::Kind::Int;
    return "attribute '" + name + (one ? "' is " + std::to_string(attribute.ints.front()) + ": it" : "'") +
           " is not supported in opset " + std::to_string(node.opset);
  }
  return {};
}

}  // namespace ferry::onnx

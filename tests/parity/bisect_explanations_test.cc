// Every cause of `ferry bisect` says which side has what. For a blob that departs from its graph, "X instead of Y"
// names the blob's X first. For a family's code it is "the blob has X, the reference Y".
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "cli/bisect/trial.h"
#include "converter/checkpoint/checkpoint.h"

namespace ferry::bisect::sentences {
namespace {

class MadeCheckpoint : public Checkpoint {
 public:
  MadeCheckpoint() {
    add("bn.weight", {1.1f, 0.8f, -0.9f, 1.2f});
    add("bn.bias", {0.3f, -0.2f, 0.1f, 0.4f});
    add("bn.running_mean", {0.5f, 0.2f, -0.3f, 0.1f});
    add("bn.running_var", {0.01f, 0.02f, 0.005f, 0.03f});
  }
  const std::map<std::string, CheckpointTensor>& tensors() const override { return tensors_; }
  const char* format() const override { return "made"; }
  std::string sha256() const override { return {}; }
  const std::filesystem::path& path() const override { return path_; }

 private:
  void add(const std::string& name, std::vector<float> values) {
    values_[name] = std::move(values);
    const std::vector<float>& kept = values_[name];
    tensors_[name] = {ElementType::F32, {static_cast<int64_t>(kept.size())}, std::as_bytes(std::span(kept))};
  }

  std::map<std::string, std::vector<float>> values_;
  std::map<std::string, CheckpointTensor> tensors_;
  std::filesystem::path path_;
};

Array waves(const Shape& shape, double speed = 1.7) {
  Array out{.shape = shape, .values = {}};
  for (int64_t i = 0; i < shape.elements(); ++i) out.values.push_back(std::sin(speed * static_cast<double>(i + 1)));
  return out;
}

// A chain of operators; the first reads an input.
class Line {
 public:
  explicit Line(Array input) { piece_.known[tensor_at(0)] = std::move(input); }

  template <typename Params>
  Line& then(Params params, std::vector<std::pair<std::string, Array>> constants = {}, const std::string& name = "") {
    fbs::OperatorT op;
    op.name = name;
    op.params.Set(std::move(params));
    op.inputs = {last_};
    for (auto& [called, value] : constants) {
      op.inputs.push_back(tensor_at(next_++));
      piece_.known[op.inputs.back()] = std::move(value);
      piece_.constants[op.inputs.back()] = called;
    }
    last_ = tensor_at(next_++);
    op.outputs = {last_};
    piece_.operators.push_back(std::move(op));
    piece_.target = last_;
    return *this;
  }
  // Further inputs of the operator added last.
  Line& reading(const std::vector<Array>& more) {
    auto& inputs = piece_.operators.back().inputs;
    for (const Array& value : more) {
      inputs.push_back(tensor_at(next_++));
      piece_.known[inputs.back()] = value;
    }
    return *this;
  }
  operator Piece() const { return piece_; }

 private:
  Piece piece_;
  TensorId last_ = tensor_at(0);
  size_t next_ = 1;
};

struct ExplanationCase {
  const char* name;
  Piece right, wrong;
  const char* conversion;  // expected if the blob is wrong
  const char* graph;       // expected if the family, and with it the blob, is wrong
};

const MadeCheckpoint& checkpoint() {
  static const MadeCheckpoint made;
  return made;
}

std::string explanation_of(const Piece& piece, const Piece& aim, Trial trial) {
  const std::set<std::string> none;
  const Values computed = compute(piece);
  const Array wanted = compute(aim).at(aim.target);
  const auto distance = [&](const Array& tried) { return difference(tried, wanted).relative; };
  return try_causes({piece, computed, checkpoint(), none, none}, trial, distance(computed.at(piece.target)), distance)
      .text;
}

fbs::UnaryT activation(fbs::UnaryKind kind, float alpha = 0, float beta = 0) {
  fbs::UnaryT out;
  out.kind = kind, out.alpha = alpha, out.beta = beta;
  return out;
}

const Array& image() {
  static const Array out = waves({1, 6, 5, 4});
  return out;
}

template <typename Change>
Piece convolution(const Change& change, bool bias = true, const Array& weight = waves({3, 3, 3, 4}, 0.9)) {
  fbs::Conv2dT params;
  params.pad_top = params.pad_left = 0, params.pad_bottom = params.pad_right = 2;
  change(params);
  std::vector<std::pair<std::string, Array>> constants = {{"conv.weight", weight}};
  if (bias) constants.push_back({"conv.bias", waves({3}, 2.3)});
  return Line(image()).then(params, constants, "conv");
}

Piece turned(Piece piece, const std::function<size_t(size_t)>& from) {
  std::vector<double>& values = piece.known.at(piece.operators[0].inputs[1]).values;
  const std::vector<double> old = values;
  for (size_t i = 0; i < values.size(); ++i) values[i] = old[from(i)];
  return piece;
}

Piece batch_norm(double epsilon, double means = 1, double biases = 1) {
  std::vector<double> scale, shift;
  const auto of = [](const char* leaf) { return checkpoint().tensors().at(std::string("bn.") + leaf).to_doubles(); };
  const auto weight = of("weight"), bias = of("bias"), mean = of("running_mean"), variance = of("running_var");
  for (size_t c = 0; c < 4; ++c) {
    scale.push_back(weight[c] / std::sqrt(variance[c] + epsilon));
    shift.push_back(biases * bias[c] - means * mean[c] * scale[c]);
  }
  fbs::BinaryT multiply;
  multiply.kind = fbs::BinaryKind::Mul;
  return Line(image())
      .then(multiply, {{"bn.scale", {.shape = {4}, .values = scale}}}, "bn")
      .then(fbs::BinaryT(), {{"bn.shift", {.shape = {4}, .values = shift}}}, "bn");
}

Piece norm(float epsilon, double weight = 1, bool shifted = true) {
  fbs::LayerNormT params;
  params.epsilon = epsilon;
  Array scale = waves({4}, 0.8), shift = waves({4}, 2.9);
  for (double& v : scale.values) v = weight == 1 ? v + 2 : v + 2 + weight;
  if (!shifted) std::fill(shift.values.begin(), shift.values.end(), 0.0);
  Array small = image();
  for (double& v : small.values) v *= 0.02;
  return Line(small).then(params, {{"norm.weight", scale}, {"norm.bias", shift}}, "norm");
}

Piece resized(fbs::ResizeKind kind) {
  fbs::Resize2dT params;
  params.kind = kind;
  return Line(image()).then(params);
}

Piece padded(std::vector<int> before, std::vector<int> after, float value = 0) {
  fbs::PadT params;
  params.before = std::move(before), params.after = std::move(after), params.value = value;
  return Line(image()).then(params);
}

Piece pooled(bool max, bool counts = true) {
  fbs::Pool2dT params;
  params.kind = max ? fbs::PoolKind::Max : fbs::PoolKind::Average;
  params.kernel_h = params.kernel_w = 3;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = 1;
  params.count_include_pad = counts;
  return Line(image()).then(params);
}

Piece reduced(fbs::ReduceKind kind) {
  fbs::ReduceT params;
  params.kind = kind;
  params.axes = {1, 2};
  return Line(image()).then(std::move(params));
}

Piece joined(const Array& a, const Array& b, const Array& c) {
  fbs::ConcatT params;
  params.axis = 3;
  return Line(a).then(params).reading({b, c});
}

Piece added(fbs::BinaryKind kind) {
  fbs::BinaryT params;
  params.kind = kind;
  return Line(image()).then(params).reading({waves({1, 6, 5, 4}, 0.6)});
}

Piece kept_side() {
  fbs::UnaryT all = activation(fbs::UnaryKind::Clamp, -HUGE_VALF, HUGE_VALF);
  return Line(image()).then(all);
}

Piece attending(float scale, bool causal) {
  fbs::AttentionT params;
  params.heads = 1, params.kv_heads = 1;
  params.scale = scale, params.causal = causal;
  return Line(waves({1, 5, 4})).then(params).reading({waves({1, 5, 4}, 0.7), waves({1, 5, 4}, 2.1)});
}

std::vector<ExplanationCase> all() {
  const auto as_it_is = [](fbs::Conv2dT&) {};
  const auto same = [](fbs::Conv2dT& p) { p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 1; };
  const auto clamped = [](fbs::Conv2dT& p) { p.output_min = 0; };
  const Piece conv = convolution(as_it_is);
  const auto flipped = [](size_t i) { return i / 36 * 36 + (8 - i / 4 % 9) * 4 + i % 4; };
  const Array a = waves({1, 2, 2, 3}, 0.5), b = waves({1, 2, 2, 3}, 1.1), c = waves({1, 2, 2, 3}, 2.7);
  const Piece silu = Line(image()).then(activation(fbs::UnaryKind::Silu)),
              gelu = Line(image()).then(activation(fbs::UnaryKind::Gelu));
  fbs::PadT below;
  below.before = {0, 0, 0, 0}, below.after = {0, 1, 0, 0}, below.value = 3;
  const Piece activated = Line(image()).then(below).then(activation(fbs::UnaryKind::Tanh));
  return {
      {"Activation", gelu, silu, "the activation is SiLU instead of GELU (erf)",
       "the activation: the blob has SiLU, the reference GELU (erf)"},
      {"ActivationBeside", padded({0, 0, 0, 0}, {0, 1, 0, 0}, 3), activated,
       "an activation (tanh) is applied after pad and should not be",
       "the activation: the blob has tanh, the reference none"},
      {"ActivationMissing", activated, padded({0, 0, 0, 0}, {0, 1, 0, 0}, 3), "the activation is none instead of tanh",
       "the blob has no activation after pad, the reference tanh"},
      {"Padding", convolution(same), conv, "the padding is all below and to the right (TensorFlow's SAME)",
       "the blob has the padding top 0 left 0 bottom 2 right 2, the reference the same on every side"},
      {"FusedActivation", convolution(as_it_is), convolution(clamped), "the fused activation is ReLU instead of none",
       "the fused activation: the blob has ReLU, the reference none"},
      {"Kernel", conv, turned(conv, flipped), "the kernel is rotated by 180 degrees (flipped)",
       "the blob has the kernel in one orientation, the reference has it rotated by 180 degrees (flipped)"},
      {"Epsilon", batch_norm(1e-5), batch_norm(1e-3), "batch norm's epsilon is 0.001 instead of 1e-05",
       "batch norm's epsilon: the blob has 0.001, the reference 1e-05"},
      {"Mean", batch_norm(1e-5), batch_norm(1e-5, 0), "batch norm's running mean is not subtracted", ""},
      {"NoMean", batch_norm(1e-5, 0), batch_norm(1e-5), "",
       "the blob has batch norm's running mean subtracted, the reference does not subtract it"},
      {"NormEpsilon", norm(1e-6f), norm(1e-3f), "the norm's epsilon is 0.001 instead of 1e-06",
       "the norm's epsilon: the blob has 0.001, the reference 1e-06"},
      {"NormBias", norm(1e-6f), norm(1e-6f, 1, false), "the norm's bias is missing", ""},
      {"NoNormBias", norm(1e-6f, 1, false), norm(1e-6f), "", "the blob has the norm's bias, the reference none"},
      {"ZeroCentred", norm(1e-6f), norm(1e-6f, -1),
       "the norm's weight is used as stored, but it is stored minus 1 (zero-centred: add 1)",
       "the norm's weight is used as stored, but it is stored minus 1 (zero-centred: add 1)"},
      {"Resize", resized(fbs::ResizeKind::Nearest), resized(fbs::ResizeKind::Bicubic),
       "the resize is Bicubic, corners not aligned instead of Nearest, corners not aligned",
       "the resize: the blob has Bicubic, corners not aligned, the reference Nearest, corners not aligned"},
      {"Pad", padded({0, 1, 2, 0}, {0, 0, 1, 0}), padded({0, 0, 1, 0}, {0, 1, 2, 0}),
       "the padding's sides are exchanged",
       "the blob has padding of 0,0,1,0 before and 0,1,2,0 after, the reference the same on the opposite sides"},
      {"PadValue", padded({0, 1, 0, 0}, {0, 1, 0, 0}, 0), padded({0, 1, 0, 0}, {0, 1, 0, 0}, 3), "",
       "the padding's value: the blob has 3, the reference 0"},
      {"Pool", pooled(true), pooled(false), "the pool's reduction is the mean instead of the maximum",
       "the pool's reduction: the blob has the mean, the reference the maximum"},
      {"PoolCounts", pooled(false, false), pooled(false, true),
       "the divisor of the mean is the kernel's size (count_include_pad) instead of the elements without the padding",
       "the divisor of the mean: the blob has the kernel's size (count_include_pad), the reference the "
       "elements without the padding"},
      {"Mean2", reduced(fbs::ReduceKind::Mean), reduced(fbs::ReduceKind::Max),
       "the maximum is taken instead of the mean", "the blob has the maximum, the reference the mean"},
      {"Concat", joined(a, b, c), joined(c, b, a), "the concatenated parts 1 and 3 are exchanged",
       "the blob has the concatenated parts 1 and 3 in one order, the reference in the other"},
      {"Sum", added(fbs::BinaryKind::Add), added(fbs::BinaryKind::Mul), "the operator is Mul instead of Add",
       "the operator: the blob has Mul, the reference Add"},
      {"Shortcut", kept_side(), added(fbs::BinaryKind::Add), "",
       "the blob has both sides of the sum or product, the reference drops one (the shortcut, or the branch)"},
      {"AttentionScale", attending(0.5f, true), attending(0.25f, true),
       "attention's scale is 0.25 (1/sqrt(16)) instead of 0.5 (1/sqrt(4))",
       "attention's scale is 0.25 (1/sqrt(16)) instead of 0.5 (1/sqrt(4))"},
      {"Causal", attending(0.5f, true), attending(0.5f, false),
       "attention attends to later tokens (the causal mask is dropped)",
       "attention attends to later tokens (the causal mask is dropped)"},
  };
}

TEST(Sentences, SayWhichSideHasWhat) {
  for (const ExplanationCase& t : all()) {
    if (*t.conversion != 0) {
      EXPECT_EQ(explanation_of(t.right, t.wrong, Trial::MakesWrong), t.conversion) << t.name;
    }
    if (*t.graph != 0) {
      EXPECT_EQ(explanation_of(t.wrong, t.right, Trial::Repairs), t.graph) << t.name;
    }
  }
}

// Every cause has both texts. They are equal only for those that say "wrong instead of right" or describe the
// checkpoint.
TEST(Sentences, ExistForEveryCauseInBothDirections) {
  const std::set<std::string> none;
  std::set<std::string> seen;
  for (const ExplanationCase& t : all())
    for (const Piece* piece : {&t.right, &t.wrong}) {
      const Values computed = compute(*piece);
      const Causes causes = known_causes({*piece, computed, checkpoint(), none, none});
      for (const Cause& cause : causes.known) {
        EXPECT_NE(cause.text, "") << t.name;
        const std::string& repaired = cause.repaired;
        const size_t blob = repaired.find("the blob has "), reference = repaired.find(", the reference ");
        const bool sides = blob != std::string::npos && reference != std::string::npos && blob < reference;
        const bool wrong_for_right = repaired.find(" instead of ") != std::string::npos ||
                                     repaired.starts_with("attention") ||
                                     repaired.starts_with("the norm's weight is used") ||
                                     repaired.starts_with("1 is added to the norm's weight");
        EXPECT_TRUE(sides || wrong_for_right) << cause.text << ": " << repaired;
        seen.insert(cause.text);
      }
    }
  EXPECT_GT(seen.size(), 100u);
}

}  // namespace
}  // namespace ferry::bisect::sentences

#endif  // FERRY_HAS_CONVERTER

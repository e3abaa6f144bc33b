#include "sdk/cpu/backend/steps.h"

#include <algorithm>
#include <utility>

#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/operators/operators.h"

namespace ferry::cpu {
namespace {

class Conversion : public Op {
 public:
  explicit Conversion(bool into_float16) : into_float16_(into_float16) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    count_ = elements(inputs[0]);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = inputs[0];
    output_ = output;
    return {};
  }

  Status run(Pool* pool) override {
    parallel_for(pool, count_, kGrain, [&](size_t begin, size_t end) {
      if (into_float16_)
        narrow(floats(input_) + begin, float16s(output_) + begin, end - begin);
      else
        widen(float16s(input_) + begin, floats(output_) + begin, end - begin);
    });
    return {};
  }

 private:
  const bool into_float16_;
  size_t count_ = 0;
  const void* input_ = nullptr;
  void* output_ = nullptr;
};

// The precisions in which operators read a tensor.
constexpr uint8_t kFloats = 1, kFloat16s = 2;

class Maker {
 public:
  Maker(const Model& model, const std::vector<uint8_t>& in_float16, const PerTensor<uint8_t>& floats)
      : model_(model), in_float16_(in_float16), floats_(floats), read_as_(model.graph().tensors()->size()) {}

  Steps make() {
    const fbs::Graph& graph = model_.graph();
    for (const TensorId t : model_.tensors()) {
      steps_.tensor.push_back(t);
      steps_.copies.push_back(t);
      steps_.float16.push_back(0);
    }
    for (unsigned i = 0; i < in_float16_.size(); ++i)
      for (unsigned j = 0; j < op(i).inputs()->size(); ++j)
        if (reads(i, j)) read_as_[op(i).inputs()->Get(j)] |= in_float16_[i] ? kFloat16s : kFloats;
    for (const fbs::Port* port : *graph.inputs()) {
      const TensorId t = port->tensor();
      if ((read_as_[t] & kFloat16s) == 0) continue;
      steps_.list.push_back({.converts = true, .of_input = true, .float16 = true, .inputs = {t}, .outputs = {}});
      steps_.list.back().outputs.push_back(add_copy(t, true));
    }
    for (unsigned i = 0; i < in_float16_.size(); ++i) add(i);
    return std::move(steps_);
  }

 private:
  const fbs::Operator& op(unsigned i) const { return *model_.graph().operators()->Get(i); }
  bool is_float32(TensorId t) const {
    return !model_.is_constant(t) && model_.tensor(t).dtype() == fbs::DType::Float32;
  }
  // Whether operator i reads the elements of its input j.
  bool reads(unsigned i, unsigned j) const {
    return is_float32(op(i).inputs()->Get(j)) && !(j > 0 && may_be_sized_by_input(op(i).params_type()));
  }

  TensorId add_copy(TensorId t, bool float16) {
    const TensorId copy = tensor_at(steps_.tensor.size());
    steps_.tensor.push_back(t);
    steps_.float16.push_back(float16);
    steps_.copies[t] = copy;
    return copy;
  }

  TensorId in_form(TensorId t, bool float16) const {
    return (steps_.float16[t] != 0) == float16 ? t : steps_.copies[t];
  }

  void add(unsigned i) {
    const bool float16 = in_float16_[i] != 0;
    Step step{.op = i, .float16 = float16, .inputs = {}, .outputs = {}};
    for (unsigned j = 0; j < op(i).inputs()->size(); ++j) {
      const TensorId t = op(i).inputs()->Get(j);
      step.inputs.push_back(reads(i, j) ? in_form(t, float16) : t);
    }
    std::vector<Step> conversions;
    for (const TensorId t : *op(i).outputs()) {
      step.outputs.push_back(t);
      if (!is_float32(t)) continue;
      const uint8_t wanted = static_cast<uint8_t>(read_as_[t] | (floats_[t] ? kFloats : 0));
      if (float16 && floats_[t]) {
        step.outputs.back() = add_copy(t, true);
        conversions.push_back(
            {.op = i, .converts = true, .float16 = false, .inputs = {step.outputs.back()}, .outputs = {t}});
        continue;
      }
      steps_.float16[t] = float16;
      if ((wanted & (float16 ? kFloats : kFloat16s)) == 0) continue;
      const TensorId copy = add_copy(t, !float16);
      conversions.push_back({.op = i, .converts = true, .float16 = !float16, .inputs = {t}, .outputs = {copy}});
    }
    steps_.list.push_back(std::move(step));
    for (Step& conversion : conversions) steps_.list.push_back(std::move(conversion));
  }

  const Model& model_;
  const std::vector<uint8_t>& in_float16_;
  const PerTensor<uint8_t>& floats_;
  PerTensor<uint8_t> read_as_;
  Steps steps_;
};

}  // namespace

Steps make_steps(const Model& model, const std::vector<uint8_t>& in_float16, const PerTensor<uint8_t>& floats) {
  return Maker(model, in_float16, floats).make();
}

bool Float16Choice::pays(const fbs::Operator& op) const {
  return has_weight(op.params_type()) ||
         std::any_of(op.inputs()->begin(), op.inputs()->end(), [&](TensorId t) { return output_float16_[t] != 0; });
}

void Float16Choice::add(const fbs::Operator& op, bool float16) {
  in_float16_.push_back(float16);
  for (const TensorId t : *op.outputs()) output_float16_[t] = float16;
}

std::unique_ptr<Op> create_conversion(bool into_float16) { return std::make_unique<Conversion>(into_float16); }

}  // namespace ferry::cpu

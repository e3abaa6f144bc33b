// A task runs all steps of one sequence: the recurrence weights stay in the cache, and a step needs no synchronisation.
// The products of the inputs are the Linear operator before this one.
#include "sdk/operators/recurrence.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/exponential.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

// sums[i] = row i of `rows` times v.
FERRY_KERNEL void multiply(const float* rows, size_t count, const float* v, size_t size, float* sums) {
  constexpr size_t kParts = 16;
  for (size_t i = 0; i < count; ++i, rows += size) {
    float parts[kParts] = {}, sum = 0;
    size_t j = 0;
    for (; j + kParts <= size; j += kParts)
      for (size_t k = 0; k < kParts; ++k) parts[k] += rows[j + k] * v[j + k];
    for (; j < size; ++j) sum += rows[j] * v[j];
    for (const float part : parts) sum += part;
    sums[i] = sum;
  }
}

// Maps values in place.
FERRY_KERNEL void sigmoid_of_each(float* x, size_t count) {
  for (size_t i = 0; i < count; ++i) x[i] = sigmoid(x[i]);
}

FERRY_KERNEL void tanh_of_each(float* x, size_t count) {
  for (size_t i = 0; i < count; ++i) x[i] = hyperbolic_tangent(x[i]);
}

FERRY_KERNEL void clamp_each(float* x, size_t count, float limit) {
  for (size_t i = 0; i < count; ++i) {
    const float above = x[i] < -limit ? -limit : x[i];
    x[i] = above > limit ? limit : above;
  }
}

template <typename Map>
void map(float* x, size_t count, const Map& function) {
  for (size_t i = 0; i < count; ++i) x[i] = function(x[i]);
}

void apply(const fbs::GateFunction& function, float* x, size_t count) {
  using Kind = fbs::GateFunctionKind;
  const float alpha = function.alpha(), beta = function.beta();
  switch (function.kind()) {
    case Kind::Sigmoid: sigmoid_of_each(x, count); break;
    case Kind::Tanh: tanh_of_each(x, count); break;
    case Kind::Relu: map(x, count, [](float v) { return v < 0 ? 0 : v; }); break;
    case Kind::Affine: map(x, count, [=](float v) { return alpha * v + beta; }); break;
    case Kind::LeakyRelu: map(x, count, [=](float v) { return v < 0 ? alpha * v : v; }); break;
    case Kind::ThresholdedRelu: map(x, count, [=](float v) { return v <= alpha ? 0 : v; }); break;
    case Kind::ScaledTanh: map(x, count, [=](float v) { return alpha * std::tanh(beta * v); }); break;
    case Kind::HardSigmoid:
      map(x, count, [=](float v) {
        const float value = alpha * v + beta;
        return value < 0 ? 0 : value > 1 ? 1 : value;
      });
      break;
    case Kind::Elu: map(x, count, [=](float v) { return v < 0 ? alpha * std::expm1(v) : v; }); break;
    case Kind::Softsign: map(x, count, [](float v) { return v / (1 + std::fabs(v)); }); break;
    case Kind::Softplus:
      map(x, count, [](float v) { return v > 0 ? v + std::log1p(std::exp(-v)) : std::log1p(std::exp(v)); });
      break;
  }
}

FERRY_KERNEL void add(const float* a, const float* b, float* out, size_t count) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

// out = out + a * b.
FERRY_KERNEL void add_product(const float* a, const float* b, float* out, size_t count) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) out[i] += a[i] * b[i];
}

class Recurrence : public Op {
 public:
  explicit Recurrence(const fbs::Recurrence& params) : p_(params), cell_(size_of(params)) {}

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    steps_ = static_cast<size_t>(inputs[0][0]);
    samples_ = static_cast<size_t>(inputs[0][1]);
    hidden_ = static_cast<size_t>(inputs[1][1]);
    one_state_ = inputs[2][1] == 1;
    *workspace = uint64_t{sizeof(float)} * pool->threads() * scratch_size();
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    x_ = floats(inputs[0]);
    r_ = floats(inputs[1]);
    state_ = floats(inputs[2]);
    lengths_ = inputs.size() > 3 ? static_cast<const int32_t*>(inputs[3]) : nullptr;
    output_ = floats(output);
    scratch_ = floats(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    parallel(pool, Grid<1, 0>{{samples_}},
             [&](Pool::Share& share, size_t n) { run_sample(*pool, n, scratch_ + share.thread() * scratch_size()); });
    return {};
  }

 private:
  size_t gates() const { return static_cast<size_t>(cell_.gates); }
  size_t parts() const { return static_cast<size_t>(cell_.parts); }
  size_t scratch_size() const { return (parts() + gates() + 1) * hidden_; }
  // Row `i` of r after those of the gates.
  const float* extra(size_t i) const { return r_ + (gates() * hidden_ + i) * hidden_; }

  // Scratch: the state, the gates, and a product.
  void run_sample(const Pool& pool, size_t n, float* scratch) const {
    for (size_t part = 0; part < parts(); ++part)
      std::copy_n(state_ + (one_state_ ? part : part * samples_ + n) * hidden_, hidden_, scratch + part * hidden_);
    const auto row = [&](size_t i) { return output_ + (i * samples_ + n) * hidden_; };
    for (size_t i = 0; i < steps_ && !pool.cancelled(); ++i) {
      const size_t t = p_.reverse() ? steps_ - 1 - i : i;
      if (lengths_ != nullptr && static_cast<int64_t>(t) >= lengths_[n]) {
        std::fill_n(row(parts() + t), hidden_, 0.0f);
        continue;
      }
      step(x_ + (t * samples_ + n) * gates() * hidden_, scratch);
      std::copy_n(scratch, hidden_, row(parts() + t));
    }
    for (size_t part = 0; part < parts(); ++part) std::copy_n(scratch + part * hidden_, hidden_, row(part));
  }

  void gate(const fbs::GateFunction& function, float* x, size_t count) const {
    if (!std::isinf(p_.clip())) clamp_each(x, count, p_.clip());
    apply(function, x, count);
  }

  void step(const float* x, float* scratch) const {
    float *h = scratch, *in = scratch + parts() * hidden_, *product = in + gates() * hidden_;
    switch (p_.cell()) {
      case fbs::RecurrentCell::Rnn:
        multiply(r_, hidden_, h, hidden_, in);
        add(in, x, in, hidden_);
        gate(*p_.f(), in, hidden_);
        std::copy_n(in, hidden_, h);
        break;
      case fbs::RecurrentCell::Gru: gru_step(x, h, in, product); break;
      case fbs::RecurrentCell::Lstm: lstm_step(x, h, in, product); break;
    }
  }

  void gru_step(const float* x, float* h, float* in, float* product) const {
    float *update = in, *reset = in + hidden_, *fresh = in + 2 * hidden_;
    multiply(r_, 2 * hidden_, h, hidden_, in);
    add(in, x, in, 2 * hidden_);
    gate(*p_.f(), in, 2 * hidden_);
    const float* rows = r_ + 2 * hidden_ * hidden_;
    if (p_.reset_after()) {
      multiply(rows, hidden_, h, hidden_, product);
      add(product, extra(0), product, hidden_);
      std::copy_n(x + 2 * hidden_, hidden_, fresh);
      add_product(reset, product, fresh, hidden_);
    } else {
      for (size_t i = 0; i < hidden_; ++i) product[i] = reset[i] * h[i];
      multiply(rows, hidden_, product, hidden_, fresh);
      add(fresh, x + 2 * hidden_, fresh, hidden_);
    }
    gate(*p_.g(), fresh, hidden_);
    for (size_t i = 0; i < hidden_; ++i) h[i] = (1 - update[i]) * fresh[i] + update[i] * h[i];
  }

  void lstm_step(const float* x, float* h, float* gates, float* product) const {
    float *in = gates, *out = gates + hidden_, *forget = gates + 2 * hidden_, *fresh = gates + 3 * hidden_;
    float* c = h + hidden_;
    multiply(r_, 4 * hidden_, h, hidden_, gates);
    add(gates, x, gates, 4 * hidden_);
    if (p_.peepholes()) {
      add_product(extra(0), c, in, hidden_);
      add_product(extra(2), c, forget, hidden_);
    }
    gate(*p_.f(), in, hidden_);
    if (p_.input_forget())
      for (size_t i = 0; i < hidden_; ++i) forget[i] = 1 - in[i];
    else
      gate(*p_.f(), forget, hidden_);
    gate(*p_.g(), fresh, hidden_);
    for (size_t i = 0; i < hidden_; ++i) c[i] = forget[i] * c[i] + in[i] * fresh[i];
    if (p_.peepholes()) add_product(extra(1), c, out, hidden_);
    gate(*p_.f(), out, hidden_);
    std::copy_n(c, hidden_, product);
    apply(*p_.h(), product, hidden_);
    for (size_t i = 0; i < hidden_; ++i) h[i] = out[i] * product[i];
  }

  const fbs::Recurrence& p_;
  const CellSize cell_;
  size_t steps_ = 0, samples_ = 0, hidden_ = 0;
  bool one_state_ = false;  // for all sequences
  const float *x_ = nullptr, *r_ = nullptr, *state_ = nullptr;
  const int32_t* lengths_ = nullptr;
  float *output_ = nullptr, *scratch_ = nullptr;
};

}  // namespace

Status create_recurrence(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Recurrence>(*op.params_as_Recurrence());
  return {};
}

}  // namespace ferry::cpu

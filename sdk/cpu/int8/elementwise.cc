// Operators that compute each element by itself: Requantize, Lookup, and sums and products of two tensors.
#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/int8/int8.h"
#include "sdk/cpu/ops/rows.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

class Requantize : public Op {
 public:
  Requantize(const Model& model, const fbs::Operator& op)
      : reads_integers_(is_int8(model, op.inputs()->Get(0))), writes_integers_(is_int8(model, output_of(op))) {
    if (reads_integers_) from_ = int8_scale(model, op.inputs()->Get(0));
    if (!writes_integers_) return;
    const Int8Scale to = int8_scale(model, output_of(op));
    to_.zero_point = to.zero_point;
    multiplier_ = (reads_integers_ ? from_.scale : 1.0f) / to.scale;
  }

  float multiplier() const { return multiplier_; }

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
      const size_t count = end - begin;
      if (!writes_integers_)
        dequantize(integers(input_) + begin, from_, floats(output_) + begin, count);
      else if (reads_integers_)
        requantize(integers(input_) + begin, from_.zero_point, multiplier_, to_, integers(output_) + begin, count);
      else
        quantize_floats(floats(input_) + begin, multiplier_, to_, integers(output_) + begin, count);
    });
    return {};
  }

 private:
  const bool reads_integers_, writes_integers_;
  Int8Scale from_;
  Int8Output to_;
  float multiplier_ = 1;
  size_t count_ = 0;
  const void* input_ = nullptr;
  void* output_ = nullptr;
};

class Lookup : public Op {
 public:
  Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    count_ = elements(inputs[0]);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = integers(inputs[0]);
    table_ = integers(inputs[1]);
    output_ = integers(output);
    return {};
  }

  Status run(Pool* pool) override {
    parallel_for(pool, count_, kGrain,
                 [&](size_t begin, size_t end) { lookup(table_, input_ + begin, output_ + begin, end - begin); });
    return {};
  }

 private:
  size_t count_ = 0;
  const int8_t *input_ = nullptr, *table_ = nullptr;
  int8_t* output_ = nullptr;
};

// The sum, difference or product of two tensors that broadcast as in NumPy.
class Int8Binary : public Op {
 public:
  Int8Binary(const Model& model, const fbs::Operator& op)
      : multiplies_(op.params_as_Binary()->kind() == fbs::BinaryKind::Mul) {
    const fbs::Binary& p = *op.params_as_Binary();
    const Int8Scale a = int8_scale(model, op.inputs()->Get(0)), b = int8_scale(model, op.inputs()->Get(1));
    const Int8Scale to = int8_scale(model, output_of(op));
    operands_ = {a.zero_point, b.zero_point, a.scale / to.scale, b.scale / to.scale};
    if (p.kind() == fbs::BinaryKind::Sub) operands_.scale_b = -operands_.scale_b;
    const float both = a.scale * b.scale;
    if (multiplies_) operands_.scale_a = operands_.scale_b = both / to.scale;
    to_ = {to.zero_point, to.integer(p.output_min()), to.integer(p.output_max())};
  }

  const Int8Operands& operands() const { return operands_; }

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    // A row covers the inner dimensions in which both operands advance, or one of them repeats.
    int inner = output.rank;
    const auto repeats = [&](const Shape& x, int i) {
      const int at = i - (output.rank - x.rank);
      return at < 0 || (x[at] == 1 && output[i] > 1);
    };
    step_a_ = step_b_ = 1;
    row_ = 1;
    for (; inner > 0; --inner) {
      const size_t a = repeats(inputs[0], inner - 1) ? 0 : 1, b = repeats(inputs[1], inner - 1) ? 0 : 1;
      if (output[inner - 1] == 1) continue;
      if (row_ > 1 && (a != step_a_ || b != step_b_)) break;
      step_a_ = a, step_b_ = b;
      row_ *= static_cast<size_t>(output[inner - 1]);
    }
    rows_a_ = rows_b_ = Rows();
    for (int i = 0; i < inner; ++i) {
      const auto stride = [&](const Shape& x) {
        const int at = i - (output.rank - x.rank);
        return repeats(x, i) ? 0 : elements(x, at + 1, x.rank);
      };
      rows_a_.append(static_cast<size_t>(output[i]), stride(inputs[0]));
      rows_b_.append(static_cast<size_t>(output[i]), stride(inputs[1]));
    }
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    a_ = integers(inputs[0]);
    b_ = integers(inputs[1]);
    output_ = integers(output);
    return {};
  }

  Status run(Pool* pool) override {
    const size_t piece = std::min(row_, kGrain), pieces = (row_ + piece - 1) / piece;
    parallel_rows(pool, rows_a_.count() * pieces, piece, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t index = i / pieces, first = i % pieces * piece;
        const int8_t* const a = a_ + rows_a_.offset(index) + first * step_a_;
        const int8_t* const b = b_ + rows_b_.offset(index) + first * step_b_;
        int8_t* const to = output_ + index * row_ + first;
        const size_t count = std::min(piece, row_ - first);
        const auto compute = multiplies_ ? multiply_rows : add_rows;
        if (step_a_ == 0)
          compute(b, a, 0, operands_.swapped(), to_, to, count);
        else
          compute(a, b, step_b_, operands_, to_, to, count);
      }
    });
    return {};
  }

 private:
  const bool multiplies_;
  Int8Operands operands_{};
  Int8Output to_;
  Rows rows_a_, rows_b_;
  size_t row_ = 0, step_a_ = 1, step_b_ = 1;
  const int8_t *a_ = nullptr, *b_ = nullptr;
  int8_t* output_ = nullptr;
};

}  // namespace

Status create_int8_binary(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  auto binary = std::make_unique<Int8Binary>(model, op);
  FERRY_TRY(check_multiplier(op, binary->operands().scale_a));
  FERRY_TRY(check_multiplier(op, binary->operands().scale_b));
  *out = std::move(binary);
  return {};
}

Status create_requantize(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  auto requantize = std::make_unique<Requantize>(model, op);
  FERRY_TRY(check_multiplier(op, requantize->multiplier()));
  *out = std::move(requantize);
  return {};
}

Status create_lookup(const CpuFeatures&, const Model&, const fbs::Operator&, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Lookup>();
  return {};
}

}  // namespace ferry::cpu

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/packing.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/binary_kernels.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/elementwise/fused_add.h"
#include "sdk/cpu/ops/rows.h"
#if defined(__aarch64__)
#include "sdk/cpu/elementwise/vector.h"
#endif
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {
namespace {

// XNNPACK's binary operators do not clamp, so the ReLU of a residual connection would be another pass over memory.

struct Add {
  template <typename T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return a + b;
  }
};
struct Sub {
  template <typename T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return a - b;
  }
};
struct Mul {
  template <typename T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return a * b;
  }
};
struct Div {
  template <typename T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return a / b;
  }
};
// NaN in either operand is the result.
struct Max {
  template <typename T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    if constexpr (!std::is_same_v<T, float>) return maximum_of(a, b);  // vectors of arm64
    const T larger = a > b ? a : b;
    return a != a ? a : larger;
  }
};
struct Min {
  template <typename T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    if constexpr (!std::is_same_v<T, float>) return minimum_of(a, b);
    const T smaller = a < b ? a : b;
    return a != a ? a : smaller;
  }
};
struct PRelu {
  template <typename T>
  [[gnu::always_inline]] static T apply(T a, T b) {
    return a > 0 ? a : a * b;
  }
};

template <typename Function, size_t kStepA, size_t kStepB>
FERRY_KERNEL void row(const float* a, size_t, const float* b, size_t, float* out, size_t count, float low, float high) {
  size_t i = 0;
#if defined(__aarch64__)  // gcc compares and selects, where fmax and fmin do
  const Vector minimum = repeat(low), maximum = repeat(high);
  size_t clamps = std::min(-low, high) < std::numeric_limits<float>::infinity();
  asm("" : "+r"(clamps));  // otherwise gcc compares for each pair
  const Vector one_a = kStepA == 0 && count > 0 ? repeat(*a) : Vector{};
  const Vector one_b = kStepB == 0 && count > 0 ? repeat(*b) : Vector{};
  const float *next_a = a, *next_b = b;
  float* to = out;
  i = count / (2 * kLanes) * (2 * kLanes);
  for (const float* const end = out + i; to != end;) {
    Vector x[2] = {one_a, one_a}, y[2] = {one_b, one_b};
    if (kStepA == 1) load_pair(next_a, x[0], x[1]);
    if (kStepB == 1) load_pair(next_b, y[0], y[1]);
    Vector first = Function::apply(x[0], y[0]), second = Function::apply(x[1], y[1]);
    if (clamps) {
      first = clamp(first, minimum, maximum);
      second = clamp(second, minimum, maximum);
    }
    store_pair(to, first, second);
  }
#endif
  FERRY_INDEPENDENT
  for (; i < count; ++i) {
    float value = Function::apply(a[i * kStepA], b[i * kStepB]);
    value = value < low ? low : value;  // NaN propagates
    out[i] = value > high ? high : value;
  }
}

template <typename Function>
BinaryKernel choose(bool a_repeats, bool b_repeats) {
  if (a_repeats) return row<Function, 0, 1>;
  return b_repeats ? row<Function, 1, 0> : row<Function, 1, 1>;
}

BinaryKernel choose(fbs::BinaryKind kind, bool a_repeats, bool b_repeats) {
  switch (kind) {
    case fbs::BinaryKind::Add: return choose<Add>(a_repeats, b_repeats);
    case fbs::BinaryKind::Sub: return choose<Sub>(a_repeats, b_repeats);
    case fbs::BinaryKind::Mul: return choose<Mul>(a_repeats, b_repeats);
    case fbs::BinaryKind::Div: return choose<Div>(a_repeats, b_repeats);
    case fbs::BinaryKind::Max: return choose<Max>(a_repeats, b_repeats);
    case fbs::BinaryKind::Min: return choose<Min>(a_repeats, b_repeats);
    case fbs::BinaryKind::PRelu: return choose<PRelu>(a_repeats, b_repeats);
    case fbs::BinaryKind::Pow:
    case fbs::BinaryKind::Mod:
    case fbs::BinaryKind::FMod:
    case fbs::BinaryKind::Equal:
    case fbs::BinaryKind::Less:
    case fbs::BinaryKind::LessOrEqual:
    case fbs::BinaryKind::And:
    case fbs::BinaryKind::Or:
    case fbs::BinaryKind::Xor: break;  // plain_binary()'s
  }
  return nullptr;
}

class Binary : public Op {
 public:
  Binary(const fbs::Binary& params, bool float16) : params_(params), float16_(float16) {}

  bool is_plain() const { return plain_ != nullptr; }

  [[gnu::cold]] Status create(const Model& model, const fbs::Operator& op) {
    plain_ = plain_binary(params_.kind(), model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Int32);
    for (unsigned i = 0; i < 2; ++i) {
      const TensorId tensor = op.inputs()->Get(i);
      if (model.tensor(tensor).dtype() == fbs::DType::Int32) continue;
      if (model.is_constant(tensor)) FERRY_TRY(constant_input(model, op, i, &constants_[i]));
    }
    return {};
  }

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*,
                               uint64_t* workspace) override {
    *workspace = 0;
    // Adjacent dimensions with the same broadcast are merged. Innermost first; dimensions of size 1 are skipped.
    struct Dimension {
      size_t size;
      bool a_repeats, b_repeats;
    };
    std::array<Dimension, FERRY_MAX_RANK> dims;
    size_t rank = 0;
    for (int i = 1; i <= output.rank; ++i) {
      const int ia = inputs[0].rank - i, ib = inputs[1].rank - i;
      const int32_t a = ia < 0 ? 1 : inputs[0][ia], b = ib < 0 ? 1 : inputs[1][ib];
      if (a == 1 && b == 1) continue;
      const Dimension d{static_cast<size_t>(output[output.rank - i]), a == 1, b == 1};
      if (rank > 0 && dims[rank - 1].a_repeats == d.a_repeats && dims[rank - 1].b_repeats == d.b_repeats) {
        dims[rank - 1].size *= d.size;
      } else {
        dims[rank++] = d;
      }
    }
    if (rank == 0) dims[rank++] = {1, false, false};

    std::array<size_t, FERRY_MAX_RANK> stride_a{}, stride_b{};
    size_t next_a = 1, next_b = 1;
    for (size_t i = 0; i < rank; ++i) {
      stride_a[i] = dims[i].a_repeats ? 0 : next_a;
      stride_b[i] = dims[i].b_repeats ? 0 : next_b;
      if (!dims[i].a_repeats) next_a *= dims[i].size;
      if (!dims[i].b_repeats) next_b *= dims[i].size;
    }
    rows_a_ = rows_b_ = Rows();
    for (size_t i = rank; i-- > 1;) {
      rows_a_.append(dims[i].size, stride_a[i]);
      rows_b_.append(dims[i].size, stride_b[i]);
    }
    row_ = dims[0].size;
    step_a_ = stride_a[0];
    step_b_ = stride_b[0];
    kernel_ = plain_ != nullptr ? plain_ : choose(params_.kind(), dims[0].a_repeats, dims[0].b_repeats);
#if defined(__aarch64__)
    const bool contiguous = step_a_ + step_b_ == 2 && !constants_[0].data && !constants_[1].data;
    if (built_in(Feature::Float16)) float16_kernel_ = float16_ && contiguous ? float16_binary(params_.kind()) : nullptr;
#endif
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void*) override {
    a_ = constants_[0].data ? constants_[0].data : inputs[0];
    b_ = constants_[1].data ? constants_[1].data : inputs[1];
    output_ = output;
    return {};
  }

  Status run(Pool* pool) override {
    // Long rows are split; each piece is a row of its own.
    const size_t piece = std::min(row_, kGrain);
    const size_t pieces = (row_ + piece - 1) / piece;
    parallel_rows(pool, rows_a_.count() * pieces, piece, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t index = i / pieces, first = i % pieces * piece;
        const size_t a = rows_a_.offset(index) + first * step_a_, b = rows_b_.offset(index) + first * step_b_;
        const size_t count = std::min(piece, row_ - first);
        if constexpr (built_in(Feature::Float16))
          if (float16_) {
            in_pieces(count, [&](size_t start, size_t some) {
              compute_float16s(a + start * step_a_, b + start * step_b_, index * row_ + first + start, some);
            });
            continue;
          }
        compute(floats(a_) + a, floats(b_) + b, floats(output_) + index * row_ + first, count);
      }
    });
    return {};
  }

 private:
  void compute(const float* a, const float* b, float* out, size_t count) const {
    kernel_(a, step_a_, b, step_b_, out, count, params_.output_min(), params_.output_max());
  }

  // Offsets of a piece in the operands and in the result.
  void compute_float16s(size_t a, size_t b, size_t out, size_t count) const {
    if (float16_kernel_ != nullptr)
      return float16_kernel_(float16s(a_) + a, float16s(b_) + b, float16s(output_) + out, count, params_.output_min(),
                             params_.output_max());
    float wide_a[kFloat16sAtOnce], wide_b[kFloat16sAtOnce], results[kFloat16sAtOnce];
    const auto number = [&](size_t i, const void* data, size_t at, size_t step, float* wide) -> const float* {
      if (constants_[i].data != nullptr) return floats(data) + at;
      widen(float16s(data) + at, wide, step == 0 ? 1 : count);
      return wide;
    };
    const float* const from_a = number(0, a_, a, step_a_, wide_a);
    compute(from_a, number(1, b_, b, step_b_, wide_b), results, count);
    narrow(results, float16s(output_) + out, count);
  }

  const fbs::Binary& params_;
  std::array<FloatConstant, 2> constants_;
  BinaryKernel plain_ = nullptr, kernel_ = nullptr;
  Float16BinaryKernel float16_kernel_ = nullptr;
  Rows rows_a_, rows_b_;
  size_t row_ = 0, step_a_ = 0, step_b_ = 0;
  const void *a_ = nullptr, *b_ = nullptr;
  void* output_ = nullptr;
  const bool float16_;
};

// The remainder of an addition that the operator before it computes: a view of its output. If a resize makes one of the
// terms broadcast, this operator computes the sum instead.
class FusedAdd : public Binary {
 public:
  // index: of the sum among the addition's inputs.
  FusedAdd(const fbs::Binary& params, bool float16, const void** added, unsigned index)
      : Binary(params, float16), element_bytes_(element_bytes(float16)), added_(added), index_(index) {}

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool,
                               uint64_t* workspace) override {
    is_fused_ = inputs[0] == inputs[1];
    bytes_ = static_cast<size_t>(output.elements()) * element_bytes_;
    return Binary::reshape(inputs, output, pool, workspace);
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    *added_ = is_fused_ ? inputs[1 - index_] : nullptr;
    sum_ = inputs[index_];
    result_ = output;
    return Binary::setup(inputs, output, workspace);
  }

  Status run(Pool* pool) override {
    if (!is_fused_) return Binary::run(pool);
    if (sum_ != result_) std::memcpy(result_, sum_, bytes_);
    return {};
  }

 private:
  const size_t element_bytes_;
  const void** added_;  // of the operator before
  unsigned index_;
  bool is_fused_ = true;
  size_t bytes_ = 0;
  const void* sum_ = nullptr;
  void* result_ = nullptr;
};

}  // namespace

Status create_binary(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  auto binary = std::make_unique<Binary>(*op.params_as_Binary(), /*float16=*/false);
  FERRY_TRY(binary->create(model, op));
  *out = std::move(binary);
  return {};
}

Status fuse_addition(const CpuFeatures& cpu, const Model& model, const fbs::Operator& next, TensorId source,
                     bool float16, Op* op, std::unique_ptr<Op>* out) {
  Op::Next addition{cpu, nullptr, next.params_as_Binary(), nullptr};
  if (addition.addition == nullptr || addition.addition->kind() != fbs::BinaryKind::Add) return {};
  const auto& inputs = *next.inputs();
  const unsigned index = inputs[0] == source ? 0 : 1;
  if (inputs[index] != source || model.is_constant(inputs[1 - index]) ||
      model.tensor(source).dtype() != fbs::DType::Float32 || model.shape(inputs[0]) != model.shape(inputs[1]) ||
      !op->fuse(addition))
    return {};
  auto left = std::make_unique<FusedAdd>(*addition.addition, float16, addition.added, index);
  FERRY_TRY(left->create(model, next));
  *out = std::move(left);
  return {};
}

Status create_float16_binary(const CpuFeatures&, const Model& model, const fbs::Operator& op,
                             std::unique_ptr<Op>* out) {
  auto binary = std::make_unique<Binary>(*op.params_as_Binary(), /*float16=*/true);
  FERRY_TRY(binary->create(model, op));
  if (!binary->is_plain()) *out = std::move(binary);
  return {};
}

}  // namespace ferry::cpu

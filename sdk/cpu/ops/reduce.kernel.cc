#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/ops/rows.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {
namespace {

// Sums are accumulated in double, so that the mean of a large image is exact to float32. The work of a task depends on
// the shape alone, so that results do not depend on the number of threads. (XNNPACK's mean uses one thread.)

constexpr size_t kOutputBlock = 128;  // outputs summed together when rows are added to rows
constexpr size_t kParts = 16;         // row ranges per image, for the cores of a phone or a laptop

FERRY_KERNEL void add_rows(const float* x, size_t rows, size_t stride, size_t count, double* sums) {
  size_t row = 0;
  for (; row + 4 <= rows; row += 4, x += 4 * stride) {
    FERRY_INDEPENDENT
    for (size_t i = 0; i < count; ++i)
      sums[i] += (static_cast<double>(x[i]) + static_cast<double>(x[stride + i])) +
                 (static_cast<double>(x[2 * stride + i]) + static_cast<double>(x[3 * stride + i]));
  }
  for (; row < rows; ++row, x += stride) {
    FERRY_INDEPENDENT
    for (size_t i = 0; i < count; ++i) sums[i] += static_cast<double>(x[i]);
  }
}

FERRY_KERNEL double sum(const float* x, size_t count) {
  double sums[16] = {};
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (size_t k = 0; k < 16; ++k) sums[k] += static_cast<double>(x[i + k]);
  }
  for (; i < count; ++i) sums[i % 16] += static_cast<double>(x[i]);
  for (size_t step = 8; step > 0; step /= 2) {
    for (size_t k = 0; k < step; ++k) sums[k] += sums[k + step];
  }
  return sums[0];
}

// ---- rarer kinds: plain loops ---------------------------------------------------------------------------------------

struct Add {
  static double apply(double a, double b) { return a + b; }
};
// NaN in any operand is the result.
struct Max {
  static double apply(double a, double b) { return b > a || b != b ? b : a; }
};
struct Min {
  static double apply(double a, double b) { return b < a || b != b ? b : a; }
};
struct Multiply {
  static double apply(double a, double b) { return a * b; }
};
struct MultiplyIntegers {  // wraps to 32 bits, like the result
  static double apply(double a, double b) {
    return static_cast<int32_t>(static_cast<uint32_t>(static_cast<int32_t>(a)) *
                                static_cast<uint32_t>(static_cast<int32_t>(b)));
  }
};

template <typename T, typename Function>
void fold_rows(const float* x, size_t rows, size_t stride, size_t count, double* values) {
  const T* from = reinterpret_cast<const T*>(x);
  for (size_t row = 0; row < rows; ++row, from += stride)
    for (size_t i = 0; i < count; ++i) values[i] = Function::apply(values[i], static_cast<double>(from[i]));
}

// A contiguous row in lanes; other rows as above.
FERRY_KERNEL void fold_maxima(const float* x, size_t rows, size_t stride, size_t count, double* values) {
  if (stride != 1 || count != 1) return fold_rows<float, Max>(x, rows, stride, count, values);
  float lanes[16];
  std::fill_n(lanes, 16, -std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + 16 <= rows; i += 16) {
    for (size_t k = 0; k < 16; ++k) {
      const float b = x[i + k];
      const bool takes = (b > lanes[k]) | (b != b);
      lanes[k] = takes ? b : lanes[k];
    }
  }
  fold_rows<float, Max>(lanes, 16, 1, 1, values);
  fold_rows<float, Max>(x + i, rows - i, 1, 1, values);
}

struct Folding {
  double first;  // the result for no elements
  // Folds `rows` rows into `values`; a row of contiguous elements is folded as `count` rows of one element.
  void (*rows)(const float* x, size_t rows, size_t stride, size_t count, double* values);
};

Folding folding(fbs::ReduceKind kind, bool integer) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case fbs::ReduceKind::Max: return {-kInfinity, integer ? fold_rows<int32_t, Max> : fold_maxima};
    case fbs::ReduceKind::Min: return {kInfinity, integer ? fold_rows<int32_t, Min> : fold_rows<float, Min>};
    case fbs::ReduceKind::Prod: return {1, integer ? fold_rows<int32_t, MultiplyIntegers> : fold_rows<float, Multiply>};
    case fbs::ReduceKind::Mean:
    case fbs::ReduceKind::Sum: break;
  }
  return {0, integer ? fold_rows<int32_t, Add> : add_rows};
}

class Reduce : public Op {
 public:
  Reduce(const fbs::Reduce& params, bool integer, bool float16)
      : params_(params),
        integer_(integer),
        float16_(float16),
        folding_(folding(params.kind(), integer)),
        sums_(folding_.rows == add_rows) {}

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    std::array<bool, FERRY_MAX_RANK> reduced{};
    for (const int32_t axis : *params_.axes()) reduced[static_cast<size_t>(axis)] = true;
    // Merges adjacent dimensions that are both reduced or both kept. The innermost is the row, the others locate rows.
    struct Dimension {
      size_t size;
      bool reduced;
    };
    std::array<Dimension, FERRY_MAX_RANK> dims;  // innermost first
    size_t rank = 0;
    size_t divisor = 1;
    for (int i = x.rank; i-- > 0;) {
      const Dimension d{static_cast<size_t>(x[i]), reduced[static_cast<size_t>(i)]};
      if (d.reduced) divisor *= d.size;
      if (d.size == 1) continue;
      if (rank > 0 && dims[rank - 1].reduced == d.reduced) {
        dims[rank - 1].size *= d.size;
      } else {
        dims[rank++] = d;
      }
    }
    if (rank == 0) dims[rank++] = {1, true};
    scale_ = params_.kind() == fbs::ReduceKind::Mean ? 1.0 / static_cast<double>(divisor) : 1.0;
    row_ = dims[0].size;
    row_is_reduced_ = dims[0].reduced;
    // If the row is kept, the reduced dimension next to it has consecutive rows.
    run_ = !row_is_reduced_ && rank > 1 ? dims[1].size : 1;
    const size_t first = !row_is_reduced_ && rank > 1 ? 2 : 1;
    std::array<size_t, FERRY_MAX_RANK> strides{};
    size_t stride = row_ * run_;
    for (size_t i = first; i < rank; ++i) {
      strides[i] = stride;
      stride *= dims[i].size;
    }
    kept_ = runs_ = Rows();
    for (size_t i = rank; i-- > first;) (dims[i].reduced ? runs_ : kept_).append(dims[i].size, strides[i]);
    const bool one_run = sums_ && !float16_ && !row_is_reduced_ && kept_.count() == 1 && runs_.count() == 1;
    parts_ = one_run ? std::clamp<size_t>(run_ * row_ / (kGrain / 2), 1, std::min(run_, kParts)) : 1;
    if (parts_ > 1) *workspace = parts_ * row_ * sizeof(double);
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = inputs[0];
    output_ = output;
    partial_ = static_cast<double*>(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    if (row_is_reduced_) {
      parallel_rows(pool, kept_.count(), row_ * runs_.count(), [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) store(i, total(i));
      });
      return {};
    }
    if (parts_ > 1) {
      add_in_parts(pool);
      return {};
    }
    const size_t blocks = (row_ + kOutputBlock - 1) / kOutputBlock;
    parallel_rows(pool, kept_.count() * blocks, std::min(row_, kOutputBlock) * run_ * runs_.count(),
                  [&](size_t begin, size_t end) {
                    for (size_t i = begin; i < end; ++i) block(i / blocks, i % blocks * kOutputBlock);
                  });
    return {};
  }

 private:
  double total(size_t index) const {
    double total = folding_.first;
    for (size_t k = 0; k < runs_.count(); ++k) {
      const size_t at = kept_.offset(index) + runs_.offset(k);
      if constexpr (built_in(Feature::Float16))
        if (float16_) {
          in_pieces(row_, [&](size_t first, size_t count) {
            float values[kFloat16sAtOnce];
            widen(float16s(input_) + at + first, values, count);
            if (sums_) {
              total += sum(values, count);
            } else {
              folding_.rows(values, count, 1, 1, &total);
            }
          });
          continue;
        }
      const float* x = floats(input_) + at;
      if (sums_) {
        total += sum(x, row_);
      } else {
        folding_.rows(x, row_, 1, 1, &total);
      }
    }
    return total;
  }

  void block(size_t index, size_t first) {
    double sums[kOutputBlock];
    std::fill_n(sums, kOutputBlock, folding_.first);
    const size_t count = std::min(kOutputBlock, row_ - first);
    for (size_t k = 0; k < runs_.count(); ++k) {
      const size_t at = kept_.offset(index) + runs_.offset(k) + first;
      if constexpr (built_in(Feature::Float16))
        if (float16_) {
          fold_float16s(float16s(input_) + at, count, sums);
          continue;
        }
      folding_.rows(floats(input_) + at, run_, row_, count, sums);
    }
    for (size_t i = 0; i < count; ++i) store(index * row_ + first + i, sums[i]);
  }

  // Means of an image: each task sums a range of rows, which are likely in its core's cache. Splitting by channels
  // would move every row to all cores and back.
  void add_in_parts(Pool* pool) {
    parallel_for(pool, parts_, 1, [&](size_t begin, size_t end) {
      for (size_t part = begin; part < end; ++part) {
        const size_t first = run_ * part / parts_, rows = run_ * (part + 1) / parts_ - first;
        double* const sums = partial_ + part * row_;
        std::fill_n(sums, row_, 0.0);
        for (size_t i = 0; i < row_; i += kOutputBlock)
          add_rows(floats(input_) + first * row_ + i, rows, row_, std::min(kOutputBlock, row_ - i), sums + i);
      }
    });
    for (size_t i = 0; i < row_; ++i) {
      double sum = partial_[i];
      for (size_t part = 1; part < parts_; ++part) sum += partial_[part * row_ + i];
      store(i, sum);
    }
  }

  // Folds the rows of a run, as many at a time as fit the buffer.
  void fold_float16s(const Float16* x, size_t count, double* sums) const {
    float values[kFloat16sAtOnce];
    for (size_t row = 0; row < run_;) {
      const size_t some = std::min(kFloat16sAtOnce / kOutputBlock, run_ - row);
      for (size_t i = 0; i < some; ++i, ++row) widen(x + row * row_, values + i * count, count);
      folding_.rows(values, some, count, count, sums);
    }
  }

  void store(size_t index, double value) {
    const float number = static_cast<float>(value * scale_);
    if (integer_) {
      static_cast<int32_t*>(output_)[index] = static_cast<int32_t>(static_cast<int64_t>(value));
    } else if (built_in(Feature::Float16) && float16_) {
      narrow(&number, float16s(output_) + index, 1);
    } else {
      floats(output_)[index] = number;
    }
  }

  const fbs::Reduce& params_;
  const bool integer_, float16_;
  const Folding folding_;
  const bool sums_;  // sums of Float32
  double scale_ = 1;
  size_t row_ = 0, run_ = 0, parts_ = 1;
  bool row_is_reduced_ = false;
  Rows kept_, runs_;  // outputs, and the runs that each reduces
  const void* input_ = nullptr;
  void* output_ = nullptr;
  double* partial_ = nullptr;  // sums per row range
};

}  // namespace

Status create_reduce(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const bool integer = model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Int32;
  *out = std::make_unique<Reduce>(*op.params_as_Reduce(), integer, /*float16=*/false);
  return {};
}

Status create_float16_reduce(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Reduce>(*op.params_as_Reduce(), /*integer=*/false, /*float16=*/true);
  return {};
}

}  // namespace ferry::cpu

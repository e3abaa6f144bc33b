#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/rows.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

// Where each piece of x lies that the indices name. All kinds of gather are one walk: piece i begins at the place that
// its own number says (walk_) plus, for each of the indices of its tuple, that index times a stride.
class Places {
 public:
  Places(fbs::GatherKind kind, int axis) : kind_(kind), axis_(axis) {}

  void plan(const Shape& x, const Shape& indices) {
    walk_ = Rows();
    depth_ = 1;
    sizes_[0] = x[axis_];
    strides_[0] = elements(x, axis_ + 1, x.rank);
    piece_ = kind_ == fbs::GatherKind::Elements ? 1 : strides_[0];
    tuples_ = elements(indices);
    if (kind_ == fbs::GatherKind::Slices) {
      walk_.append(elements(x, 0, axis_), static_cast<size_t>(x[axis_]) * strides_[0]);
      walk_.append(tuples_, 0);
    } else if (kind_ == fbs::GatherKind::Elements) {
      for (int i = 0; i < x.rank; ++i)
        walk_.append(static_cast<size_t>(indices[i]), i == axis_ ? 0 : elements(x, i + 1, x.rank));
    } else {
      depth_ = static_cast<size_t>(indices[indices.rank - 1]);
      tuples_ /= depth_;
      for (size_t k = 0; k < depth_; ++k) {
        const int dimension = axis_ + static_cast<int>(k);
        sizes_[k] = x[dimension];
        strides_[k] = elements(x, dimension + 1, x.rank);
      }
      piece_ = strides_[depth_ - 1];
      walk_.append(elements(x, 0, axis_), elements(x, axis_, x.rank));
      walk_.append(elements(indices, axis_, indices.rank - 1), 0);
    }
  }

  size_t count() const { return walk_.count(); }  // of pieces
  size_t piece() const { return piece_; }         // elements of one

  // Where piece `i` begins in x. False: an index is outside.
  bool find(const int32_t* indices, size_t i, size_t* place) const {
    *place = walk_.offset(i);
    const int32_t* tuple = indices + i % tuples_ * depth_;
    for (size_t k = 0; k < depth_; ++k) {
      if (tuple[k] < -sizes_[k] || tuple[k] >= sizes_[k]) return false;
      *place += static_cast<size_t>(tuple[k] < 0 ? tuple[k] + sizes_[k] : tuple[k]) * strides_[k];
    }
    return true;
  }

  // Says which index of piece `i` it is.
  Status outside(const char* op, const int32_t* indices, size_t i) const {
    const int32_t* tuple = indices + i % tuples_ * depth_;
    size_t k = 0;
    while (k + 1 < depth_ && tuple[k] >= -sizes_[k] && tuple[k] < sizes_[k]) ++k;
    return error(FERRY_INVALID_ARGUMENT, "%s: index %d is outside a dimension of %d, expected %d to %d", op, tuple[k],
                 sizes_[k], -sizes_[k], sizes_[k] - 1);
  }

 private:
  fbs::GatherKind kind_;
  int axis_;
  Rows walk_;
  size_t tuples_ = 1, depth_ = 1, piece_ = 1;
  std::array<int32_t, FERRY_MAX_RANK> sizes_{};  // of the dimensions that the indices of a tuple are for
  std::array<size_t, FERRY_MAX_RANK> strides_{};
};

class Gather : public Op {
 public:
  explicit Gather(const fbs::Gather& p) : places_(p.kind(), p.axis()) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    places_.plan(inputs[0], inputs[1]);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = floats(inputs[0]);
    indices_ = static_cast<const int32_t*>(inputs[1]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    std::atomic<size_t> bad = SIZE_MAX;
    parallel_rows(pool, places_.count(), places_.piece(), [&](size_t begin, size_t end) {
      size_t place = 0;
      for (size_t i = begin; i < end; ++i) {
        if (places_.find(indices_, i, &place)) {
          std::memcpy(output_ + i * places_.piece(), input_ + place, places_.piece() * sizeof(float));
        } else {
          bad = i;
        }
      }
    });
    return bad == SIZE_MAX ? Status() : places_.outside("gather", indices_, bad);
  }

 private:
  Places places_;
  const float* input_ = nullptr;
  const int32_t* indices_ = nullptr;
  float* output_ = nullptr;
};

// A constant table of Float16, whose slices come out as Float32.
class GatherHalves : public Op {
 public:
  explicit GatherHalves(const fbs::Gather& p) : places_(p.kind(), p.axis()) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    places_.plan(inputs[0], inputs[1]);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    table_ = static_cast<const uint16_t*>(inputs[0]);
    indices_ = static_cast<const int32_t*>(inputs[1]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    std::atomic<size_t> bad = SIZE_MAX;
    parallel_rows(pool, places_.count(), places_.piece(), [&](size_t begin, size_t end) {
      size_t place = 0;
      for (size_t i = begin; i < end; ++i) {
        if (!places_.find(indices_, i, &place)) {
          bad = i;
          continue;
        }
        float* to = output_ + i * places_.piece();
        for (size_t k = 0; k < places_.piece(); ++k) to[k] = from_half(table_[place + k]);
      }
    });
    return bad == SIZE_MAX ? Status() : places_.outside("gather", indices_, bad);
  }

 private:
  Places places_;
  const uint16_t* table_ = nullptr;
  const int32_t* indices_ = nullptr;
  float* output_ = nullptr;
};

template <typename T>
void combine(fbs::ScatterKind kind, const T* updates, T* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const T a = to[i], b = updates[i];
    switch (kind) {
      case fbs::ScatterKind::Set: to[i] = b; break;
      case fbs::ScatterKind::Add: to[i] = a + b; break;
      case fbs::ScatterKind::Mul: to[i] = a * b; break;
      case fbs::ScatterKind::Max: to[i] = b > a ? b : a; break;
      case fbs::ScatterKind::Min: to[i] = b < a ? b : a; break;
    }
  }
}

// One update after another, on one thread: several may fall on one place.
class Scatter : public Op {
 public:
  Scatter(const fbs::Scatter& p, bool whole) : places_(p.where(), p.axis()), kind_(p.kind()), whole_(whole) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    places_.plan(inputs[0], inputs[1]);
    count_ = elements(output);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = floats(inputs[0]);
    indices_ = static_cast<const int32_t*>(inputs[1]);
    updates_ = floats(inputs[2]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    if (input_ != output_) {
      parallel_for(pool, count_, kGrain, [&](size_t begin, size_t end) {
        std::memcpy(output_ + begin, input_ + begin, (end - begin) * sizeof(float));
      });
    }
    size_t place = 0;
    for (size_t i = 0; i < places_.count(); ++i) {
      if (!places_.find(indices_, i, &place)) return places_.outside("scatter", indices_, i);
      const float* from = updates_ + i * places_.piece();
      if (!whole_) {
        combine(kind_, from, output_ + place, places_.piece());
      } else if (kind_ == fbs::ScatterKind::Max || kind_ == fbs::ScatterKind::Min) {
        combine(kind_, reinterpret_cast<const int32_t*>(from), reinterpret_cast<int32_t*>(output_ + place),
                places_.piece());
      } else {  // wraps around
        combine(kind_, reinterpret_cast<const uint32_t*>(from), reinterpret_cast<uint32_t*>(output_ + place),
                places_.piece());
      }
    }
    return {};
  }

 private:
  Places places_;
  fbs::ScatterKind kind_;
  bool whole_;
  size_t count_ = 0;
  const float *input_ = nullptr, *updates_ = nullptr;
  const int32_t* indices_ = nullptr;
  float* output_ = nullptr;
};

}  // namespace

Status create_gather(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Gather& p = *op.params_as_Gather();
  if (model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Float16) {
    *out = std::make_unique<GatherHalves>(p);
  } else {
    *out = std::make_unique<Gather>(p);
  }
  return {};
}

Status create_scatter(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const bool whole = model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Int32;
  *out = std::make_unique<Scatter>(*op.params_as_Scatter(), whole);
  return {};
}

}  // namespace ferry::cpu

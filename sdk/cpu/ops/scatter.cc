#include <cstdint>
#include <cstring>
#include <type_traits>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/ops/gather_indices.h"

namespace ferry::cpu {
namespace {

// Integer sums and products wrap.
template <typename T>
void combine(fbs::ScatterKind kind, const T* updates, T* to, size_t count) {
  using Wrapping = std::conditional_t<std::is_integral_v<T>, uint32_t, T>;
  for (size_t i = 0; i < count; ++i) {
    const T a = to[i], b = updates[i];
    switch (kind) {
      case fbs::ScatterKind::Set: to[i] = b; break;
      case fbs::ScatterKind::Add: to[i] = static_cast<T>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b)); break;
      case fbs::ScatterKind::Mul: to[i] = static_cast<T>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b)); break;
      case fbs::ScatterKind::Max: to[i] = b > a ? b : a; break;
      case fbs::ScatterKind::Min: to[i] = b < a ? b : a; break;
    }
  }
}

// Applies the updates in order, on one thread, since several may target the same position.
template <typename T>
class Scatter : public Op {
 public:
  explicit Scatter(const fbs::Scatter& p) : pieces_(p.where(), p.axis()), kind_(p.kind()) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    pieces_.plan(inputs[0], inputs[1]);
    count_ = elements(output);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = static_cast<const T*>(inputs[0]);
    indices_ = static_cast<const int32_t*>(inputs[1]);
    updates_ = static_cast<const T*>(inputs[2]);
    output_ = static_cast<T*>(output);
    return {};
  }

  Status run(Pool* pool) override {
    if (input_ != output_) {
      parallel_for(pool, count_, kGrain, [&](size_t begin, size_t end) {
        std::memcpy(output_ + begin, input_ + begin, (end - begin) * sizeof(T));
      });
    }
    size_t place = 0;
    for (size_t i = 0; i < pieces_.count(); ++i) {
      if (!pieces_.find(indices_, i, &place)) return pieces_.outside("scatter", indices_, i);
      combine(kind_, updates_ + i * pieces_.piece(), output_ + place, pieces_.piece());
    }
    return {};
  }

 private:
  GatherIndices pieces_;
  fbs::ScatterKind kind_;
  size_t count_ = 0;
  const T *input_ = nullptr, *updates_ = nullptr;
  const int32_t* indices_ = nullptr;
  T* output_ = nullptr;
};

}  // namespace

Status create_scatter(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Scatter& p = *op.params_as_Scatter();
  if (model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Int32) {
    *out = std::make_unique<Scatter<int32_t>>(p);
  } else {
    *out = std::make_unique<Scatter<float>>(p);
  }
  return {};
}

}  // namespace ferry::cpu

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/ops/gather_indices.h"
#include "sdk/model/elements.h"

namespace ferry::cpu {
namespace {

// Tables to gather from, by element type: Words copies, Integers dequantizes.

struct Words {  // of four bytes
  using Result = uint32_t;
  void set(const void* data) { from = static_cast<const uint32_t*>(data); }
  void copy(size_t place, std::span<uint32_t> to) const { std::memcpy(to.data(), from + place, to.size_bytes()); }
  const uint32_t* from = nullptr;
};

struct Float16s {
  using Result = float;
  void set(const void* data) { from = static_cast<const uint16_t*>(data); }
  void copy(size_t place, std::span<float> to) const {
    std::transform(from + place, from + place + to.size(), to.begin(), from_float16);
  }
  const uint16_t* from = nullptr;
};

struct Integers {  // with scales
  using Result = float;
  void set(const void*) {}
  void copy(size_t place, std::span<float> to) const { read_elements(from, place, to); }
  StoredConstant from;
};

template <typename Table>
class Gather : public Op {
 public:
  Gather(const fbs::Gather& p, const Table& table) : pieces_(p.kind(), p.axis()), table_(table) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    pieces_.plan(inputs[0], inputs[1]);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    table_.set(inputs[0]);
    indices_ = static_cast<const int32_t*>(inputs[1]);
    output_ = static_cast<typename Table::Result*>(output);
    return {};
  }

  Status run(Pool* pool) override {
    std::atomic<size_t> bad = SIZE_MAX;
    parallel_rows(pool, pieces_.count(), pieces_.piece(), [&](size_t begin, size_t end) {
      size_t place = 0;
      for (size_t i = begin; i < end; ++i) {
        if (pieces_.find(indices_, i, &place)) {
          table_.copy(place, {output_ + i * pieces_.piece(), pieces_.piece()});
        } else {
          bad = i;
        }
      }
    });
    return bad == SIZE_MAX ? Status() : pieces_.outside("gather", indices_, bad);
  }

 private:
  GatherIndices pieces_;
  Table table_;
  const int32_t* indices_ = nullptr;
  typename Table::Result* output_ = nullptr;
};

}  // namespace

Status create_gather(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Gather& p = *op.params_as_Gather();
  const TensorId table = op.inputs()->Get(0);
  const Type type = type_of(model.tensor(table));
  if (type.quantized) {
    *out = std::make_unique<Gather<Integers>>(p, Integers{model.stored(table)});
  } else if (type.dtype == fbs::DType::Float16) {
    *out = std::make_unique<Gather<Float16s>>(p, Float16s());
  } else {
    *out = std::make_unique<Gather<Words>>(p, Words());
  }
  return {};
}

}  // namespace ferry::cpu

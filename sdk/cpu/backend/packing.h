// From constant weights to the bytes that a kernel reads, in three steps, one function each:
//
//   choose   operator, shapes, types and CPU select a kernel and its packing. Pure: reads no weights.
//   pack     writes the bytes; only if the model's store lacks them (from an earlier session or a packed file).
//   create   creates a kernel over packed bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sdk/cpu/backend/op.h"
#include "sdk/model/packed_store.h"

namespace ferry::cpu {

// A constant as float32: the blob's own bytes, or `storage` if the blob holds another type.
struct FloatConstant {
  const float* data = nullptr;  // null if the operator has no such input
  std::vector<float> storage;
};

// The constant weight and bias of an operator (inputs 1 and 2) on their way into the store. They are read only when
// something is packed.
class WeightSource {
 public:
  WeightSource(const Model& model, const fbs::Operator& op) : model_(model), op_(op) {}
  virtual ~WeightSource() = default;
  WeightSource(const WeightSource&) = delete;
  WeightSource& operator=(const WeightSource&) = delete;

  // Loads the constants to pack: weight [outputs..., inputs...] and bias [outputs...], float32 unless a lowering's own
  // source says otherwise. *bias is null if the operator has none.
  virtual Status load(const void** weight, const float** bias);

  // Returns the store's bytes of `part` of a packing. If there are none, pack(std::byte*) writes them.
  template <typename Pack>
  Status packed(const PackingId& id, uint32_t part, size_t bytes, Pack pack, PackedBytes* out) const {
    return model_.packed().get(key(id, part), bytes, pack, out);
  }
  // The same, where pack(weight, bias, to) writes `bytes` of T from the loaded constants.
  template <typename T, typename Pack>
  Status packed_values(const PackingId& id, size_t bytes, Pack pack, PackedBytes* out) {
    const auto fill = [&](std::byte* to) -> Status {
      const void* weight = nullptr;
      const float* bias = nullptr;
      FERRY_TRY(load(&weight, &bias));
      pack(static_cast<const float*>(weight), bias, reinterpret_cast<T*>(to));
      return {};
    };
    return packed(id, 0, bytes, fill, out);
  }

  virtual bool has_bias() const { return op_.inputs()->size() > 2; }

 protected:
  // How a lowering transforms the constants before packing, and the transform's name for the packing id.
  virtual void describe(PackingId*) const {}
  virtual Status transform(FloatConstant* /*weight*/, FloatConstant* /*bias*/) { return {}; }

 private:
  PackedKey key(PackingId id, uint32_t part) const;

  const Model& model_;
  const fbs::Operator& op_;
  bool loaded_ = false;
  FloatConstant weight_, bias_;
};

// A constant input as float32. The verifier has checked that it is a constant.
Status constant_input(const Model& model, const fbs::Operator& op, unsigned index, FloatConstant* out);

}  // namespace ferry::cpu

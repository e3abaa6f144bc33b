// From constant weights to the bytes that a kernel reads, in three steps, each a function of its own:
//
//   choose   operator, shapes, types and CPU give a kernel and its Packing. Pure: nothing of the weights is read.
//   pack     constants give bytes; only where the model's store has none, from a session before or from a packed file.
//   create   a kernel over packed bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sdk/cpu/backend/op.h"
#include "sdk/model/packed_store.h"

namespace ferry::cpu {

// A constant as float32: the blob's own bytes, or `storage` where the blob keeps it in another type.
struct FloatConstant {
  const float* data = nullptr;  // null for an input that the op does not have
  std::vector<float> storage;
};

// An operator's constant weight and bias, its inputs 1 and 2, on their way into the store. Nothing of them is read
// before something is packed.
class WeightSource {
 public:
  WeightSource(const Model& model, const fbs::Operator& op) : model_(model), op_(op) {}
  virtual ~WeightSource() = default;
  WeightSource(const WeightSource&) = delete;
  WeightSource& operator=(const WeightSource&) = delete;

  // As the lowering wants them packed: [outputs..., inputs...] and [outputs...], in float32 unless a lowering's own
  // source says otherwise. The bias is null where the operator has none.
  virtual Status load(const void** weight, const float** bias);

  // The store's bytes of `part` of a packing, which pack(std::byte*) makes where there are none.
  template <typename Pack>
  Status packed(const PackingId& id, uint32_t part, size_t bytes, Pack pack, PackedBytes* out) const {
    return model_.packed().get(key(id, part), bytes, pack, out);
  }
  // The same where pack(weight, bias, to) makes `bytes` of Numbers from the loaded constants.
  template <typename Number, typename Pack>
  Status packed_numbers(const PackingId& id, size_t bytes, Pack pack, PackedBytes* out) {
    const auto fill = [&](std::byte* to) -> Status {
      const void* weight = nullptr;
      const float* bias = nullptr;
      FERRY_TRY(load(&weight, &bias));
      pack(static_cast<const float*>(weight), bias, reinterpret_cast<Number*>(to));
      return {};
    };
    return packed(id, 0, bytes, fill, out);
  }

  virtual bool has_bias() const { return op_.inputs()->size() > 2; }

 protected:
  // What a lowering makes of the constants before they are packed, under a name for it.
  virtual void describe(PackingId*) const {}
  virtual Status transform(FloatConstant* /*weight*/, FloatConstant* /*bias*/) { return {}; }

 private:
  PackedKey key(PackingId id, uint32_t part) const;

  const Model& model_;
  const fbs::Operator& op_;
  bool loaded_ = false;
  FloatConstant weight_, bias_;
};

// A constant input as float32 (the verifier knows where constants are due).
Status constant_input(const Model& model, const fbs::Operator& op, unsigned index, FloatConstant* out);

}  // namespace ferry::cpu

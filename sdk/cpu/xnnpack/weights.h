// XNNPACK's operators over packed weights of the model's store: its weights-cache provider, adapted.
#pragma once

#include "sdk/cpu/backend/packing.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {

// Version of all of XNNPACK's layouts, which have no names of their own: one more with every other XNNPACK.
inline constexpr uint32_t kXnnLayouts = 1;

// An operator and the packed weights that it reads.
struct PackedXnn {
  PackedBytes weights;
  XnnOperator op;
  xnn_operator_t get() const { return op.get(); }
};

// What an operator's weights are packed from and into.
struct XnnPacking {
  WeightSource& source;
  PackingId id;  // stands for all that the creation gives XNNPACK but the constants
  uint32_t part = 0;
  size_t weight_bytes = 0;  // of the weight and bias that the creation lets XNNPACK read
  size_t bias_bytes = 0;
};

// Calls an xnn_create_ function for these constants and this cache.
using CreateXnn = xnn_status (*)(void* context, const void* weight, const float* bias, xnn_weights_cache_t cache,
                                 xnn_operator_t* op);
Status create_packed(const XnnPacking& packing, fbs::OpParams type, CreateXnn create, void* context, PackedXnn* out);

// Makes an operator: create(weight, bias, cache, &op) is called
// - to choose: XNNPACK says how large its packed weights are, and the creation ends there;
// - to pack, where the store has no such entry: with the source's constants;
// - to create over the store's entry: with constants that are not read, or zeros where XNNPACK insists on packing.
template <typename Create>
Status create_packed(const XnnPacking& packing, fbs::OpParams type, Create create, PackedXnn* out) {
  const auto call = [](void* context, const void* weight, const float* bias, xnn_weights_cache_t cache,
                       xnn_operator_t* op) { return (*static_cast<Create*>(context))(weight, bias, cache, op); };
  return create_packed(packing, type, call, &create, out);
}

// The packed weights that an operator would have of constants which are given, the bias with them.
Status pack_known(const float* known, fbs::OpParams type, CreateXnn create, void* context, std::vector<std::byte>* out);
template <typename Create>
Status pack_known(const float* known, fbs::OpParams type, Create create, std::vector<std::byte>* out) {
  const auto call = [](void* context, const void* weight, const float* bias, xnn_weights_cache_t cache,
                       xnn_operator_t* op) { return (*static_cast<Create*>(context))(weight, bias, cache, op); };
  return pack_known(known, type, call, &create, out);
}

}  // namespace ferry::cpu

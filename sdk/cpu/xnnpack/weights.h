// XNNPACK operators over packed weights of the model's store, through XNNPACK's weights-cache provider.
#pragma once

#include "sdk/cpu/backend/packing.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {

// Version of all of XNNPACK's layouts, which have no names. Increase it with every XNNPACK update.
inline constexpr uint32_t kXnnLayouts = 1;

// An operator and the packed weights that it reads.
struct PackedXnn {
  PackedBytes weights;
  XnnOperator op;
  xnn_operator_t get() const { return op.get(); }
};

// The source and the identity of an operator's packed weights.
struct XnnPacking {
  WeightSource& source;
  PackingId id;  // covers every argument of the creation except the constants
  uint32_t part = 0;
  size_t weight_bytes = 0;  // bytes of the weight and bias that XNNPACK reads during creation
  size_t bias_bytes = 0;
};

// Calls an xnn_create_ function with these constants and this cache.
using CreateXnn = xnn_status (*)(void* context, const void* weight, const float* bias, xnn_weights_cache_t cache,
                                 xnn_operator_t* op);
Status create_packed(const XnnPacking& packing, fbs::OpParams type, CreateXnn create, void* context, PackedXnn* out);

// Creates an operator. Calls create(weight, bias, cache, &op)
// - to choose: XNNPACK reports the size of its packed weights, and the creation ends there;
// - to pack, if the store has no such entry: with the source's constants;
// - to create over the store's entry: with constants that are not read, or zeros if XNNPACK packs regardless.
template <typename Create>
Status create_packed(const XnnPacking& packing, fbs::OpParams type, Create create, PackedXnn* out) {
  const auto call = [](void* context, const void* weight, const float* bias, xnn_weights_cache_t cache,
                       xnn_operator_t* op) { return (*static_cast<Create*>(context))(weight, bias, cache, op); };
  return create_packed(packing, type, call, &create, out);
}

// Packs the weight and bias `known` as the operator would, into *out.
Status pack_known(const float* known, fbs::OpParams type, CreateXnn create, void* context, std::vector<std::byte>* out);
template <typename Create>
Status pack_known(const float* known, fbs::OpParams type, Create create, std::vector<std::byte>* out) {
  const auto call = [](void* context, const void* weight, const float* bias, xnn_weights_cache_t cache,
                       xnn_operator_t* op) { return (*static_cast<Create*>(context))(weight, bias, cache, op); };
  return pack_known(known, type, call, &create, out);
}

}  // namespace ferry::cpu

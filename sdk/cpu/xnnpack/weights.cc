#include "sdk/cpu/xnnpack/weights.h"

#include <cstdlib>

namespace ferry::cpu {
namespace {

// XNNPACK identifies packed weights by an "offset" that it converts to an address at every reshape and setup. Ours is
// the address itself, so entries may lie anywhere.
constexpr size_t kNotFound = SIZE_MAX;

// Address of constants that are not read.
constexpr float kUnread = 0;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

// The creation of an operator in progress.
struct Visit {
  enum class Kind : uint8_t { Choose, Pack, Use } kind;
  std::byte* packed = nullptr;  // Pack: to be filled; Use: already filled
  size_t size = 0;              // bytes of packed weights; Choose: as XNNPACK reports
  bool looks_first = false;  // XNNPACK looks up packed weights before packing, and reads no constants if it finds them
  Memory scratch;            // Use: for weights that XNNPACK packs regardless
};

// Operators keep a pointer to the provider that they were created with and ask it for addresses. There is one provider
// for all; the state of a creation is thread-local.
thread_local Visit* visit = nullptr;

size_t look_up(void*, const xnn_weights_cache_look_up_key*) {
  if (visit->kind == Visit::Kind::Choose && visit->size == 0) visit->looks_first = true;
  return visit->kind == Visit::Kind::Use ? reinterpret_cast<size_t>(visit->packed) : kNotFound;
}

void* reserve_space(void*, size_t size) {
  switch (visit->kind) {
    case Visit::Kind::Choose: visit->size = size; return nullptr;
    case Visit::Kind::Pack: return size == visit->size ? visit->packed : nullptr;
    case Visit::Kind::Use: break;
  }
  void* memory = nullptr;
  if (size != visit->size || posix_memalign(&memory, kAlignment, size + kExtraBytes) != 0) return nullptr;
  visit->scratch.reset(memory);
  return memory;
}

size_t look_up_or_insert(void*, const xnn_weights_cache_look_up_key*, void*, size_t) {
  return reinterpret_cast<size_t>(visit->packed);
}

// XNNPACK checks this before it uses packed weights, since its own cache may move them when it grows.
bool is_finalized(void*) { return true; }

void* offset_to_addr(void*, size_t offset) { return reinterpret_cast<void*>(offset); }

xnn_status delete_cache(void*) { return xnn_status_success; }

xnn_weights_cache_provider make_provider() {
  xnn_weights_cache_provider provider{};
  provider.look_up = look_up;
  provider.reserve_space = reserve_space;
  provider.look_up_or_insert = look_up_or_insert;
  provider.is_finalized = is_finalized;
  provider.offset_to_addr = offset_to_addr;
  provider.delete_cache = delete_cache;
  return provider;
}

class Creator {
 public:
  Creator(fbs::OpParams type, CreateXnn create, void* context) : type_(type), create_(create), context_(context) {}

  xnn_status operator()(Visit* during, const void* weight, const float* bias, XnnOperator* out) const {
    static xnn_weights_cache_provider provider = make_provider();
    xnn_operator_t created = nullptr;
    visit = during;
    const xnn_status status = create_(context_, weight, bias, &provider, &created);
    visit = nullptr;
    // XNNPACK's convolutions report success when the allocation of their zero row fails.
    if (status == xnn_status_success && created == nullptr) return xnn_status_out_of_memory;
    if (status == xnn_status_success) out->reset(created);
    return status;
  }

  Status checked(xnn_status status) const { return check(status, type_, "creating"); }

 private:
  fbs::OpParams type_;
  CreateXnn create_;
  void* context_;
};

// Gets the size of the operator's packed weights, and whether XNNPACK looks them up first.
Status choose(const Creator& creator, bool has_bias, Visit* choosing, XnnOperator* op) {
  const xnn_status status = creator(choosing, &kUnread, has_bias ? &kUnread : nullptr, op);
  return choosing->size == 0 ? creator.checked(status) : Status();
}

}  // namespace

Status create_packed(const XnnPacking& packing, fbs::OpParams type, CreateXnn create, void* context, PackedXnn* out) {
  const Creator creator(type, create, context);
  const bool has_bias = packing.source.has_bias();
  Visit choosing{Visit::Kind::Choose};
  FERRY_TRY(choose(creator, has_bias, &choosing, &out->op));
  if (out->op != nullptr) return {};  // it packs nothing

  const auto pack = [&](std::byte* to) -> Status {
    const void* weight = nullptr;
    const float* bias = nullptr;
    FERRY_TRY(packing.source.load(&weight, &bias));
    Visit packs{Visit::Kind::Pack, to, choosing.size};
    return creator.checked(creator(&packs, weight, bias, &out->op));
  };
  PackingId id = packing.id;
  id.add(choosing.size);
  FERRY_TRY(packing.source.packed(id, packing.part, choosing.size, pack, &out->weights));
  if (out->op != nullptr) return {};

  Visit use{Visit::Kind::Use, const_cast<std::byte*>(out->weights.get()), choosing.size};  // const_cast: only read
  if (choosing.looks_first) return creator.checked(creator(&use, &kUnread, has_bias ? &kUnread : nullptr, &out->op));
  const Memory weight(std::calloc(packing.weight_bytes + kExtraBytes, 1));
  const Memory bias(has_bias ? std::calloc(packing.bias_bytes + kExtraBytes, 1) : nullptr);
  if (weight == nullptr || (has_bias && bias == nullptr))
    return error(FERRY_OUT_OF_MEMORY, "out of memory while creating an operator");
  return creator.checked(creator(&use, weight.get(), static_cast<const float*>(bias.get()), &out->op));
}

Status pack_known(const float* known, fbs::OpParams type, CreateXnn create, void* context,
                  std::vector<std::byte>* out) {
  const Creator creator(type, create, context);
  XnnOperator op;
  Visit choosing{Visit::Kind::Choose};
  FERRY_TRY(choose(creator, /*has_bias=*/true, &choosing, &op));
  void* memory = nullptr;  // XNNPACK writes whole vectors
  if (posix_memalign(&memory, kAlignment, choosing.size + kExtraBytes) != 0)
    return error(FERRY_OUT_OF_MEMORY, "cannot allocate %zu bytes of packed weights", choosing.size);
  const Memory owner(memory);
  auto* bytes = static_cast<std::byte*>(memory);
  Visit packs{Visit::Kind::Pack, bytes, choosing.size};
  FERRY_TRY(creator.checked(creator(&packs, known, known, &op)));
  out->assign(bytes, bytes + choosing.size);
  return {};
}

}  // namespace ferry::cpu

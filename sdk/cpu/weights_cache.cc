#include "sdk/cpu/weights_cache.h"

#include <xnnpack.h>

#include <cstdlib>
#include <utility>

#include "sdk/model/model.h"

namespace ferry {

// XNNPACK knows packed weights by an "offset" that it turns into an address at every reshape and setup. Ours is the
// address itself, so that entries may lie anywhere (today in allocations of their own, one day in a mapped file) and
// looking one up takes no lock.
struct WeightsCache::Provider {
  static constexpr size_t kNotFound = SIZE_MAX;

  static WeightsCache& self(void* context) { return *static_cast<WeightsCache*>(context); }

  static size_t look_up(void* context, const xnn_weights_cache_look_up_key* key) {
    WeightsCache& cache = self(context);
    cache.current_.seed = key->seed;
    const auto found = cache.packed_.find(cache.current_);
    return found == cache.packed_.end() ? kNotFound : reinterpret_cast<size_t>(found->second.memory.get());
  }

  static void* reserve_space(void* context, size_t size) {
    void* memory = nullptr;
    if (size > SIZE_MAX - kExtraBytes || posix_memalign(&memory, kAlignment, size + kExtraBytes) != 0) return nullptr;
    self(context).reserved_ = {Memory(memory), size};
    return memory;
  }

  static size_t look_up_or_insert(void* context, const xnn_weights_cache_look_up_key* key, void* packed, size_t size) {
    WeightsCache& cache = self(context);
    const size_t found = look_up(context, key);
    if (found != kNotFound) {
      cache.reserved_ = {};
      return found;
    }
    if (packed != cache.reserved_.memory.get()) return kNotFound;
    cache.bytes_ += size;
    cache.packed_.emplace(cache.current_, std::exchange(cache.reserved_, {}));
    return reinterpret_cast<size_t>(packed);
  }

  // XNNPACK asks before it uses packed weights, as its own cache may move them when it grows. Ours never does.
  static bool is_finalized(void*) { return true; }

  static void* offset_to_addr(void*, size_t offset) { return reinterpret_cast<void*>(offset); }

  static xnn_status delete_cache(void*) { return xnn_status_success; }
};

WeightsCache::WeightsCache() : provider_(new xnn_weights_cache_provider{}) {
  provider_->context = this;
  provider_->look_up = &Provider::look_up;
  provider_->reserve_space = &Provider::reserve_space;
  provider_->look_up_or_insert = &Provider::look_up_or_insert;
  provider_->is_finalized = &Provider::is_finalized;
  provider_->offset_to_addr = &Provider::offset_to_addr;
  provider_->delete_cache = &Provider::delete_cache;
}

WeightsCache::~WeightsCache() = default;

void WeightsCache::Free::operator()(void* memory) const { std::free(memory); }

uint64_t WeightsCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

WeightsCache::Creation::Creation(WeightsCache& cache, const void* op) : cache_(cache), lock_(cache.mutex_) {
  cache.current_ = {op, 0, 0};
}

WeightsCache::Creation::~Creation() { cache_.reserved_ = {}; }

bool WeightsCache::Creation::has_packed() const {
  const auto found = cache_.packed_.lower_bound({cache_.current_.op, 0, 0});
  return found != cache_.packed_.end() && found->first.op == cache_.current_.op;
}

xnn_weights_cache_provider* WeightsCache::Creation::next() {
  ++cache_.current_.part;
  return cache_.provider_.get();
}

void* WeightsCache::Creation::own(size_t size, bool* fresh) {
  ++cache_.current_.part;
  cache_.current_.seed = 0;
  const auto found = cache_.packed_.find(cache_.current_);
  *fresh = found == cache_.packed_.end();
  if (!*fresh) return found->second.memory.get();
  void* memory = Provider::reserve_space(&cache_, size);
  if (memory == nullptr) return nullptr;
  cache_.bytes_ += size;
  cache_.packed_.emplace(cache_.current_, std::exchange(cache_.reserved_, {}));
  return memory;
}

}  // namespace ferry

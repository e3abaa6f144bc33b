// Weights in XNNPACK's packed layout, shared by all sessions of a model.
//
// Thread-safe: a Creation holds the cache's lock for its lifetime; addresses handed out stay valid until the cache dies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

struct xnn_weights_cache_provider;

namespace ferry {

class WeightsCache {
 public:
  WeightsCache();
  ~WeightsCache();
  WeightsCache(const WeightsCache&) = delete;
  WeightsCache& operator=(const WeightsCache&) = delete;

  // Bytes of packed weights held.
  uint64_t bytes() const;

  // While XNNPACK creates the operators of one op of the model. What is packed is a function of that op alone, so its
  // place in the blob is the key: addresses of weights are not (a widened copy is gone after creation), and XNNPACK's
  // seed is too weak to tell apart what a hostile blob may contrive.
  class Creation {
   public:
    Creation(WeightsCache& cache, const void* op);
    ~Creation();
    Creation(const Creation&) = delete;
    Creation& operator=(const Creation&) = delete;

    // Has an earlier creation packed this op's weights? Then XNNPACK will not read them again where it packs for a
    // matrix product (it looks before it packs).
    bool has_packed() const;
    // For the op's next XNNPACK operator; the pointer lives as long as the cache.
    xnn_weights_cache_provider* next();
    // For a kernel of our own: the memory of the op's next part, to be filled where it is `fresh`; null where there is
    // none. Lives as long as the cache.
    void* own(size_t size, bool* fresh);

   private:
    WeightsCache& cache_;
    std::lock_guard<std::mutex> lock_;
  };

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  using Memory = std::unique_ptr<void, Free>;

  struct Key {
    const void* op;
    uint32_t part;  // which of the op's XNNPACK operators
    uint32_t seed;  // XNNPACK's: the microkernel's tiles
    auto operator<=>(const Key&) const = default;
  };
  struct Packed {
    Memory memory;
    size_t size = 0;
  };

  struct Provider;  // the functions XNNPACK calls

  mutable std::mutex mutex_;
  std::unique_ptr<xnn_weights_cache_provider> provider_;
  std::map<Key, Packed> packed_;
  Packed reserved_;  // being written, not yet inserted
  Key current_{};    // of the creation under way
  uint64_t bytes_ = 0;
};

}  // namespace ferry

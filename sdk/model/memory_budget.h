// What a session allocates, against its memory_limit.
#pragma once

#include <array>
#include <cstdint>

#include "sdk/status.h"

namespace ferry {

class MemoryBudget {
 public:
  enum class Part : uint8_t { Activations, Weights, States };

  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}

  // Whether that part may be so large beside the others. FERRY_MEMORY_LIMIT names what would be needed and the limit.
  Status check(Part part, uint64_t bytes) const;
  // It has become so large.
  void set(Part part, uint64_t bytes) { bytes_[static_cast<size_t>(part)] = bytes; }
  uint64_t bytes(Part part) const { return bytes_[static_cast<size_t>(part)]; }

  // While it lives, weights that this thread packs are the session's: stores, which sessions share, count them so.
  class Scope {
   public:
    explicit Scope(MemoryBudget* budget);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    MemoryBudget* former_;
  };
  // Of packed weights about to be allocated, and once they are; where no session is being made, nothing.
  static Status check_weights(uint64_t more);
  static void add_weights(uint64_t more);

 private:
  uint64_t limit_;
  std::array<uint64_t, 3> bytes_{};
};

}  // namespace ferry

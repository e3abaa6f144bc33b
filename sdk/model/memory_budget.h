// Accounts for a session's allocations against its memory_limit.
#pragma once

#include <array>
#include <cstdint>

#include "sdk/status.h"

namespace ferry {

class MemoryBudget {
 public:
  enum class Part : uint8_t { Activations, Weights, States };

  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}

  // Whether that part may have this size, given the others. FERRY_MEMORY_LIMIT: the message states the required bytes
  // and the limit.
  Status check(Part part, uint64_t bytes) const;
  // Records a part's present size.
  void set(Part part, uint64_t bytes) { bytes_[static_cast<size_t>(part)] = bytes; }
  uint64_t bytes(Part part) const { return bytes_[static_cast<size_t>(part)]; }

  // During its lifetime, weights that this thread packs count for this session. Stores are shared by sessions.
  class Scope {
   public:
    explicit Scope(MemoryBudget* budget);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    MemoryBudget* former_;
  };
  // Checks packed weights before and counts them after allocation; without a Scope, does nothing.
  static Status check_weights(uint64_t more);
  static void add_weights(uint64_t more);

 private:
  uint64_t limit_;
  std::array<uint64_t, 3> bytes_{};
};

}  // namespace ferry

#include "sdk/model/memory_budget.h"

#include <utility>

namespace ferry {
namespace {

thread_local MemoryBudget* current = nullptr;

constexpr const char* kNames[] = {"activations", "packed weights", "states"};

}  // namespace

Status MemoryBudget::check(Part part, uint64_t bytes) const {
  uint64_t others = 0;
  for (const uint64_t held : bytes_) others += held;
  others -= this->bytes(part);
  if (bytes <= limit_ && others <= limit_ - bytes) return {};
  const char* name = kNames[static_cast<size_t>(part)];
  if (others == 0)
    return error(FERRY_MEMORY_LIMIT, "%s need %llu bytes; the session's memory_limit is %llu", name,
                 static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(limit_));
  return error(FERRY_MEMORY_LIMIT, "%s need %llu bytes beside %llu of other memory; the session's memory_limit is %llu",
               name, static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(others),
               static_cast<unsigned long long>(limit_));
}

MemoryBudget::Scope::Scope(MemoryBudget* budget) : former_(std::exchange(current, budget)) {}
MemoryBudget::Scope::~Scope() { current = former_; }

Status MemoryBudget::check_weights(uint64_t more) {
  return current != nullptr ? current->check(Part::Weights, current->bytes(Part::Weights) + more) : Status();
}

void MemoryBudget::add_weights(uint64_t more) {
  if (current != nullptr) current->set(Part::Weights, current->bytes(Part::Weights) + more);
}

}  // namespace ferry

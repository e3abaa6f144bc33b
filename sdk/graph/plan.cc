#include "sdk/graph/plan.h"

#include <algorithm>
#include <numeric>

namespace ferry {
namespace {

constexpr int kBeforeRun = -1;
constexpr int kAfterRun = INT32_MAX;
constexpr uint64_t kTooMuch = uint64_t{1} << 62;

// Memory of one value, or of several that share it: views and in-place results.
struct Storage {
  uint64_t bytes;
  int first;
  int last;
  uint64_t offset = kNoOffset;
};

bool alive_together(const Storage& a, const Storage& b) { return a.first <= b.last && b.first <= a.last; }

uint64_t padded(uint64_t bytes, uint64_t alignment) {
  return bytes >= kTooMuch ? kTooMuch : (bytes + kExtraBytes + alignment - 1) / alignment * alignment;
}

PerTensor<int> last_uses(const PlanRequest& request) {
  PerTensor<int> last(request.bytes.size(), kBeforeRun);
  for (size_t s = 0; s < request.steps.size(); ++s) {
    const PlanRequest::Step& step = request.steps[s];
    for (TensorId v : step.inputs) last[v] = static_cast<int>(s);
    // An unread value needs memory too while it is written.
    for (TensorId v : step.outputs) last[v] = static_cast<int>(s);
  }
  PerTensor<int> first(request.bytes.size(), kBeforeRun);
  for (size_t s = 0; s < request.steps.size(); ++s)
    for (TensorId v : request.steps[s].outputs) first[v] = static_cast<int>(s);
  for (const Loop& loop : request.loops)
    for (size_t s = loop.begin + 1; s <= loop.end; ++s)
      for (TensorId v : request.steps[s].inputs)
        if (first[v] < static_cast<int>(loop.begin)) last[v] = std::max(last[v], static_cast<int>(loop.end));
  for (TensorId v : request.inputs) last[v] = kAfterRun;
  for (TensorId v : request.kept) last[v] = kAfterRun;
  for (TensorId v : request.cached) last[v] = kAfterRun;
  return last;
}

// The storage that the step's output reuses, or -1.
int shared_storage(const PlanRequest& request, size_t s, const PerTensor<int>& storage_of,
                   const std::vector<Storage>& storages) {
  const PlanRequest::Step& step = request.steps[s];
  const uint64_t bytes = request.bytes[step.outputs[0]];
  if (step.view) {
    const int input = storage_of[step.inputs[0]];
    if (input >= 0) return input;
  }
  for (TensorId v : step.reusable) {
    const int input = storage_of[v];
    if (input < 0 || request.bytes[v] != bytes) continue;
    // All values in that storage, including views, must be dead.
    if (storages[static_cast<size_t>(input)].last == static_cast<int>(s)) return input;
  }
  return -1;
}

// Assigns an offset to every storage; returns the arena's size.
uint64_t place(std::vector<Storage>* storages) {
  std::vector<int> order(storages->size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const uint64_t of_a = (*storages)[static_cast<size_t>(a)].bytes, of_b = (*storages)[static_cast<size_t>(b)].bytes;
    return of_a > of_b || (of_a == of_b && a < b);
  });

  uint64_t arena = 0;
  std::vector<const Storage*> placed;  // by offset
  for (int index : order) {
    Storage& storage = (*storages)[static_cast<size_t>(index)];
    uint64_t gap_start = 0;
    uint64_t best_gap = UINT64_MAX;
    uint64_t best = kNoOffset;
    for (const Storage* other : placed) {
      if (!alive_together(storage, *other)) continue;
      if (other->offset > gap_start) {
        const uint64_t gap = other->offset - gap_start;
        if (gap >= storage.bytes && gap < best_gap) {
          best_gap = gap;
          best = gap_start;
        }
      }
      gap_start = std::max(gap_start, other->offset + other->bytes);
    }
    storage.offset = best == kNoOffset ? gap_start : best;
    if (storage.offset + storage.bytes >= kTooMuch) return UINT64_MAX;
    arena = std::max(arena, storage.offset + storage.bytes);
    const auto after = std::upper_bound(placed.begin(), placed.end(), &storage,
                                        [](const Storage* a, const Storage* b) { return a->offset < b->offset; });
    placed.insert(after, &storage);
  }
  return arena;
}

}  // namespace

Plan make_plan(const PlanRequest& request) {
  const PerTensor<int> last = last_uses(request);
  std::vector<Storage> storages;
  storages.reserve(request.bytes.size() + request.steps.size());
  PerTensor<int> storage_of(request.bytes.size(), -1);
  PerTensor<bool> cached(request.bytes.size(), false);
  for (TensorId value : request.cached) cached[value] = true;
  std::vector<int> workspace_of(request.steps.size(), -1);

  const auto add = [&](uint64_t bytes, int first, int last_use) {
    storages.push_back({padded(bytes, request.alignment), first, last_use});
    return static_cast<int>(storages.size() - 1);
  };
  for (TensorId value : request.inputs) {
    if (storage_of[value] < 0 && request.bytes[value] > 0)
      storage_of[value] = add(request.bytes[value], kBeforeRun, kAfterRun);
  }
  std::vector<int> written(request.steps.size());  // the step from which on its outputs are held
  std::iota(written.begin(), written.end(), 0);
  for (const Loop& loop : request.loops) written[loop.end] = static_cast<int>(loop.begin);
  for (size_t s = 0; s < request.steps.size(); ++s) {
    const PlanRequest::Step& step = request.steps[s];
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const TensorId value = step.outputs[i];
      if (request.bytes[value] == 0) continue;
      int storage = i == 0 ? shared_storage(request, s, storage_of, storages) : -1;
      if (storage < 0) storage = add(request.bytes[value], written[s], last[value]);
      storage_of[value] = storage;
      Storage& shared = storages[static_cast<size_t>(storage)];
      shared.last = std::max(shared.last, last[value]);
      if (cached[value]) shared.first = kBeforeRun;
    }
    if (step.workspace > 0) workspace_of[s] = add(step.workspace, static_cast<int>(s), static_cast<int>(s));
  }

  Plan plan;
  plan.arena_bytes = place(&storages);
  const auto offset = [&](int storage) {
    return storage < 0 ? kNoOffset : storages[static_cast<size_t>(storage)].offset;
  };
  for (int storage : storage_of) plan.offsets.push_back(offset(storage));
  for (int storage : workspace_of) plan.workspaces.push_back(offset(storage));
  return plan;
}

}  // namespace ferry

#include "sdk/model/verify_states.h"

#include <new>

#include "sdk/model/model.h"
#include "sdk/model/verify_ports.h"
#include "sdk/operators/built_in.h"

namespace ferry {
namespace {

Status check_state(uint32_t index, const fbs::State& state, StateShape* shape) {
  FERRY_TRY(verify_name("state", index, state.name()));
  const char* name = state.name()->c_str();
  const uint32_t rank = state.shape() != nullptr ? state.shape()->size() : 0;
  if (rank == 0 || rank > FERRY_MAX_RANK)
    return error(FERRY_CORRUPT, "state %u '%.64s': has %u dimensions, expected 1 to %d", index, name, rank,
                 FERRY_MAX_RANK);
  if (state.axis() < -1 || state.axis() >= static_cast<int32_t>(rank))
    return error(FERRY_CORRUPT, "state %u '%.64s': grows along dimension %d of %u", index, name, state.axis(), rank);
  int64_t elements = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    const int32_t d = state.shape()->Get(i);
    if (d < 1 || elements > kMaxElements / d)
      return error(FERRY_CORRUPT,
                   "state %u '%.64s': dimension %u is %d, expected 1 or more, and at most " FERRY_MAX_ELEMENTS
                   " elements",
                   index, name, i, d);
    // Appended rows must be contiguous with present ones.
    if (static_cast<int32_t>(i) < state.axis() && d != 1)
      return error(FERRY_CORRUPT, "state %u '%.64s': dimension %u, before the one that grows, is %d, expected 1", index,
                   name, i, d);
    elements *= d;
    shape->bound[shape->bound.rank++] = d;
  }
  const int32_t block = state.block(), last = shape->bound[shape->bound.rank - 1];
  if (block < 0 || (block > 0 && (rank != 3 || state.axis() != 1 || last % block != 0)))
    return error(FERRY_CORRUPT, "state %u '%.64s': blocks of %d of %s that grows along dimension %d", index, name,
                 block, in_words(shape->bound).c_str(), state.axis());
  const fbs::DType dtype = state.dtype();
  const bool fewer_bits = block > 0 && (dtype == fbs::DType::Float16 || dtype == fbs::DType::Int8);
  if (dtype != fbs::DType::Float32 && !fewer_bits && (dtype != fbs::DType::Int32 || block > 0))
    return error(FERRY_UNSUPPORTED, "state %u '%.64s': of type %u, expected Float32%s", index, name,
                 static_cast<unsigned>(dtype), block > 0 ? ", Float16 or Int8" : " or Int32");
  if (state.window() < 0 || (state.window() > 0 && state.axis() < 0))
    return error(FERRY_CORRUPT, "state %u '%.64s': the window is %d, expected 0 or more, and 0 of one of fixed size",
                 index, name, state.window());
  shape->axis = state.axis();
  shape->window = state.window();
  shape->block = block;
  shape->dtype = dtype;
  return {};
}

}  // namespace

Status verify_states(const fbs::Graph& root, StateShapes* states) {
  states->count = root.states() != nullptr ? root.states()->size() : 0;
  if (states->count > kMaxStates)
    return error(FERRY_CORRUPT, "graph: %zu states, at most %u are allowed", states->count, kMaxStates);
  if (states->count == 0) return {};
  if constexpr (!states_built_in()) return left_out("support for states");
  states->list.reset(new (std::nothrow) StateShape[states->count]);
  if (states->list == nullptr) return error(FERRY_OUT_OF_MEMORY, "no memory to verify %zu states", states->count);
  for (uint32_t i = 0; i < states->count; ++i) FERRY_TRY(check_state(i, *root.states()->Get(i), &states->list[i]));
  return verify_unique_names("state", static_cast<uint32_t>(states->count),
                             [&](uint32_t i) { return root.states()->Get(i)->name(); });
}

}  // namespace ferry

// Loops in a list of operators: from a LoopBegin to the LoopEnd that closes it.
#pragma once

#include <cstddef>
#include <vector>

#include "ferry_generated.h"

namespace ferry {

// Positions of the inputs.
struct LoopBeginInputs {
  static constexpr size_t kExtent = 0, kCount = 1, kStates = 2;
};
struct LoopEndInputs {
  static constexpr size_t kExtent = 0, kIndex = 1, kCount = 2, kCondition = 3, kStates = 4;  // then next states, rows
};

struct Loop {
  size_t begin = 0, end = 0;
};

// The loops among `count` operators, which are well nested (sdk/model/verify_loops.cc), inner ones before outer ones.
// type_of(i): the type of operator i.
template <typename TypeOf>
std::vector<Loop> loops_among(size_t count, const TypeOf& type_of) {
  std::vector<Loop> loops;
  std::vector<size_t> open;
  for (size_t i = 0; i < count; ++i) {
    if (type_of(i) == fbs::OpParams::LoopBegin) open.push_back(i);
    if (type_of(i) != fbs::OpParams::LoopEnd) continue;
    loops.push_back({open.back(), i});
    open.pop_back();
  }
  return loops;
}

}  // namespace ferry

// Sizes of the cells of Recurrence.
#pragma once

#include "ferry_generated.h"

namespace ferry {

struct CellSize {
  int gates;
  int parts;  // of the state
  int extra;  // rows of r besides those of the gates
};

inline CellSize size_of(const fbs::Recurrence& p) {
  switch (p.cell()) {
    case fbs::RecurrentCell::Rnn: break;
    case fbs::RecurrentCell::Gru: return {3, 1, p.reset_after() ? 1 : 0};
    case fbs::RecurrentCell::Lstm: return {4, 2, p.peepholes() ? 3 : 0};
  }
  return {1, 1, 0};
}

}  // namespace ferry

// Token sequences through networks with states: small_transformer() and similar ones.
#pragma once

#include <algorithm>

#include "tests/runtime/networks.h"

namespace ferry::testing {

struct CloseStates {
  void operator()(ferry_states* states) const { ferry_states_close(states); }
};
using StatesPtr = std::unique_ptr<ferry_states, CloseStates>;

inline constexpr int kWords = 11;

inline std::vector<int32_t> tokens(int count) {
  std::vector<int32_t> ids(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) ids[static_cast<size_t>(i)] = (i * 7 + 3) % kWords;
  return ids;
}

// A run over ids [begin, end): its status, and its output appended to `out`.
inline ferry_status run_piece(ferry_session* session, const std::vector<int32_t>& ids, int begin, int end,
                              std::vector<float>* out) {
  const int32_t shape[] = {1, end - begin};
  if (const ferry_status status = ferry_session_resize(session, 0, shape, 2); status != FERRY_OK) return status;
  ferry_tensor tensor;
  EXPECT_OK(ferry_session_input(session, 0, &tensor));
  std::copy(ids.begin() + begin, ids.begin() + end, static_cast<int32_t*>(tensor.data));
  if (const ferry_status status = ferry_session_run(session); status != FERRY_OK) return status;
  EXPECT_OK(ferry_session_output(session, 0, &tensor));
  const std::vector<float> values = elements(tensor);
  out->insert(out->end(), values.begin(), values.end());
  return FERRY_OK;
}

inline std::vector<float> in_pieces(ferry_session* session, int count, int piece) {
  std::vector<float> all;
  for (int i = 0; i < count; i += piece)
    EXPECT_OK(run_piece(session, tokens(count), i, std::min(i + piece, count), &all));
  return all;
}

inline StatesPtr states_of(ferry_session* session) {
  ferry_states* states = nullptr;
  EXPECT_OK(ferry_session_states(session, &states));
  return StatesPtr(states);
}

}  // namespace ferry::testing

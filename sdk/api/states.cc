#include "sdk/api/handles.h"
#include "sdk/operators/built_in.h"
#include "sdk/operators/type.h"

namespace {

using ferry::error;
using ferry::guarded;
using ferry::report;
using ferry::Status;

[[maybe_unused]] Status left_out() { return ferry::left_out("support for states"); }

// Runs `change` with exclusive use of the states.
template <typename Change>
ferry_status alone(const ferry_states* states, const Change& change) {
  if constexpr (!ferry::states_built_in()) return report(left_out());
  return guarded([&] {
    ferry::States& s = *states->states;
    const ferry::StatesLock lock(&s);
    const Status taken = lock.status();
    return taken.ok() ? change(s) : taken;
  });
}

}  // namespace

ferry_status ferry_states_create(const ferry_model* model, ferry_states** states) {
  FERRY_REQUIRE(states);
  *states = nullptr;
  FERRY_REQUIRE(model);
  if constexpr (!ferry::states_built_in()) return report(left_out());
  return guarded([&]() -> Status {
    std::shared_ptr<ferry::States> made;
    FERRY_TRY(ferry::States::create(model->model, ferry::fbs::DType::Float32, &made));
    *states = new ferry_states(std::move(made));
    return {};
  });
}

void ferry_states_close(ferry_states* states) { ferry::close(states, __func__); }

ferry_status ferry_session_states(const ferry_session* session, ferry_states** states) {
  FERRY_REQUIRE(states);
  *states = nullptr;
  FERRY_REQUIRE(session);
  const std::shared_ptr<ferry::States>& held = session->session->states();
  if (!ferry::states_built_in() || held == nullptr)
    return report(error(FERRY_NOT_FOUND, "the session's graph names no states"));
  return guarded([&]() -> Status {
    *states = new ferry_states(held);
    return {};
  });
}

size_t ferry_states_count(const ferry_states* states) { return states != nullptr ? states->states->count() : 0; }

ferry_status ferry_states_describe(const ferry_states* states, size_t index, ferry_tensor* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(states);
  if constexpr (!ferry::states_built_in()) return report(left_out());
  const ferry::States& s = *states->states;
  if (index >= s.count())
    return report(error(FERRY_INVALID_ARGUMENT, "state %zu does not exist: the model has %zu", index, s.count()));
  const ferry::StateShape& state = s.shapes()[index];
  const ferry::Shape shape = state.shape();
  out->name = s.name(index);
  out->data = s.data(index);
  out->bytes = static_cast<size_t>(state.row_bytes()) * static_cast<size_t>(state.fixed() ? 1 : state.held());
  out->dtype = ferry::public_dtype(state.dtype);
  out->rank = shape.rank;
  std::copy_n(shape.dims.begin(), shape.rank, out->shape);
  return FERRY_OK;
}

int32_t ferry_states_length(const ferry_states* states) { return states != nullptr ? states->states->length() : 0; }

int32_t ferry_states_bound(const ferry_states* states) {
  if (states == nullptr) return 0;
  int32_t minimum = INT32_MAX;
  for (const ferry::StateShape& state : states->states->shapes()) minimum = std::min(minimum, state.max_length());
  return minimum;
}

uint64_t ferry_states_bytes(const ferry_states* states) { return states != nullptr ? states->states->bytes() : 0; }

ferry_status ferry_states_reserve(ferry_states* states, int32_t length) {
  FERRY_REQUIRE(states);
  return alone(states, [&](ferry::States& s) {
    for (size_t i = 0; i < s.count(); ++i) {
      const int64_t maximum = int64_t{s.shapes()[i].max_held()} + 1;
      FERRY_TRY(s.reserve(i, static_cast<int32_t>(std::min<int64_t>(length, maximum))));
    }
    return Status();
  });
}

ferry_status ferry_states_reset(ferry_states* states) {
  FERRY_REQUIRE(states);
  return ferry_states_truncate(states, 0);
}

ferry_status ferry_states_truncate(ferry_states* states, int32_t length) {
  FERRY_REQUIRE(states);
  if (length < 0) return report(error(FERRY_INVALID_ARGUMENT, "%s: length is %d", __func__, length));
  return alone(states, [&](ferry::States& s) { return s.truncate(length); });
}

ferry_status ferry_states_save(const ferry_states* states, const char* path) {
  return ferry_states_save_with(states, path, nullptr, 0);
}

ferry_status ferry_states_save_with(const ferry_states* states, const char* path, const void* note, size_t note_bytes) {
  FERRY_REQUIRE(states);
  FERRY_REQUIRE(path);
  if (note_bytes > 0) FERRY_REQUIRE(note);
  return alone(states, [&](const ferry::States& s) {
    return s.save(path, {static_cast<const std::byte*>(note), note_bytes});
  });
}

ferry_status ferry_states_load(ferry_states* states, const char* path) {
  return ferry_states_load_with(states, path, nullptr, nullptr);
}

ferry_status ferry_states_load_with(ferry_states* states, const char* path, ferry_states_reader read, void* user) {
  FERRY_REQUIRE(states);
  FERRY_REQUIRE(path);
  return alone(states, [&](ferry::States& s) {
    if (read == nullptr) return s.load(path, nullptr);
    return s.load(path, [&](std::span<const std::byte> note, int32_t length) -> Status {
      const ferry_status status = read(user, note.data(), note.size(), length);
      return status == FERRY_OK ? Status() : error(status, "%s", ferry_last_error());
    });
  });
}

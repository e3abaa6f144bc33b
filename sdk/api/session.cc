#include <algorithm>
#include <cstddef>
#include <cstring>

#include "sdk/api/handles.h"
#include "sdk/graph/audit.h"
#include "sdk/operators/shape_rules.h"

namespace {

using ferry::error;
using ferry::guarded;
using ferry::report;
using ferry::Status;
using ferry::TensorId;

ferry_status port_of_session(const ferry_session* session, const char* kind,
                             const flatbuffers::Vector<flatbuffers::Offset<ferry::fbs::Port>>& ports, size_t count,
                             size_t index, ferry_tensor* out) {
  if (index >= count)
    return report(error(FERRY_INVALID_ARGUMENT, "%s %zu does not exist: the model has %zu", kind, index, count));
  const ferry::Session& s = session->idle();
  const ferry::fbs::Port& port = *ports.Get(static_cast<unsigned>(index));
  const TensorId tensor = port.tensor();
  const bool is_output = &ports == s.model().graph().outputs();
  *out = ferry::describe(s.model(), port, is_output ? s.output_shape(index) : s.shape(tensor), s.data(tensor));
  return FERRY_OK;
}

Status read_shape(const char* function, const int32_t* dims, int32_t rank, int32_t minimum, ferry::Shape* shape) {
  if (rank < minimum || rank > FERRY_MAX_RANK) {
    return error(FERRY_INVALID_ARGUMENT, "%s: rank is %d: it must be between %d and %d", function, rank, minimum,
                 FERRY_MAX_RANK);
  }
  shape->rank = rank;
  std::copy_n(dims, rank, shape->dims.begin());
  return {};
}

Status read_shapes(const char* function, const ferry_tensor* inputs, size_t count, std::span<ferry::Shape> shapes) {
  if (count != shapes.size())
    return error(FERRY_INVALID_ARGUMENT, "%s: count is %zu: the model has %zu inputs", function, count, shapes.size());
  for (size_t i = 0; i < count; ++i) FERRY_TRY(read_shape(function, inputs[i].shape, inputs[i].rank, 0, &shapes[i]));
  return {};
}

}  // namespace

ferry::Status ferry::create_session(const ferry_model& model, const ferry_session_options* options,
                                    std::unique_ptr<ferry_session>* session) {
  ferry_session_options checked;
  FERRY_TRY(read_options(options, &checked));
  SessionOptions wanted;
  wanted.num_threads = checked.num_threads;
  wanted.cores = static_cast<ferry_cores>(checked.cores);
  if (checked.cpu_mask != nullptr) {
    CpuSet& cpus = wanted.cpus.emplace();
    const size_t bits = std::min(checked.cpu_mask_words, cpus.size() / 64) * 64;
    for (size_t cpu = 0; cpu < bits; ++cpu) cpus[cpu] = (checked.cpu_mask[cpu / 64] >> cpu % 64 & 1) != 0;
  }
  wanted.pool = static_cast<pthreadpool_t>(checked.threadpool);
  wanted.taps = {checked.taps, checked.tap_count};
  wanted.all_taps = checked.all_taps;
  wanted.profile = checked.profile;
  wanted.memory_limit = checked.memory_limit;
  wanted.backend = static_cast<ferry_backend>(checked.backend);
  wanted.precision = static_cast<ferry_precision>(checked.precision);
  wanted.gpu_required = checked.gpu_required;
  wanted.gpu_retry = checked.gpu_retry;
  wanted.gpu_tune = checked.gpu_tune;
  wanted.gpu_watch = checked.gpu_watch;
  wanted.gpu_device = checked.gpu_device;
  wanted.gpu = checked.gpu;
  wanted.gpu_cache_dir = checked.gpu_cache_dir;
  wanted.cache_dir = checked.cache_dir;
  wanted.skip_weight_check = checked.skip_weight_check;
  wanted.graph = checked.graph;
  if (checked.state_dtype == FERRY_FLOAT16) wanted.state_dtype = fbs::DType::Float16;
  if (checked.state_dtype == FERRY_INT8) wanted.state_dtype = fbs::DType::Int8;
  if (checked.states != nullptr) wanted.states = checked.states->states;
  auto made = std::make_unique<ferry_session>();
  FERRY_TRY(Session::create(model.model, wanted, &made->session));
  *session = std::move(made);
  return {};
}

ferry::Status ferry::read_options(const ferry_session_options* given, ferry_session_options* options) {
  ferry_session_options_init(options);
  if (given == nullptr) return {};
  constexpr size_t kFirstVersion = offsetof(ferry_session_options, memory_limit) + sizeof(uint64_t);
  if (given->struct_size < kFirstVersion) {
    return error(FERRY_INVALID_ARGUMENT, "options.struct_size is %zu: call ferry_session_options_init() first",
                 given->struct_size);
  }
  FERRY_TRY(read_versioned(*given, kFirstVersion, "ferry_session_options", options));
  if (options->taps == nullptr && options->tap_count > 0) {
    return error(FERRY_INVALID_ARGUMENT, "options.taps is NULL but options.tap_count is %zu", options->tap_count);
  }
  for (size_t i = 0; i < options->tap_count; ++i) {
    if (options->taps[i] == nullptr) return error(FERRY_INVALID_ARGUMENT, "options.taps[%zu] is NULL", i);
  }
  if (options->backend != FERRY_BACKEND_CPU && options->backend != FERRY_BACKEND_GPU) {
    return error(FERRY_INVALID_ARGUMENT, "options.backend is %d: it must be FERRY_BACKEND_CPU or FERRY_BACKEND_GPU",
                 options->backend);
  }
  if (options->precision != FERRY_PRECISION_FLOAT32 && options->precision != FERRY_PRECISION_FLOAT16) {
    return error(FERRY_INVALID_ARGUMENT,
                 "options.precision is %d: it must be FERRY_PRECISION_FLOAT32 or FERRY_PRECISION_FLOAT16",
                 options->precision);
  }
  if (options->cores < FERRY_CORES_PERFORMANCE || options->cores > FERRY_CORES_ALL) {
    return error(FERRY_INVALID_ARGUMENT, "options.cores is %d: it must be a ferry_cores, %d to %d", options->cores,
                 FERRY_CORES_PERFORMANCE, FERRY_CORES_ALL);
  }
  if (options->state_dtype != FERRY_FLOAT32 && options->state_dtype != FERRY_FLOAT16 &&
      options->state_dtype != FERRY_INT8) {
    return error(FERRY_INVALID_ARGUMENT,
                 "options.state_dtype is %d: it must be FERRY_FLOAT32, FERRY_FLOAT16 or FERRY_INT8",
                 options->state_dtype);
  }
  if (!(options->gpu_watch >= 0 && options->gpu_watch <= 1)) {
    return error(FERRY_INVALID_ARGUMENT,
                 "options.gpu_watch is %g: it must be between 0 (no watch) and 1, 0.01 for a hundredth of the time",
                 options->gpu_watch);
  }
  if (options->gpu_watch > 0 && !kHasGpuChecks) return error(FERRY_UNSUPPORTED, "options.gpu_watch: %s", kNoGpuChecks);
  if (options->cpu_mask == nullptr && options->cpu_mask_words > 0) {
    return error(FERRY_INVALID_ARGUMENT, "options.cpu_mask is NULL but options.cpu_mask_words is %zu",
                 options->cpu_mask_words);
  }
  return {};
}

void ferry_session_options_init(ferry_session_options* options) {
  if (options == nullptr) return;
  *options = {};
  options->struct_size = sizeof(*options);
}

ferry_status ferry_session_create(ferry_model* model, const ferry_session_options* options, ferry_session** session) {
  FERRY_REQUIRE(session);
  *session = nullptr;
  FERRY_REQUIRE(model);
  return guarded([&]() -> Status {
    std::unique_ptr<ferry_session> made;
    FERRY_TRY(ferry::create_session(*model, options, &made));
    *session = made.release();
    return {};
  });
}

void ferry_session_close(ferry_session* session) { ferry::close(session, __func__); }

ferry_status ferry_session_resize(ferry_session* session, size_t index, const int32_t* shape, int32_t rank) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(shape);
  ferry::Shape wanted;
  if (const Status status = read_shape(__func__, shape, rank, 1, &wanted); !status.ok()) return report(status);
  return guarded([&] { return session->idle().resize(index, wanted); });
}

ferry_status ferry_session_resize_inputs(ferry_session* session, const ferry_tensor* inputs, size_t count) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(inputs);
  return guarded([&, function = __func__] {
    ferry::Session& s = session->idle();
    std::span<ferry::Shape> shapes = s.input_shapes();
    const Status status = read_shapes(function, inputs, count, shapes);
    return status.ok() ? s.resize(shapes) : status;
  });
}

ferry_status ferry_session_reserve(ferry_session* session, const ferry_tensor* inputs, size_t count) {
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(inputs);
  return guarded([&, function = __func__] {
    ferry::Session& s = session->idle();
    std::span<ferry::Shape> shapes = s.input_shapes();
    const Status status = read_shapes(function, inputs, count, shapes);
    return status.ok() ? s.reserve(shapes) : status;
  });
}

ferry_status ferry_session_input(ferry_session* session, size_t index, ferry_tensor* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(session);
  const auto& ports = *session->idle().model().graph().inputs();
  return port_of_session(session, "input", ports, ports.size(), index, out);
}

ferry_status ferry_session_output(ferry_session* session, size_t index, ferry_tensor* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(session);
  const ferry::Model& model = session->idle().model();
  return port_of_session(session, "output", *model.graph().outputs(), model.output_count(), index, out);
}

ferry_status ferry_session_tap(ferry_session* session, const char* name, ferry_tensor* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(session);
  FERRY_REQUIRE(name);
  const ferry::Session& s = session->idle();
  const ferry::fbs::Port* port = nullptr;
  if (const Status status = s.tap(name, &port); !status.ok()) return report(status);
  const TensorId tensor = port->tensor();
  *out = ferry::describe(s.model(), *port, s.shape(tensor), s.data(tensor));
  return FERRY_OK;
}

ferry_status ferry_session_run(ferry_session* session) {
  FERRY_REQUIRE(session);
  return guarded([&] { return session->idle().run(); });
}

ferry_status ferry_session_run_async(ferry_session* session, ferry_run_callback callback, void* user) {
  FERRY_REQUIRE(session);
  return guarded([&] { return session->async.start(session, callback, user); });
}

ferry_status ferry_session_wait(ferry_session* session) {
  FERRY_REQUIRE(session);
  return guarded([&] { return session->async.wait(*session->session); });
}

void ferry_session_cancel(ferry_session* session) {
  if (session != nullptr) session->session->cancel();
}

uint64_t ferry_session_arena_bytes(const ferry_session* session) {
  return session != nullptr ? session->idle().arena_bytes() : 0;
}

uint64_t ferry_session_packed_bytes(const ferry_session* session) {
  return session != nullptr ? session->idle().computing().packed_bytes() : 0;
}

size_t ferry_session_profile_count(const ferry_session* session) {
  return session != nullptr ? session->idle().computing().microseconds().size() : 0;
}

ferry_status ferry_session_profile(const ferry_session* session, size_t index, ferry_profile_entry* out) {
  FERRY_REQUIRE(out);
  *out = {};
  FERRY_REQUIRE(session);
  const ferry::Session& s = session->idle();
  const size_t count = s.computing().microseconds().size();
  if (count == 0) {
    return report(error(FERRY_INVALID_ARGUMENT, "no profile: create the session with options.profile"));
  }
  if (index >= count) {
    return report(error(FERRY_INVALID_ARGUMENT, "profile entry %zu does not exist: the session has %zu", index, count));
  }
  const ferry::fbs::Operator& op = *s.model().graph().operators()->Get(static_cast<unsigned>(index));
  const ferry::Shape& shape = s.shape(ferry::output_of(op));
  out->name = op.name() != nullptr ? op.name()->c_str() : "";
  out->op = ferry::op_name(op.params_type());
  out->backend = s.computing().backend_of(index);
  out->microseconds = s.computing().microseconds()[index];
  out->rank = shape.rank;
  std::copy_n(shape.dims.begin(), shape.rank, out->shape);
  return FERRY_OK;
}

ferry_status ferry_session_report(const ferry_session* session, ferry_report* report) {
  FERRY_REQUIRE(report);
  constexpr size_t kFirstVersion = offsetof(ferry_report, note_count) + sizeof(size_t);
  ferry_report filled{};
  if (session != nullptr) {
    const ferry::BackendReport& backend = session->idle().computing().report();
    const Status& gpu = session->idle().gpu_status();
    filled.backend = backend.backend;
    filled.gpu_status = gpu.code();
    filled.message = gpu.message().data();
    filled.device = backend.device.c_str();
    filled.driver = backend.driver.c_str();
    filled.precision = backend.precision;
    filled.gpu_operators = backend.gpu_operators;
    filled.cpu_operators = backend.cpu_operators;
    filled.transfers = backend.transfers;
    filled.canary_count = backend.canary_count;
    filled.canary_failures = backend.canary_failures;
    filled.canary_ms = backend.canary_ms;
    filled.note_count = backend.notes.size() + !session->idle().threads_note().empty();
    filled.cpus = session->idle().cpus().c_str();
    filled.threads = session->idle().threads();
    filled.watched_runs = backend.watched_runs;
  }
  const Status status = ferry::fill_versioned(filled, kFirstVersion, "ferry_report", report);
  if (!status.ok()) return ferry::report(status);
  FERRY_REQUIRE(session);
  return FERRY_OK;
}

const char* ferry_session_report_note(const ferry_session* session, size_t index) {
  if (session == nullptr) return nullptr;
  const ferry::Session& s = session->idle();
  const std::vector<std::string>& notes = s.computing().report().notes;
  if (index < notes.size()) return notes[index].c_str();
  return index == notes.size() && !s.threads_note().empty() ? s.threads_note().c_str() : nullptr;
}

ferry_status ferry_session_check_kernels(ferry_session* session, double seconds, ferry_kernel_check* out) {
  FERRY_REQUIRE(out);
  constexpr size_t kFirstVersion = offsetof(ferry_kernel_check, replays) + sizeof(uint64_t);
  ferry_kernel_check result{};
  Status status;
  if (session != nullptr && ferry::usable(session)) {
    status = !(seconds >= 0)
                 ? error(FERRY_INVALID_ARGUMENT, "%s: seconds is %g: it must be 0 or more", __func__, seconds)
                 : ferry::attempt([&]() -> Status {
                     ferry::KernelReport report;
                     FERRY_TRY(session->idle().check_kernels({.seconds = seconds}, &report));
                     result.kernels = report.kernels;
                     result.checked = report.checked;
                     result.failures = report.failures;
                     result.replays = report.replays;
                     return {};
                   });
  }
  const Status filled = ferry::fill_versioned(result, kFirstVersion, "ferry_kernel_check", out);
  if (!filled.ok()) return report(filled);
  FERRY_REQUIRE(session);
  return report(status);
}

// The C API with owners and exceptions.
#pragma once

#include <ferry/ferry.h>
#include <ferry/image.h>
#include <ferry/task.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "converter/error.h"
#include "sdk/status.h"

namespace ferry::cli {

struct Close {
  void operator()(ferry_model* model) const { ferry_model_close(model); }
  void operator()(ferry_session* session) const { ferry_session_close(session); }
  void operator()(ferry_task* task) const { ferry_task_close(task); }
};
using ModelHandle = std::unique_ptr<ferry_model, Close>;
using SessionHandle = std::unique_ptr<ferry_session, Close>;
using TaskHandle = std::unique_ptr<ferry_task, Close>;

// Throws Error with the library's own sentence.
inline void check(ferry_status status) {
  if (status != FERRY_OK) throw Error(ferry_last_error());
}
inline void check(const Status& status) {
  if (!status.ok()) throw Error(std::string(status.message()));
}

// Of a blob, as ferry_model_open_memory() wants it.
using AlignedBytes = std::unique_ptr<void, decltype(&std::free)>;
AlignedBytes aligned_copy(std::span<const std::byte> bytes);

// Where pipelines, canary verdicts and tuned choices are kept; "" where this user has no home.
const std::string& gpu_cache_folder();
// That of this name among ferry's in the user's cache; empty where there is no home.
std::string cache_folder(const std::string& name);

// How many threads sessions have, and where: --threads and --cores.
struct ThreadOptions {
  int count = 0;
  ferry_cores cores = FERRY_CORES_PERFORMANCE;
  std::vector<uint64_t> cpu_mask;  // these CPUs instead; empty: `cores`
};
void add_thread_options(const Command& command, ThreadOptions* options);
// Initialised; they point into `given`. Throws Error on a number of threads that cannot be.
ferry_session_options session_options(const ThreadOptions& given);
ferry_session_options session_options(int threads);
// The threads and cores of `other`, and else the defaults: for the CPU, in float32.
ferry_session_options same_threads(const ferry_session_options& other);
// `graph`: of the blob, by name; "": the first.
ModelHandle open_model(const std::string& path, const std::string& graph = "");
SessionHandle create_session(const ModelHandle& model, const ferry_session_options& options);

// Where sessions run: --backend, --precision, --device, and --tune where the command has it.
struct BackendOptions {
  std::string backend = "cpu", precision = "f32", device;
  bool tune = false;

  bool gpu() const { return backend == "gpu"; }
  std::string text() const;  // "cpu", "gpu", "gpu f16"
};

enum class Tuning { No, Yes };
void add_backend_options(const Command& command, BackendOptions* options, Tuning tuning);
// `options` point into `given` afterwards. Throws Error on words that are no backend or precision, and on what does not
// go together.
void set_backend(const BackendOptions& given, ferry_session_options* options);

ferry_report report_of(const ferry_session* session);
// Of a session that asked for float16 and computes in float32: a note that says so; else "".
std::string why_float32(const ferry_session* session);
// Throws Error where a session that asked for the GPU is on the CPU, or one that asked for float16 computes in float32:
// a measurement must not be another's unsaid.
void check_backend(const SessionHandle& session);

// The description's shape in the source framework's layout: [N,C,H,W] of [N,H,W,C].
std::vector<int64_t> source_shape(const ferry_tensor& tensor);
// The other way round; the same rank as `tensor`'s.
std::vector<int32_t> own_shape(const ferry_tensor& tensor, const std::vector<int64_t>& source);

const char* dtype_name(ferry_dtype dtype);

}  // namespace ferry::cli

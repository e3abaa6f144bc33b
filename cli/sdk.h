// The C API with owning handles and exceptions.
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

// Appended to the library's message: the option that prevents this error.
inline const char* remedy_of(ferry_status status) {
  return status == FERRY_STATE_FULL ? " (`ferry convert --max-length` sets the maximum)" : "";
}

// Throws Error with the library's message.
inline void check(ferry_status status) {
  if (status != FERRY_OK) throw Error(std::string(ferry_last_error()) + remedy_of(status));
}
inline void check(const Status& status) {
  if (!status.ok()) throw Error(std::string(status.message()) + remedy_of(status.code()));
}

// A copy of a blob, aligned as ferry_model_open_memory() requires.
using AlignedBytes = std::unique_ptr<void, decltype(&std::free)>;
AlignedBytes aligned_copy(std::span<const std::byte> bytes);

// The folder of pipelines, canary verdicts and tuned choices; "" if the user has no home directory.
const std::string& gpu_cache_folder();
// The folder `name` in ferry's part of the user's cache; "" if the user has no home directory.
std::string cache_folder(const std::string& name);

// The threads of sessions: --threads and --cores.
struct ThreadOptions {
  int count = 0;
  ferry_cores cores = FERRY_CORES_PERFORMANCE;
  std::vector<uint64_t> cpu_mask;  // these CPUs; empty: `cores`
};
void add_thread_options(const Command& command, ThreadOptions* options);
// Initialised options, which point into `given`. Throws Error if the number of threads is out of range.
ferry_session_options session_options(const ThreadOptions& given);
ferry_session_options session_options(int threads);
// The threads and cores of `other`; defaults for the rest (CPU, float32).
ferry_session_options same_threads(const ferry_session_options& other);
// Opens the graph of that name; "": the first.
ModelHandle open_model(const std::string& path, const std::string& graph = "");
SessionHandle create_session(const ModelHandle& model, const ferry_session_options& options);

// The backend of sessions: --backend, --precision, --device, and --tune for commands that have it.
struct BackendOptions {
  std::string backend = "cpu", precision = "f32", device;
  std::string kv;  // "float16", "int8", or "": as the blob says
  bool tune = false;

  bool gpu() const { return backend == "gpu"; }
  std::string text() const;  // "cpu", "gpu", "gpu f16"
};

enum class Tuning { No, Yes };
void add_backend_options(const Command& command, BackendOptions* options, Tuning tuning);
// --kv, for commands that run language models.
void add_kv_option(const Command& command, BackendOptions* options);
// `options` point into `given` afterwards. Throws Error on an unknown backend or precision, and on options that exclude
// each other.
void set_backend(const BackendOptions& given, ferry_session_options* options);

ferry_report report_of(const ferry_session* session);
// Why a session that asked for float16 computes in float32; "" if it does not.
std::string why_float32(const ferry_session* session);
// A line for a session that runs on a software rasteriser (lavapipe, SwiftShader), which Vulkan lists as a GPU; else
// "".
std::string software_gpu(const ferry_session* session);
// Throws Error if a session that asked for the GPU is on the CPU, or one that asked for float16 computes in float32: a
// measurement must not be of another backend without a notice.
void check_backend(const SessionHandle& session);

// The shape in the source framework's layout: [N,C,H,W] for [N,H,W,C].
std::vector<int64_t> source_shape(const ferry_tensor& tensor);
// The inverse; `source` has the rank of `tensor`.
std::vector<int32_t> own_shape(const ferry_tensor& tensor, const std::vector<int64_t>& source);

const char* dtype_name(ferry_dtype dtype);

}  // namespace ferry::cli

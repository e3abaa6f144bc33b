// The C API with owners and exceptions.
#pragma once

#include <ferry/ferry.h>
#include <ferry/image.h>
#include <ferry/task.h>

#include <memory>
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

// Where pipelines, canary verdicts and tuned choices are kept; "" where this user has no home.
const std::string& gpu_cache_folder();

// Initialised, for so many threads.
ferry_session_options session_options(int threads);
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

ferry_report report_of(const SessionHandle& session);
// Throws Error where a session that asked for the GPU is on the CPU: a measurement must not be the CPU's unsaid.
void check_backend(const SessionHandle& session);

// The description's shape in the source framework's layout: [N,C,H,W] of [N,H,W,C].
std::vector<int64_t> source_shape(const ferry_tensor& tensor);
// The other way round; the same rank as `tensor`'s.
std::vector<int32_t> own_shape(const ferry_tensor& tensor, const std::vector<int64_t>& source);

const char* dtype_name(ferry_dtype dtype);

}  // namespace ferry::cli

#include "cli/sdk.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "sdk/model/model.h"
#include "sdk/threads/cores.h"

namespace ferry::cli {

AlignedBytes aligned_copy(std::span<const std::byte> bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, bytes.size()) != 0) throw std::bad_alloc();
  std::memcpy(memory, bytes.data(), bytes.size());
  return {memory, std::free};
}

std::string cache_folder(const std::string& name) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache != nullptr && *cache != '\0') return std::string(cache) + "/ferry/" + name;
  return home != nullptr && *home != '\0' ? std::string(home) + "/.cache/ferry/" + name : std::string();
}

const std::string& gpu_cache_folder() {
  static const std::string folder = cache_folder("gpu");
  return folder;
}

void add_thread_options(const Command& command, ThreadOptions* options) {
  command.group("Threads");
  command.add_option("--threads", options->count, "Number of threads; 0: one per core of --cores")
      .type_name("N")
      .capture_default_str();
  const auto read = [options](const std::string& word) {
    const std::vector<std::string> names = {"performance", "balanced", "efficient", "all"};
    const auto name = std::find(names.begin(), names.end(), word);
    if (name != names.end()) {
      options->cores = static_cast<ferry_cores>(name - names.begin());
      return;
    }
    const CpuSet cpus = read_cpu_list(word.c_str());
    if (cpus.none())
      fail("--cores %s: expected performance, balanced, efficient, all, or CPUs by number as 0-3,6", word.c_str());
    options->cpu_mask.assign(cpus.size() / 64, 0);
    for (size_t cpu = 0; cpu < cpus.size(); ++cpu) options->cpu_mask[cpu / 64] |= uint64_t{cpus[cpu]} << cpu % 64;
  };
  command
      .add_option("--cores", read,
                  "Cores to run on: performance (the big cores, the default), balanced (big cores\n"
                  "without the fastest), efficient (the slowest), all, or CPU numbers as 0-3,6")
      .type_name("performance|balanced|efficient|all|CPUS");
  command.group("Options");
}

ferry_session_options session_options(const ThreadOptions& given) {
  if (given.count < 0 || given.count > 1024) fail("--threads %d: expected 0 (one a core) to 1024", given.count);
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = given.count;
  options.cores = given.cores;
  if (given.cpu_mask.empty()) return options;
  options.cpu_mask = given.cpu_mask.data();
  options.cpu_mask_words = given.cpu_mask.size();
  return options;
}

ferry_session_options session_options(int threads) {
  ThreadOptions given;
  given.count = threads;
  return session_options(given);
}

ferry_session_options same_threads(const ferry_session_options& other) {
  ferry_session_options options = session_options(other.num_threads);
  options.cores = other.cores;
  options.cpu_mask = other.cpu_mask;
  options.cpu_mask_words = other.cpu_mask_words;
  return options;
}

ModelHandle open_model(const std::string& path, const std::string& graph) {
  ferry_model* model = nullptr;
  check(ferry_model_open(path.c_str(), &model));
  ModelHandle first(model);
  if (graph.empty()) return first;
  check(ferry_model_open_graph(first.get(), graph.c_str(), &model));
  return ModelHandle(model);
}

SessionHandle create_session(const ModelHandle& model, const ferry_session_options& options) {
  ferry_session* session = nullptr;
  check(ferry_session_create(model.get(), &options, &session));
  return SessionHandle(session);
}

std::string BackendOptions::text() const { return precision != "f32" ? backend + " " + precision : backend; }

void add_backend_options(const Command& command, BackendOptions* options, Tuning tuning) {
  command.group("Backend");
  command.add_option("--backend", options->backend, "Compute on the CPU or the GPU")
      .type_name("cpu|gpu")
      .capture_default_str();
  command.add_option("--precision", options->precision, "Type of stored values; sums are float32")
      .type_name("f32|f16")
      .capture_default_str();
  command
      .add_option("--device", options->device,
                  "A GPU, by index or part of its name (`ferry devices`); without it: the best")
      .type_name("NAME");
  if (tuning == Tuning::Yes)
    command.add_flag("--tune", options->tune, "Time the GPU's kernel variants first, and remember the fastest");
  command.group("Options");
}

void add_kv_option(const Command& command, BackendOptions* options) {
  command
      .add_option("--kv", options->kv,
                  "Keep a language model's keys and values in no more bits than that. Without it: as the blob says")
      .one_of({"float16", "int8"});
}

void set_backend(const BackendOptions& given, ferry_session_options* options) {
  if (given.backend != "cpu" && given.backend != "gpu")
    fail("--backend %s: not a backend; use cpu or gpu", given.backend.c_str());
  if (given.precision != "f32" && given.precision != "f16")
    fail("--precision %s: not a precision; use f32 or f16", given.precision.c_str());
  options->precision = given.precision == "f16" ? FERRY_PRECISION_FLOAT16 : FERRY_PRECISION_FLOAT32;
  options->state_dtype = given.kv == "float16" ? FERRY_FLOAT16 : given.kv == "int8" ? FERRY_INT8 : FERRY_FLOAT32;
  if (!given.gpu()) {
    if (!given.device.empty()) fail("--device names a GPU: add --backend gpu");
    if (given.tune) fail("--tune is the GPU's: add --backend gpu");
    return;
  }
  options->backend = FERRY_BACKEND_GPU;
  options->gpu_device = given.device.c_str();
  options->gpu_cache_dir = gpu_cache_folder().c_str();
  options->gpu_tune = given.tune;
}

ferry_report report_of(const ferry_session* session) {
  ferry_report report{};
  report.struct_size = sizeof(report);
  check(ferry_session_report(session, &report));
  return report;
}

std::string why_float32(const ferry_session* session) {
  const ferry_report report = report_of(session);
  for (size_t i = 0; i < report.note_count; ++i) {
    const std::string note = ferry_session_report_note(session, i);
    if (note.starts_with("float32")) return note;
  }
  return "";
}

std::string software_gpu(const ferry_session* session) {
  const ferry_report report = report_of(session);
  if (report.backend != FERRY_BACKEND_GPU) return "";
  for (size_t i = 0; i < ferry_gpu_count(); ++i) {
    ferry_gpu_info gpu{};
    gpu.struct_size = sizeof(gpu);
    if (ferry_gpu_describe(i, &gpu) != FERRY_OK || gpu.type != FERRY_GPU_SOFTWARE) continue;
    if (std::strcmp(gpu.name, report.device) == 0)
      return std::string(gpu.name) + " is a software GPU: it computes on the CPU, slower than --backend cpu";
  }
  return "";
}

void check_backend(const SessionHandle& session) {
  const ferry_report report = report_of(session.get());
  if (report.gpu_status != FERRY_OK) fail("the CPU was used instead of the GPU: %s", report.message);
  if (const std::string why = why_float32(session.get()); !why.empty()) fail("--precision f16: %s", why.c_str());
}

std::vector<int64_t> source_shape(const ferry_tensor& tensor) {
  std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.rank);
  if (tensor.source_layout == FERRY_LAYOUT_NCHW && shape.size() >= 3) {
    // channels from the end to the second place
    shape.insert(shape.begin() + 1, shape.back());
    shape.pop_back();
  }
  return shape;
}

std::vector<int32_t> own_shape(const ferry_tensor& tensor, const std::vector<int64_t>& source) {
  std::vector<int32_t> shape(source.begin(), source.end());
  if (tensor.source_layout == FERRY_LAYOUT_NCHW && shape.size() >= 3) {
    shape.push_back(shape[1]);
    shape.erase(shape.begin() + 1);
  }
  return shape;
}

const char* dtype_name(ferry_dtype dtype) {
  switch (dtype) {
    case FERRY_FLOAT32: return "float32";
    case FERRY_FLOAT16: return "float16";
    case FERRY_INT8: return "int8";
    case FERRY_UINT8: return "uint8";
    case FERRY_INT32: return "int32";
    case FERRY_INT64: return "int64";
  }
  return "unknown";
}

}  // namespace ferry::cli

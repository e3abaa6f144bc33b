// ferry pack
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/sdk.h"
#include "cli/text.h"
#include "converter/pack/pack.h"
#include "converter/write_file.h"
#include "sdk/cpu/backend/fingerprint.h"
#include "sdk/graph/audit.h"
#include "sdk/graph/session.h"
#include "sdk/model/mapping.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_cache.h"
#if FERRY_GPU
#include "sdk/gpu/backend/weights.h"
#include "sdk/gpu/canary/verdicts.h"
#endif

namespace ferry::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kThisCpu = "this";
constexpr const char* kGpu = "gpu";
constexpr const char* kGpuFloat16 = "gpu-f16";
constexpr std::string_view kArm64 = "arm64-";  // before qemu's name of a CPU

struct PackOptions {
  std::string model, output, device, tool, emulator, root = "/usr/aarch64-linux-gnu";
  std::vector<std::string> targets = {kThisCpu};
  bool embed = false;
  int replays = 128;
};

using Sessions = std::vector<std::unique_ptr<Session>>;

// A session for each graph; together they pack all weights.
Sessions open_sessions(const Model& model, const SessionOptions& options) {
  Sessions sessions;
  for (size_t i = 0; i < model.graph_count(); ++i) {
    std::shared_ptr<const Model> graph;
    check(model.open_graph(i, &graph));
    check(Session::create(graph, options, &sessions.emplace_back()));
  }
  return sessions;
}

// Writes to the file `output`, or into the folder `output` under the name that ferry_session_options.cache_dir expects.
// Returns the file.
fs::path write(const PackedStore& store, const PackedTarget& target, const fs::path& output) {
  const fs::path file = fs::is_directory(output) ? output / target.file_name() : output;
  check(write_packed(store, target, file.string()));
  return file;
}

// Packs the weights for this CPU's kernels.
fs::path pack_here(const std::string& path, const fs::path& output) {
  std::shared_ptr<Model> model;
  check(Model::open(path.c_str(), &model));
  SessionOptions options;
  options.num_threads = 1;
  const Sessions sessions = open_sessions(*model, options);
  PackedTarget target;
  check(cpu::packed_target(*model, &target));
  return write(model->packed(), target, output);
}

#if FERRY_GPU

// Replays the sessions' kernels and keeps the verdicts beside the packed file ("": nowhere). Those found wrong are
// printed; sessions that read the verdicts use other kernels, or the CPU.
void check_kernels(const Sessions& sessions, uint64_t replays, gpu::Device& device, const PackedTarget& target,
                   const fs::path& file) {
  if (!kHasGpuChecks) return print_error("ferry pack: %s\n", kNoGpuChecks);
  gpu::Verdicts verdicts;
  verdicts.open(file.empty() ? "" : fs::absolute(file).string(), target, device.pipelines());
  KernelReport sum;
  for (const auto& session : sessions) {
    KernelReport report;
    check(session->check_kernels({.replays = replays, .verdicts = &verdicts}, &report));
    sum = {sum.kernels + report.kernels, sum.checked + report.checked, sum.failures + report.failures,
           sum.replays + report.replays};
  }
  for (const std::string& note : verdicts.notes()) print_error("%s\n", note.c_str());
  print("%zu kernels checked in %s runs: %s\n", sum.checked, grouped(sum.replays).c_str(),
        sum.failures == 0 ? "all are right" : (std::to_string(sum.failures) + " are wrong and not used").c_str());
}

// Packs the weights for a GPU's kernels.
fs::path pack_on_gpu(const PackOptions& o, bool half, const fs::path& output) {
  std::shared_ptr<Model> model;
  check(Model::open(o.model.c_str(), &model));
  SessionOptions options;
  options.num_threads = 1;
  options.backend = FERRY_BACKEND_GPU;
  options.gpu_required = true;
  options.gpu_device = o.device.c_str();
  options.gpu_cache_dir = gpu_cache_folder().c_str();
  options.precision = half ? FERRY_PRECISION_FLOAT16 : FERRY_PRECISION_FLOAT32;
  std::shared_ptr<gpu::Device> device;  // the sessions' own
  check(gpu::Device::open(options.gpu_device, options.gpu_cache_dir, options.gpu_retry, &device));
  const Sessions sessions = open_sessions(*model, options);
  const gpu::Storage storage = half ? gpu::Storage::Float16 : gpu::Storage::Float32;
  PackedTarget target;
  check(gpu::packed_target(*model, *device, storage, &target));
  const fs::path file = fs::is_directory(output) ? output / target.file_name() : output;
  // First, because other kernels may need other packed weights.
  if (o.replays > 0) check_kernels(sessions, static_cast<uint64_t>(o.replays), *device, target, o.embed ? "" : file);
  const std::shared_ptr<gpu::Weights> weights = gpu::Weights::of(*model, *device, storage);
  check(weights->read_back());
  return write(weights->store(), target, file);
}

#else

fs::path pack_on_gpu(const PackOptions&, bool, const fs::path&) {
  fail("--for gpu: this build has no GPU backend (FERRY_GPU=OFF)");
}

#endif

// Runs the arm64 build of this program on an emulated CPU.
void pack_there(const PackOptions& o, const std::string& target, const fs::path& output) {
  if (!target.starts_with(kArm64))
    fail("--for: '%s' is no target: this, gpu, gpu-f16, or arm64-CPU for a CPU that qemu knows (arm64-cortex-a76)",
         target.c_str());
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  const std::string tool = !o.tool.empty() ? o.tool : (here / "ferry-arm64").string();
  const std::string emulator = !o.emulator.empty() ? o.emulator : (here / "ferry-qemu-aarch64").string();
  if (!fs::exists(tool))
    fail("--for %s: there is no '%s': name a ferry built for arm64 with --tool", target.c_str(), tool.c_str());
  setenv("QEMU_CPU", target.substr(kArm64.size()).c_str(), /*overwrite=*/1);
  setenv("QEMU_LD_PREFIX", o.root.c_str(), /*overwrite=*/1);
  const char* words[] = {emulator.c_str(), tool.c_str(), "pack", o.model.c_str(), "-o", output.c_str(), nullptr};
  constexpr int kNoProgram = 127;
  const pid_t child = fork();  // Android has no posix_spawn() before API 28
  if (child == 0) {
    // It prints the file, whose name in a folder is not known here.
    if (const int null = o.embed ? open("/dev/null", O_WRONLY) : -1; null >= 0) dup2(null, STDOUT_FILENO);
    execvp(words[0], const_cast<char**>(words));
    _exit(kNoProgram);
  }
  int status = 0;
  const bool exited = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
  if (child < 0 || (exited && WEXITSTATUS(status) == kNoProgram))
    fail("--for %s: %s cannot be started: %s (install qemu-user-static, or name it with --emulator)", target.c_str(),
         words[0], std::strerror(child < 0 ? errno : ENOENT));
  if (!exited || WEXITSTATUS(status) != 0 || !fs::exists(output))
    fail("--for %s: %s packed nothing", target.c_str(), tool.c_str());
}

// Writes a copy of the blob that contains these packed files instead of its own.
void embed(const std::string& path, const std::vector<std::string>& targets, const std::vector<fs::path>& files,
           const fs::path& output) {
  std::shared_ptr<Model> model;
  check(Model::open(path.c_str(), &model));
  fbs::GraphT graph;
  model->root().UnPackTo(&graph);
  uint32_t weights = static_cast<uint32_t>(graph.buffers.size());
  for (const auto& packed : graph.packed) weights = std::min(weights, packed->buffer);
  graph.packed.clear();
  graph.buffers.resize(weights);
  std::vector<std::byte> data;
  const auto append = [&](std::span<const std::byte> bytes, uint64_t offset) {
    data.resize(static_cast<size_t>(offset));
    data.insert(data.end(), bytes.begin(), bytes.end());
  };
  const auto end = [&] { return padded_size(data.size()); };
  for (uint32_t i = 1; i < weights; ++i) append(model->segment(i), graph.buffers[i]->offset);
  for (size_t i = 0; i < files.size(); ++i) {
    std::unique_ptr<Mapping> packed;
    check(Mapping::map_path(files[i].c_str(), &packed));
    auto buffer = std::make_unique<fbs::BufferT>();
    buffer->offset = data.empty() ? 0 : end();
    buffer->size = packed->bytes().size();
    buffer->checksum = checksum_of(packed->bytes());
    append(packed->bytes(), buffer->offset);
    auto entry = std::make_unique<fbs::PackedT>();
    entry->target = targets[i];
    entry->buffer = static_cast<uint32_t>(graph.buffers.size());
    graph.buffers.push_back(std::move(buffer));
    graph.packed.push_back(std::move(entry));
  }
  data.resize(end());
  write_file(output, assemble(graph, data));
}

// Temporary files, removed by the destructor.
struct Removed {
  Removed() = default;
  Removed(const Removed&) = delete;
  Removed& operator=(const Removed&) = delete;
  ~Removed() {
    std::error_code ignored;
    for (const fs::path& file : files) fs::remove(file, ignored);
  }

  void add(const fs::path& file) {
    files.push_back(file);
    remembered.emplace_back(std::make_unique<TemporaryName>())->remember(file);
  }

  std::vector<fs::path> files;
  std::vector<std::unique_ptr<TemporaryName>> remembered;  // for signals
};

// Where temporary files of an output are: beside it, unless it is a device.
std::string beside(const std::string& output) {
  std::error_code none;
  const fs::file_type type = fs::status(output, none).type();
  const bool plain = type == fs::file_type::not_found || type == fs::file_type::regular;
  return plain ? output : (fs::temp_directory_path() / "ferry").string();
}

void print_size(const fs::path& file) {
  std::error_code none;  // a device has no size
  const uint64_t bytes = fs::file_size(file, none);
  print("%s  %s\n", file.c_str(), none ? "" : bytes_text(bytes).c_str());
}

int pack(const PackOptions& o) {
  if (o.embed && o.output.empty()) fail("--embed writes another blob: name it with -o");
  if (!o.embed && o.targets.size() > 1 && !o.output.empty() && !fs::is_directory(o.output))
    fail("-o %s: %zu targets need a folder, or --embed", o.output.c_str(), o.targets.size());
  const fs::path model(o.model);
  std::vector<fs::path> files;
  Removed parts;
  const fs::path folder = o.embed || o.output.empty() ? fs::absolute(model).parent_path() : fs::path(o.output);
  for (const std::string& target : o.targets) {
    const fs::path own = folder / (model.stem().string() + "." + target + ".packed");
    const bool here = target == kThisCpu || target == kGpu || target == kGpuFloat16;
    if (o.embed)
      parts.add(files.emplace_back(beside(o.output) + "." + target + "." + random_letters() + ".part"));
    else
      files.push_back(o.targets.size() == 1 && !o.output.empty() ? fs::path(o.output) : own);
    if (target == kThisCpu)
      files.back() = pack_here(o.model, files.back());
    else if (here)
      files.back() = pack_on_gpu(o, target == kGpuFloat16, files.back());
    else
      pack_there(o, target, files.back());
    if (!o.embed && here) print_size(files.back());
  }
  if (!o.embed) return kDone;
  embed(o.model, o.targets, files, o.output);
  print_size(o.output);
  return kDone;
}

}  // namespace

void add_pack(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "pack", "Pack a blob's weights for the kernels of a CPU or GPU");
  app.footer(
      "\nWith packed weights an app starts at once, and its processes share the memory. The file is in the folder "
      "that\n"
      "ferry_session_options.cache_dir names (the first start writes it if it is missing), or in the blob: --embed. "
      "It\n"
      "fits one choice of kernels, on a GPU also one driver. If it does not fit, weights are packed as without it.\n"
      "\nExamples:\n"
      "  ferry pack m.ferry                                     m.this.packed, for the CPU of this machine\n"
      "  ferry pack m.ferry -o cache/                           under the name that cache_dir looks for\n"
      "  ferry pack m.ferry --embed -o out.ferry                a blob that contains them\n"
      "  ferry pack m.ferry --for gpu-f16                       m.gpu-f16.packed, for this GPU in float16\n"
      "  ferry pack m.ferry --for this,arm64-cortex-a76 --tool build/arm64/bin/ferry --embed -o out.ferry");
  auto o = std::make_shared<PackOptions>();
  app.add_option("MODEL", o->model, "The blob").required().type_name("");
  app.add_option("-o,--output", o->output, "File, or folder; with --embed: the blob to write").type_name("PATH");
  app.add_flag("--embed", o->embed, "Write a copy of the blob with the packed weights inside");
  app.add_option("--for", o->targets, "this (default): CPU; gpu, gpu-f16; arm64-CPU: emulated, by qemu's name")
      .delimiter(',')
      .type_name("TARGETS");
  app.add_option("--device", o->device, "A GPU, by index or part of its name (`ferry devices`); without it: the best")
      .type_name("NAME");
  app.add_option("--replays", o->replays, "Runs of each GPU kernel, compared with each other and the CPU; 0: none")
      .range(0, 1000000)
      .type_name("N")
      .capture_default_str();
  app.add_option("--tool", o->tool, "The ferry to run emulated (default: ferry-arm64 beside this one)")
      .type_name("FILE");
  app.add_option("--emulator", o->emulator, "The emulator (default: ferry-qemu-aarch64 beside this one)")
      .type_name("PROGRAM");
  app.add_option("--root", o->root, "The folder of its libraries (default: /usr/aarch64-linux-gnu)")
      .type_name("FOLDER");
  app.callback([o, exit_code] { *exit_code = pack(*o); });
}

}  // namespace ferry::cli

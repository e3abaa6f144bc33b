// ferry bench
#include "cli/bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/bench_suite.h"
#include "cli/bench_text.h"
#include "cli/bench_types.h"
#include "cli/clock.h"
#include "cli/command.h"
#include "cli/gpu_plan.h"
#include "cli/kernels.h"
#include "cli/peak_memory.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/sdk.h"
#include "cli/text.h"
#include "sdk/api/handles.h"

namespace ferry::cli {
namespace {

struct Figures {
  double load_ms = 0, session_ms = 0, first_ms = 0;
  std::vector<double> runs_ms;  // in run order
  double min_ms = 0, median_ms = 0, max_ms = 0;
  double cpu_ms = 0;  // processor time of a run and the pause after it, summed over threads
  uint64_t peak_bytes = 0, arena_bytes = 0, packed_bytes = 0;
  size_t threads = 0;
  std::string cpus;            // that the threads are bound to
  std::string device, driver;  // "" on the CPU
  std::string software_gpu;    // a note; "" on the CPU and on hardware
  Kernels kernels;             // "" on the GPU
};

// An operator, or several that the GPU runs as one step.
struct OpTime {
  std::string module, op, backend, shape;
  double microseconds = 0;
  uint64_t bytes = 0, operations = 0;  // on the GPU
};

// Fills the inputs with the same pseudorandom values in [-1, 1) every time. Zeros would be unrealistically fast,
// denormals slow.
void fill_inputs(const ModelHandle& model, const SessionHandle& session) {
  for (size_t i = 0; i < ferry_model_input_count(model.get()); ++i) {
    ferry_tensor t;
    check(ferry_session_input(session.get(), i, &t));
    if (t.dtype != FERRY_FLOAT32) continue;
    uint32_t state = 1;
    auto* values = static_cast<float*>(t.data);
    for (size_t k = 0; k < t.bytes / sizeof(float); ++k) {
      state = state * 1664525u + 1013904223u;
      values[k] = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    }
  }
}

// Groups operators into the GPU's steps. The time of a step is that of its last operator.
std::vector<OpTime> as_steps(const std::vector<OpTime>& ops, const GpuPlan& plan) {
  std::vector<OpTime> out;
  for (const GpuStep& step : plan.steps) {
    out.push_back({step.module, step.op, step.on_gpu ? "gpu" : "cpu", to_string(step.output),
                   ops[step.last].microseconds, step.bytes, step.operations});
  }
  return out;
}

// Every operator's minimum time over some runs, slowest first.
std::vector<OpTime> profile(const BenchOptions& o, const ModelHandle& model, ferry_session_options options,
                            const GpuPlan& plan) {
  options.profile = true;
  const SessionHandle session = create_session(model, options);
  fill_inputs(model, session);
  std::vector<OpTime> ops;
  for (int run = 0; run < std::clamp(o.runs, 1, 10); ++run) {
    check(ferry_session_run(session.get()));
    for (size_t i = 0; i < ferry_session_profile_count(session.get()); ++i) {
      ferry_profile_entry e;
      check(ferry_session_profile(session.get(), i, &e));
      if (run == 0) {
        ops.push_back(
            {e.name, e.op, e.backend, shape_text(std::vector<int64_t>(e.shape, e.shape + e.rank)), e.microseconds});
      } else {
        ops[i].microseconds = std::min(ops[i].microseconds, e.microseconds);
      }
    }
  }
  check_backend(session);
  if (o.backend.gpu()) ops = as_steps(ops, plan);
  std::stable_sort(ops.begin(), ops.end(),
                   [](const OpTime& a, const OpTime& b) { return a.microseconds > b.microseconds; });
  return ops;
}

void print_figures(const BenchOptions& o, const Figures& f, const std::vector<OpTime>& ops, const GpuPlan& plan) {
  if (!f.device.empty()) print("%-18s %s (%s)\n", "device", f.device.c_str(), f.driver.c_str());
  if (!f.software_gpu.empty()) print("%-18s %s\n", "note", f.software_gpu.c_str());
  print("%-18s %9zu%s%s\n", "threads", f.threads, f.cpus.empty() ? "" : " on CPU ", f.cpus.c_str());
  print("%-18s %9.2f ms\n", "open and verify", f.load_ms);
  print("%-18s %9.2f ms\n", "make a session", f.session_ms);
  print("%-18s %9.2f ms\n", "first run", f.first_ms);
  print("%-18s %9.2f ms (median %.2f, slowest %.2f, %d runs)\n", "fastest run", f.min_ms, f.median_ms, f.max_ms,
        o.runs);
  print("%-18s %9.2f ms a run\n", "processor time", f.cpu_ms);
  print("%-18s %9s\n", "peak resident", bytes_text(f.peak_bytes).c_str());
  print("%-18s %9s\n", "arena", bytes_text(f.arena_bytes).c_str());
  print("%-18s %9s\n", "packed weights", bytes_text(f.packed_bytes).c_str());
  if (o.backend.gpu()) print_traffic(plan);
  if (!o.ops) return;
  double total = 0;
  for (const OpTime& op : ops) total += op.microseconds;
  const int width = o.backend.gpu() ? 24 : 13;
  print("\n%10s %6s  ", "us", "%");
  if (o.backend.gpu()) print("%10s %10s  %-7s ", "moved", "operations", "backend");
  print("%-*s %-20s %s\n", width, "op", "output", "module");
  for (const OpTime& op : ops) {
    if (op.microseconds > 0) {
      print("%10.1f %6.1f  ", op.microseconds, 100 * op.microseconds / total);
    } else {
      print("%10s %6s  ", "-", "-");
    }
    if (o.backend.gpu()) {
      print("%10s %10s  %-7s ", bytes_text(op.bytes).c_str(), scaled(static_cast<double>(op.operations)).c_str(),
            op.backend.c_str());
    }
    print("%-*s %-20s %s\n", width, op.op.c_str(), op.shape.c_str(), op.module.c_str());
  }
  print("%10.1f        all operators; -: fused with a later one, whose time includes it\n", total);
}

void print_json(const BenchOptions& o, const Figures& f, const std::vector<OpTime>& ops, const GpuPlan& plan) {
  nlohmann::json j = {{"model", o.model},
                      {"backend", o.backend.backend},
                      {"precision", o.backend.precision},
                      {"device", f.device},
                      {"driver", f.driver},
                      {"kernels", f.kernels.features},
                      {"fingerprint", f.kernels.fingerprint},
                      {"threads", f.threads},
                      {"cpus", f.cpus},
                      {"runs", o.runs},
                      {"load_ms", f.load_ms},
                      {"session_ms", f.session_ms},
                      {"first_run_ms", f.first_ms},
                      {"min_ms", f.min_ms},
                      {"median_ms", f.median_ms},
                      {"max_ms", f.max_ms},
                      {"cpu_ms", f.cpu_ms},
                      {"runs_ms", f.runs_ms},
                      {"peak_rss_bytes", f.peak_bytes},
                      {"arena_bytes", f.arena_bytes},
                      {"packed_bytes", f.packed_bytes}};
  if (o.backend.gpu()) {
    j["bytes_moved"] = plan.bytes;
    j["minimum_bytes"] = plan.minimum_bytes;
    j["operations"] = plan.operations;
  }
  for (const OpTime& op : ops) {
    nlohmann::json entry = {{"module", op.module},
                            {"op", op.op},
                            {"backend", op.backend},
                            {"output", op.shape},
                            {"microseconds", op.microseconds}};
    if (o.backend.gpu()) {
      entry["bytes_moved"] = op.bytes;
      entry["operations"] = op.operations;
    }
    j["ops"].push_back(std::move(entry));
  }
  print_document(j);
}

void time_runs(const BenchOptions& o, const SessionHandle& session, Figures* f) {
  const Clock::duration interval = o.fps > 0 ? Clock::duration(std::chrono::seconds(1)) / o.fps : Clock::duration(0);
  ProgressLine line("run");
  const std::clock_t cpu = std::clock();
  for (int i = 0; i < o.runs; ++i) {
    const Clock::time_point start = Clock::now();
    check(ferry_session_run(session.get()));
    f->runs_ms.push_back(1e3 * seconds_since(start));
    line.update(i + 1, o.runs);
    std::this_thread::sleep_until(start + interval);
  }
  f->cpu_ms = static_cast<double>(std::clock() - cpu) * 1e3 / CLOCKS_PER_SEC / o.runs;
}

}  // namespace

int bench(BenchOptions o) {
  if (o.fps < 0 || o.fps > 1000) fail("--fps %d: expected 0 (no pauses) to 1000", o.fps);
  ferry_session_options options = session_options(o.threads);
  options.gpu_required = true;
  set_backend(o.backend, &options);

  Figures f;
  Clock::time_point start = Clock::now();
  const ModelHandle model = open_model(o.model, o.graph);
  f.load_ms = 1e3 * seconds_since(start);
  if (is_text(model)) {
    if (o.ops || o.fps > 0) fail("--%s: not of a language model, whose runs differ", o.ops ? "ops" : "fps");
    return bench_text({o.model, o.prompt_tokens, o.new_tokens, o.runs > 0 ? o.runs : 3, o.json}, model, f.load_ms,
                      options);
  }
  if (o.prompt_tokens > 0 || o.new_tokens > 0) fail("--prompt-tokens and --new-tokens are for language models");
  if (o.runs == 0) o.runs = 20;
  start = Clock::now();
  const SessionHandle session = create_session(model, options);
  f.session_ms = 1e3 * seconds_since(start);
  fill_inputs(model, session);
  start = Clock::now();
  check(ferry_session_run(session.get()));
  f.first_ms = 1e3 * seconds_since(start);

  time_runs(o, session, &f);
  check_backend(session);
  std::vector<double> times = f.runs_ms;
  std::sort(times.begin(), times.end());
  f.min_ms = times.front();
  f.max_ms = times.back();
  f.median_ms = (times[times.size() / 2] + times[(times.size() - 1) / 2]) / 2;
  f.peak_bytes = peak_resident_bytes();
  f.arena_bytes = ferry_session_arena_bytes(session.get());
  f.packed_bytes = ferry_session_packed_bytes(session.get());
  const ferry_report report = report_of(session.get());
  f.threads = report.threads;
  f.cpus = report.cpus;
  f.device = report.device;
  f.driver = report.driver;
  f.software_gpu = software_gpu(session.get());
  if (!o.backend.gpu()) f.kernels = cpu_kernels();
  const GpuPlan plan = o.backend.gpu() ? gpu_plan(session->session->model(), options) : GpuPlan();
  const std::vector<OpTime> ops = o.ops ? profile(o, model, options, plan) : std::vector<OpTime>();
  o.json ? print_json(o, f, ops, plan) : print_figures(o, f, ops, plan);
  return kDone;
}

namespace {

struct CommandOptions {
  std::vector<std::string> models;
  BenchOptions each;
  bool suite = false, types = false;
  std::string output;
};

int run(CommandOptions o) {
  if (o.suite && o.types) fail("--suite times whole blobs, --types the operators of one: give one of them");
  if (o.suite) return bench_suite({o.models, o.each, o.output});
  if (!o.types && !o.output.empty())
    fail("-o %s: a page is written of a suite: add --suite; times of operators: add --types", o.output.c_str());
  if (o.models.size() != 1) fail("one blob is timed at a time, %zu were given: --suite times several", o.models.size());
  o.each.model = o.models.front();
  if (!o.types) return bench(o.each);
  if (o.output.empty()) fail("--types: expected -o FILE for the times");
  return bench_types({o.each.model, o.output, o.each.threads, o.each.backend, o.each.runs});
}

}  // namespace

void add_bench(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "bench", "Time a blob on this machine");
  app.footer(
      "\nTimes opening, creating a session, the first run and --runs more, on random inputs at the blob's input size.\n"
      "Compare the fastest runs: on a shared machine the others also measure other processes. --ops times every "
      "operator\n"
      "in a session of its own. --fps 30 starts 30 runs per second, as a camera does: the cost of sleeping between "
      "runs\n"
      "shows in the slowest run and in the processor time, which is the sum over all threads.\n"
      "\nA language model is timed on a prompt, then on single tokens; the fastest of three --runs counts.\n"
      "\n--suite times several blobs, or all blobs of a folder, each in its own process, with one thread and with\n"
      "--threads, and writes a page with the machine, the date and ferry's commit.\n"
      "\n--types times every operator in float and on Int8, for `ferry quantise --device`.\n"
      "\nExamples:\n"
      "  ferry bench qwen.ferry --prompt-tokens 512 --new-tokens 128\n"
      "  ferry bench m.ferry --threads 1\n"
      "  ferry bench m.ferry --ops | head -20        the slowest operators\n"
      "  ferry bench m.ferry --runs 200 --json\n"
      "  ferry bench m.ferry --backend gpu --precision f16 --tune\n"
      "  ferry bench --suite blobs/ -o page.html     all blobs of a folder, as a page\n"
      "  ferry bench --types m.ferry -o times.json --threads 1");
  const auto all = std::make_shared<CommandOptions>();
  BenchOptions* o = &all->each;
  app.add_option("MODEL", all->models, "The blob; with --suite blobs, and folders of them").required().type_name("");
  app.add_flag("--suite", all->suite, "Time several blobs in one table");
  app.add_flag("--types", all->types, "Time every operator of a float blob in float and on Int8");
  app.add_option("-o,--output", all->output, "With --suite: the page to write (HTML); with --types: the file of times")
      .type_name("FILE");
  add_kv_option(app, &o->backend);
  add_backend_options(app, &o->backend, Tuning::Yes);
  add_thread_options(app, &o->threads);
  app.add_option("--runs", o->runs, "Timed runs after the first. Without it: 20, or 3 of a language model")
      .range(1, INT32_MAX)
      .type_name("N");
  app.add_option("--fps", o->fps, "Runs started per second; 0: one after another").type_name("N").capture_default_str();
  app.add_option("--graph", o->graph, "A graph of the blob, by name; without it: the first").type_name("NAME");
  app.add_option("--prompt-tokens", o->prompt_tokens,
                 "Prompt of a language model. Without it: 512, or half of what it holds")
      .range(1, INT32_MAX)
      .type_name("N");
  app.add_option("--new-tokens", o->new_tokens, "Tokens to generate after the prompt. Without it: 128")
      .range(1, INT32_MAX)
      .type_name("N");
  app.add_flag("--json", o->json, "JSON instead of a table");
  app.add_flag("--ops", o->ops, "Time every operator, slowest first");
  app.callback([all, exit_code] { *exit_code = run(*all); });
}

}  // namespace ferry::cli

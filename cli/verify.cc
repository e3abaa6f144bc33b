// ferry verify
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/sdk.h"

namespace ferry::cli {
namespace {

struct VerifyOptions {
  std::string model;
  BackendOptions backend;
  ThreadOptions threads;
  bool json = false, weights = false;
};

// Every byte of them, against the checksum that the converter wrote.
int verify_weights(const VerifyOptions& o) {
  const ModelHandle model = open_model(o.model);
  const ferry_status status = ferry_model_check(model.get());
  if (status != FERRY_OK && status != FERRY_CORRUPT) check(status);
  const bool passed = status == FERRY_OK;
  const std::string message = passed ? "" : ferry_last_error();
  if (o.json) {
    const nlohmann::json report = {{"model", ferry_model_name(model.get())}, {"passed", passed}, {"message", message}};
    print_document(report);
  } else {
    print("%s: %s\n", o.model.c_str(), passed ? "the weights are those that were written" : message.c_str());
  }
  return passed ? kDone : kCheckFailed;
}

int verify(const VerifyOptions& o) {
  ferry_session_options options = session_options(o.threads);
  options.gpu_required = true;
  set_backend(o.backend, &options);
  const ModelHandle model = open_model(o.model);
  ferry_verification v{};
  v.struct_size = sizeof v;
  const auto start = std::chrono::steady_clock::now();
  check(ferry_model_verify(model.get(), &options, &v));
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const std::string graph = v.graph;
  if (o.json) {
    const nlohmann::json report = {{"model", ferry_model_name(model.get())},
                                   {"backend", o.backend.text()},
                                   {"passed", v.passed},
                                   {"stages", v.stage_count},
                                   {"graph", graph},
                                   {"stage", v.stage},
                                   {"error", v.error},
                                   {"bound", v.bound},
                                   {"error_at_conversion", v.error_at_conversion},
                                   {"fixture", v.fixture},
                                   {"library", v.library},
                                   {"milliseconds", ms}};
    print_document(report);
    return v.passed ? kDone : kCheckFailed;
  }
  const bool several = ferry_model_graph_count(model.get()) > 1;
  const std::string stage = (several ? graph + ": " : "") + v.stage;
  if (v.passed) {
    print(
        "verified on %s in %.0f ms: %zu %s with %s (%s); nearest to its bound of %.1e is %s with %.1e "
        "(%.1e at conversion)\n",
        o.backend.text().c_str(), ms, v.stage_count, v.stage_count == 1 ? "stage agrees" : "stages agree", v.fixture,
        v.library, v.bound, stage.c_str(), v.error, v.error_at_conversion);
  } else {
    print(
        "OUT OF BOUNDS on %s: the first of %zu stages that departs from %s (%s) is %s: error %.1e, bound %.1e "
        "(%.1e at conversion)\n",
        o.backend.text().c_str(), v.stage_count, v.fixture, v.library, stage.c_str(), v.error, v.bound,
        v.error_at_conversion);
  }
  return v.passed ? kDone : kCheckFailed;
}

}  // namespace

void add_verify(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "verify", "Check a blob's certificates on this machine");
  app.footer(
      "\nA blob that was converted with --certify contains an input and samples of the framework's result of every "
      "stage.\n"
      "This command runs the input here and compares the results. If the fixture covers several graphs, each runs on "
      "the\n"
      "results of the one before. Only the blob is needed.\n"
      "\n--weights compares the SHA-256 of all weights with the one that `ferry convert` wrote. Opening a blob "
      "verifies\n"
      "its structure only, and reads no weights.\n"
      "\nExit code: 0 every stage within its bound, 1 one is out of bounds or the weights are damaged, 2 bad usage or\n"
      "input, or no certificate.\n"
      "\nExamples:\n"
      "  ferry verify m.ferry\n"
      "  ferry verify m.ferry --backend gpu --device nvidia\n"
      "  ferry verify m.ferry --weights");
  auto o = std::make_shared<VerifyOptions>();
  app.add_option("MODEL", o->model, "The blob").required().type_name("");
  add_backend_options(app, &o->backend, Tuning::No);
  add_thread_options(app, &o->threads);
  app.add_flag("--json", o->json, "Print JSON");
  app.add_flag("--weights", o->weights, "Compare the weights with their checksum instead, to detect a damaged file");
  app.callback([o, exit_code] { *exit_code = o->weights ? verify_weights(*o) : verify(*o); });
}

}  // namespace ferry::cli

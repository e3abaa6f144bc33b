// ferry verify
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/sdk.h"

namespace ferry::cli {
namespace {

struct Options {
  std::string model;
  BackendOptions backend;
  int threads = 0;
  bool json = false;
};

// Of one graph of the blob.
struct Verdict {
  std::string graph;
  ferry_verification v{};
  double ms = 0;
};

nlohmann::json json_of(const Options& o, const Verdict& verdict) {
  const ferry_verification& v = verdict.v;
  return {{"model", verdict.graph},    {"backend", o.backend.text()},
          {"passed", v.passed},        {"stages", v.stage_count},
          {"stage", v.stage},          {"error", v.error},
          {"bound", v.bound},          {"error_at_conversion", v.error_at_conversion},
          {"fixture", v.fixture},      {"library", v.library},
          {"milliseconds", verdict.ms}};
}

void print(const Options& o, const Verdict& verdict, bool several) {
  const ferry_verification& v = verdict.v;
  const std::string graph = several ? verdict.graph + ": " : "";
  if (v.passed) {
    std::printf(
        "%sverified on %s in %.0f ms: %zu stages agree with %s (%s); nearest to its bound of %.1e is %s with %.1e "
        "(%.1e at conversion)\n",
        graph.c_str(), o.backend.text().c_str(), verdict.ms, v.stage_count, v.fixture, v.library, v.bound, v.stage,
        v.error, v.error_at_conversion);
  } else {
    std::printf(
        "%sOUT OF BOUNDS on %s: the first of %zu stages that departs from %s (%s) is %s: error %.1e, bound %.1e "
        "(%.1e at conversion)\n",
        graph.c_str(), o.backend.text().c_str(), v.stage_count, v.fixture, v.library, v.stage, v.error, v.bound,
        v.error_at_conversion);
  }
}

int verify(const Options& o) {
  ferry_session_options options = session_options(o.threads);
  options.gpu_required = true;
  set_backend(o.backend, &options);
  const ModelHandle model = open_model(o.model);
  std::vector<ModelHandle> graphs;  // which own the verdicts' words
  std::vector<Verdict> verdicts;
  const size_t count = ferry_model_graph_count(model.get());
  for (size_t i = 0; i < count; ++i) {
    graphs.push_back(open_model(o.model, count > 1 ? ferry_model_graph_name(model.get(), i) : ""));
    Verdict verdict;
    verdict.graph = ferry_model_name(graphs.back().get());
    verdict.v.struct_size = sizeof(verdict.v);
    const auto start = std::chrono::steady_clock::now();
    const ferry_status status = ferry_model_verify(graphs.back().get(), &options, &verdict.v);
    verdict.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    // Not every graph need have a certificate, but one of them.
    const bool last_hope = i + 1 == count && verdicts.empty();
    if (status == FERRY_NOT_FOUND && !last_hope) continue;
    check(status);
    verdicts.push_back(verdict);
  }
  bool passed = true;
  for (const Verdict& verdict : verdicts) passed = passed && verdict.v.passed;
  if (o.json) {
    nlohmann::json report = json_of(o, verdicts.front());
    if (count > 1) {
      report = nlohmann::json::array();
      for (const Verdict& verdict : verdicts) report.push_back(json_of(o, verdict));
    }
    std::printf("%s\n", report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    for (const Verdict& verdict : verdicts) print(o, verdict, count > 1);
  }
  return passed ? kDone : kCheckFailed;
}

}  // namespace

void add_verify(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "verify", "Measure a blob against the certificate in it");
  app.footer(
      "\nA blob that was converted with --certify holds an input and what the framework that trained the model\n"
      "computed from it, stage by stage. This runs it here and compares, each graph of the blob; nothing but the\n"
      "blob is needed.\n"
      "\nExit code: 0 every stage within its bound, 1 one is out of bounds, 2 bad usage or input, or no certificate.\n"
      "\nExamples:\n"
      "  ferry verify m.ferry\n"
      "  ferry verify m.ferry --backend gpu --device nvidia");
  auto o = std::make_shared<Options>();
  app.add_option("MODEL", o->model, "The blob").required().type_name("");
  add_backend_options(app, &o->backend, Tuning::No);
  app.add_option("--threads", o->threads, "Threads; 0 (default): one a core").type_name("N").range(0, 1024);
  app.add_flag("--json", o->json, "The verdict as JSON");
  app.callback([o, exit_code] { *exit_code = verify(*o); });
}

}  // namespace ferry::cli

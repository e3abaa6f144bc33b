#include "cli/bench_suite.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/apart.h"
#include "cli/command.h"
#include "cli/machine.h"
#include "cli/print.h"
#include "cli/summary.h"
#include "cli/text.h"
#include "converter/write_file.h"

namespace ferry::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::vector<std::string> blobs_in(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      if (!fs::exists(path)) fail("%s: there is no such file", path.c_str());
      out.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".ferry" && entry.is_regular_file())
        inside.push_back(entry.path().lexically_normal().string());
    if (inside.empty()) fail("%s: no file in this folder ends in .ferry", path.c_str());
    std::sort(inside.begin(), inside.end());
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

std::string now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts;
  char text[32] = "";
  if (gmtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

Json machine_json() {
  const Machine m = this_machine();
  return {{"cpu", m.cpu},
          {"board", m.board},
          {"architecture", m.architecture},
          {"emulated", m.emulated},
          {"cores", m.cores},
          {"cores_allowed", m.allowed},
          {"features", ""},
          {"memory_bytes", m.memory_bytes},
          {"system", m.system}};
}

// A description of the blob, without a session.
void describe(const std::string& path) {
  const Summary summary = summarize(path);
  const ModelHandle model = open_model(path);
  Json j = {{"model", ferry_model_name(model.get())},
            {"file_bytes", summary.file_bytes},
            {"parameters", summary.parameters},
            {"macs", summary.macs}};
  Json inputs = Json::array();
  for (const fbs::Port* port : *summary.model->graph().inputs())
    inputs.push_back(tensor_text(*summary.model, port->tensor()));
  j["inputs"] = inputs;
  j["weights"] = summary.stored.empty() ? "" : summary.stored.front().type;
  print_document(j, -1);
}

// The JSON that `work` prints, or {"problem": message} if it fails.
Json measured(const std::function<void()>& work) {
  const Apart done = run_apart(work);
  if (!done.problem.empty()) return {{"problem", done.problem}};
  Json j = Json::parse(done.out, nullptr, /*allow_exceptions=*/false);
  if (j.is_discarded()) return {{"problem", "it printed no figures"}};
  return j;
}

// Once with one thread and once with the requested number; on a GPU once.
std::vector<BenchOptions> ways_to_run(const BenchOptions& each) {
  std::vector<BenchOptions> out;
  BenchOptions one = each;
  one.json = true;
  if (!each.backend.gpu()) {
    one.threads.count = 1;
    out.push_back(one);
    one.threads.count = each.threads.count;
  }
  if (each.backend.gpu() || each.threads.count != 1) out.push_back(one);
  return out;
}

Json time_blob(const std::string& path, const std::vector<BenchOptions>& ways) {
  Json row = {{"blob", path}};
  const Json what = measured([&] { describe(path); });
  row.update(what);
  if (what.contains("problem")) return row;
  Json& runs = row["runs"] = Json::array();
  for (BenchOptions way : ways) {
    way.model = path;
    Json figures = measured([&] { bench(way); });
    if (figures.contains("problem")) {
      row["problem"] = figures["problem"];
      return row;
    }
    figures.erase("model");
    // The requested number may be one.
    if (runs.empty() || runs.back()["threads"] != figures["threads"]) runs.push_back(std::move(figures));
  }
  return row;
}

}  // namespace

int bench_suite(const SuiteOptions& o) {
  if (o.each.ops || o.each.fps > 0) fail("--%s: not of a suite", o.each.ops ? "ops" : "fps");
  if (!o.each.graph.empty()) fail("--graph %s: a suite times the first graph of each blob", o.each.graph.c_str());
  if (!o.page.empty() && fs::is_directory(o.page))
    fail("-o %s: this is a folder, and the page is a file", o.page.c_str());
  if (const fs::path folder = fs::path(o.page).parent_path(); !folder.empty() && !fs::is_directory(folder))
    fail("-o %s: there is no folder %s", o.page.c_str(), folder.c_str());
  (void)session_options(o.each.threads);  // checks the options before anything is timed
  const std::vector<std::string> blobs = blobs_in(o.paths);
  const std::vector<BenchOptions> ways = ways_to_run(o.each);
  Json suite = {{"format", "ferry-bench-suite/1"},
                {"date", now()},
                {"version", ferry_version()},
                {"commit", built_from()},
                {"backend", o.each.backend.text()},
                {"machine", machine_json()},
                {"blobs", Json::array()}};
  bool failed = false;
  for (size_t i = 0; i < blobs.size(); ++i) {
    if (isatty(STDERR_FILENO) != 0) print_error("%zu of %zu: %s\n", i + 1, blobs.size(), blobs[i].c_str());
    suite["blobs"].push_back(time_blob(blobs[i], ways));
    const Json& row = suite["blobs"].back();
    failed |= row.contains("problem");
    if (row.contains("runs") && !row["runs"].empty() && suite["machine"]["features"] == "")
      suite["machine"]["features"] = row["runs"][0].value("kernels", "");
  }
  if (!o.page.empty()) {
    const std::string page = suite_page(suite);
    write_text_file(o.page, page);
  }
  if (o.each.json)
    print_document(suite);
  else
    print_text(suite_table(suite));
  return failed ? kCheckFailed : kDone;
}

}  // namespace ferry::cli

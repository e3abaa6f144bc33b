#include "cli/parity/parity_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "cli/parity/fixture.h"
#include "cli/parity/judge.h"
#include "cli/parity/network.h"
#include "cli/parity/pairs.h"
#include "cli/parity/report.h"
#include "cli/print.h"
#include "cli/sdk.h"
#include "converter/error.h"
#include "converter/write_file.h"

namespace ferry {

namespace {

struct Options {
  std::string blob, fixture;
  cli::BackendOptions backend;
  std::string json, html, svg;
  cli::ThreadOptions threads;
  bool verbose = false;
};

parity::Report compare_one(const Options& options, const parity::Pair& pair, ferry_session_options session) {
  parity::Report report;
  report.blob = pair.blob.filename().string();
  report.backend = options.backend.text();
  report.threads = options.threads.count;
  const parity::Fixture fixture = parity::read_fixture(pair.fixture);
  const parity::Network network(pair.blob, fixture, session);
  report.comparison = parity::judge(pair.blob, fixture, network.tensors(), session);
  report.model = network.model_name();
  report.provenance = network.provenance();
  report.fixture = fixture.name;
  report.architecture = fixture.architecture;
  report.library = fixture.library;
  return report;
}

// A pair that cannot be compared becomes a line of the table; the others are compared nonetheless.
parity::Report line_of_table(const Options& options, const parity::Pair& pair, const ferry_session_options& session) {
  parity::Report report;
  try {
    if (!pair.fixture.empty())
      report = compare_one(options, pair, session);
    else
      report.problem = "no folder of this name in " + options.fixture;
  } catch (const std::exception& e) {
    report.problem = e.what();
  }
  report.blob = pair.blob.filename().string();
  report.fixture = pair.fixture.filename().string();
  report.backend = options.backend.text();
  report.threads = options.threads.count;
  return report;
}

int run(const Options& options) {
  ferry_session_options session = cli::session_options(options.threads);
  session.gpu_required = true;
  cli::set_backend(options.backend, &session);
  const parity::Pairs found = parity::find_pairs(options.blob, options.fixture);
  const bool color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  const parity::TextStyle style{.color = color, .verbose = options.verbose};

  std::vector<parity::Report> reports;
  std::string text, json;
  if (found.single) {
    reports.push_back(compare_one(options, found.pairs.front(), session));
    text = parity::text_report(reports.front(), style);
    json = parity::json_report(reports.front());
  } else {
    if (!options.html.empty() || !options.svg.empty()) fail("--html and --svg need one blob and one fixture");
    for (const parity::Pair& pair : found.pairs) reports.push_back(line_of_table(options, pair, session));
    text = parity::table_report(reports, found.fixtures_without_a_blob, style);
    json = parity::json_report(reports);
  }
  if (!options.json.empty()) write_text_file(options.json, json);
  if (!options.html.empty()) write_text_file(options.html, parity::html_report(reports.front()));
  if (!options.svg.empty()) write_text_file(options.svg, parity::plot_svg(reports.front()));
  cli::print_styled(text);
  return std::all_of(reports.begin(), reports.end(), parity::passed) ? 0 : 1;
}

}  // namespace

void add_parity(CLI::App& app, int* exit_code) {
  const auto options = std::make_shared<Options>();
  const cli::Command command(app, "parity", "Compare a blob's results with the reference framework's");
  command.footer(
      "\nRuns the blob on the fixture's inputs and compares every tensor that both name, in the framework's layout.\n"
      "Bounds: within 1e-4 of the reference's absolute maximum, and logits within 1e-3 absolute as well. `floor` is "
      "the\n"
      "reference's own float32 error. Convert with --keep-taps to compare tensors inside blocks too.\n\n"
      "With --weights f16, i8 or i4, or --precision f16, values are rounded. The mean squared error against the\n"
      "reference may then be 4 times the measured cost of rounding, and `sq err` excludes that cost: with\n"
      "--precision f16 it is a stage's error against float32 on the same inputs (bound 1e-5), otherwise an\n"
      "operator's error against the oracle on the same inputs (bound 1e-9).\n\n"
      "Either argument may be a folder; each comparison is then one line. One blob is paired with every fixture, one\n"
      "fixture with every blob; with two folders, NAME.ferry and NAME.ANYTHING.ferry are paired with folder NAME.\n\n"
      "Exit code: 0 all in bounds, 1 out of bounds, or an output or a fixture is missing, 2 bad usage or input.\n"
      "\nExamples:\n"
      "  ferry parity m.ferry fixtures/timm_resnet50_a1_in1k\n"
      "  ferry parity m.ferry fixtures/timm_resnet50_a1_in1k --html parity.html --json parity.json\n"
      "  ferry parity blobs/ fixtures/");
  command.add_option("BLOB", options->blob, "The blob, or a folder of *.ferry").required().type_name("");
  command
      .add_option("FIXTURE", options->fixture,
                  "Folder with manifest.json and fixture.safetensors, or a folder of these")
      .required()
      .type_name("");
  cli::add_backend_options(command, &options->backend, cli::Tuning::No);
  cli::add_thread_options(command, &options->threads);
  command.add_option("--json", options->json, "Write the comparison as JSON to FILE").type_name("FILE");
  command.add_option("--html", options->html, "Write a page with a plot and the table to FILE").type_name("FILE");
  command.add_option("--svg", options->svg, "Write only the plot to FILE").type_name("FILE");
  command.add_flag("--verbose", options->verbose, "List the taps that are not in the blob");
  command.callback([options, exit_code] {
    try {
      *exit_code = run(*options);
    } catch (const std::exception& e) {
      cli::print_error("ferry parity: %s\n", e.what());
      *exit_code = 2;
    }
  });
}

}  // namespace ferry

// The results of a suite as an HTML page, and as a table for terminals.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/bench_suite.h"
#include "cli/html/markup.h"
#include "cli/html/page.h"
#include "cli/text.h"
#include "sdk/printable.h"

namespace ferry::cli {
namespace {

using Json = nlohmann::ordered_json;
using parity::breakable;
using parity::card;
using parity::escaped;
using parity::format;

std::string string_of(const Json& object, const char* key) { return printable(object.value(key, std::string())); }
double number_of(const Json& object, const char* key) { return object.value(key, 0.0); }
uint64_t count_of(const Json& object, const char* key) { return object.value(key, uint64_t{0}); }

std::string milliseconds(double ms) { return format(ms < 10 ? "%.2f" : ms < 100 ? "%.1f" : "%.0f", ms); }

std::string threads_text(const Json& run) {
  if (const std::string device = string_of(run, "device"); !device.empty()) return device;
  const uint64_t count = count_of(run, "threads");
  return std::to_string(count) + (count == 1 ? " thread" : " threads");
}

bool is_language(const Json& run) { return run.contains("tokens_per_second"); }

// "2 cores, 1 of them allowed"
std::string cores_text(const Json& machine) {
  const uint64_t cores = count_of(machine, "cores"), allowed = count_of(machine, "cores_allowed");
  return std::to_string(cores) + (cores == 1 ? " core" : " cores") +
         (allowed < cores ? ", " + std::to_string(allowed) + " of them allowed" : "");
}

// Table rows of the timed blobs of one kind: one row per configuration.
struct Kind {
  bool language;
  const char* title;
  const char* head;
};

std::string row_of(const Json& blob, const Json& run, bool first, size_t lines, double longest, bool language) {
  std::string out = "<tr>";
  const auto figure = [&](const std::string& text) { out += "<td class=\"n\">" + text + "</td>"; };
  if (first) {
    const std::string span = " rowspan=\"" + std::to_string(lines) + "\"";
    std::string inputs;
    for (const Json& input : blob["inputs"])
      inputs += (inputs.empty() ? "" : ", ") + printable(input.get<std::string>());
    out += "<td class=\"name\"" + span + ">" + breakable(string_of(blob, "model")) + "<br><span class=\"mute\">" +
           escaped(string_of(blob, "blob")) + "</span></td><td class=\"shape\"" + span + ">" + escaped(inputs) +
           "<br>" + escaped(string_of(blob, "weights")) + ", " + bytes_text(count_of(blob, "file_bytes")) + "</td>";
  }
  out += "<td class=\"shape\">" + escaped(threads_text(run)) + "</td>";
  if (language) {
    figure(format("%.1f", number_of(run, "prompt_tokens_per_second")));
    figure(format("%.1f", number_of(run, "tokens_per_second")));
    figure(milliseconds(number_of(run, "first_token_ms")));
  } else {
    figure("<b>" + milliseconds(number_of(run, "median_ms")) + "</b>");
    figure(milliseconds(number_of(run, "min_ms")));
    out += format("<td><div class=\"meter\" style=\"--v:%.1f%%\"><i></i></div></td>",
                  longest > 0 ? 100 * number_of(run, "median_ms") / longest : 0.0);
    figure(milliseconds(number_of(run, "first_run_ms")));
  }
  figure(milliseconds(number_of(run, "load_ms") + number_of(run, "session_ms")));
  figure(bytes_text(count_of(run, "peak_rss_bytes")));
  return out + "</tr>\n";
}

std::string table(const Json& suite, const Kind& kind) {
  std::string rows;
  double longest = 0;
  const auto timed = [&](const Json& blob) {
    return blob.contains("runs") && !blob.contains("problem") && is_language(blob["runs"][0]) == kind.language;
  };
  for (const Json& blob : suite["blobs"])
    if (timed(blob))
      for (const Json& run : blob["runs"]) longest = std::max(longest, number_of(run, "median_ms"));
  for (const Json& blob : suite["blobs"]) {
    if (!timed(blob)) continue;
    const Json& runs = blob["runs"];
    rows += "<tbody>\n";
    for (size_t i = 0; i < runs.size(); ++i) rows += row_of(blob, runs[i], i == 0, runs.size(), longest, kind.language);
    rows += "</tbody>\n";
  }
  if (rows.empty()) return "";
  return "<div class=\"card wide\"><table><thead><tr><th>" + std::string(kind.title) +
         "</th><th>input, weights, file</th><th>on</th>" + kind.head +
         "<th class=\"n\">opening, ms</th><th class=\"n\">peak memory</th></tr></thead>\n" + rows + "</table></div>\n";
}

std::string problems(const Json& suite) {
  std::string out;
  for (const Json& blob : suite["blobs"])
    if (blob.contains("problem"))
      out += "<div class=\"card alarm\">" + escaped(string_of(blob, "blob") + ": " + string_of(blob, "problem")) +
             "</div>\n";
  return out;
}

std::string cpu_text(const Json& machine) {
  const std::string board = string_of(machine, "board");
  return string_of(machine, "cpu") + (board.empty() ? "" : ", " + board);
}

}  // namespace

std::string suite_page(const Json& suite) {
  const Json& machine = suite["machine"];
  std::string out = parity::report_head("Ferry on " + cpu_text(machine) + ", " + string_of(suite, "date"));
  out += "<header><div><h1>Ferry on " + escaped(cpu_text(machine)) + "</h1><p class=\"lead\">" +
         escaped(string_of(suite, "date")) + ", ferry " + escaped(string_of(suite, "version")) + ", commit " +
         escaped(string_of(suite, "commit")) + ", " + escaped(string_of(suite, "backend")) + "</p></div>";
  if (machine.value("emulated", false)) out += "<div class=\"pill bad\">emulated: times say nothing of a device</div>";
  out += "</header>\n<section class=\"cards\">\n";
  out += card(escaped(cores_text(machine)), escaped(string_of(machine, "architecture")));
  out += card(bytes_text(count_of(machine, "memory_bytes")), "memory");
  out += card(std::to_string(suite["blobs"].size()), "blobs");
  out += "</section>\n" + problems(suite);
  out += table(suite, {false, "network",
                       "<th class=\"n\">median, ms</th><th class=\"n\">fastest</th><th></th>"
                       "<th class=\"n\">first, ms</th>"});
  out += table(suite, {true, "language model",
                       "<th class=\"n\">prompt, tokens/s</th><th class=\"n\">then, tokens/s</th>"
                       "<th class=\"n\">first token, ms</th>"});
  const std::string features = string_of(machine, "features");
  out += "<footer>" + escaped(string_of(machine, "system")) +
         (features.empty() ? "" : ". Kernels: " + escaped(features)) +
         ". Each blob ran in a process of its own, once in every way, on made-up inputs at its own size; the bars are "
         "the medians. On a machine that others use compare the fastest runs. Written by "
         "<code>ferry bench --suite</code>.</footer>\n";
  return out + parity::kReportEnd;
}

std::string suite_table(const Json& suite) {
  const Json& machine = suite["machine"];
  std::string out = cpu_text(machine) + ", " + cores_text(machine) + "; " + string_of(suite, "date") + "; ferry " +
                    string_of(suite, "version") + ", commit " + string_of(suite, "commit") + "\n";
  size_t width = 24;
  for (const Json& blob : suite["blobs"]) width = std::max(width, string_of(blob, "blob").size());
  const auto line = [&](const std::string& blob, const std::string& on, const std::string& rest) {
    out += blob + std::string(width + 2 - std::min(width, blob.size()), ' ') + on +
           std::string(on.size() < 12 ? 12 - on.size() : 1, ' ') + rest + "\n";
  };
  for (const bool language : {false, true}) {
    bool first = true;
    for (const Json& blob : suite["blobs"]) {
      if (blob.contains("problem") || is_language(blob["runs"][0]) != language) continue;
      if (first)
        line(language ? "language model, tokens/s" : "blob", "on",
             format("%10s  %10s  %8s  %7s  %8s", language ? "prompt" : "median ms", language ? "then" : "fastest ms",
                    "first ms", "open ms", "memory"));
      first = false;
      for (const Json& run : blob["runs"]) {
        const double open = number_of(run, "load_ms") + number_of(run, "session_ms");
        line(string_of(blob, "blob"), threads_text(run),
             (language
                  ? format("%10.1f  %10.1f  %8s", number_of(run, "prompt_tokens_per_second"),
                           number_of(run, "tokens_per_second"), milliseconds(number_of(run, "first_token_ms")).c_str())
                  : format("%10s  %10s  %8s", milliseconds(number_of(run, "median_ms")).c_str(),
                           milliseconds(number_of(run, "min_ms")).c_str(),
                           milliseconds(number_of(run, "first_run_ms")).c_str())) +
                 format("  %7s  %8s", milliseconds(open).c_str(), bytes_text(count_of(run, "peak_rss_bytes")).c_str()));
      }
    }
  }
  for (const Json& blob : suite["blobs"])
    if (blob.contains("problem")) line(string_of(blob, "blob"), string_of(blob, "problem"), "");
  return out;
}

}  // namespace ferry::cli

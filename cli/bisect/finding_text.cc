// The text that `ferry bisect` prints for a finding.
#include <algorithm>

#include "cli/bisect/bisect.h"
#include "cli/html/markup.h"
#include "cli/parity/report.h"
#include "sdk/printable.h"

namespace ferry::bisect {
namespace {

constexpr const char* kFaults[] = {
    "nothing",
    "the backend: its result differs from the oracle's for the blob's own operator and the same inputs",
    "the conversion: the blob's operator differs from the checkpoint graph's for the same inputs",
    "the passes: they change the result of this or the next operators",
    "the family's graph or its configuration: blob and graph agree on every operator, but the reference differs",
    "the checkpoint: the blob was made from another file of this network, with other weights",
    "the weights: blob and checkpoint agree, but the fixture was computed with another checkpoint of this network",
};

// The first `maximum` items of a list and how many more there are.
std::string few(const std::vector<std::string>& list, size_t maximum) {
  std::string out;
  for (size_t i = 0; i < std::min(list.size(), maximum); ++i) out += (i == 0 ? "" : "; ") + list[i];
  return list.size() <= maximum ? out : out + "; and " + std::to_string(list.size() - maximum) + " more";
}

std::string unlike_text(const Finding& f) {
  std::vector<std::string> quoted;
  for (const std::string& name : f.unlike) quoted.push_back("'" + name + "'");
  const size_t all = f.unlike.size() + f.alike;
  return "tensors that differ  " + std::to_string(f.unlike.size()) + " of the " + std::to_string(all) +
         " compared: " + few(quoted, 4) + "\n";
}

// The location of the fault, as far as it is known.
std::string place_text(const Finding& f) {
  std::string out;
  if (f.fault == Fault::Graph && !f.region.empty()) {
    std::string from;
    for (const std::string& name : f.from) from += (from.empty() ? "" : ", ") + name;
    out += "between              " + (from.empty() ? "the constants" : from) + " and " + f.first + ", " +
           std::to_string(f.region.size()) + (f.region.size() == 1 ? " operator\n" : " operators\n");
  }
  if (!f.op.empty())
    out += "operator             " + f.op + " '" + f.name + "', " + f.parameters + "\n";
  else if (!f.region.empty())
    out += "candidates           " + few(f.region, 12) + "\n";
  if (f.fault == Fault::Conversion && !f.region.empty()) out += "replaces             " + few(f.region, 12) + "\n";
  return out;
}

// A copy whose names are one line each.
Finding in_lines(Finding f) {
  for (std::string* text : {&f.first, &f.graph, &f.op, &f.name, &f.parameters, &f.worst, &f.cause, &f.pattern})
    *text = printable(*text);
  for (std::vector<std::string>* names : {&f.from, &f.region, &f.unlike})
    for (std::string& name : *names) name = printable(name);
  return f;
}

}  // namespace

std::string finding_text(const Finding& given, double seconds) {
  const Finding f = in_lines(given);
  if (f.fault == Fault::None)
    return f.graph.empty() ? "every tensor is in bounds: nothing to search\n"
                           : "every tensor of each graph is in bounds: nothing to search\n";
  using parity::format;
  std::string out =
      f.first.empty() ? "every tensor is in bounds: the blob is right\n"
                      : "first out of bounds  " + f.first + ", relative error " + parity::number(f.first_error) + "\n";
  out += "at fault             " + std::string(kFaults[static_cast<size_t>(f.fault)]) + "\n";
  if (!f.graph.empty()) out += "graph                " + f.graph + "\n";
  if (!f.unlike.empty()) return out + unlike_text(f);
  out += place_text(f);
  out += "error                " + parity::number(f.error) + " of the absolute maximum" +
         (f.worst.empty() ? "" : ", worst at " + f.worst) + "\n";
  if (!f.cause.empty())
    out += "likely cause         " + f.cause + " (tried: leaves " + parity::number(f.cause_error) + ")\n";
  else
    out += "likely cause         none of the " + std::to_string(f.causes) + " known causes explains the values" +
           (f.limited ? "; more are known, and would exceed the budget of work\n" : "\n");
  if (!f.pattern.empty()) out += "pattern              " + f.pattern + "\n";
  return out + "searched             " + std::to_string(f.operators) + " operators, " + std::to_string(f.causes) +
         " causes, in " + std::to_string(f.runs) + " runs" + format(" and %.1f s\n", seconds);
}

}  // namespace ferry::bisect

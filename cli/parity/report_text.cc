#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/parity/report.h"
#include "sdk/printable.h"

namespace ferry::parity {

std::string number(double value) {
  if (value == 0) return "0";
  if (std::isnan(value)) return "nan";
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  return text;
}

std::string coordinates_text(const Dims& at) {
  std::string s;
  for (int64_t i : at) s += (s.empty() ? "" : ",") + std::to_string(i);
  return s;
}

namespace {

std::string plural(size_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

std::string bound_text(const Row& row) {
  constexpr const char* kOf[] = {" absolute", " of the maximum", " normalised mean square"};
  return number(row.bound) + kOf[static_cast<size_t>(row.measure)];
}

std::string pad(const std::string& text, size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}
std::string pad_left(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string painted(TextStyle style, const char* code, const std::string& text) {
  return style.color ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

// What is wrong with a row that is out of bounds.
std::string complaint(const Row& row) {
  if (!row.problem.empty()) {
    if (row.worst.empty()) return row.problem;
    return row.problem + " at [" + coordinates_text(row.worst) + "]";
  }
  char values[80];
  std::snprintf(values, sizeof values, "%.6g, the reference has %.6g", row.worst_ours, row.worst_reference);
  return "at [" + coordinates_text(row.worst) + "]: " + values;
}

// A copy whose names and problems are one line each.
Report in_lines(Report report) {
  for (std::string* text : {&report.blob, &report.model, &report.fixture, &report.library, &report.problem})
    *text = printable(*text);
  for (Row& row : report.comparison.rows) {
    row.name = printable(row.name);
    row.problem = printable(row.problem);
  }
  for (std::vector<std::string>* names : {&report.comparison.missing, &report.comparison.not_in_blob})
    for (std::string& name : *names) name = printable(name);
  return report;
}

}  // namespace

std::string summary(const Report& given) {
  const Report report = in_lines(given);
  const Comparison& c = report.comparison;
  const auto out = std::count_if(c.rows.begin(), c.rows.end(), [](const Row& row) { return !row.in_bounds; });
  if (c.rows.empty()) return "nothing was compared: the blob has none of the fixture's tensors";
  std::string text = plural(c.rows.size(), "tensor", "tensors") + " compared, ";
  text += out == 0 ? "all in bounds" : std::to_string(out) + " out of bounds";
  if (const Row* worst = c.worst(); worst != nullptr && std::isfinite(worst->relative_error)) {
    const bool squared = worst->measure == Measure::Squared;
    text += squared ? "; worst normalised mean squared error " + number(worst->squared_error)
                    : "; worst relative error " + number(worst->relative_error);
    text += " at " + worst->name;
    if (worst->floor >= 0 && !squared)
      text += " (the reference's own float32 error there: " + number(worst->floor) + ")";
  }
  if (const Row* first = c.first_out_of_bounds())
    text += "; the first out of bounds is " + first->name + ", bound " + bound_text(*first) + ", " + complaint(*first);
  if (!c.missing.empty()) {
    text += "; the blob lacks " + plural(c.missing.size(), "output", "outputs") + " that it must hold: ";
    for (const std::string& name : c.missing) text += (&name == &c.missing[0] ? "" : ", ") + name;
  }
  if (!c.not_in_blob.empty())
    text += "; " + plural(c.not_in_blob.size(), "inner tap", "inner taps") + " not in the blob";
  return text;
}

std::string text_report(const Report& given, TextStyle style) {
  const Report report = in_lines(given);
  const Comparison& c = report.comparison;
  const auto paint = [&](const char* code, const std::string& text) { return painted(style, code, text); };
  size_t name_width = 4, shape_width = 5;
  for (const Row& row : c.rows) {
    name_width = std::max(name_width, row.name.size());
    shape_width = std::max(shape_width, to_string(row.shape).size());
  }
  std::string out = report.model + " (" + report.blob + ") against " + report.fixture + " (" + report.library + "), " +
                    report.backend + "\n\n";
  out += paint("1", pad("name", name_width) + "  " + pad("shape", shape_width) +
                        "   max abs err    rel err     sq err      floor  verdict") +
         "\n";
  for (const Row& row : c.rows) {
    out += pad(row.name, name_width) + "  " + pad(to_string(row.shape), shape_width) + "  ";
    out += pad_left(number(row.max_abs_error), 12) + pad_left(number(row.relative_error), 11) +
           pad_left(number(row.squared_error), 11) + pad_left(row.floor < 0 ? "-" : number(row.floor), 11) + "  ";
    out += row.in_bounds ? paint("32", "ok") : paint("1;31", "OUT OF BOUNDS") + "  " + complaint(row);
    out += "\n";
  }
  for (const std::string& name : c.missing) out += pad(name, name_width) + "  " + paint("1;31", "MISSING") + "\n";
  if (style.verbose)
    for (const std::string& name : c.not_in_blob)
      out += pad(name, name_width) + "  " + paint("2", "not in blob") + "\n";
  out += "\n" + (c.passed() ? paint("1;32", "in bounds") : paint("1;31", "OUT OF BOUNDS")) + ": " + summary(report) +
         ".\n";
  return out;
}

bool passed(const Report& report) { return report.problem.empty() && report.comparison.passed(); }

std::string table_report(const std::vector<Report>& given, size_t unused, TextStyle style) {
  std::vector<Report> reports;
  for (const Report& report : given) reports.push_back(in_lines(report));
  size_t blob_width = 4, fixture_width = 7, at_width = 2;
  const auto worst_name = [](const Report& r) { return r.comparison.worst() ? r.comparison.worst()->name : "-"; };
  for (const Report& r : reports) {
    blob_width = std::max(blob_width, r.blob.size());
    fixture_width = std::max(fixture_width, r.fixture.size());
    at_width = std::max(at_width, worst_name(r).size());
  }
  std::string out = painted(style, "1",
                            pad("blob", blob_width) + "  " + pad("fixture", fixture_width) +
                                "  in bounds     rel err      floor  " + pad("at", at_width) + "  verdict") +
                    "\n";
  size_t good = 0;
  for (const Report& r : reports) {
    const Comparison& c = r.comparison;
    const auto in = std::count_if(c.rows.begin(), c.rows.end(), [](const Row& row) { return row.in_bounds; });
    const Row* worst = c.worst();
    out += pad(r.blob, blob_width) + "  " + pad(r.fixture.empty() ? "-" : r.fixture, fixture_width) + "  ";
    out += pad_left(std::to_string(in) + "/" + std::to_string(c.rows.size() + c.missing.size()), 9);
    out += pad_left(worst ? number(relative_figure(*worst)) : "-", 12);
    out += pad_left(worst && worst->floor >= 0 ? number(worst->floor) : "-", 11) + "  " + pad(worst_name(r), at_width) +
           "  ";
    if (passed(r)) {
      out += painted(style, "32", "ok");
      ++good;
    } else if (!r.problem.empty()) {
      out += painted(style, "1;31", "NOT COMPARED") + "  " + r.problem;
    } else if (const Row* first = c.first_out_of_bounds()) {
      out += painted(style, "1;31", "OUT OF BOUNDS") + "  from " + first->name;
    } else {
      out += painted(style, "1;31", c.rows.empty() ? "NOTHING COMPARED" : "MISSING") + "  " +
             (c.missing.empty() ? "" : c.missing.front());
    }
    out += "\n";
  }
  const bool all = good == reports.size();
  out += "\n" + painted(style, all ? "1;32" : "1;31", all ? "in bounds" : "FAILED") + ": " + std::to_string(good) +
         " of " + plural(reports.size(), "comparison", "comparisons") + " passed";
  if (unused > 0) out += "; " + plural(unused, "fixture has", "fixtures have") + " no blob here";
  return out + ".\n";
}

}  // namespace ferry::parity

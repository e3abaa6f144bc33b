#include <algorithm>
#include <cmath>

#include "cli/html/markup.h"
#include "cli/html/page.h"
#include "cli/parity/report.h"

namespace ferry::parity {

namespace {

// A ratio: "31x".
std::string times(double factor) {
  if (!std::isfinite(factor)) return "-";
  return format(factor < 10 ? "%.1f&times;" : factor < 1e5 ? "%.0f&times;" : "%.0e&times;", factor);
}

// The position of a relative error on a meter from 1e-9 to 1e-3.
double percent(double error) {
  if (std::isnan(error)) return 100;
  return error > 0 ? std::clamp((std::log10(error) + 9) / 6 * 100, 0.0, 100.0) : 0.0;
}

std::string cards(const Comparison& c) {
  const auto good = std::count_if(c.rows.begin(), c.rows.end(), [](const Row& row) { return row.in_bounds; });
  std::string out = "<section class=\"cards\">\n";
  out += card(std::to_string(good) + " of " + std::to_string(c.rows.size()), "tensors in bounds");
  if (const Row* worst = c.worst()) {
    const bool squared = worst->measure == Measure::Squared;
    out +=
        card(number(relative_figure(*worst)),
             (squared ? "worst root mean square of the error over the reference's, at " : "worst relative error, at ") +
                 breakable(worst->name));
    if (worst->floor > 0 && std::isfinite(worst->relative_error) && !squared)
      out += card(times(worst->relative_error / worst->floor),
                  "the reference's own float32 error there, " + number(worst->floor));
  }
  double headroom = INFINITY;
  for (const Row& row : c.rows) headroom = std::min(headroom, relative_bound(row) / relative_figure(row));
  if (std::isfinite(headroom) && c.passed()) out += card(times(headroom), "margin of the tensor nearest to its bound");
  if (!c.not_in_blob.empty())
    out += card(std::to_string(c.not_in_blob.size()), "inner taps fused away, not in the blob");
  return out + "</section>\n";
}

std::string row_html(const Row& row) {
  std::string out = row.in_bounds ? "<tr>" : "<tr class=\"out\">";
  out += "<td class=\"name\">" + breakable(row.name);
  if (row.kind == EntryKind::Output) out += "<span class=\"kind\">output</span>";
  if (row.kind == EntryKind::Pyramid) out += "<span class=\"kind\">" + escaped(row.module) + "</span>";
  out += "</td><td class=\"shape\">" + to_string(row.shape) + "</td>";
  out +=
      "<td class=\"n\">" + number(row.max_abs_error) + "</td><td class=\"n\">" + number(relative_figure(row)) + "</td>";
  out += "<td class=\"n mute\">" + (row.floor < 0 ? std::string("-") : number(row.floor)) + "</td>";
  out += format("<td><div class=\"meter\" style=\"--v:%.0f%%;--b:%.0f%%;--f:%.0f%%\"><i></i>%s<u></u></div></td>",
                percent(relative_figure(row)), percent(relative_bound(row)), percent(row.floor),
                row.floor > 0 ? "<s></s>" : "");
  std::string worst = coordinates_text(row.worst);
  if (!worst.empty())
    worst = "<span title=\"" + format("%.7g, the reference has %.7g", row.worst_ours, row.worst_reference) + "\">" +
            worst + "</span>";
  out += "<td class=\"shape\">" + worst + "</td>";
  out += row.in_bounds ? "<td class=\"v ok\">ok</td>"
                       : "<td class=\"v\">" + (row.problem.empty() ? "out of bounds" : escaped(row.problem)) + "</td>";
  return out + "</tr>\n";
}

std::string table(const Comparison& c) {
  std::string out =
      "<div class=\"card wide\"><table><thead><tr><th>tensor</th><th>shape</th><th class=\"n\">max abs error</th>"
      "<th class=\"n\">relative error</th><th class=\"n\">float32 floor</th><th>1e-9 &hellip; 1e-3</th>"
      "<th>worst at</th><th>verdict</th></tr></thead><tbody>\n";
  for (const Row& row : c.rows) out += row_html(row);
  for (const std::string& name : c.missing)
    out += "<tr class=\"out\"><td class=\"name\">" + breakable(name) +
           "</td><td colspan=\"6\"></td><td class=\"v\">missing</td></tr>\n";
  return out + "</tbody></table></div>\n";
}

}  // namespace

std::string html_report(const Report& report) {
  const Comparison& c = report.comparison;
  std::string out = report_head(report.model + ": parity with " + report.library);
  out += "<header><div><h1>" + escaped(report.model) + "</h1><p class=\"lead\">" +
         escaped(report.blob + " on " + report.backend + " against " + report.fixture + ", computed by " +
                 report.library) +
         "</p></div>";
  out += c.passed() ? "<div class=\"pill good\">in bounds</div>" : "<div class=\"pill bad\">out of bounds</div>";
  out += "</header>\n";
  if (!c.passed()) out += "<div class=\"card alarm\">" + escaped(summary(report)) + ".</div>\n";
  out += cards(c);
  out += "<div class=\"card wide\">" + plot_svg(report) + "</div>\n";
  out += table(c);
  if (!c.not_in_blob.empty()) {
    out += "<details><summary>" + std::to_string(c.not_in_blob.size()) +
           "inner taps that are not in the blob</summary><p class=\"name mute\">";
    for (const std::string& name : c.not_in_blob) out += breakable(name) + "<br>";
    out += "</p></details>\n";
  }
  out +=
      "<footer>Relative errors are relative to the absolute maximum of the reference's tensor. Bounds: 1e-4 "
      "relative, and for logits 1e-3 absolute as well. The float32 floor (grey tick) is how far the reference's "
      "own float32 result lies from its float64 result. Blob: " +
      escaped(report.provenance) + ".</footer>\n";
  return out + kReportEnd;
}

}  // namespace ferry::parity

#include <algorithm>
#include <cmath>

#include "cli/parity/markup.h"
#include "cli/parity/report.h"

namespace ferry::parity {

namespace {

constexpr const char* kHead = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>
:root{--page:#f3f5f9;--card:#ffffff;--ink:#1c2330;--mute:#667085;--line:#e4e8ef;--ours:#2457d6;--good:#1a7f4b;
--goodbg:#dcf4e6;--bad:#cf222e;--badbg:#ffe6e6;--row:#f6f8fb}
@media(prefers-color-scheme:dark){:root{--page:#0d121b;--card:#151b26;--ink:#e6eaf2;--mute:#94a0b4;--line:#2a3343;
--ours:#7aa5ff;--good:#56d391;--goodbg:#123726;--bad:#ff7b72;--badbg:#431a1c;--row:#1b2331}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1180px;margin:0 auto;padding:36px 24px 64px}
h1{font-size:26px;line-height:1.2;margin:0;letter-spacing:-.01em;overflow-wrap:anywhere}
.lead{color:var(--mute);margin:6px 0 0;overflow-wrap:anywhere}
header{display:flex;gap:20px;align-items:flex-start;justify-content:space-between;margin-bottom:24px}
.pill{font-weight:650;padding:7px 16px;border-radius:99px;white-space:nowrap}
.pill.good{color:var(--good);background:var(--goodbg)}.pill.bad{color:var(--bad);background:var(--badbg)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));gap:14px;margin-bottom:18px}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:14px 18px;min-width:0}
.card b{display:block;font-size:24px;font-weight:620;font-variant-numeric:tabular-nums;letter-spacing:-.01em}
.card span{color:var(--mute);font-size:13px;overflow-wrap:anywhere}
.alarm{border-color:var(--bad);background:var(--badbg);margin-bottom:18px;overflow-wrap:anywhere}
.wide{padding:4px;overflow-x:auto;margin-bottom:18px}.wide svg{display:block;width:100%;min-width:720px}
table{border-collapse:collapse;width:100%;font-size:13px}
th{color:var(--mute);font-weight:550;text-align:left;padding:10px;border-bottom:1px solid var(--line);
white-space:nowrap}
td{padding:6px 10px;border-bottom:1px solid var(--line);vertical-align:middle}
tr:last-child td{border-bottom:0}tbody tr:hover td{background:var(--row)}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.name{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12.5px;min-width:200px}
.kind{color:var(--mute);font-size:11px;border:1px solid var(--line);border-radius:5px;padding:0 5px;margin-left:7px;
font-family:system-ui,"DejaVu Sans",sans-serif}
.mute{color:var(--mute)}.shape{color:var(--mute);white-space:nowrap;font-variant-numeric:tabular-nums}
.meter{position:relative;width:130px;height:8px;border-radius:4px;background:var(--line)}
.meter i{position:absolute;left:0;top:0;bottom:0;border-radius:4px;background:var(--ours);width:var(--v)}
.meter u{position:absolute;top:-3px;bottom:-3px;width:2px;left:var(--b);background:var(--bad)}
.meter s{position:absolute;top:-2px;bottom:-2px;width:2px;left:var(--f);background:var(--mute)}
.ok{color:var(--good)}.out td{background:var(--badbg)}.out .v{color:var(--bad);font-weight:650}
.out .meter i{background:var(--bad)}
details{margin-top:18px}summary{cursor:pointer;color:var(--mute)}
footer{color:var(--mute);font-size:13px;margin-top:22px}
</style>
)html";

// A name that may be broken after its dots.
std::string breakable(const std::string& name) {
  std::string out;
  for (char c : escaped(name)) {
    out += c;
    if (c == '.' || c == '/') out += "<wbr>";
  }
  return out;
}

// "31x": how far a quantity is from another.
std::string times(double factor) {
  if (!std::isfinite(factor)) return "-";
  return format(factor < 10 ? "%.1f&times;" : "%.0f&times;", factor);
}

// Where a relative error lies on a meter from 1e-9 to 1e-3.
double percent(double error) {
  if (std::isnan(error)) return 100;
  return error > 0 ? std::clamp((std::log10(error) + 9) / 6 * 100, 0.0, 100.0) : 0.0;
}

std::string card(const std::string& figure, const std::string& caption) {
  return "<div class=\"card\"><b>" + figure + "</b><span>" + caption + "</span></div>\n";
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
  if (std::isfinite(headroom) && c.passed())
    out += card(times(headroom), "under the bound at the tensor nearest to it");
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
  std::string out = kHead;
  out += "<title>" + escaped(report.model + ": parity with " + report.library) + "</title></head><body><main>\n";
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
           " inner taps that the blob does not hold</summary><p class=\"name mute\">";
    for (const std::string& name : c.not_in_blob) out += breakable(name) + "<br>";
    out += "</p></details>\n";
  }
  out +=
      "<footer>Relative errors are relative to the absolute maximum of the reference's tensor. Bounds: logits within "
      "1e-3 absolute, everything else within 1e-4 relative. The float32 floor (grey tick) is how far the reference's "
      "own float32 result lies from its float64 result. Blob: " +
      escaped(report.provenance) + ".</footer>\n";
  return out + "</main></body></html>\n";
}

}  // namespace ferry::parity

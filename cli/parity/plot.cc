// Plots the error through the depth of the network as SVG. Each entry is a column with its relative error on a
// logarithmic scale, the reference's own float32 error and the bound.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "cli/html/markup.h"
#include "cli/parity/report.h"

namespace ferry::parity {

namespace {

constexpr double kWidth = 1120, kHeight = 430;
constexpr double kLeft = 58, kRight = 1096, kTop = 84, kBottom = 372;

constexpr const char* kStyle = R"css(
.pp{--bg:#ffffff;--ink:#1c2330;--mute:#667085;--grid:#e4e8ef;--band:#f6f8fb;--ours:#2457d6;--floor:#98a2b3;
--fill:#98a2b326;--bad:#cf222e;font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
@media(prefers-color-scheme:dark){.pp{--bg:#151b26;--ink:#e6eaf2;--mute:#94a0b4;--grid:#2a3343;--band:#1b2331;
--ours:#7aa5ff;--floor:#7c889c;--fill:#7c889c2e;--bad:#ff7b72}}
.pp text{fill:var(--mute)}.pp .ink{fill:var(--ink)}.pp .title{font-size:16px;font-weight:600}
.pp .bg{fill:var(--bg)}.pp .band{fill:var(--band)}.pp .grid{stroke:var(--grid)}
.pp .floor{fill:none;stroke:var(--floor);stroke-width:1.4}.pp .area{fill:var(--fill)}
.pp .bound{fill:none;stroke:var(--bad);stroke-width:1.6;stroke-dasharray:7 5}.pp .boundtext{fill:var(--bad);
paint-order:stroke;stroke:var(--bg);stroke-width:5px;stroke-linejoin:round;pointer-events:none}
.pp .ours{fill:none;stroke:var(--ours);stroke-width:1.8;stroke-linejoin:round}.pp .dot{fill:var(--ours)}
.pp .bad{fill:var(--bad);stroke:var(--bg);stroke-width:1}
.pp .first{stroke:var(--bad);stroke-width:1}
.pp .hit{fill:transparent}.pp .guide{stroke:var(--mute);visibility:hidden}.pp .tip{visibility:hidden}
.pp .col:hover .guide,.pp .col:hover .tip{visibility:visible}.pp:has(.col:hover) .sub{visibility:hidden}
)css";

// A module's name up to its first part that ends in a number: "layer1" of "layer1.0.conv1", "blocks.0" of "blocks.0.0".
std::string numbered_prefix(const std::string& module) {
  for (size_t end = module.find('.');; end = module.find('.', end + 1)) {
    const std::string prefix = module.substr(0, end);
    if (!prefix.empty() && std::isdigit(static_cast<unsigned char>(prefix.back())) != 0) return prefix;
    if (end == std::string::npos) return "";
  }
}

// The name without the prefix that all stages share: "stages.0" of "resnet.encoder.stages.0".
std::string stage_label(const std::string& stage) {
  const size_t last = stage.rfind('.');
  if (last == std::string::npos) return stage;
  if (std::isdigit(static_cast<unsigned char>(stage[last + 1])) == 0) return stage.substr(last + 1);
  const size_t before = stage.rfind('.', last - 1);
  return before == std::string::npos ? stage : stage.substr(before + 1);
}

// The stage of each row; "" for stems and heads, which have no numbered modules.
std::vector<std::string> stages(const std::vector<Row>& rows) {
  std::set<std::string> with_children;
  for (const Row& row : rows)
    if (const std::string prefix = numbered_prefix(row.module); prefix.size() < row.module.size())
      with_children.insert(prefix);
  std::vector<std::string> out;
  for (const Row& row : rows) {
    const std::string prefix = numbered_prefix(row.module);
    out.push_back(with_children.contains(prefix) ? prefix : "");
  }
  return out;
}

class Plot {
 public:
  explicit Plot(const Report& report) : report_(report), rows_(report.comparison.rows) {
    double low = 1e-6, high = 1e-3;
    for (const Row& row : rows_) {
      for (double v : {relative_figure(row), row.floor}) {
        if (std::isfinite(v) && v > 0) low = std::min(low, v), high = std::max(high, v);
      }
      if (const double b = relative_bound(row); std::isfinite(b)) high = std::max(high, b * 1.5);
    }
    low_ = std::max(-10.0, std::floor(std::log10(low)));
    high_ = std::min(6.0, std::ceil(std::log10(high)));
  }

  std::string svg() {
    out_ = format(
        "<svg class=\"pp\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" role=\"img\" "
        "aria-label=\"Relative error through the depth of the network\">\n<style>%s</style>\n",
        kWidth, kHeight, "");
    out_.replace(out_.find("<style>") + 7, 0, kStyle);
    out_ += format("<rect class=\"bg\" width=\"%g\" height=\"%g\" rx=\"10\"/>\n", kWidth, kHeight);
    heading();
    bands();
    grid();
    curves();
    columns();
    first_out_of_bounds();
    bound_label();
    return out_ + "</svg>\n";
  }

 private:
  double x(size_t i) const {
    return kLeft +
           (kRight - kLeft) * (static_cast<double>(i) + 0.5) / static_cast<double>(std::max<size_t>(1, rows_.size()));
  }
  double step() const { return (kRight - kLeft) / static_cast<double>(std::max<size_t>(1, rows_.size())); }
  double y(double value) const {
    const double decades = value > 0 ? std::clamp(std::log10(value), low_, high_) : low_;
    return kBottom - (kBottom - kTop) * (decades - low_) / (high_ - low_);
  }

  void text(double at_x, double at_y, const std::string& classes, const std::string& anchor,
            const std::string& content) {
    out_ += format("<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", at_x, at_y, classes.c_str(),
                   anchor.c_str()) +
            content + "</text>\n";
  }

  void heading() {
    text(20, 30, "ink title", "start", escaped(report_.model + " on " + report_.backend));
    text(20, 52, "sub", "start",
         escaped("against " + report_.fixture + ", " + report_.library +
                 ": relative error of every tensor, in network order"));
    const char* names[] = {"ferry", "reference's own float32 error", "bound"};
    const char* classes[] = {"ours", "floor", "bound"};
    double at = kRight;
    for (int i = 2; i >= 0; --i) {
      at -= 6.4 * static_cast<double>(std::string(names[i]).size());
      text(at, 30, "", "start", names[i]);
      out_ += format("<path class=\"%s\" d=\"M%.1f 26h22\"/>\n", classes[i], at - 28);
      at -= 50;
    }
  }

  void bands() {
    const std::vector<std::string> stage = stages(rows_);
    bool odd = false;
    for (size_t i = 0, end = 0; i < rows_.size(); i = end) {
      while (end < rows_.size() && stage[end] == stage[i]) ++end;
      if (stage[i].empty()) continue;
      const double left = x(i) - step() / 2, width = step() * static_cast<double>(end - i);
      odd = !odd;
      if (odd)
        out_ += format("<rect class=\"band\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"%g\"/>\n", left, kTop, width,
                       kBottom - kTop);
      const std::string label = stage_label(stage[i]);
      if (width > 6.4 * static_cast<double>(label.size()) + 6)
        text(left + width / 2, kBottom + 20, "", "middle", escaped(label));
    }
    text((kLeft + kRight) / 2, kHeight - 16, "", "middle", "depth &#8594;");
  }

  void grid() {
    for (int d = static_cast<int>(low_); d <= static_cast<int>(high_); ++d) {
      const double at = y(std::pow(10.0, d));
      out_ += format("<path class=\"grid\" d=\"M%g %.1fH%g\"/>\n", kLeft, at, kRight);
      text(kLeft - 10, at + 4, "", "end",
           format("10<tspan dy=\"-5\" font-size=\"9\">%s%d</tspan>", d < 0 ? "&#8722;" : "", std::abs(d)));
    }
  }

  void curves() {
    std::string ours, floor, bound;
    size_t floors = 0;
    double first_floor = 0, last_floor = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      if (std::isfinite(relative_figure(row)))
        ours += format("%s%.1f %.1f", ours.empty() ? "M" : "L", x(i), y(relative_figure(row)));
      if (row.floor >= 0) {
        floor += format("%s%.1f %.1f", floors == 0 ? "M" : "L", x(i), y(row.floor));
        if (floors++ == 0) first_floor = x(i);
        last_floor = x(i);
      }
      const double b = relative_bound(row);
      const double left = x(i) - step() / 2;
      bound += format("%s%.1f %.1fh%.2f", i == 0 ? "M" : "L", left, y(std::isfinite(b) ? b : 1e6), step());
    }
    if (floors > 0) {
      out_ += "<path class=\"area\" d=\"" + floor +
              format("L%.1f %gL%.1f %gz\"/>\n", last_floor, kBottom, first_floor, kBottom);
      out_ += "<path class=\"floor\" d=\"" + floor + "\"/>\n";
    }
    out_ += "<path class=\"bound\" d=\"" + bound + "\"/>\n<path class=\"ours\" d=\"" + ours + "\"/>\n";
  }

  // Drawn last, above the points and lines, which stay clear of it.
  void bound_label() {
    if (!rows_.empty() && rows_[0].measure == Measure::Squared) {
      text(kLeft + 8, y(std::sqrt(kSquaredBound)) - 7, "boundtext", "start",
           "bound: mean square 1e-5 of the reference's");
    } else {
      text(kLeft + 8, y(kRelativeBound) - 7, "boundtext", "start",
           "bound: 1e-4 of the maximum; logits also 1e-3 absolute");
    }
  }

  void columns() {
    const double radius = std::clamp(step() * 0.28, 1.4, 3.2);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      const bool finite = std::isfinite(relative_figure(row));
      const double at = finite ? y(relative_figure(row)) : kTop;
      std::string label = row.name + "  " + to_string(row.shape) + "   error " + number(relative_figure(row));
      if (row.floor >= 0) label += "   reference's own " + number(row.floor);
      label += row.in_bounds ? "" : row.problem.empty() ? "   OUT OF BOUNDS" : "   OUT OF BOUNDS: " + row.problem;
      out_ += "<g class=\"col\"><title>" + escaped(label) + "</title>";
      out_ += format("<rect class=\"hit\" x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%g\"/>", x(i) - step() / 2,
                     kTop - 8, step(), kBottom - kTop + 8);
      out_ += format("<path class=\"guide\" d=\"M%.1f %gV%g\"/>", x(i), kTop, kBottom);
      out_ += format("<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", row.in_bounds ? "dot" : "bad", x(i),
                     at, row.in_bounds ? radius : radius + 2);
      out_ += "<text class=\"ink tip\" x=\"20\" y=\"52\">" + escaped(label) + "</text></g>\n";
    }
  }

  void first_out_of_bounds() {
    const Row* first = report_.comparison.first_out_of_bounds();
    if (first == nullptr) return;
    const size_t i = static_cast<size_t>(first - rows_.data());
    const bool left = x(i) < (kLeft + kRight) / 2;
    text(x(i), kTop - 10, "boundtext", left ? "start" : "end", "first out of bounds: " + escaped(first->name));
    out_ += format("<path class=\"first\" d=\"M%.1f %gV%g\"/>\n", x(i), kTop - 5, kBottom);
  }

  const Report& report_;
  const std::vector<Row>& rows_;
  double low_ = -9, high_ = -3;  // decades shown
  std::string out_;
};

}  // namespace

std::string plot_svg(const Report& report) { return Plot(report).svg(); }

}  // namespace ferry::parity

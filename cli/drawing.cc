#include "cli/drawing.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "cli/html/markup.h"
#include "cli/parameters.h"
#include "cli/text.h"
#include "converter/error.h"
#include "sdk/model/per_tensor.h"
#include "sdk/operators/operators.h"

namespace ferry::cli {
namespace {

using parity::escaped;
using parity::format;

constexpr size_t kMaxRows = 20000;
constexpr double kRow = 22, kLane = 14, kTop = 64, kLeft = 20;

constexpr double kKind = 30, kModule = 140, kBar = 120;
constexpr size_t kLongestModule = 42, kLongestName = 24;  // in letters

// Columns to the right of the lanes. The time column exists only if times were measured.
struct Columns {
  double output, macs, time, names, width;

  explicit Columns(const Drawing& drawing) {
    size_t longest = std::strlen("module");
    bool timed = false;
    for (const DrawnRow& row : drawing.rows) {
      longest = std::max(longest, std::min(row.module.size(), kLongestModule));
      timed = timed || row.microseconds >= 0;
    }
    output = kModule + static_cast<double>(longest) * 7 + 20;
    macs = output + 210;
    time = macs + 25;
    names = timed ? time + kBar + 20 : time;
    width = names + 200;
  }
};

class Rows {
 public:
  Rows(const Summary& summary, const std::vector<double>& microseconds)
      : model_(*summary.model), row_of_(model_.graph().tensors()->size(), kNone) {
    drawing_.title = text_of(model_.graph().name());
    for (const fbs::Port* port : *model_.graph().inputs()) {
      drawing_.rows.push_back({.kind = "input", .module = text_of(port->name()), .parameters = "", .output = ""});
      give(port->tensor());
    }
    const auto& operators = *model_.graph().operators();
    for (unsigned i = 0; i < operators.size(); ++i) {
      add(*operators.Get(i), summary.ops[i]);
      if (i < microseconds.size()) drawing_.rows.back().microseconds = microseconds[i];
    }
    mark_fused();
    drawing_.parameters = summary.parameters;
    note(model_.graph().taps(), &DrawnRow::taps);
    note(model_.graph().outputs(), &DrawnRow::outputs);
    drawing_.lanes = 1;
  }

  Drawing take() { return std::move(drawing_); }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  void give(TensorId tensor) {
    DrawnRow& row = drawing_.rows.back();
    row.output += (row.output.empty() ? "" : ", ") + tensor_text(model_, tensor);
    row_of_[tensor] = drawing_.rows.size() - 1;
  }

  // An operator without a time of its own was computed by the next one that has a time.
  void mark_fused() {
    size_t timed = DrawnRow::kAlone;
    for (size_t r = drawing_.rows.size(); r-- > 0;) {
      DrawnRow& row = drawing_.rows[r];
      if (row.microseconds > 0) timed = r;
      if (row.microseconds == 0) row.with = timed;
    }
  }

  void add(const fbs::Operator& op, const OpSummary& summary) {
    fbs::OperatorT unpacked;
    op.UnPackTo(&unpacked);
    DrawnRow row{.kind = summary.op, .module = summary.name, .parameters = parameters_text(unpacked), .output = ""};
    row.macs = summary.macs;
    row.elements = summary.parameters;
    for (const TensorId input : *op.inputs()) {
      if (model_.is_constant(input)) {
        const std::string name = text_of(model_.tensor(input).name());
        row.weights.push_back((name.empty() ? "" : name + ": ") + tensor_text(model_, input));
      } else if (std::find(row.from.begin(), row.from.end(), row_of_[input]) == row.from.end()) {
        row.from.push_back(row_of_[input]);
      }
    }
    drawing_.rows.push_back(std::move(row));
    for (const TensorId output : *op.outputs()) give(output);
  }

  using Ports = flatbuffers::Vector<flatbuffers::Offset<fbs::Port>>;
  void note(const Ports* ports, std::vector<std::string> DrawnRow::*names) {
    for (unsigned i = 0; ports && i < ports->size(); ++i)
      if (const size_t row = row_of_[ports->Get(i)->tensor()]; row != kNone)
        (drawing_.rows[row].*names).push_back(ports->Get(i)->name()->str());
  }

  const Model& model_;
  PerTensor<size_t> row_of_;
  Drawing drawing_;
};

// A row takes the lane of a value that it is the last to read, else the first free lane. Its value keeps the lane until
// the last reader.
void choose_lanes(Drawing* drawing) {
  std::vector<size_t> last(drawing->rows.size(), 0);
  for (size_t r = 0; r < drawing->rows.size(); ++r)
    for (const size_t from : drawing->rows[r].from) last[from] = r;
  std::vector<bool> taken;
  for (size_t r = 0; r < drawing->rows.size(); ++r) {
    DrawnRow& row = drawing->rows[r];
    for (const size_t from : row.from) {
      drawing->lines.push_back({from, r});
      if (last[from] == r) taken[static_cast<size_t>(drawing->rows[from].lane)] = false;
    }
    int lane = -1;
    for (const size_t from : row.from)
      if (last[from] == r && (lane < 0 || drawing->rows[from].lane < lane)) lane = drawing->rows[from].lane;
    if (lane < 0) lane = static_cast<int>(std::find(taken.begin(), taken.end(), false) - taken.begin());
    if (static_cast<size_t>(lane) == taken.size()) taken.push_back(false);
    taken[static_cast<size_t>(lane)] = last[r] > r;
    row.lane = lane;
  }
  drawing->lanes = static_cast<int>(taken.size());
}

// The colour class of an operator kind.
const char* class_of(const std::string& kind) {
  static const std::map<std::string, const char*> kClasses = {
      {"conv2d", "p"},     {"conv_transpose2d", "p"}, {"linear", "p"},        {"matmul", "p"},
      {"attention", "p"},  {"deform_conv2d", "p"},    {"experts", "p"},       {"gated_delta_rule", "p"},
      {"layer_norm", "n"}, {"group_norm", "n"},       {"grn", "n"},           {"softmax", "n"},
      {"unary", "e"},      {"binary", "e"},           {"select", "e"},        {"rotary_embedding", "e"},
      {"pool2d", "r"},     {"reduce", "r"},           {"resize2d", "r"},      {"top_k", "r"},
      {"append", "s"},     {"positions", "s"},        {"causal_conv1d", "s"}, {"recurrence", "p"},
      {"input", "i"}};
  const auto found = kClasses.find(kind);
  return found == kClasses.end() ? "m" : found->second;
}

constexpr const char* kStyle = R"css(
.g{--bg:#fff;--ink:#1c2330;--mute:#667085;--line:#c3cad6;--sel:#eaf1ff;--p:#2457d6;--n:#1a7f4b;--e:#b25e09;--r:#0e7490;
--m:#7a4fb5;--s:#b42318;--i:#1c2330;font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
@media(prefers-color-scheme:dark){.g{--bg:#151b26;--ink:#e6eaf2;--mute:#94a0b4;--line:#475063;--sel:#1d2c4a;--p:#7aa5ff;
--n:#56d391;--e:#f0a85a;--r:#4cc3dd;--m:#bd9cf0;--s:#ff8f85;--i:#e6eaf2}}
.g .bg{fill:var(--bg)}.g text{fill:var(--ink)}.g .mute{fill:var(--mute)}.g .title{font-size:16px;font-weight:600}
.g .name{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:11.5px}
.g .line{fill:none;stroke:var(--line);stroke-width:1.5}.g .hit{fill:transparent}.g .end{text-anchor:end}
.g .p{fill:var(--p)}.g .n{fill:var(--n)}.g .e{fill:var(--e)}.g .r{fill:var(--r)}.g .m{fill:var(--m)}.g .s{fill:var(--s)}
.g .i{fill:var(--i)}.g text.k{font-weight:600}.g .bar{opacity:.35}.g .out{fill:none;stroke:var(--ink);stroke-width:1.5}
)css";

double x_of(int lane) { return kLeft + lane * kLane; }
double y_of(size_t row) { return kTop + static_cast<double>(row) * kRow; }

// At most `most` characters; of longer text the end, which says more than the beginning.
std::string shortened(const std::string& text, size_t most) {
  return text.size() <= most ? escaped(text) : "&#8230;" + escaped(text.substr(text.size() - most + 1));
}

std::string line_path(const Drawing& drawing, const DrawnLine& line) {
  const double x = x_of(drawing.rows[line.from].lane), to = x_of(drawing.rows[line.to].lane);
  const double begin = y_of(line.from), end = y_of(line.to);
  if (x == to) return format("M%g %gV%g", x, begin, end);
  return format("M%g %gV%gC%g %g %g %g %g %g", x, begin, end - kRow, x, end - kRow * 0.3, to, end - kRow * 0.7, to,
                end);
}

std::string row_text(size_t number, const DrawnRow& row, const Columns& columns, double left, double y,
                     double slowest) {
  const char* kind = class_of(row.kind);
  const double base = y + 4;
  std::string out = format("<text class=\"mute\" x=\"%g\" y=\"%g\">%zu</text>", left, base, number);
  out += format("<text class=\"k %s\" x=\"%g\" y=\"%g\">", kind, left + kKind, base) + escaped(row.kind) + "</text>";
  out += format("<text class=\"name\" x=\"%g\" y=\"%g\">", left + kModule, base) +
         shortened(row.module, kLongestModule) + "</text>";
  out += format("<text class=\"mute\" x=\"%g\" y=\"%g\">", left + columns.output, base) + shortened(row.output, 32) +
         "</text>";
  if (row.macs > 0)
    out += format("<text class=\"mute end\" x=\"%g\" y=\"%g\">", left + columns.macs, base) +
           scaled(static_cast<double>(row.macs)) + "</text>";
  if (row.microseconds >= 0) {
    const double share = slowest > 0 ? row.microseconds / slowest : 0;
    out += format("<rect class=\"bar %s\" x=\"%g\" y=\"%g\" width=\"%.1f\" height=\"%g\"/>", kind, left + columns.time,
                  y - 8, share * kBar, 16.0);
    out += format("<text x=\"%g\" y=\"%g\">", left + columns.time + 4, base) + time_text(row) + "</text>";
  }
  for (const std::vector<std::string>* names : {&row.outputs, &row.taps}) {
    if (names->empty()) continue;
    const char* kind_of = names == &row.outputs ? "output " : "tap ";
    out += format("<text class=\"mute\" x=\"%g\" y=\"%g\">", left + columns.names, base) + kind_of +
           shortened(names->front(), kLongestName) + "</text>";
    break;
  }
  return out;
}

}  // namespace

std::string time_text(const DrawnRow& row) {
  if (row.microseconds < 0) return "";
  if (row.with != DrawnRow::kAlone) return "with row " + std::to_string(row.with);
  return row.microseconds < 100 ? format("%.3g us", row.microseconds) : format("%.3f ms", row.microseconds / 1000);
}

Drawing draw(const Summary& summary, const std::vector<double>& microseconds) {
  if (summary.ops.size() > kMaxRows)
    fail("a graph of %zu operators is too large to look at: at most %zu are drawn", summary.ops.size(), kMaxRows);
  Drawing drawing = Rows(summary, microseconds).take();
  choose_lanes(&drawing);
  return drawing;
}

std::string svg_of(const Drawing& drawing, bool in_page) {
  const Columns columns(drawing);
  const double left = x_of(drawing.lanes) + 10, width = left + columns.width, height = y_of(drawing.rows.size()) + 8;
  std::string out = format(
                        "<svg class=\"g\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" "
                        "height=\"%g\" role=\"img\" aria-label=\"",
                        width, height, width, height) +
                    escaped(drawing.title) + "\">\n<style>" + kStyle + "</style>\n";
  if (!in_page) out += format("<rect class=\"bg\" width=\"%g\" height=\"%g\"/>\n", width, height);
  double slowest = 0, sum = 0;
  for (const DrawnRow& row : drawing.rows) {
    slowest = std::max(slowest, row.microseconds);
    sum += std::max(row.microseconds, 0.0);
  }
  out += format("<text class=\"title\" x=\"%g\" y=\"24\">", kLeft) + escaped(drawing.title) + "</text>\n";
  const auto heading = [&](double x, const char* end, const std::string& text) {
    out += format("<text class=\"mute%s\" x=\"%g\" y=\"%g\">", end, left + x, kTop - 18) + text + "</text>\n";
  };
  heading(kKind, "", "operator");
  heading(kModule, "", "module");
  heading(columns.output, "", "output");
  heading(columns.macs, " end", "MACs");
  if (sum > 0) heading(columns.time, "", format("time, %.3f ms in all", sum / 1000));
  for (const DrawnLine& line : drawing.lines)
    out += format("<path class=\"line f%zu t%zu\" d=\"%s\"/>\n", line.from, line.to, line_path(drawing, line).c_str());
  for (size_t r = 0; r < drawing.rows.size(); ++r) {
    const DrawnRow& row = drawing.rows[r];
    const double x = x_of(row.lane), y = y_of(r);
    out += format("<g class=\"row\" id=\"r%zu\">", r);
    if (in_page) out += format("<rect class=\"hit\" y=\"%g\" width=\"%g\" height=\"%g\"/>", y - kRow / 2, width, kRow);
    out += format("<circle class=\"%s\" cx=\"%g\" cy=\"%g\" r=\"4.5\"/>", class_of(row.kind), x, y);
    if (!row.outputs.empty()) out += format("<circle class=\"out\" cx=\"%g\" cy=\"%g\" r=\"7\"/>", x, y);
    out += row_text(r, row, columns, left, y, slowest) + "</g>\n";
  }
  return out + "</svg>\n";
}

}  // namespace ferry::cli

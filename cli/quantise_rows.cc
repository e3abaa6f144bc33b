#include "cli/quantise_rows.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/html/markup.h"
#include "cli/html/page.h"
#include "cli/print.h"
#include "cli/sdk.h"
#include "sdk/model/model.h"
#include "sdk/operators/operators.h"

namespace ferry::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kStored = "--measured ";

std::string cause_of(const fbs::OperatorT& op, const int8::OperatorError& row) {
  switch (row.reason) {
    case int8::Reason::Bound: return "released for the bound";
    case int8::Reason::Gain: return "released: little time, less error";
    case int8::Reason::Time: return "Int8 does not pay";
    case int8::Reason::None: break;
  }
  if (row.int8) return "";
  if (row.role == int8::Role::Weighted) return "multiplier beyond the integer arithmetic";
  if (row.role != int8::Role::Float) return "between Float32 operators";
  return op.params.type == fbs::OpParams::Concat ? "inputs of very different ranges" : "no integer form";
}

std::string decibel(const std::optional<double>& value) {
  if (!value) return "";
  return std::isinf(*value) ? "exact" : printed("%.1f dB", *value);
}

std::string time(double us) { return us > 0 ? printed("%.1f us", us) : ""; }

Json number(const std::optional<double>& value) {
  if (!value) return nullptr;
  return std::isinf(*value) ? Json("exact") : Json(std::round(*value * 10) / 10);
}

std::optional<double> number(const Json& value) {
  if (value.is_null()) return std::nullopt;
  return value.is_string() ? INFINITY : value.get<double>();
}

constexpr const char* kLegend =
    "alone: SQNR of the outputs with only this operator on Int8. without: with all but this one. float, Int8: "
    "predicted "
    "time in each type, without conversions.";

constexpr const char* kUnmeasured =
    "The blob has no errors of its operators: `ferry quantise --images DIR --explain` measures and keeps them.";

}  // namespace

void add_costs(const std::string& name, const Graph& graph, const int8::Result& result, CostTable* table) {
  for (const int8::OperatorError& row : result.rows) {
    const fbs::OperatorT& op = *graph.table.operators[row.op];
    table->rows.push_back({name, op.name, op_name(op.params.type), row.int8, row.alone, row.without, row.real_us,
                           row.int8_us, cause_of(op, row)});
  }
}

CostTable cost_table(const std::string& title, const Model& blob) {
  CostTable out{title, {}};
  const fbs::Provenance* from = blob.root().provenance();
  for (unsigned i = 0; from != nullptr && from->options() != nullptr && i < from->options()->size(); ++i) {
    const std::string option = from->options()->Get(i)->str();
    if (!is_stored_row(option)) continue;
    try {
      const Json row = Json::parse(option.substr(option.find('{')));
      out.rows.push_back({row.value("graph", ""), row.at("name").get<std::string>(), row.at("kind").get<std::string>(),
                          row.at("int8").get<bool>(), number(row.at("alone")), number(row.at("without")),
                          row.at("float_us").get<double>(), row.at("int8_us").get<double>(),
                          row.at("cause").get<std::string>()});
    } catch (const nlohmann::json::exception&) {
      fail("%s: a row of its measured errors is damaged", title.c_str());
    }
  }
  if (!out.rows.empty()) return out;
  out.measured = false;
  for (size_t i = 0; i < blob.graph_count(); ++i) {
    std::shared_ptr<const Model> graph;
    check(blob.open_graph(i, &graph));
    const std::string of = blob.graph_count() > 1 ? blob.graph_name(i) : "";
    for (const fbs::Operator* op : *graph->graph().operators()) {
      if (op->params_type() == fbs::OpParams::Requantize) continue;
      const bool integer = graph->tensor(output_of(*op)).dtype() == fbs::DType::Int8;
      const std::string name = op->name() != nullptr ? op->name()->str() : "";
      out.rows.push_back({of, name, op_name(op->params_type()), integer, {}, {}});
    }
  }
  return out;
}

void store(const CostTable& table, std::vector<std::string>* options) {
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const CostRow& row = table.rows[i];
    Json json = {{"name", row.name},
                 {"kind", row.kind},
                 {"int8", row.int8},
                 {"alone", number(row.alone)},
                 {"without", number(row.without)},
                 {"float_us", std::round(row.float_us * 1e3) / 1e3},
                 {"int8_us", std::round(row.int8_us * 1e3) / 1e3},
                 {"cause", row.cause}};
    if (!row.graph.empty()) json["graph"] = row.graph;
    // Options are sorted; the number keeps the order of the network.
    options->push_back(printed("%s%06zu ", kStored, i) + json.dump());
  }
}

bool is_stored_row(const std::string& option) {
  return option.starts_with(kStored) && option.find('{') != std::string::npos;
}

void print_costs(const CostTable& table) {
  print("%-32s %-10s %-8s %9s %9s %10s %10s  %s\n", "operator", "kind", "type", "alone", "without", "float", "Int8",
        "cause");
  std::string graph;
  for (const CostRow& row : table.rows) {
    if (row.graph != graph) print("graph %s\n", row.graph.c_str());
    graph = row.graph;
    print("%-32.32s %-10.10s %-8s %9s %9s %10s %10s  %s\n", row.name.c_str(), row.kind.c_str(),
          row.int8 ? "Int8" : "Float32", decibel(row.alone).c_str(), decibel(row.without).c_str(),
          time(row.float_us).c_str(), time(row.int8_us).c_str(), row.cause.c_str());
  }
  print("\n%s\n\n", table.measured ? kLegend : kUnmeasured);
}

std::string costs_page(const CostTable& table) {
  size_t integers = 0;
  double most = 0;
  for (const CostRow& row : table.rows) {
    integers += row.int8 ? 1 : 0;
    most = std::max({most, row.float_us, row.int8_us});
  }
  std::string out = parity::report_head(table.title + ": what each operator costs on Int8");
  out += "<header><div><h1>" + parity::escaped(table.title) + "</h1><p class=\"lead\">" + std::to_string(integers) +
         " of " + std::to_string(table.rows.size()) + " operators on Int8</p></div></header>\n";
  out +=
      "<div class=\"card wide\"><table><thead><tr><th>operator</th><th>kind</th><th>type</th><th class=\"n\">alone</th>"
      "<th class=\"n\">without</th><th class=\"n\">float</th><th class=\"n\">Int8</th><th>time</th><th>cause</th></tr>"
      "</thead><tbody>\n";
  // The chosen type's time as a bar, the other's as a tick.
  constexpr double kWidth = 120;
  for (const CostRow& row : table.rows) {
    const double chosen = row.int8 ? row.int8_us : row.float_us, other = row.int8 ? row.float_us : row.int8_us;
    const auto x = [&](double us) { return most > 0 ? kWidth * us / most : 0; };
    out += row.int8 ? "<tr>" : "<tr class=\"out\">";
    const std::string name = row.graph.empty() ? row.name : row.graph + ": " + row.name;
    out += "<td class=\"name\">" + parity::breakable(name) + "</td><td>" + parity::escaped(row.kind) + "</td><td>" +
           (row.int8 ? "Int8" : "Float32") + "</td><td class=\"n\">" + decibel(row.alone) + "</td><td class=\"n\">" +
           decibel(row.without) + "</td><td class=\"n\">" + time(row.float_us) + "</td><td class=\"n\">" +
           time(row.int8_us) + "</td>";
    out += parity::format(
        "<td><svg width=\"%.0f\" height=\"10\"><rect width=\"%.1f\" height=\"10\" fill=\"%s\"/><rect x=\"%.1f\" "
        "width=\"1.5\" height=\"10\" fill=\"currentColor\"/></svg></td>",
        kWidth + 2, x(chosen), row.int8 ? "#2a8" : "#c63", x(other));
    out += "<td>" + parity::escaped(row.cause) + "</td></tr>\n";
  }
  out += "</tbody></table></div>\n<footer>" + parity::escaped(table.measured ? kLegend : kUnmeasured) +
         " Bar: the time in the type that was chosen; tick: in the other.</footer>\n";
  return out + parity::kReportEnd;
}

}  // namespace ferry::cli

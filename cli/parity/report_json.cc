#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/parity/report.h"
#include "cli/print.h"

namespace ferry::parity {

using Json = nlohmann::ordered_json;

namespace {

const char* kind_name(EntryKind kind) {
  switch (kind) {
    case EntryKind::Tap: return "tap";
    case EntryKind::Pyramid: return "pyramid";
    case EntryKind::Output: return "output";
  }
  return "";
}

Json row_json(const Row& row) {
  Json out;
  out["name"] = row.name;
  out["module"] = row.module;
  out["kind"] = kind_name(row.kind);
  out["shape"] = row.shape;
  out["compared"] = row.compared;
  out["max_abs_error"] = row.max_abs_error;
  out["relative_error"] = row.relative_error;
  out["squared_error"] = row.squared_error;
  out["reference_absmax"] = row.absmax;
  if (row.rounding_cost >= 0) {
    out["reference_squared_error"] = row.reference_error;
    out["rounding_cost"] = row.rounding_cost;
  }
  out["floor"] = row.floor < 0 ? Json(nullptr) : Json(row.floor);
  out["bound"] = row.bound;
  constexpr const char* kFigures[] = {"max_abs_error", "relative_error", "squared_error"};
  out["bound_of"] = kFigures[static_cast<size_t>(row.measure)];
  out["worst_at"] = row.worst;
  out["worst_ours"] = row.worst_ours;
  out["worst_reference"] = row.worst_reference;
  out["in_bounds"] = row.in_bounds;
  if (!row.problem.empty()) out["problem"] = row.problem;
  return out;
}

Json report_object(const Report& report) {
  const Comparison& c = report.comparison;
  Json out;
  out["format"] = "ferry-parity/1";
  out["blob"] = report.blob;
  out["model"] = report.model;
  out["provenance"] = report.provenance;
  out["fixture"] = report.fixture;
  out["architecture"] = report.architecture;
  out["library"] = report.library;
  out["backend"] = report.backend;
  out["threads"] = report.threads;
  out["passed"] = passed(report);
  if (!report.problem.empty()) out["problem"] = report.problem;
  out["summary"] = summary(report);
  const Row* first = c.first_out_of_bounds();
  out["first_out_of_bounds"] = first == nullptr ? Json(nullptr) : Json(first->name);
  const Row* worst = c.worst();
  out["worst"] = worst == nullptr ? Json(nullptr) : Json(worst->name);
  out["worst_relative_error"] = worst == nullptr ? Json(nullptr) : Json(worst->relative_error);
  out["rows"] = Json::array();
  for (const Row& row : c.rows) out["rows"].push_back(row_json(row));
  out["missing"] = c.missing;
  out["not_in_blob"] = c.not_in_blob;
  return out;
}

std::string dumped(const Json& object) { return cli::json_text(object, 1) + "\n"; }

}  // namespace

std::string json_report(const Report& report) { return dumped(report_object(report)); }

std::string json_report(const std::vector<Report>& reports) {
  Json out;
  out["format"] = "ferry-parity-table/1";
  out["passed"] = std::all_of(reports.begin(), reports.end(), passed);
  out["reports"] = Json::array();
  for (const Report& report : reports) out["reports"].push_back(report_object(report));
  return dumped(out);
}

}  // namespace ferry::parity

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/parity/report.h"

namespace ferry::parity {

using json = nlohmann::ordered_json;

namespace {

const char* kind_name(EntryKind kind) {
  switch (kind) {
    case EntryKind::Tap: return "tap";
    case EntryKind::Pyramid: return "pyramid";
    case EntryKind::Output: return "output";
  }
  return "";
}

json row_json(const Row& row) {
  json out;
  out["name"] = row.name;
  out["module"] = row.module;
  out["kind"] = kind_name(row.kind);
  out["shape"] = row.shape;
  out["compared"] = row.compared;
  out["max_abs_error"] = row.max_abs_error;
  out["relative_error"] = row.relative_error;
  out["squared_error"] = row.squared_error;
  out["reference_absmax"] = row.absmax;
  out["floor"] = row.floor < 0 ? json(nullptr) : json(row.floor);
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

json report_object(const Report& report) {
  const Comparison& c = report.comparison;
  json out;
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
  out["first_out_of_bounds"] = first == nullptr ? json(nullptr) : json(first->name);
  const Row* worst = c.worst();
  out["worst"] = worst == nullptr ? json(nullptr) : json(worst->name);
  out["worst_relative_error"] = worst == nullptr ? json(nullptr) : json(worst->relative_error);
  out["rows"] = json::array();
  for (const Row& row : c.rows) out["rows"].push_back(row_json(row));
  out["missing"] = c.missing;
  out["not_in_blob"] = c.not_in_blob;
  return out;
}

std::string text(const json& object) { return object.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string json_report(const Report& report) { return text(report_object(report)); }

std::string json_report(const std::vector<Report>& reports) {
  json out;
  out["format"] = "ferry-parity-table/1";
  out["passed"] = std::all_of(reports.begin(), reports.end(), passed);
  out["reports"] = json::array();
  for (const Report& report : reports) out["reports"].push_back(report_object(report));
  return text(out);
}

}  // namespace ferry::parity

#include "cli/parity/compare.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>

namespace ferry::parity {

bool Comparison::passed() const { return !rows.empty() && missing.empty() && first_out_of_bounds() == nullptr; }

const Row* Comparison::first_out_of_bounds() const {
  for (const Row& row : rows)
    if (!row.in_bounds) return &row;
  return nullptr;
}

const Row* Comparison::worst() const {
  const Row* worst = nullptr;
  for (const Row& row : rows)
    if (worst == nullptr ||
        (!std::isnan(relative_figure(*worst)) && !(relative_figure(row) <= relative_figure(*worst))))
      worst = &row;
  return worst;
}

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Dims coordinates(int64_t flat, const Dims& shape) {
  Dims out(shape.size());
  for (size_t d = shape.size(); d-- > 0; flat /= shape[d]) out[d] = flat % shape[d];
  return out;
}

std::string pattern(const std::string& name) {
  std::string out;
  for (char c : name) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0)
      out += c;
    else if (out.empty() || out.back() != '#')
      out += '#';
  }
  return out;
}

}  // namespace

double relative_figure(const Row& row) {
  return row.measure == Measure::Squared ? std::sqrt(row.squared_error) : row.relative_error;
}

double relative_bound(const Row& row) {
  switch (row.measure) {
    case Measure::Absolute: return row.bound / row.absmax;
    case Measure::Squared: return std::sqrt(row.bound);
    case Measure::Relative: break;
  }
  return row.bound;
}

Row compare_entry(const Entry& entry, const Dims& shape, std::span<const float> ours, Precision precision) {
  Row row;
  row.name = entry.name;
  row.module = entry.module;
  row.kind = entry.kind;
  row.shape = entry.shape;
  row.absmax = entry.absmax;
  row.floor = entry.floor;
  if (precision == Precision::Float16) {
    row.measure = Measure::Squared;
    row.bound = kSquaredBound;
  } else {
    // Of logits both bounds hold: the tighter one is the row's.
    const bool logits = entry.kind == EntryKind::Output && entry.module == "logits";
    row.measure = logits && kLogitsBound < kRelativeBound * row.absmax ? Measure::Absolute : Measure::Relative;
    row.bound = row.measure == Measure::Absolute ? kLogitsBound : kRelativeBound;
  }
  row.max_abs_error = row.relative_error = row.squared_error = kNaN;
  if (shape != entry.shape) {
    row.problem = "the blob's shape is " + to_string(shape) + ", the reference's " + to_string(entry.shape);
    return row;
  }
  // Checks all values, not only the samples: a NaN anywhere is a failure.
  const auto bad = std::find_if(ours.begin(), ours.end(), [](float v) { return !std::isfinite(v); });
  if (bad != ours.end()) {
    row.worst = coordinates(bad - ours.begin(), shape);
    row.worst_ours = *bad;
    row.worst_reference = kNaN;
    row.problem = std::isnan(*bad) ? "the result has a NaN" : "the result has an infinite value";
    return row;
  }
  row.max_abs_error = 0;
  double squares = 0, reference_squares = 0;
  int64_t worst = entry.positions.empty() ? 0 : entry.positions[0];
  size_t worst_index = 0;
  for (size_t i = 0; i < entry.values.size(); ++i) {
    const int64_t at = entry.positions.empty() ? static_cast<int64_t>(i) : entry.positions[i];
    const double error = std::fabs(static_cast<double>(ours[static_cast<size_t>(at)]) - entry.values[i]);
    squares += error * error;
    reference_squares += entry.values[i] * entry.values[i];
    if (error > row.max_abs_error) row.max_abs_error = error, worst = at, worst_index = i;
  }
  row.compared = entry.values.size();
  row.worst = coordinates(worst, shape);
  row.worst_ours = ours[static_cast<size_t>(worst)];
  row.worst_reference = entry.values[worst_index];
  if (row.max_abs_error == 0)
    row.relative_error = 0;
  else
    row.relative_error = row.max_abs_error / row.absmax;  // infinite if the reference is all zero
  row.squared_error = squares == 0 ? 0 : squares / reference_squares;
  const double figures[] = {row.max_abs_error, row.relative_error, row.squared_error};
  row.in_bounds = row.compared > 0 && figures[static_cast<size_t>(row.measure)] <= row.bound;
  return row;
}

Comparison compare(const Fixture& fixture, const ComputedTensors& computed, Precision precision) {
  std::set<std::string> blocks;
  for (const auto& [name, tensor] : computed)
    if (tensor.block) blocks.insert(pattern(name));
  Comparison out;
  for (const Entry& entry : fixture.entries) {
    auto it = computed.find(entry.name);  // a blob may name a pyramid level, "feat/0", or only its module
    const bool named = it != computed.end();
    if (!named) it = computed.find(entry.module);
    if (!named && it != computed.end() && entry.kind == EntryKind::Pyramid && it->second.shape != entry.shape) {
      out.not_in_blob.push_back(entry.name);  // a feature map made of the module's tokens
    } else if (it != computed.end()) {
      out.rows.push_back(compare_entry(entry, it->second.shape, it->second.read(), precision));
      out.rows.back().depth = it->second.depth;
    } else if (entry.kind != EntryKind::Tap || blocks.contains(pattern(entry.module))) {
      out.missing.push_back(entry.name);
    } else {
      out.not_in_blob.push_back(entry.name);
    }
  }
  std::stable_sort(out.rows.begin(), out.rows.end(), [](const Row& a, const Row& b) { return a.depth < b.depth; });
  return out;
}

}  // namespace ferry::parity

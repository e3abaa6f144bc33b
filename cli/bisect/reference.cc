#include "cli/bisect/reference.h"

#include <cmath>

#include "cli/html/markup.h"

namespace ferry::bisect {

using parity::format;

double reference_error(const parity::Entry& entry, const Array& value, bool channels_first) {
  parity::Dims shape;
  for (int d = 0; d < value.shape.rank; ++d) shape.push_back(value.shape[d]);
  std::vector<float> ours(value.values.begin(), value.values.end());
  if (channels_first && shape.size() == 4) {
    const int64_t area = shape[1] * shape[2], channels = shape[3];
    for (int64_t n = 0; n < shape[0]; ++n)
      for (int64_t at = 0; at < area; ++at)
        for (int64_t c = 0; c < channels; ++c)
          ours[static_cast<size_t>((n * channels + c) * area + at)] =
              static_cast<float>(value.values[static_cast<size_t>((n * area + at) * channels + c)]);
    shape = {shape[0], shape[3], shape[1], shape[2]};
  }
  const parity::Row row = parity::compare_entry(entry, shape, ours);
  return std::isnan(row.relative_error) ? HUGE_VAL : row.relative_error;
}

std::string worst_text(const parity::Row& row) {
  std::string place;
  for (int64_t at : row.worst) place += (place.empty() ? "" : ",") + std::to_string(at);
  return "[" + place + "]: " + format("%.6g, the reference has %.6g", row.worst_ours, row.worst_reference);
}

std::string worst_text(const Array& ours, const Array& right, const Difference& difference) {
  std::string place;
  size_t at = difference.at;
  for (int d = right.shape.rank; d-- > 0; at /= static_cast<size_t>(right.shape[d]))
    place = std::to_string(at % static_cast<size_t>(right.shape[d])) + (place.empty() ? "" : ",") + place;
  return "[" + place + "]: " + format("%.6g, expected %.6g", ours.values[difference.at], right.values[difference.at]);
}

}  // namespace ferry::bisect

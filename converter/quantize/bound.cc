#include "converter/quantize/bound.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "converter/error.h"

namespace ferry::int8 {
namespace {

struct Entry {
  const char* name;
  double most;
  int digits;
};

// In the order of Bound::Kind.
constexpr Entry kEntries[] = {{"top1", 100, 1}, {"sqnr", HUGE_VAL, 1},  {"iou", 1, 4},
                              {"boxes", 1, 4},  {"depth", HUGE_VAL, 4}, {"lines", 1, 4}};

const Entry& entry(Bound::Kind kind) { return kEntries[static_cast<size_t>(kind)]; }

size_t whole_agreements(const std::vector<double>& scores) {
  return static_cast<size_t>(std::count_if(scores.begin(), scores.end(), [](double s) { return s >= 1; }));
}

}  // namespace

Bound Bound::parse(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  const bool read = !value.empty() && *end == '\0' && number > 0 && std::isfinite(number);
  for (size_t i = 0; read && i < std::size(kEntries); ++i)
    if (name == kEntries[i].name && number <= kEntries[i].most) return {static_cast<Kind>(i), number};
  fail(
      "--bound %s: expected top1=PERCENT, as top1=99, sqnr=DECIBEL, as sqnr=25, or iou=.98, boxes=.98, depth=.02 or "
      "lines=1",
      text.c_str());
}

double Bound::measure(const OutputError& error) const {
  switch (kind) {
    case Kind::Top1: return 100 * error.agreement();
    case Kind::Sqnr: return error.sqnr();
    case Kind::Depth: return -mean_of(error.scores);
    case Kind::Lines:
      return static_cast<double>(whole_agreements(error.scores)) /
             static_cast<double>(std::max<size_t>(error.scores.size(), 1));
    default: return mean_of(error.scores);
  }
}

bool Bound::holds(const OutputError& error) const { return measure(error) >= (kind == Kind::Depth ? -value : value); }

std::string Bound::reached(const OutputError& error) const {
  char text[64];
  std::snprintf(text, sizeof text, "%s=%.*f", entry(kind).name, entry(kind).digits, std::fabs(measure(error)));
  return text;
}

double Bound::limit(const OutputError& error) const {
  switch (kind) {
    case Kind::Top1: return 100 * lower_limit(error.agreeing, error.images);
    case Kind::Sqnr: return error.sqnr();
    case Kind::Lines: return lower_limit(whole_agreements(error.scores), error.scores.size());
    case Kind::Depth: return mean_of(error.scores) + uncertainty_of(error.scores);
    default: return mean_of(error.scores) - uncertainty_of(error.scores);
  }
}

bool Bound::proven(const OutputError& error) const {
  return kind == Kind::Depth ? limit(error) <= value : limit(error) >= value;
}

size_t Bound::images_to_prove(const OutputError& error) const {
  if (kind == Kind::Top1 || kind == Kind::Lines) {
    const double share = kind == Kind::Top1 ? value / 100 : value;
    return share < 1 ? samples_to_show(share) : 0;
  }
  const double margin = std::fabs(mean_of(error.scores) - value);
  if (kind == Kind::Sqnr || margin <= 0 || error.scores.size() < 2) return 0;
  // The uncertainty falls with the root of the number.
  const double factor = uncertainty_of(error.scores) / margin;
  return static_cast<size_t>(std::ceil(static_cast<double>(error.scores.size()) * factor * factor));
}

}  // namespace ferry::int8

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
constexpr Entry kBounds[] = {{"top1", 100, 1}, {"sqnr", HUGE_VAL, 1},  {"iou", 1, 4},
                             {"boxes", 1, 4},  {"depth", HUGE_VAL, 4}, {"lines", 1, 4}};

const Entry& entry(Bound::Kind kind) { return kBounds[static_cast<size_t>(kind)]; }

// Things that agree, and all of them: boxes with a partner, images with equal text.
struct Counted {
  double agreeing = 0, all = 0;

  double share() const { return all > 0 ? agreeing / all : 1; }
  double limit() const {
    return lower_limit(static_cast<size_t>(std::floor(agreeing)), static_cast<size_t>(std::ceil(all)));
  }
};

Counted counted(const std::vector<Score>& scores) {
  Counted out;
  for (const Score& s : scores) {
    out.agreeing += s.value * s.count;
    out.all += s.count;
  }
  return out;
}

bool counts(Bound::Kind kind) { return kind == Bound::Kind::Boxes || kind == Bound::Kind::Lines; }

}  // namespace

Bound Bound::parse(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  const bool read = !value.empty() && *end == '\0' && number > 0 && std::isfinite(number);
  for (size_t i = 0; read && i < std::size(kBounds); ++i)
    if (name == kBounds[i].name && number <= kBounds[i].most) return {static_cast<Kind>(i), number};
  fail(
      "--bound %s: expected top1=PERCENT, as top1=99, sqnr=DECIBEL, as sqnr=25, or iou=.98, boxes=.98, depth=.02 or "
      "lines=1",
      text.c_str());
}

double Bound::measure(const OutputError& error) const {
  if (counts(kind)) return counted(error.scores).share();
  switch (kind) {
    case Kind::Top1: return 100 * error.agreement();
    case Kind::Sqnr: return error.sqnr();
    case Kind::Depth: return -mean_of(error.scores);
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
  if (counts(kind)) return counted(error.scores).limit();
  switch (kind) {
    case Kind::Top1: return 100 * lower_limit(error.agreeing, error.images);
    case Kind::Sqnr: return error.sqnr();
    case Kind::Depth: return mean_of(error.scores) + uncertainty_of(error.scores);
    default: {
      // Equal scores have no spread to infer one from.
      const double spread = uncertainty_of(error.scores);
      return mean_of(error.scores) * (spread > 0 ? 1 : lower_limit(error.scores.size(), error.scores.size())) - spread;
    }
  }
}

bool Bound::proven(const OutputError& error) const {
  return kind == Kind::Depth ? limit(error) <= value : limit(error) >= value;
}

size_t Bound::images_to_prove(const OutputError& error) const {
  const double images = static_cast<double>(error.scores.size());
  if (kind == Kind::Sqnr) return 0;
  if (kind == Kind::Top1 || counts(kind)) {
    const double share = kind == Kind::Top1 ? value / 100 : value;
    const double per_image = counts(kind) ? counted(error.scores).all / images : 1;
    return share < 1 && per_image > 0
               ? static_cast<size_t>(std::ceil(static_cast<double>(samples_to_show(share)) / per_image))
               : 0;
  }
  const double margin = std::fabs(mean_of(error.scores) - value);
  if (margin <= 0 || images < 2) return 0;
  // The uncertainty falls with the root of the number.
  const double factor = uncertainty_of(error.scores) / margin;
  return static_cast<size_t>(std::ceil(images * factor * factor));
}

}  // namespace ferry::int8

#include "cli/bisect/trial.h"

#include <algorithm>
#include <cmath>

#include "converter/error.h"

namespace ferry::bisect {
namespace {

// A cause is accepted if at most this fraction of the departure remains.
constexpr double kExplained = 0.25;
// A fitted parameter is accepted if almost nothing remains: this fraction of the departure, or the rounding error.
constexpr double kFitted = 0.01, kRounding = 3e-5;

class Trials {
 public:
  Trials(const Suspect& suspect, Trial trial, double departure, const Distance& distance, uint64_t budget)
      : suspect_(suspect), trial_(trial), distance_(distance), budget_(budget), best_(departure * kExplained) {}

  Tried run(double departure) {
    const Causes causes = known_causes(suspect_);
    for (const Cause& cause : causes.known) keep_if_better(cause, left_by(cause));
    const double exact = std::max(kRounding, departure * kFitted);
    if (best_ <= exact) return tried_;
    best_ = exact;
    for (const Fit& fit : causes.fits) {
      const Cause cause = fit.cause(best_number(fit));
      keep_if_better(cause, left_by(cause));
    }
    return tried_;
  }

 private:
  double left_by(const Cause& cause) {
    if (work_ >= budget_) {
      tried_.limited = true;
      return HUGE_VAL;
    }
    Piece changed = suspect_.piece;
    ++tried_.count;
    try {
      cause.plant(changed);
      return distance_(compute(changed, &suspect_.computed, cause.from, &work_).at(changed.target));
    } catch (const Error&) {  // the cause does not fit here: it changes the shape
      return HUGE_VAL;
    }
  }

  void keep_if_better(const Cause& cause, double left) {
    if (!(left < best_)) return;
    best_ = tried_.left = left;
    tried_.at = cause.at.value_or(cause.from);
    tried_.text = trial_ == Trial::MakesWrong ? cause.text : cause.repaired;
  }

  // The parameter with the smallest remaining error: the best of a logarithmic grid, refined by golden-section search.
  // Rounded to four digits if these fit as well.
  double best_number(const Fit& fit) {
    constexpr int kRow = 32, kSteps = 30;
    const double low = std::log(fit.low), step = (std::log(fit.high) - low) / kRow;
    const auto left_at = [&](double x) { return left_by(fit.cause(std::exp(x))); };
    double best = low, least = HUGE_VAL;
    for (int i = 0; i <= kRow; ++i)
      if (const double left = left_at(low + i * step); left < least) least = left, best = low + i * step;
    const double golden = (std::sqrt(5.0) - 1) / 2;
    double from = best - step, to = best + step;
    double a = to - golden * (to - from), b = from + golden * (to - from);
    double left_a = left_at(a), left_b = left_at(b);
    for (int i = 0; i < kSteps; ++i) {
      if (left_a < left_b) {
        to = b, b = a, left_b = left_a;
        a = to - golden * (to - from), left_a = left_at(a);
      } else {
        from = a, a = b, left_a = left_b;
        b = from + golden * (to - from), left_b = left_at(b);
      }
    }
    const double found = std::exp((from + to) / 2), unit = std::pow(10, std::floor(std::log10(found)) - 3);
    const double rounded = std::nearbyint(found / unit) * unit;
    return left_by(fit.cause(rounded)) <= std::max(left_by(fit.cause(found)), kRounding) ? rounded : found;
  }

  const Suspect& suspect_;
  const Trial trial_;
  const Distance& distance_;
  const uint64_t budget_;
  uint64_t work_ = 0;  // of all trials
  double best_;
  Tried tried_;
};

}  // namespace

Tried try_causes(const Suspect& suspect, Trial trial, double departure, const Distance& distance, uint64_t budget) {
  return Trials(suspect, trial, departure, distance, budget).run(departure);
}

}  // namespace ferry::bisect

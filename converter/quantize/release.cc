#include "converter/quantize/release.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace ferry::int8 {
namespace {

// Without a budget, all operators compute on Int8 if that is not slower than this: the certificate of a network whose
// integers follow a float operator has fewer stages.
constexpr double kWhole = 1.05;
// Without a budget, this share of the time may be spent on a smaller error.
constexpr double kSpare = 1.01;

size_t count_of(const std::vector<bool>& set) { return static_cast<size_t>(std::count(set.begin(), set.end(), true)); }

}  // namespace

Releases::Releases(const Graph& graph, const std::vector<Role>& roles, const TimeModel* times, double budget)
    : graph_(graph), roles_(roles), times_(times), released_(roles.size()), reasons_(roles.size()) {
  const std::vector<bool> possible = integer();
  if (count_of(possible) == 0)
    throw NoIntegers(
        "no operator of this network can compute on Int8: it has no convolution or linear layer with finite values");
  if (times_ == nullptr) return;
  released_ = fastest_release(graph, roles, *times_, released_, true);
  if (empty())
    throw NoIntegers(
        "no operator of this network is faster on Int8: `ferry convert --weights i8` makes the file smaller instead");
  fastest_ = time(released_);
  const double whole = times_->total(possible);
  if (budget == 0 && whole <= kWhole * fastest_ && whole <= times_->all_float()) {
    released_.assign(roles.size(), false);
    return;
  }
  const std::vector<bool> paying = integer();
  for (size_t i = 0; i < roles.size(); ++i) {
    released_[i] = possible[i] && !paying[i];
    if (released_[i]) reasons_[i] = Reason::Time;
  }
}

bool Releases::empty() const { return count_of(integer()) == 0; }

double Releases::time(const std::vector<bool>& released) const {
  const std::vector<bool> integers = integer_operators(graph_, roles_, released);
  return times_ != nullptr ? times_->total(integers) : static_cast<double>(roles_.size() - count_of(integers));
}

double Releases::added_time(size_t op) const {
  std::vector<bool> released = released_;
  released[op] = true;
  return time(released) - time(released_);
}

double Releases::score(const Candidate& candidate) const {
  const double cost = std::max(added_time(candidate.op), 1e-4 * time(std::vector<bool>(roles_.size(), true)));
  return candidate.gain > 0 ? candidate.gain / cost : candidate.gain * cost;
}

void Releases::measure_candidates() {
  candidates_.clear();
  const std::vector<bool> integers = integer();
  for (size_t i = 0; i < roles_.size(); ++i) {
    if (options_.progress) options_.progress(static_cast<double>(i) / static_cast<double>(roles_.size()));
    if (!integers[i] || roles_[i] == Role::Mover) continue;
    std::vector<bool> released = released_;
    released[i] = true;
    const double cost = options_.measure(integer_operators(graph_, roles_, released), false).cost();
    candidates_.push_back({i, error_.cost() - cost, true});
  }
}

size_t Releases::best_candidate() {
  // A release changes what the others are worth. Only the best is measured again, a few times.
  constexpr int kAgain = 3;
  for (int again = 0;; ++again) {
    std::vector<double> scores;
    for (const Candidate& c : candidates_) scores.push_back(score(c));
    const auto best = static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    Candidate& candidate = candidates_[best];
    if (candidate.fresh || again == kAgain) return best;
    std::vector<bool> released = released_;
    released[candidate.op] = true;
    candidate.gain = error_.cost() - options_.measure(integer_operators(graph_, roles_, released), false).cost();
    candidate.fresh = true;
  }
}

// Also what does not pay any more, alone between float operators.
void Releases::release(size_t op, Reason reason) {
  const std::vector<bool> before = integer();
  released_[op] = true;
  reasons_[op] = reason;
  if (times_ != nullptr) released_ = fastest_release(graph_, roles_, *times_, released_, false);
  const std::vector<bool> after = integer();
  for (size_t i = 0; i < roles_.size(); ++i) {
    if (i == op || !before[i] || after[i]) continue;
    released_[i] = true;
    reasons_[i] = Reason::Time;
  }
  std::erase_if(candidates_, [&](const Candidate& c) { return !after[c.op]; });
  for (Candidate& c : candidates_) c.fresh = false;
  error_ = options_.measure(after, options_.bound != nullptr);
}

bool Releases::hold_bound(double limit) {
  while (!holds(error_)) {
    if (candidates_.empty()) return false;
    const size_t best = best_candidate(), op = candidates_[best].op;
    const std::vector<bool> released = released_;
    const std::vector<Reason> reasons = reasons_;
    const OutputError error = error_;
    const std::vector<Candidate> candidates = candidates_;
    release(op, Reason::Bound);
    if (empty() || time(released_) > limit) {
      released_ = released;
      reasons_ = reasons;
      error_ = error;
      candidates_ = candidates;
      candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(best));
      continue;
    }
    if (options_.bound->measure(error_) <= options_.bound->measure(best_)) continue;
    best_ = error_;
    best_time_ = time(released_);
    best_count_ = count_of(integer());
  }
  return true;
}

void Releases::fail_to_hold() {
  const std::string reached = options_.bound->reached(best_);
  const double time_of_best = best_time_;
  const size_t count = best_count_;
  const auto share = [this](double time) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", time / times_->all_float());
    return std::string(text);
  };
  std::string best = "the best reached " + reached + ", with " + std::to_string(count) + " operators on Int8";
  if (times_ != nullptr) best += ", at " + share(time_of_best) + " of the float network's time";
  measure_candidates();
  if (times_ != nullptr && hold_bound(INFINITY))
    throw NoIntegers("the bound cannot be held in the time: " + best + "; it needs " + share(time(released_)) +
                     " of it");
  throw NoIntegers("the bound cannot be held by a network with Int8 operators: " + best);
}

// What the bound does not need returns to Int8, the most time first.
void Releases::take_back() {
  std::vector<std::pair<double, size_t>> saved;
  for (size_t i = 0; i < roles_.size(); ++i) {
    if (reasons_[i] != Reason::Bound) continue;
    std::vector<bool> released = released_;
    released[i] = false;
    saved.emplace_back(time(released_) - time(released), i);
  }
  std::stable_sort(saved.begin(), saved.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [unused, op] : saved) {
    std::vector<bool> released = released_;
    released[op] = false;
    if (time(released) >= time(released_)) continue;
    const std::vector<bool> integers = integer_operators(graph_, roles_, released);
    const OutputError error = options_.measure(integers, true);
    if (!integers[op] || !holds(error)) continue;
    released_ = released;
    reasons_[op] = Reason::None;
    error_ = error;
  }
}

void Releases::spend(double limit) {
  while (!candidates_.empty()) {
    const size_t best = best_candidate();
    const Candidate candidate = candidates_[best];
    const std::vector<bool> released = released_;
    const std::vector<Reason> reasons = reasons_;
    const std::vector<Candidate> candidates = candidates_;
    const OutputError error = error_;
    if (candidate.gain < kMinGain * error_.cost()) return;
    release(candidate.op, Reason::Gain);
    const bool gains = error_.cost() < error.cost() * (1 - kMinGain);
    const bool held = options_.bound == nullptr || holds(error_);
    if (gains && held && !empty() && time(released_) <= limit) continue;
    released_ = released;
    reasons_ = reasons;
    candidates_ = candidates;
    error_ = error;
    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

OutputError Releases::improve(const OutputError& error, const ReleaseOptions& options) {
  options_ = options;
  error_ = error;
  if (options_.bound != nullptr) error_ = options_.measure(integer(), true);
  const bool held = options_.bound == nullptr || holds(error_);
  if (held && options_.budget == 0) return error_;
  double limit = times_ != nullptr ? times_->all_float() : INFINITY;
  if (options_.budget > 0) limit = std::min(limit, options_.budget * fastest_);
  best_ = error_;
  best_time_ = time(released_);
  best_count_ = count_of(integer());
  measure_candidates();
  if (!held && !hold_bound(limit)) fail_to_hold();
  if (!held) {
    take_back();
    measure_candidates();
  }
  if (times_ != nullptr) spend(options_.budget > 0 ? limit : std::min(limit, time(released_) * kSpare));
  return error_;
}

}  // namespace ferry::int8

#include "sdk/text/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferry {

Sampling sampling_of(const fbs::Sampling& table) {
  return {.temperature = table.temperature(),
          .top_k = table.top_k(),
          .top_p = table.top_p(),
          .min_p = table.min_p(),
          .repetition_penalty = table.repetition_penalty(),
          .bias = {},
          .stop = {}};
}

float log_probability(std::span<const float> logits, int32_t token) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - largest));
  return static_cast<float>(static_cast<double>(logits[static_cast<size_t>(token)] - largest) - std::log(sum));
}

double Random::next() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

Status Sampler::check(const Sampling& s, int32_t vocabulary) {
  const auto require = [](bool met, const char* name, float value, const char* expected) {
    return met ? Status()
               : error(FERRY_INVALID_ARGUMENT, "%s is %g, expected %s", name, static_cast<double>(value), expected);
  };
  FERRY_TRY(require(s.temperature >= 0 && std::isfinite(s.temperature), "temperature", s.temperature, "0 or more"));
  FERRY_TRY(require(s.top_p > 0 && s.top_p <= 1, "top_p", s.top_p, "above 0, at most 1"));
  FERRY_TRY(require(s.min_p >= 0 && s.min_p <= 1, "min_p", s.min_p, "0 to 1"));
  FERRY_TRY(require(s.repetition_penalty > 0 && std::isfinite(s.repetition_penalty), "repetition_penalty",
                    s.repetition_penalty, "above 0"));
  if (s.top_k < 0) return error(FERRY_INVALID_ARGUMENT, "top_k is %d, expected 0 or more", s.top_k);
  for (const auto& [token, bias] : s.bias) {
    if (token < 0 || token >= vocabulary)
      return error(FERRY_INVALID_ARGUMENT, "a bias for token %d, which is not in the model's vocabulary of %d", token,
                   vocabulary);
    if (std::isnan(bias)) return error(FERRY_INVALID_ARGUMENT, "the bias for token %d is not a number", token);
  }
  return {};
}

bool Sampler::adjusts() const {
  return sampling_.temperature > 0 || sampling_.repetition_penalty != 1 || !sampling_.bias.empty();
}

void Sampler::adjust(std::span<const float> logits, std::span<const int32_t> past) {
  logits_.assign(logits.begin(), logits.end());
  for (const auto& [token, bias] : sampling_.bias) logits_[static_cast<size_t>(token)] += bias;
  const float penalty = sampling_.repetition_penalty;
  if (penalty == 1) return;
  std::vector<int32_t> seen(past.begin(), past.end());
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  for (const int32_t token : seen) {
    float& logit = logits_[static_cast<size_t>(token)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

int32_t Sampler::draw(Random* random) {
  candidates_.clear();
  for (size_t i = 0; i < logits_.size(); ++i)
    if (logits_[i] > -std::numeric_limits<float>::infinity())
      candidates_.push_back({logits_[i], static_cast<int32_t>(i)});
  const double largest = std::max_element(candidates_.begin(), candidates_.end())->logit;
  const auto share = [&](const Candidate& c) {
    return std::exp((static_cast<double>(c.logit) - largest) / static_cast<double>(sampling_.temperature));
  };
  const size_t top_k = static_cast<size_t>(sampling_.top_k);
  const bool few = top_k > 0 && top_k < candidates_.size();
  if (few) {
    const auto larger = [](const Candidate& a, const Candidate& b) { return b < a; };
    std::nth_element(candidates_.begin(), candidates_.begin() + sampling_.top_k, candidates_.end(), larger);
    candidates_.resize(top_k);
  }
  double sum = 0;
  for (const Candidate& c : candidates_) sum += share(c);
  auto rest = candidates_.begin();
  if (few || sampling_.top_p < 1 || sampling_.min_p > 0) {
    // Pops from a heap, so that only the remaining candidates of a large vocabulary are sorted.
    const double enough = static_cast<double>(sampling_.top_p) * sum, minimum = sampling_.min_p;
    rest = candidates_.end();
    std::make_heap(candidates_.begin(), rest);
    sum = 0;
    do {
      std::pop_heap(candidates_.begin(), rest--);
      sum += share(*rest);
    } while (rest != candidates_.begin() && sum < enough && share(candidates_.front()) >= minimum);
  }
  double left = random->next() * sum;
  auto chosen = candidates_.end();
  do {
    left -= share(*--chosen);
  } while (left >= 0 && chosen != rest);
  return chosen->token;
}

Status Sampler::choose(std::span<const float> logits, std::span<const int32_t> past, Random* random, int32_t* token) {
  if (adjusts()) {
    adjust(logits, past);
    logits = logits_;
  }
  const auto best = std::max_element(logits.begin(), logits.end());
  if (!std::isfinite(*best))
    return error(FERRY_CORRUPT, "the network's largest logit is %g", static_cast<double>(*best));
  *token = sampling_.temperature > 0 ? draw(random) : static_cast<int32_t>(best - logits.begin());
  return {};
}

}  // namespace ferry

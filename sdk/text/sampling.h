// Which token comes next: from the network's logits to an id, by chance or not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sdk/status.h"

namespace ferry {

// ferry_sampling of text.h, owned.
struct Sampling {
  float temperature = 0;
  int32_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  float repetition_penalty = 1;
  std::vector<std::pair<int32_t, float>> bias;  // by id
  std::vector<std::string> stop;
};

// SplitMix64 (Steele, Lea and Flood 2014): the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // Uniform on [0, 1), a multiple of 2^-53.
  double next();
  // The seed that gives the numbers that are still to come.
  uint64_t state() const { return state_; }

 private:
  uint64_t state_;
};

// The natural logarithm of the softmax of `logits` at `token`.
float log_probability(std::span<const float> logits, int32_t token);

class Sampler {
 public:
  // FERRY_INVALID_ARGUMENT where a number is out of range or a bias names no token of the vocabulary.
  static Status check(const Sampling& sampling, int32_t vocabulary);

  explicit Sampler(Sampling sampling = {}) : sampling_(std::move(sampling)) {}
  const Sampling& sampling() const { return sampling_; }
  // `logits`: one a token of the vocabulary. `past`: the text so far, for the penalty. Biases are added, logits of past
  // tokens divided by the penalty (multiplied where they are below 0: Keskar et al., arXiv:1909.05858), all divided by
  // the temperature; of the probabilities those stay that are among the top_k largest, within the fewest that reach
  // top_p together, and at least min_p times the largest. Temperature 0: the most probable token, of equal ones the
  // first. FERRY_CORRUPT where no logit is a number.
  Status choose(std::span<const float> logits, std::span<const int32_t> past, Random* random, int32_t* token);

 private:
  struct Candidate {
    float logit;
    int32_t token;
    // Of equal ones the lower id counts as larger.
    bool operator<(const Candidate& other) const {
      return logit != other.logit ? logit < other.logit : token > other.token;
    }
  };
  // Does the choice depend on more than the logits?
  bool adjusts() const;
  void adjust(std::span<const float> logits, std::span<const int32_t> past);
  int32_t draw(Random* random);

  Sampling sampling_;
  std::vector<float> logits_;  // adjusted
  std::vector<Candidate> candidates_;
};

}  // namespace ferry

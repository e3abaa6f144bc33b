// Sampling: selects the next token from the network's logits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sdk/status.h"
#include "text_generated.h"

namespace ferry {

// ferry_sampling of text.h with its own memory.
struct Sampling {
  float temperature = 0;
  int32_t top_k = 0;
  float top_p = 1;
  float min_p = 0;
  float repetition_penalty = 1;
  std::vector<std::pair<int32_t, float>> bias;  // by id
  std::vector<std::string> stop;
};

// What the model's authors recommend.
Sampling sampling_of(const fbs::Sampling& table);

// SplitMix64 (Steele, Lea and Flood 2014): the same sequence on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // Uniform on [0, 1), a multiple of 2^-53.
  double next();
  // The seed that continues the sequence.
  uint64_t state() const { return state_; }

 private:
  uint64_t state_;
};

// The natural logarithm of the softmax of `logits` at `token`.
float log_probability(std::span<const float> logits, int32_t token);

class Sampler {
 public:
  // FERRY_INVALID_ARGUMENT: a value is out of range, or a bias is for a token outside the vocabulary.
  static Status check(const Sampling& sampling, int32_t vocabulary);

  explicit Sampler(Sampling sampling = {}) : sampling_(std::move(sampling)) {}
  const Sampling& sampling() const { return sampling_; }
  // `logits`: one per token of the vocabulary. `past`: the text so far, for the penalty. The steps, in order: biases
  // are added; logits of past tokens are divided by the penalty (multiplied if negative: Keskar et al.,
  // arXiv:1909.05858); all are divided by the temperature. Candidates are then the top_k largest, within the smallest
  // set that reaches top_p, with at least min_p times the maximum. Temperature 0: the most probable token; the lowest
  // id of equal ones. FERRY_CORRUPT: all logits are NaN.
  Status choose(std::span<const float> logits, std::span<const int32_t> past, Random* random, int32_t* token);

 private:
  struct Candidate {
    float logit;
    int32_t token;
    // Of equal logits, the lower id sorts as larger.
    bool operator<(const Candidate& other) const {
      return logit != other.logit ? logit < other.logit : token > other.token;
    }
  };
  // Whether settings change the order of the logits.
  bool adjusts() const;
  void adjust(std::span<const float> logits, std::span<const int32_t> past);
  int32_t draw(Random* random);

  Sampling sampling_;
  std::vector<float> logits_;  // after adjustment
  std::vector<Candidate> candidates_;
};

}  // namespace ferry

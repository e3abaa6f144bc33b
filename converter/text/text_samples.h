// A text as sequences of token ids, to calibrate a language model with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

struct TextSamples {
  static constexpr size_t kMaxSequences = 64;
  // One sequence of so many is held out: the last.
  static constexpr size_t kHeldOut = 8;

  std::vector<std::vector<int32_t>> calibrate, held_out;
};

// Converts `contents` to tokens and cuts them into sequences of `length`, each after the tokens that begin every text.
// A remainder is not used; of more than kMaxSequences, as many at equal distances are. `text`: Graph.text. Throws Error
// with `name` if there is no tokenizer, or `contents` is not UTF-8 or shorter than kHeldOut sequences.
TextSamples text_samples(std::span<const uint8_t> text, std::string_view contents, size_t length,
                         const std::string& name);

}  // namespace ferry

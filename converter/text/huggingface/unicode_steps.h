// Steps of normalizers and pre-tokenizers (sdk/schema/text.fbs), including the Unicode data that they need.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text_generated.h"

namespace ferry {

using StepList = std::vector<std::unique_ptr<fbs::StepT>>;
using Mapping = std::vector<std::pair<std::string, std::string>>;  // texts and their replacements

struct UnicodeForm {
  bool compatible;  // NFKC, NFKD
  bool composed;    // NFC, NFKC
};

// Adds steps to a list. `where` begins the message for an invalid regular expression.
class StepBuilder {
 public:
  StepBuilder(StepList* steps, std::string where) : steps_(steps), where_(std::move(where)) {}
  const std::string& where() const { return where_; }

  void cut(std::string_view expression, fbs::Behaviour behaviour, bool inverted = false);
  void replace(std::string_view expression, std::string_view content, fbs::Where where = fbs::Where::Everywhere);
  // `clusters`: maps grapheme clusters, as the `tokenizers` library applies SentencePiece's charsmap.
  void map(Mapping mapping, bool clusters = false);
  void lowercase();
  void normalize(UnicodeForm form);

 private:
  template <typename T>
  void add(T step);

  StepList* steps_;
  std::string where_;
};

}  // namespace ferry

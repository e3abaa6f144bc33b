#include "converter/text/huggingface/unicode_steps.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "converter/error.h"
#include "converter/text/huggingface/regex.h"

namespace ferry {
namespace {

constexpr UChar32 kLast = 0x10FFFF;
constexpr UChar32 kFirstSyllable = 0xAC00, kLastSyllable = 0xD7A3;  // of Hangul, decomposed arithmetically

std::string utf8(const icu::UnicodeString& text) {
  std::string out;
  text.toUTF8String(out);
  return out;
}

const icu::Normalizer2& normalizer(bool compatible) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* found =
      compatible ? icu::Normalizer2::getNFKCInstance(status) : icu::Normalizer2::getNFCInstance(status);
  if (U_FAILURE(status)) fail("ICU has no normalizer: %s", u_errorName(status));
  return *found;
}

// Extended grapheme clusters (Unicode, annex 29, table 1c).
std::string clusters_expression() {
  const std::string hangul =
      "\\p{GCB=L}*(?:\\p{GCB=V}+|\\p{GCB=LV}\\p{GCB=V}*|\\p{GCB=LVT})\\p{GCB=T}*|\\p{GCB=L}+|\\p{GCB=T}+";
  const std::string image = "\\p{ExtPict}(?:\\p{GCB=EX}*\\p{GCB=ZWJ}\\p{ExtPict})*";
  const std::string core = "(?:" + hangul + "|\\p{GCB=RI}\\p{GCB=RI}|" + image + "|[^\\p{GCB=CN}\\r\\n])";
  return "\\r\\n|\\p{GCB=PP}*" + core + "[\\p{GCB=EX}\\p{GCB=ZWJ}\\p{GCB=SM}]*|(?m:.)";
}

}  // namespace

template <typename T>
void StepBuilder::add(T step) {
  auto made = std::make_unique<fbs::StepT>();
  made->kind.Set(std::move(step));
  steps_->push_back(std::move(made));
}

void StepBuilder::cut(std::string_view expression, fbs::Behaviour behaviour, bool inverted) {
  fbs::CutT step;
  step.pattern = compile_regex(expression, where_);
  step.behaviour = behaviour;
  step.inverted = inverted;
  add(std::move(step));
}

void StepBuilder::replace(std::string_view expression, std::string_view content, fbs::Where where) {
  fbs::ReplaceT step;
  step.pattern = compile_regex(expression, where_);
  step.content = content;
  step.where = where;
  add(std::move(step));
}

void StepBuilder::map(Mapping mapping, bool clusters) {
  if (mapping.empty()) return;
  std::sort(mapping.begin(), mapping.end());
  fbs::MapT step;
  for (auto& [key, value] : mapping) {
    step.keys.push_back(std::move(key));
    step.values.push_back(std::move(value));
  }
  if (clusters) step.clusters = compile_regex(clusters_expression(), where_);
  add(std::move(step));
}

void StepBuilder::lowercase() {
  Mapping mapping;
  for (UChar32 c = 0; c <= kLast; ++c) {
    if (U_IS_SURROGATE(c)) continue;
    const icu::UnicodeString upper(c);
    icu::UnicodeString lower(c);
    lower.toLower(icu::Locale::getRoot());
    if (lower != upper) mapping.emplace_back(utf8(upper), utf8(lower));
  }
  map(std::move(mapping));
}

// Decomposition, canonical ordering, composition (Unicode, 3.11).
void StepBuilder::normalize(UnicodeForm form) {
  const icu::Normalizer2& decomposing = normalizer(form.compatible);
  const icu::Normalizer2& composing = normalizer(false);
  Mapping mapping;
  fbs::OrderT order;
  order.hangul = form.composed ? fbs::Hangul::Compose : fbs::Hangul::Decompose;
  for (UChar32 c = 0; c <= kLast; ++c) {
    if (U_IS_SURROGATE(c) || (c >= kFirstSyllable && c <= kLastSyllable)) continue;
    const auto character = static_cast<uint32_t>(c);
    icu::UnicodeString parts;
    if (decomposing.getDecomposition(c, parts)) mapping.emplace_back(utf8(icu::UnicodeString(c)), utf8(parts));
    if (const uint32_t value = u_getCombiningClass(c); value > 0) {
      uint32_t first = character;
      if (!order.classes.empty() && order.classes.back().last() + 1 == first && order.classes.back().value() == value) {
        first = order.classes.back().first();
        order.classes.pop_back();
      }
      order.classes.emplace_back(first, character, value);
    }
    if (!form.composed || !composing.getRawDecomposition(c, parts) || parts.countChar32() != 2) continue;
    const UChar32 first = parts.char32At(0), second = parts.char32At(parts.moveIndex32(0, 1));
    if (composing.composePair(first, second) == c)
      order.compositions.emplace_back(static_cast<uint32_t>(first), static_cast<uint32_t>(second), character);
  }
  std::sort(order.compositions.begin(), order.compositions.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first(), a.second()) < std::pair(b.first(), b.second());
  });
  map(std::move(mapping));
  add(std::move(order));
}

}  // namespace ferry

#include "tests/fuzz/text_mutator.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "tests/fuzz/harness.h"

namespace ferry::fuzz {
namespace {

template <typename List>
auto& pick(List& list, Random& random) {
  return list[random.below(list.size())];
}

int32_t number(Random& random) {
  constexpr int32_t kOdd[] = {0, 1, 2, 3, 6, 31, 127, 255, 256, 4096, 0xDC00, 0x10FFFF, -1, INT32_MAX, INT32_MIN};
  return random.once_in(2) ? kOdd[random.below(std::size(kOdd))] : static_cast<int32_t>(random.below(300));
}

std::string word(Random& random) {
  static constexpr const char* kWords[] = {"",
                                           "t",
                                           "h",
                                           "e",
                                           " ",
                                           "th",
                                           "the",
                                           "\xC3\xA9",
                                           "\xC3",
                                           "\xFF",
                                           "##",
                                           "</w>",
                                           "<0x41>",
                                           "\xE2\x96\x81",
                                           "\xF0\x9F\x98\x80"};
  std::string out;
  for (size_t n = random.below(4); n > 0; --n) out += kWords[random.below(std::size(kWords))];
  return out;
}

// Changes, removes or duplicates one element.
template <typename T, typename Change>
void mutate_list(std::vector<T>& list, Random& random, const Change& change) {
  const size_t at = list.empty() ? 0 : random.below(list.size());
  const auto place = list.begin() + static_cast<std::ptrdiff_t>(at);
  switch (list.empty() ? 9 : random.below(8)) {
    case 0: list.erase(place); break;
    case 1: {
      T copy = *place;
      list.insert(place, std::move(copy));
      break;
    }
    case 2: std::swap(*place, pick(list, random)); break;
    case 9: list.emplace_back(); [[fallthrough]];
    default: change(list[at]);
  }
}

template <typename T>
void mutate_numbers(std::vector<T>& list, Random& random) {
  mutate_list(list, random, [&](T& value) {
    if (random.once_in(3)) {
      value = static_cast<T>(number(random));
    } else if (!list.empty()) {
      value = static_cast<T>(static_cast<uint32_t>(value) + static_cast<uint32_t>(random.below(3)) - 1u);
    }
  });
}

void mutate_pattern(std::unique_ptr<fbs::PatternT>& pattern, Random& random) {
  if (pattern == nullptr) pattern = std::make_unique<fbs::PatternT>();
  if (random.once_in(4)) {
    if (pattern->classes.empty()) pattern->classes.push_back(std::make_unique<fbs::CharacterClassT>());
    fbs::CharacterClassT& set = *pick(pattern->classes, random);
    return mutate_numbers(random.once_in(2) ? set.ascii : set.ranges, random);
  }
  const size_t size = pattern->program.size() + 1;
  mutate_list(pattern->program, random, [&](fbs::Instruction& instruction) {
    const auto near = [&](uint16_t value) {
      return static_cast<uint16_t>(random.once_in(8)   ? static_cast<size_t>(number(random))
                                   : random.once_in(2) ? random.below(size)
                                                       : value);
    };
    instruction = {
        static_cast<fbs::PatternOp>(random.once_in(2) ? static_cast<size_t>(instruction.op()) : random.below(8)),
        random.once_in(4) != instruction.negated(), near(instruction.x()), near(instruction.y())};
  });
}

using StepPtr = std::unique_ptr<fbs::StepT>;

void mutate_step(fbs::StepT& step, Random& random) {
  if (random.once_in(3)) return mutate_table<fbs::Step>(step, random);
  if (fbs::CutT* cut = step.kind.AsCut()) {
    if (random.once_in(3)) cut->behaviour = static_cast<fbs::Behaviour>(random.below(6));
    mutate_pattern(cut->pattern, random);
  } else if (fbs::ReplaceT* replace = step.kind.AsReplace()) {
    if (random.once_in(3)) replace->content = word(random);
    if (random.once_in(3)) replace->where = static_cast<fbs::Where>(random.below(4));
    mutate_pattern(replace->pattern, random);
  } else if (fbs::MapT* map = step.kind.AsMap()) {
    if (random.once_in(3)) return mutate_pattern(map->clusters, random);
    mutate_list(map->keys, random, [&](std::string& key) { key = word(random); });
    map->values.resize(random.once_in(8) ? map->values.size() : map->keys.size());
    if (!map->values.empty()) pick(map->values, random) = word(random);
    if (!random.once_in(4)) std::sort(map->keys.begin(), map->keys.end());
  }
}

void mutate_steps(std::vector<StepPtr>& steps, Random& random) {
  if (steps.empty() || random.once_in(6)) {
    auto step = std::make_unique<fbs::StepT>();
    switch (random.below(4)) {
      case 0: step->kind.Set(fbs::CutT()); break;
      case 1: step->kind.Set(fbs::ReplaceT()); break;
      case 2: step->kind.Set(fbs::MapT()); break;
      default: step->kind.Set(fbs::OrderT());
    }
    mutate_step(*step, random);
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(random.below(steps.size() + 1)), std::move(step));
    return;
  }
  const size_t at = random.below(steps.size());
  if (random.once_in(10)) return void(steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(at)));
  if (random.once_in(10)) return std::swap(steps[at], pick(steps, random));
  mutate_step(*steps[at], random);
}

void mutate_added(std::unique_ptr<fbs::AddedTokensT>& added, Random& random) {
  if (added == nullptr) added = std::make_unique<fbs::AddedTokensT>();
  auto& tokens = added->tokens;
  if (tokens.empty() || random.once_in(4)) tokens.push_back(std::make_unique<fbs::AddedTokenT>());
  fbs::AddedTokenT& token = *pick(tokens, random);
  switch (random.below(4)) {
    case 0: token.content = word(random); break;
    case 1: token.id = number(random); break;
    case 2: mutate_table<fbs::AddedToken>(token, random); break;
    default:
      token.single_word = random.once_in(2);
      token.strip_left = random.once_in(2);
      token.strip_right = random.once_in(2);
  }
  if (random.once_in(8)) return;
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a->content < b->content; });
  added->first_bytes.assign(8, 0);
  for (const auto& one : tokens) {
    if (one->content.empty()) continue;
    const auto byte = static_cast<uint8_t>(one->content[0]);
    added->first_bytes[byte / 32] |= 1u << byte % 32;
  }
}

void mutate_decoder(std::unique_ptr<fbs::DecoderT>& decoder, Random& random) {
  if (decoder == nullptr) decoder = std::make_unique<fbs::DecoderT>();
  switch (random.below(6)) {
    case 0: decoder->bytes = static_cast<fbs::ByteDecoding>(random.below(4)); break;
    case 1: (random.once_in(2) ? decoder->separator : decoder->continuing) = word(random); break;
    case 2:
      decoder->strip = word(random);
      decoder->strip_count = static_cast<uint32_t>(number(random));
      break;
    case 3: decoder->differs_at_end = !decoder->differs_at_end; break;
    default: {
      auto& all = decoder->replacements;
      if (all.empty() || random.once_in(6)) all.push_back(std::make_unique<fbs::TokenReplaceT>());
      fbs::TokenReplaceT& one = *pick(all, random);
      if (random.once_in(2))
        (random.once_in(2) ? one.content : random.once_in(2) ? one.first : one.last) = word(random);
      mutate_pattern(one.pattern, random);
    }
  }
}

void mutate_pieces(fbs::TokenizerT& t, Random& random) {
  if (t.pieces.empty()) return;
  const size_t at = random.below(t.pieces.size());
  t.pieces[at] = word(random);
  if (at < t.kinds.size() && random.once_in(2)) t.kinds[at] = static_cast<fbs::PieceKind>(random.below(6));
  if (random.once_in(4)) return;
  const auto text = [&](uint32_t id) { return id < t.pieces.size() ? t.pieces[id] : std::string(); };
  std::sort(t.order.begin(), t.order.end(), [&](uint32_t a, uint32_t b) { return text(a) < text(b); });
}

void mutate_tokenizer(fbs::TokenizerT& t, Random& random) {
  switch (random.below(16)) {
    case 0:
    case 1: return mutate_steps(t.normalizer, random);
    case 2:
    case 3: return mutate_steps(t.pre_tokenizer, random);
    case 4: return mutate_added(t.added, random);
    case 5: return mutate_added(t.added_normalized, random);
    case 6:
    case 7: return mutate_decoder(t.decoder, random);
    case 8: return mutate_pieces(t, random);
    case 9: return mutate_numbers(random.once_in(2) ? t.order : t.merged, random);
    case 10:
      return mutate_list(t.merges, random, [&](fbs::Merge& merge) {
        merge = {static_cast<uint32_t>(number(random)), static_cast<uint32_t>(number(random))};
      });
    case 11: return mutate_numbers(random.once_in(2) ? t.merge_ends : t.merged, random);
    case 12:
      if (random.once_in(3)) return mutate_numbers(t.bytes, random);
      t.scores.resize(t.pieces.size());
      if (!t.scores.empty()) pick(t.scores, random) = random.once_in(9) ? 1e308 : number(random);
      return;
    case 13: return mutate_numbers(random.once_in(3) ? t.before : random.once_in(2) ? t.after : t.eos, random);
    case 14:
      t.kind = static_cast<fbs::TokenizerKind>(random.below(5));
      t.bytewise = random.once_in(2);
      t.whole_words = random.once_in(2);
      t.fuse_unknown = random.once_in(2);
      t.max_word = static_cast<uint32_t>(number(random));
      return;
    default:
      t.unknown = number(random);
      (random.once_in(2) ? t.continuing : t.word_end) = word(random);
      auto& set = random.once_in(2) ? t.word_characters : t.space_characters;
      if (set == nullptr) set = std::make_unique<fbs::CharacterClassT>();
      mutate_numbers(random.once_in(2) ? set->ascii : set->ranges, random);
  }
}

}  // namespace

bool mutate_text(std::vector<uint8_t>* text, Random& random) {
  const Aligned bytes(std::as_bytes(std::span(*text)));
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (!fbs::VerifyTextBuffer(verifier)) return false;
  const fbs::Tokenizer* given = fbs::GetText(bytes.data())->tokenizer();
  if (given != nullptr && given->scores() != nullptr &&
      reinterpret_cast<uintptr_t>(given->scores()->Data()) % sizeof(double) != 0)
    return false;
  fbs::TextT table;
  fbs::GetText(bytes.data())->UnPackTo(&table);
  if (table.tokenizer == nullptr) table.tokenizer = std::make_unique<fbs::TokenizerT>();
  for (auto* steps : {&table.tokenizer->normalizer, &table.tokenizer->pre_tokenizer})
    for (const StepPtr& step : *steps) settle(*step);
  for (size_t n = 1 + random.below(3); n > 0; --n) mutate_tokenizer(*table.tokenizer, random);
  flatbuffers::FlatBufferBuilder builder;
  fbs::FinishTextBuffer(builder, fbs::CreateText(builder, &table));
  text->assign(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  return true;
}

}  // namespace ferry::fuzz

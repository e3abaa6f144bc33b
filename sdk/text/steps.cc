#include "sdk/text/steps.h"

#include <algorithm>
#include <bit>

#include "sdk/text/prefix_walk.h"
#include "sdk/text/strings.h"

namespace ferry {
namespace {

const fbs::Pattern* pattern_of(const fbs::Step& step) {
  if (const fbs::Cut* cut = step.kind_as_Cut()) return cut->pattern();
  if (const fbs::Replace* replace = step.kind_as_Replace()) return replace->pattern();
  if (const fbs::Map* map = step.kind_as_Map()) return map->clusters();
  return nullptr;
}

// Divides a text into stretches of matches and gaps, as the behaviour says.
class Cutter {
 public:
  Cutter(fbs::Behaviour behaviour, std::vector<Stretches::Stretch>* out) : behaviour_(behaviour), out_(out) {}

  void add(size_t begin, size_t end, bool match) {
    bool joins = false;  // merged with the previous part
    switch (behaviour_) {
      case fbs::Behaviour::Isolated: break;
      case fbs::Behaviour::Removed:
        if (match) return;
        break;
      case fbs::Behaviour::Contiguous: joins = match == was_match_; break;
      case fbs::Behaviour::MergedWithPrevious: joins = match && !was_match_; break;
      case fbs::Behaviour::MergedWithNext: joins = !match && was_match_; break;
    }
    was_match_ = match;
    if (joins && any_) {
      last_.end = end;
      return;
    }
    finish();
    last_ = {begin, end};
    any_ = true;
  }
  void finish() {
    if (any_ && last_.begin < last_.end) out_->push_back(last_);
  }

 private:
  fbs::Behaviour behaviour_;
  std::vector<Stretches::Stretch>* out_;
  Stretches::Stretch last_{};
  bool any_ = false, was_match_ = false;
};

// What looking up a byte of a key costs: a binary search.
constexpr size_t kWalkSteps = 4;
// What a character of the canonical order costs: searches for its combining class and for a composition.
constexpr size_t kOrderSteps = 8;

// ---- canonical order and composition

// Hangul syllables are composed arithmetically (Unicode, 3.12): L consonants, V vowels, T trailing consonants.
constexpr Character kSyllable = 0xAC00, kL = 0x1100, kV = 0x1161, kT = 0x11A7;
constexpr Character kLs = 19, kVs = 21, kTs = 28, kSyllables = kLs * kVs * kTs;

uint32_t combining_class(const fbs::Order& order, Character character) {
  if (!order.classes()) return 0;
  const auto c = static_cast<uint32_t>(character);
  const auto& list = *order.classes();
  const auto found =
      std::upper_bound(list.begin(), list.end(), c, [](uint32_t v, const auto* entry) { return v < entry->first(); });
  if (found == list.begin()) return 0;
  const fbs::CombiningClass& before = **(found - 1);
  return c <= before.last() ? before.value() : 0;
}

Character compose(const fbs::Order& order, Character first, Character second) {
  if (order.hangul() == fbs::Hangul::Compose) {
    if (first >= kL && first < kL + kLs && second >= kV && second < kV + kVs)
      return kSyllable + ((first - kL) * kVs + (second - kV)) * kTs;
    if (first >= kSyllable && first < kSyllable + kSyllables && (first - kSyllable) % kTs == 0 && second > kT &&
        second < kT + kTs)
      return first + (second - kT);
  }
  if (!order.compositions()) return kNoCharacter;
  const auto& list = *order.compositions();
  const std::pair key(static_cast<uint32_t>(first), static_cast<uint32_t>(second));
  const auto found = std::lower_bound(list.begin(), list.end(), key, [](const auto* entry, const auto& wanted) {
    return std::pair(entry->first(), entry->second()) < wanted;
  });
  if (found == list.end() || std::pair(found->first(), found->second()) != key) return kNoCharacter;
  return static_cast<Character>(found->composite());
}

}  // namespace

Steps::Steps(const List* list, Budget& budget) : list_(list), budget_(budget) {
  if (!list) return;
  for (const fbs::Step* step : *list) {
    const fbs::Pattern* pattern = pattern_of(*step);
    matchers_.push_back(pattern ? std::make_unique<Matcher>(*pattern, budget) : nullptr);
  }
}

void Steps::replace(const fbs::Replace& step, Matcher& matcher, std::string_view text, std::string* out) {
  Matches matches(matcher, text);
  size_t done = 0;
  for (Matcher::Match match; matches.next(&match); done = match.end) {
    if (!budget_.write(text.substr(done, match.begin - done), out) || !budget_.write(view(step.content()), out)) return;
  }
  budget_.write(text.substr(done), out);
}

// The longest or shortest key that is a prefix of `text`. -1: none.
int64_t Steps::find_key(const fbs::Map& map, std::string_view text, bool shortest, size_t* bytes) {
  const auto& keys = *map.keys();
  PrefixWalk walk(keys.size(), [&keys](uint32_t i) { return view(keys.Get(i)); });
  int64_t found = -1;
  for (size_t i = 0; i < text.size() && budget_.take(kWalkSteps) && walk.take(text[i]); ++i) {
    if (!walk.ends()) continue;
    found = walk.index();
    *bytes = i + 1;
    if (shortest) break;
  }
  return found;
}

void Steps::map_longest(const fbs::Map& map, std::string_view text, std::string* out) {
  for (size_t at = 0; at < text.size() && !budget_.exhausted();) {
    size_t bytes = 0;
    const int64_t key = find_key(map, text.substr(at), false, &bytes);
    if (key >= 0) {
      budget_.write(view(map.values()->Get(static_cast<unsigned>(key))), out);
    } else {
      character_at(text, at, &bytes);
      budget_.write(text.substr(at, bytes), out);
    }
    at += bytes;
  }
}

void Steps::map_clusters(const fbs::Map& map, Matcher& matcher, std::string_view text, std::string* out) {
  constexpr size_t kSmall = 6;  // bytes; larger clusters are processed by character
  const auto put = [&](std::string_view part) {
    size_t ignored = 0;
    const int64_t key = find_key(map, part, true, &ignored);
    if (key >= 0) budget_.write(view(map.values()->Get(static_cast<unsigned>(key))), out);
    return key >= 0;
  };
  Matches clusters(matcher, text);
  for (Matcher::Match match; clusters.next(&match);) {
    const std::string_view cluster = text.substr(match.begin, match.end - match.begin);
    if (cluster.size() < kSmall && put(cluster)) continue;
    size_t bytes = 0;
    for (size_t at = 0; at < cluster.size(); at += bytes) {
      character_at(cluster, at, &bytes);
      const std::string_view character = cluster.substr(at, bytes);
      if (!put(character) && !budget_.write(character, out)) return;
    }
  }
}

void Steps::cut(const fbs::Cut& step, Matcher& matcher, Stretches* text) {
  std::vector<Stretches::Stretch> parts;
  for (size_t i = 0; i < text->list.size(); ++i) {
    const size_t base = text->list[i].begin;
    const std::string_view stretch = (*text)[i];
    Cutter cutter(step.behaviour(), &parts);
    Matches matches(matcher, stretch);
    size_t done = 0;
    for (Matcher::Match match; matches.next(&match); done = match.end) {
      if (done < match.begin) cutter.add(base + done, base + match.begin, step.inverted());
      cutter.add(base + match.begin, base + match.end, !step.inverted());
    }
    if (done < stretch.size()) cutter.add(base + done, base + stretch.size(), step.inverted());
    cutter.finish();
  }
  text->list = std::move(parts);
}

void Steps::order(const fbs::Order& step, std::string_view text, std::string* out) {
  // No character below U+0300 combines; larger ones have first bytes of at least 0xCC.
  if (std::none_of(text.begin(), text.end(), [](char c) { return static_cast<uint8_t>(c) >= 0xCC; })) {
    budget_.write(text, out);
    return;
  }
  if (!budget_.take(kOrderSteps * text.size())) return;
  std::vector<Character>& all = characters_;
  all.clear();
  for (size_t at = 0, bytes = 0; at < text.size(); at += bytes) {
    const Character c = character_at(text, at, &bytes);
    if (step.hangul() != fbs::Hangul::Decompose || c < kSyllable || c >= kSyllable + kSyllables) {
      all.push_back(c);
      continue;
    }
    const Character index = c - kSyllable;
    all.push_back(kL + index / (kVs * kTs));
    all.push_back(kV + index / kTs % kVs);
    if (index % kTs > 0) all.push_back(kT + index % kTs);
  }
  const auto class_of = [&step](Character c) { return combining_class(step, c); };
  for (size_t i = 0; i < all.size();) {
    size_t end = i;
    while (end < all.size() && class_of(all[end]) > 0) ++end;
    if (!budget_.take((end - i) * kOrderSteps * static_cast<size_t>(std::bit_width(end - i)))) return;
    std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(i), all.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](Character a, Character b) { return class_of(a) < class_of(b); });
    i = end + 1;
  }
  const auto write = [&](size_t count) {
    const size_t before = out->size();
    for (size_t i = 0; i < count; ++i) append_character(all[i], out);
    budget_.take(out->size() - before);
  };
  if (step.hangul() != fbs::Hangul::Compose) return write(all.size());
  constexpr size_t kNone = SIZE_MAX;
  size_t starter = kNone, kept = 0;
  uint32_t last = 0;  // combining class of the last kept character after the starter
  for (const Character c : all) {
    const uint32_t own = class_of(c);
    const bool adjacent = starter != kNone && kept == starter + 1;
    if (starter != kNone && (adjacent || (last != 0 && last < own))) {
      if (const Character composite = compose(step, all[starter], c); composite != kNoCharacter) {
        all[starter] = composite;
        continue;
      }
    }
    if (own == 0) starter = kept;
    last = own;
    all[kept++] = c;
  }
  write(kept);
}

void Steps::apply(Stretches* text, bool at_beginning, bool goes_on) {
  for (unsigned s = 0; list_ && s < list_->size() && !budget_.exhausted(); ++s) {
    const fbs::Step& step = *list_->Get(s);
    Matcher* matcher = matchers_[s].get();
    if (const fbs::Cut* cut_step = step.kind_as_Cut()) {
      cut(*cut_step, *matcher, text);
      continue;
    }
    std::string made;
    made.reserve(text->bytes.size());
    std::vector<Stretches::Stretch> parts;
    for (size_t i = 0; i < text->list.size() && !budget_.exhausted(); ++i) {
      const std::string_view stretch = (*text)[i];
      const size_t begin = made.size();
      if (const fbs::Replace* wanted = step.kind_as_Replace()) {
        const bool first = at_beginning && text->list[i].begin == 0;
        const bool applies = wanted->where() == fbs::Where::Everywhere ||
                             (wanted->where() == fbs::Where::Beginning ? !(first && goes_on) : first && !goes_on);
        if (applies)
          replace(*wanted, *matcher, stretch, &made);
        else
          budget_.write(stretch, &made);
      } else if (const fbs::Map* map = step.kind_as_Map()) {
        if (matcher)
          map_clusters(*map, *matcher, stretch, &made);
        else
          map_longest(*map, stretch, &made);
      } else {
        order(*step.kind_as_Order(), stretch, &made);
      }
      if (begin < made.size()) parts.push_back({begin, made.size()});
    }
    text->bytes = std::move(made);
    text->list = std::move(parts);
  }
}

}  // namespace ferry

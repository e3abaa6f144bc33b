#include <algorithm>

#include "sdk/text/template/filters.h"
#include "sdk/text/template/functions.h"
#include "sdk/text/template/tests.h"

namespace ferry::jinja {
namespace {

// The sort key of an element: the element or an attribute; strings are lower-cased unless case-sensitive.
Value key_of(Evaluator& run, const Value& item, const Value& attribute, bool case_sensitive) {
  const bool whole = attribute.is(Type::Absent) || attribute.is(Type::None);
  const Value key = whole ? item : run.path(item, attribute);
  return !case_sensitive && key.is(Type::String) ? with_letters(run, key.uncharged(), Letters::Lower) : key;
}

struct Keyed {
  Value key, value;
};

// Python compares lists of keys here: elements need an order only if they differ.
bool before(Evaluator& run, const Keyed& a, const Keyed& b) {
  return !equal(run, a.key, b.key) && less(run, a.key, b.key);
}

// A bottom-up merge sort: stable, and n log n even if less() is inconsistent.
void sort(Evaluator& run, Keyed* items, size_t count, bool reverse) {
  auto* other = run.make<Keyed>(count + 1);
  if (other == nullptr) return;
  Keyed* from = items;
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      const size_t middle = std::min(begin + width, count), end = std::min(begin + 2 * width, count);
      size_t left = begin, right = middle;
      for (size_t at = begin; at < end; ++at) {
        if (run.failed()) return;
        const bool takes_right =
            left == middle ||
            (right < end && (reverse ? before(run, from[left], from[right]) : before(run, from[right], from[left])));
        other[at] = from[takes_right ? right++ : left++];
      }
    }
    std::swap(from, other);
  }
  if (from != items) std::copy(from, from + count, items);
}

Value sorted(Evaluator& run, const Value& items, const Value& attribute, bool case_sensitive, bool reverse) {
  auto* keyed = run.make<Keyed>(items.size + 1);
  auto* made = run.make<Value>(items.size + 1);
  if (keyed == nullptr || made == nullptr) return {};
  for (uint32_t i = 0; i < items.size && run.step(); ++i)
    keyed[i] = {key_of(run, items.items[i], attribute, case_sensitive), items.items[i]};
  sort(run, keyed, items.size, reverse);
  if (run.failed()) return {};
  for (uint32_t i = 0; i < items.size; ++i) made[i] = keyed[i].value;
  return sequence(Type::List, made, items.size);
}

// The minimum or maximum; the first of equal elements.
Value extreme(Evaluator& run, const Value& value, const Arguments& a, bool greatest) {
  const Value items = run.elements(value);
  if (items.size == 0) return run.undefined(none(), "No aggregated item, sequence was empty.");
  Value best, best_key;
  for (uint32_t i = 0; i < items.size && run.step(); ++i) {
    const Value key = key_of(run, items.items[i], a[1], truth(a[0]));
    if (i > 0 && !(greatest ? less(run, best_key, key) : less(run, key, best_key))) continue;
    best = items.items[i];
    best_key = key;
  }
  return best;
}

// Arguments without the first `count`.
Arguments behind(const Arguments& a, uint32_t count) {
  return {a.values + count, a.count - count, a.named, a.named_count};
}

// The elements for which a test, or truth, is `wanted`; with `attribute`, for an attribute of them.
Value selected(Evaluator& run, const Value& value, const Arguments& a, bool wanted, bool attribute) {
  if (!truth(value)) return run.iterator(nullptr, 0);
  const uint32_t name = attribute ? 1 : 0;
  if (a.count < name) return run.fail("Missing parameter for attribute name");
  const Native* test = nullptr;
  if (a.count > name) {
    const Value known = run.text(a[name]);
    if (run.failed()) return {};
    const uint8_t index = find_test(known.uncharged());
    if (index == kUnknown) return fail_unknown_test(run, run.line, known.uncharged());
    test = &test_at(index);
  }
  const Value items = run.elements(value);
  auto* kept = run.make<Value>(items.size + 1);
  if (kept == nullptr) return {};
  size_t count = 0;
  for (uint32_t i = 0; i < items.size && run.step(); ++i) {
    const Value subject = attribute ? run.path(items.items[i], a[0]) : items.items[i];
    const Value holds = test != nullptr ? run.call(*test, "test", subject, behind(a, name + 1)) : subject;
    if (truth(holds) == wanted) kept[count++] = items.items[i];
  }
  return run.iterator(kept, count);
}

}  // namespace

Value filter_first(Evaluator& run, const Value& value, const Arguments&) {
  if (value.is(Type::Iterator) && value.iterator->size > 0) {  // other elements have not been produced yet
    --value.iterator->size;
    return *value.iterator->items++;
  }
  const Value items = run.elements(value);
  return items.size > 0 ? items.items[0] : run.undefined(none(), "No first item, sequence was empty.");
}

Value filter_last(Evaluator& run, const Value& value, const Arguments&) {
  if (value.is(Type::Iterator)) return run.fail("'generator' object is not reversible");
  const Value items = run.elements(value);
  return items.size > 0 ? items.items[items.size - 1] : run.undefined(none(), "No last item, sequence was empty.");
}

Value filter_join(Evaluator& run, const Value& value, const Arguments& a) {
  const Value items = run.elements(value), between = a[0].is(Type::Absent) ? string("") : run.text(a[0]);
  const bool whole = a[1].is(Type::Absent) || a[1].is(Type::None);
  const size_t mark = run.length();
  for (uint32_t i = 0; i < items.size && run.step(); ++i) {
    if (i > 0) run.append(between.uncharged());
    run.write(whole ? items.items[i] : run.path(items.items[i], a[1]));
  }
  return run.take(mark);
}

Value filter_list(Evaluator& run, const Value& value, const Arguments&) { return run.elements(value); }

Value filter_items(Evaluator& run, const Value& value, const Arguments&) {
  if (value.is(Type::Undefined)) return run.iterator(nullptr, 0);
  if (!value.is(Type::Dict)) return run.fail("Can only get item pairs from a mapping.");
  const Value items = run.call(*find_method(Type::Dict, "items"), "function", value, {});
  return run.failed() ? Value{} : run.iterator(items.items, items.size);
}

Value filter_dictsort(Evaluator& run, const Value& value, const Arguments& a) {
  if (!value.is(Type::Dict))
    return value.is(Type::Undefined) ? run.fail_undefined(value) : run.fail("the filter 'dictsort' takes a dict");
  const std::string_view by = a[1].is(Type::String) ? a[1].uncharged() : "key";
  if (by != "key" && by != "value") return run.fail("You can only sort by either \"key\" or \"value\"");
  const Value items = run.call(*find_method(Type::Dict, "items"), "function", value, {});
  return sorted(run, run.elements(items), integer(by == "value"), truth(a[0]), truth(a[2]));
}

Value filter_sort(Evaluator& run, const Value& value, const Arguments& a) {
  return sorted(run, run.elements(value), a[2], truth(a[1]), truth(a[0]));
}

Value filter_reverse(Evaluator& run, const Value& value, const Arguments&) {
  const Value items = run.elements(value);
  auto* made = run.make<Value>(items.size + 1);
  if (made == nullptr) return {};
  for (uint32_t i = 0; i < items.size; ++i) made[i] = items.items[items.size - 1 - i];
  if (!value.is(Type::String)) return run.iterator(made, items.size);
  const size_t mark = run.length();
  for (uint32_t i = 0; i < items.size; ++i) run.append(made[i].uncharged());
  const Value reversed = run.take(mark);
  return value.safe ? markup(reversed) : reversed;
}

Value filter_unique(Evaluator& run, const Value& value, const Arguments& a) {
  const Value items = run.elements(value), seen = run.new_dict();
  auto* kept = run.make<Value>(items.size + 1);
  if (kept == nullptr) return {};
  size_t count = 0;
  for (uint32_t i = 0; i < items.size && run.step(); ++i) {
    const Value key = key_of(run, items.items[i], a[1], truth(a[0]));
    const uint32_t before = seen.dict->size;
    seen.dict->put(run, key, none());
    if (seen.dict->size > before) kept[count++] = items.items[i];
  }
  return run.iterator(kept, count);
}

Value filter_sum(Evaluator& run, const Value& value, const Arguments& a) {
  const Value items = run.elements(value);
  Value sum = a[1].is(Type::Absent) ? integer(0) : a[1];
  if (sum.is(Type::String)) return run.fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (uint32_t i = 0; i < items.size && run.step(); ++i)
    sum = run.apply(Operation::Add, sum, key_of(run, items.items[i], a[0], true));
  return sum;
}

Value filter_min(Evaluator& run, const Value& value, const Arguments& a) { return extreme(run, value, a, false); }
Value filter_max(Evaluator& run, const Value& value, const Arguments& a) { return extreme(run, value, a, true); }

// map(attribute="name", default=value), or map("filter", ...).
Value filter_map(Evaluator& run, const Value& value, const Arguments& a) {
  if (!truth(value)) return run.iterator(nullptr, 0);
  const Value *attribute = a.find(run, "attribute"), *otherwise = a.find(run, "default");
  const Native* filter = nullptr;
  if (a.count == 0) {
    if (attribute == nullptr || a.named_count > (otherwise != nullptr ? 2u : 1u))
      return run.fail("the filter 'map' takes a filter's name, or attribute= and default=");
  } else {
    const Value name = run.text(a[0]);
    if (run.failed()) return {};
    const uint8_t index = find_filter(name.uncharged());
    if (index == kUnknown) return fail_unknown_filter(run, run.line, name.uncharged());
    filter = &filter_at(index);
  }
  const Value items = run.elements(value);
  auto* made = run.make<Value>(items.size + 1);
  if (made == nullptr) return {};
  for (uint32_t i = 0; i < items.size && run.step(); ++i) {
    made[i] = filter != nullptr ? run.call(*filter, "filter", items.items[i], behind(a, 1))
                                : run.path(items.items[i], *attribute, otherwise);
  }
  return run.iterator(made, items.size);
}

Value filter_select(Evaluator& run, const Value& value, const Arguments& a) {
  return selected(run, value, a, true, false);
}
Value filter_reject(Evaluator& run, const Value& value, const Arguments& a) {
  return selected(run, value, a, false, false);
}
Value filter_selectattr(Evaluator& run, const Value& value, const Arguments& a) {
  return selected(run, value, a, true, true);
}
Value filter_rejectattr(Evaluator& run, const Value& value, const Arguments& a) {
  return selected(run, value, a, false, true);
}

// Lists of `count` elements; the last one is padded if a fill value is given.
Value filter_batch(Evaluator& run, const Value& value, const Arguments& a) {
  if (!a[0].is(Type::Int) || a[0].integer < 1 || a[0].integer > kMaxRange)
    return run.fail("the filter 'batch' takes how many elements a list has");
  const Value items = run.elements(value);
  const auto width = static_cast<uint32_t>(a[0].integer), count = (items.size + width - 1) / width;
  auto* lists = run.make<Value>(count + 1);
  if (lists == nullptr || !run.step(items.size)) return {};
  for (uint32_t i = 0; i < count; ++i)
    lists[i] = sequence(Type::List, items.items + i * width, std::min(width, items.size - i * width));
  const bool fills = !a[1].is(Type::Absent) && !a[1].is(Type::None);
  if (fills && count > 0 && lists[count - 1].size < width) {
    auto* filled = run.make<Value>(width);
    if (filled == nullptr) return {};
    const Value& last = lists[count - 1];
    std::fill(std::copy(last.items, last.items + last.size, filled), filled + width, a[1]);
    lists[count - 1] = sequence(Type::List, filled, width);
  }
  return run.iterator(lists, count);
}

}  // namespace ferry::jinja

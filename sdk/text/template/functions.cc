#include "sdk/text/template/functions.h"

#include <algorithm>

namespace ferry::jinja {
namespace {

Value raise(Evaluator& run, const Value&, const Arguments& a) {
  const Value message = run.text(a[0]);
  run.read(message);
  if (!run.failed())
    run.set_failure(error(FERRY_INVALID_ARGUMENT, "%.*s", static_cast<int>(message.size), message.text));
  return {};
}

Value strftime_now(Evaluator& run, const Value&, const Arguments& a) {
  if (!a[0].is(Type::String)) return run.fail("strftime_now() takes a string");
  const size_t mark = run.length();
  write_time(run, a[0].uncharged(), *run.now());
  return run.take(mark);
}

Value range(Evaluator& run, const Value&, const Arguments& a) {
  for (size_t i = 0; i < 3; ++i)
    if (!a[i].is(Type::Absent) && !a[i].is_integral()) return run.fail("range() takes integers");
  if (a[0].is(Type::Absent)) return run.fail("range() takes 1 to 3 integers");
  const bool alone = a[1].is(Type::Absent);
  const int64_t begin = alone ? 0 : a[0].integer, end = alone ? a[0].integer : a[1].integer;
  const int64_t by = a[2].is(Type::Absent) ? 1 : a[2].integer;
  if (by == 0) return run.fail("range() arg 3 must not be zero");
  const bool some = by > 0 ? begin < end : begin > end;
  const uint64_t span = !some    ? 0
                        : by > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(begin)
                                 : static_cast<uint64_t>(begin) - static_cast<uint64_t>(end);
  const uint64_t pace = by > 0 ? static_cast<uint64_t>(by) : uint64_t{0} - static_cast<uint64_t>(by);
  const uint64_t count = span / pace + (span % pace != 0);
  if (count > static_cast<uint64_t>(kMaxRange))
    return run.fail("Range too big. The sandbox blocks ranges larger than MAX_RANGE (%lld).",
                    static_cast<long long>(kMaxRange));
  auto* items = run.make<Value>(count + 1);
  if (items == nullptr || !run.step(count)) return {};
  for (uint64_t i = 0; i < count; ++i)
    items[i] = integer(static_cast<int64_t>(static_cast<uint64_t>(begin) + i * static_cast<uint64_t>(by)));
  return sequence(Type::List, items, count);
}

// dict(pairs or a dict, name=value, ...); namespace() the same.
Value make_dict(Evaluator& run, const Value&, const Arguments& a) {
  const Value made = run.new_dict();
  if (a.count > 1) return run.fail("dict() takes one argument and names");
  if (a.count == 1 && a[0].is(Type::Dict)) {
    for (uint32_t i = 0; i < a[0].dict->size && run.step(); ++i)
      made.dict->put(run, a[0].dict->entries[i].key, a[0].dict->entries[i].value);
  } else if (a.count == 1) {
    const Value pairs = run.elements(a[0]);
    for (uint32_t i = 0; i < pairs.size && run.step(); ++i) {
      const Value pair = run.elements(pairs.items[i]);
      if (pair.size != 2) return run.fail("dict() takes pairs");
      made.dict->put(run, pair.items[0], pair.items[1]);
    }
  }
  for (uint32_t i = 0; i < a.named_count && !run.failed(); ++i)
    made.dict->put(run, string(a.named[i].name), a.named[i].value);
  return made;
}

Value make_namespace(Evaluator& run, const Value& subject, const Arguments& a) {
  Value made = make_dict(run, subject, a);
  if (made.is(Type::Dict)) made.type = Type::Namespace;
  return made;
}

constexpr Native kFunctions[] = {{"raise_exception", "message", raise},
                                 {"strftime_now", "format", strftime_now},
                                 {"range", "start stop step", range},
                                 {"dict", nullptr, make_dict},
                                 {"namespace", nullptr, make_namespace}};

Value keys(Evaluator& run, const Value& dict, const Arguments&) {
  const Value found = run.elements(dict);
  return sequence(Type::View, found.items, found.size);
}

Value values(Evaluator& run, const Value& subject, const Arguments&) {
  const Dict& dict = *subject.dict;
  auto* made = run.make<Value>(dict.size + 1);
  if (made == nullptr || !run.step(dict.size)) return {};
  for (uint32_t i = 0; i < dict.size; ++i) made[i] = dict.entries[i].value;
  return sequence(Type::View, made, dict.size);
}

Value items(Evaluator& run, const Value& subject, const Arguments&) {
  const Dict& dict = *subject.dict;
  auto* made = run.make<Value>(dict.size + 1);
  if (made == nullptr || !run.step(dict.size)) return {};
  // An entry is a key followed by a value.
  static_assert(sizeof(Dict::Entry) == 2 * sizeof(Value));
  for (uint32_t i = 0; i < dict.size; ++i) made[i] = sequence(Type::Tuple, &dict.entries[i].key, 2);
  return sequence(Type::View, made, dict.size);
}

Value get(Evaluator& run, const Value& dict, const Arguments& a) {
  if (const Value* found = dict.dict->find(run, a[0])) return *found;
  return a[1].is(Type::Absent) ? none() : a[1];
}

Value copy(Evaluator&, const Value& subject, const Arguments&) { return subject; }

Value changes(Evaluator& run, const Value& subject, const Arguments&) {
  return run.fail("a %s cannot be changed by a template", type_name(subject.type));
}

constexpr Native kDictMethods[] = {{"items", "", items},         {"keys", "", keys},
                                   {"values", "", values},       {"get", "key default", get},
                                   {"copy", "", copy},           {"pop", nullptr, changes},
                                   {"update", nullptr, changes}, {"setdefault", nullptr, changes},
                                   {"clear", nullptr, changes},  {"popitem", nullptr, changes}};

Value count(Evaluator& run, const Value& list, const Arguments& a) {
  int64_t found = 0;
  for (uint32_t i = 0; i < list.size && !run.failed(); ++i) found += equal(run, list.items[i], a[0]);
  return integer(found);
}

Value index(Evaluator& run, const Value& list, const Arguments& a) {
  for (uint32_t i = 0; i < list.size && !run.failed(); ++i)
    if (equal(run, list.items[i], a[0])) return integer(i);
  return run.fail("what index() looks for is not in the %s", type_name(list.type));
}

constexpr Native kListMethods[] = {
    {"count", "value", count},    {"index", "value", index},    {"copy", "", copy},
    {"append", nullptr, changes}, {"extend", nullptr, changes}, {"insert", nullptr, changes},
    {"pop", nullptr, changes},    {"remove", nullptr, changes}, {"reverse", nullptr, changes},
    {"sort", nullptr, changes},   {"clear", nullptr, changes}};

Value cycle(Evaluator& run, const Value& loop, const Arguments& a) {
  return a.count > 0 ? a[loop.loop->index % a.count] : run.fail("no items for cycling given");
}

// Whether the value differs from the last call's.
Value changed(Evaluator& run, const Value& loop, const Arguments& a) {
  const Value now = sequence(Type::Tuple, a.values, a.count);
  const bool same = loop.loop->changed.is(Type::Tuple) && equal(run, loop.loop->changed, now);
  loop.loop->changed = now;
  return boolean(!same);
}

constexpr Native kLoopMethods[] = {{"cycle", nullptr, cycle}, {"changed", nullptr, changed}};

}  // namespace

const Native* find_function(std::string_view name) { return find_in(kFunctions, name); }

const Native* find_method(Type type, std::string_view name) {
  switch (type) {
    case Type::String: return find_string_method(name);
    case Type::Dict: return find_in(kDictMethods, name);
    case Type::List: return find_in(kListMethods, name);
    case Type::Tuple: return name == "count" || name == "index" ? find_in(kListMethods, name) : nullptr;
    case Type::Loop: return find_in(kLoopMethods, name);
    default: return nullptr;
  }
}

}  // namespace ferry::jinja

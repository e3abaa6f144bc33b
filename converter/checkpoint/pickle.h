// Python pickles as data: what they would build is noted down, nothing is imported, called or run.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

struct PickleValue {
  // Integer: as many bytes as int64_t has; longer ones are Bytes. Dict: collections.OrderedDict too; attributes that a
  // pickle sets on it are dropped. Call: what some other callable would have returned.
  enum class Kind { None, Bool, Integer, Float, Text, Bytes, List, Tuple, Dict, Set, Global, Call, Persistent };

  Kind kind = Kind::None;
  int64_t integer = 0;    // Bool, Integer
  double number = 0;      // Float
  std::string_view text;  // Text, Bytes; Global and Call: "torch.FloatStorage"
  // Members of List, Tuple, Set and of a Persistent's tuple; arguments of a Call; Dict: key, value, key, value...
  std::vector<const PickleValue*> items;
};

struct Pickle {
  const PickleValue* root = nullptr;
  size_t size = 0;  // bytes read: another pickle may follow
  // Whatever was built, in that order. Values may be shared and may even hold themselves: a walk over them keeps count.
  std::deque<PickleValue> values;
  std::deque<std::string> names;  // what `text` of globals points to
};

// Protocols 2 to 5. Text and bytes point into `bytes`. `globals`: the names ("module.name", Python 3's) that may be
// mentioned. Throws Error that begins with `where`, for another global by its name.
Pickle read_pickle(std::string_view bytes, std::span<const std::string_view> globals, const std::string& where);

}  // namespace ferry

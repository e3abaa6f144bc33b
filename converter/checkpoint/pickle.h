// Reads Python pickles as data: calls are recorded as values; nothing is imported or executed.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

struct PickleValue {
  // Integer: fits int64_t; longer integers are Bytes. Dict: includes collections.OrderedDict, whose attributes are
  // dropped. Call: the result of any other callable.
  enum class Kind { None, Bool, Integer, Float, Text, Bytes, List, Tuple, Dict, Set, Global, Call, Persistent };

  Kind kind = Kind::None;
  int64_t integer = 0;    // Bool, Integer
  double number = 0;      // Float
  std::string_view text;  // Text, Bytes; Global and Call: "torch.FloatStorage"
  // Members of List, Tuple, Set and of a Persistent's tuple; arguments of a Call; for Dict: key, value, key, value...
  std::vector<const PickleValue*> items;
};

struct Pickle {
  const PickleValue* root = nullptr;
  size_t size = 0;  // number of bytes read: another pickle may follow
  // All values in order of creation. Values may be shared and cyclic: a traversal must track them.
  std::deque<PickleValue> values;
  std::deque<std::string> names;  // storage of the `text` of globals
};

// Reads protocols 2 to 5. Text and bytes point into `bytes`. `globals` lists the allowed names ("module.name", as in
// Python 3). Throws Error that begins with `where`; for any other global, with its name.
Pickle read_pickle(std::string_view bytes, std::span<const std::string_view> globals, const std::string& where);

}  // namespace ferry

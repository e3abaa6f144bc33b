// Reads Python pickles as data: calls are recorded as values; nothing is imported or executed.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

struct PickleValue {
  // Integer: fits int64_t; longer integers are Bytes. Dict: includes OrderedDict, defaultdict, Counter and any object
  // that pairs are set on; its attributes are dropped. Call: an object, by the class or function that makes it.
  enum class Kind { None, Bool, Integer, Float, Text, Bytes, List, Tuple, Dict, Set, Global, Call, Persistent };

  Kind kind = Kind::None;
  int64_t integer = 0;    // Bool, Integer
  double number = 0;      // Float
  std::string_view text;  // Text, Bytes; Global and Call: "torch.FloatStorage"
  // Members of List, Tuple, Set and of a Persistent's tuple; arguments of a Call; for Dict: key, value, key, value...
  std::vector<const PickleValue*> items;
  const PickleValue* state = nullptr;  // of a Call: what its attributes are set from
};

struct Pickle {
  const PickleValue* root = nullptr;
  size_t size = 0;  // number of bytes read: another pickle may follow
  // All values in order of creation. Values may be shared and cyclic: a traversal must track them.
  std::deque<PickleValue> values;
  std::deque<std::string> names;  // storage of the `text` of globals
};

// Reads protocols 2 to 5. Text and bytes point into `bytes`. Classes and functions have their names of Python 3
// ("builtins.set"). Throws Error that begins with `where`.
Pickle read_pickle(std::string_view bytes, const std::string& where);

}  // namespace ferry

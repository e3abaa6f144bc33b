// Pickles; nothing in them is executed.
#include "converter/checkpoint/pickle.h"

#include <set>

#include "tests/fuzz/harness.h"

FERRY_FUZZ(pickle) {
  expect_error_only([&] {
    const Pickle pickle = read_pickle(text, "pickle");
    require(pickle.root != nullptr && pickle.size <= text.size(), "a pickle longer than its bytes");
    std::set<const PickleValue*> known;
    for (const PickleValue& value : pickle.values) known.insert(&value);
    for (const PickleValue& value : pickle.values) {
      touch(value.text);
      for (const PickleValue* item : value.items) require(known.contains(item), "an item that is nobody's value");
      require(value.state == nullptr || known.contains(value.state), "a state that is nobody's value");
    }
  });
}

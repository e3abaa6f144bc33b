// Pickles; nothing in them is executed.
#include "converter/checkpoint/pickle.h"

#include <set>

#include "tests/fuzz/harness.h"

namespace {

constexpr std::string_view kGlobals[] = {"collections.OrderedDict", "torch._utils._rebuild_tensor_v2",
                                         "torch.FloatStorage", "torch._utils._rebuild_parameter", "numpy.dtype"};

}  // namespace

FERRY_FUZZ(pickle) {
  expect_error_only([&] {
    const Pickle pickle = read_pickle(text, kGlobals, "pickle");
    require(pickle.root != nullptr && pickle.size <= text.size(), "a pickle longer than its bytes");
    std::set<const PickleValue*> known;
    for (const PickleValue& value : pickle.values) known.insert(&value);
    for (const PickleValue& value : pickle.values) {
      touch(value.text);
      for (const PickleValue* item : value.items) require(known.contains(item), "an item that is nobody's value");
    }
  });
}

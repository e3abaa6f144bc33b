// A random change of any flatbuffer's table.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <cstring>
#include <iterator>

#include "tests/support/random.h"

namespace ferry::fuzz {

using testing::Random;

// Unions of an invalid kind, which the generated code cannot write, are changed to none.
template <typename Object>
void settle(Object& object) {
  if constexpr (requires { object.params.Reset(); })
    if (object.params.value == nullptr) object.params.Reset();
  if constexpr (requires { object.kind.Reset(); })
    if (object.kind.value == nullptr) object.kind.Reset();
}

// A flatbuffer's table with one word or byte changed.
template <typename Table, typename Object>
void mutate_table(Object& object, Random& random) {
  flatbuffers::FlatBufferBuilder builder;
  builder.ForceDefaults(true);  // absent fields cannot be changed
  builder.Finish(Table::Pack(builder, &object));
  uint8_t* bytes = builder.GetBufferPointer();
  const size_t size = builder.GetSize();
  if (random.below(2) == 0) {
    bytes[random.below(size)] = static_cast<uint8_t>(random.below(256));
  } else {
    constexpr int32_t kOdd[] = {0,  1,  2,   3,  4,  5,       7,       8,         16,
                                31, 64, 255, -1, -2, 1 << 16, 1 << 28, INT32_MAX, INT32_MIN};
    int32_t value = kOdd[random.below(std::size(kOdd))];
    const size_t at = random.below(size / 4) * 4;
    if (random.below(3) == 0) {  // a small change
      std::memcpy(&value, bytes + at, 4);
      value = static_cast<int32_t>(static_cast<uint32_t>(value) + static_cast<uint32_t>(random.below(7)) - 3u);
    }
    std::memcpy(bytes + at, &value, 4);
  }
  flatbuffers::Verifier verifier(bytes, size);
  if (!verifier.VerifyBuffer<Table>(nullptr)) return;
  object = Object();
  flatbuffers::GetRoot<Table>(bytes)->UnPackTo(&object);
  settle(object);
}

}  // namespace ferry::fuzz

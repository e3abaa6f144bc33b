// Files that differ from good ones in a few fields: imported and packed, or refused in a sentence; never a crash, nor
// memory without bound. The suite tries a few; FERRY_MUTATIONS=100000 conformance_tests --gtest_filter='Mutations*' in a
// sanitizer build tries many.
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "converter/onnx/importer.h"
#include "converter/pack/pack.h"
#include "converter/passes/passes.h"
#include "onnx.pb.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;
namespace pb = google::protobuf;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  // 0 <= result < n
  size_t below(size_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>((state_ >> 33) % n);
  }

 private:
  uint64_t state_;
};

// A field of a message in the file that has a value.
struct Slot {
  pb::Message* message;
  const pb::FieldDescriptor* field;
};

void collect(pb::Message* message, std::vector<Slot>* slots, std::vector<std::string>* names) {
  const pb::Reflection& reflection = *message->GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    slots->push_back({message, field});
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
      const int count = field->is_repeated() ? reflection.FieldSize(*message, field) : 1;
      for (int i = 0; i < count; ++i)
        collect(field->is_repeated() ? reflection.MutableRepeatedMessage(message, field, i)
                                     : reflection.MutableMessage(message, field),
                slots, names);
    } else if (field->type() == pb::FieldDescriptor::TYPE_STRING) {
      if (!field->is_repeated()) names->push_back(reflection.GetString(*message, field));
      for (int i = 0; field->is_repeated() && i < reflection.FieldSize(*message, field); ++i)
        names->push_back(reflection.GetRepeatedString(*message, field, i));
    }
  }
}

int64_t odd_integer(Random& random) {
  constexpr int64_t kOdd[] = {0,       -1,       1,        2,
                              3,       4,        5,        7,
                              16,      64,       255,      999,
                              1 << 20, 1l << 31, 1l << 40, std::numeric_limits<int64_t>::max(),
                              -2,      -5,       -99,      std::numeric_limits<int64_t>::min()};
  return kOdd[random.below(std::size(kOdd))];
}

float odd_float(Random& random) {
  constexpr float kOdd[] = {0,
                            -1,
                            1,
                            0.5f,
                            3.7f,
                            1e30f,
                            -1e30f,
                            1e-40f,
                            std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
  return kOdd[random.below(std::size(kOdd))];
}

std::string odd_string(const std::string& former, const std::vector<std::string>& names, bool bytes, Random& random) {
  if (!bytes) return names[random.below(names.size())];
  std::string changed = former.substr(0, random.below(former.size() + 1));
  if (random.below(2) == 0) changed = former;
  if (!changed.empty()) changed[random.below(changed.size())] = static_cast<char>(random.below(256));
  return changed;
}

// Sets, clears, drops, doubles or exchanges.
void mutate_slot(const Slot& slot, const std::vector<std::string>& names, Random& random) {
  const pb::Reflection& reflection = *slot.message->GetReflection();
  const bool repeated = slot.field->is_repeated();
  const int size = repeated ? reflection.FieldSize(*slot.message, slot.field) : 0;
  const int place = repeated ? static_cast<int>(random.below(static_cast<size_t>(size))) : 0;
  const size_t way = random.below(6);
  if (way == 0 && !repeated) return reflection.ClearField(slot.message, slot.field);
  if (way == 0) return reflection.RemoveLast(slot.message, slot.field);
  if (way == 1 && repeated) return reflection.SwapElements(slot.message, slot.field, place, 0);
  const bool bytes = slot.field->type() == pb::FieldDescriptor::TYPE_BYTES;
  std::string scratch;
  switch (slot.field->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT32: {
      const int32_t value = static_cast<int32_t>(odd_integer(random));
      if (!repeated) return reflection.SetInt32(slot.message, slot.field, value);
      return reflection.SetRepeatedInt32(slot.message, slot.field, place, value);
    }
    case pb::FieldDescriptor::CPPTYPE_INT64: {
      const int64_t value = odd_integer(random);
      if (!repeated) return reflection.SetInt64(slot.message, slot.field, value);
      if (way == 2) return reflection.AddInt64(slot.message, slot.field, value);
      return reflection.SetRepeatedInt64(slot.message, slot.field, place, value);
    }
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      if (!repeated) return reflection.SetFloat(slot.message, slot.field, odd_float(random));
      return reflection.SetRepeatedFloat(slot.message, slot.field, place, odd_float(random));
    case pb::FieldDescriptor::CPPTYPE_ENUM: {
      const int value = static_cast<int>(random.below(24));
      if (!repeated) return reflection.SetEnumValue(slot.message, slot.field, value);
      return reflection.SetRepeatedEnumValue(slot.message, slot.field, place, value);
    }
    case pb::FieldDescriptor::CPPTYPE_STRING: {
      if (!repeated)
        return reflection.SetString(slot.message, slot.field,
                                    odd_string(reflection.GetString(*slot.message, slot.field), names, bytes, random));
      if (way == 2) return reflection.AddString(slot.message, slot.field, names[random.below(names.size())]);
      return reflection.SetRepeatedString(slot.message, slot.field, place, names[random.below(names.size())]);
    }
    case pb::FieldDescriptor::CPPTYPE_MESSAGE: {
      if (!repeated) return reflection.ClearField(slot.message, slot.field);
      const std::unique_ptr<pb::Message> copy(reflection.GetRepeatedMessage(*slot.message, slot.field, place).New());
      copy->CopyFrom(reflection.GetRepeatedMessage(*slot.message, slot.field, place));
      return reflection.AddMessage(slot.message, slot.field)->CopyFrom(*copy);
    }
    default: return;
  }
}

::onnx::ModelProto mutated(const ::onnx::ModelProto& good, Random& random) {
  ::onnx::ModelProto model = good;
  for (size_t n = random.below(3) + 1; n > 0; --n) {
    std::vector<Slot> slots;
    std::vector<std::string> names = {"", "x", "SAME_UPPER", "linear"};
    collect(&model, &slots, &names);
    if (slots.empty()) return model;
    mutate_slot(slots[random.below(slots.size())], names, random);
  }
  return model;
}

void import_and_pack(const fs::path& path) {
  try {
    onnx::Imported imported = onnx::import_model(onnx::read_model(path), {});
    if (imported.graph->model.outputs.empty()) return;
    sink_transposes(*imported.graph, {});
    run_passes(*imported.graph, {});
    pack(*imported.graph);
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
  }
}

class Mutations : public ::testing::TestWithParam<const char*> {};

TEST_P(Mutations, NeverCrash) {
  const char* asked = std::getenv("FERRY_MUTATIONS");
  const uint64_t count = asked ? std::strtoull(asked, nullptr, 10) : 60;
  const fs::path file = fs::path(FERRY_SOURCE_DIR) / "tests" / "data" / "onnx" / GetParam() / "model.onnx";
  ::onnx::ModelProto good;
  ASSERT_TRUE(good.ParseFromString(read_text(file)));
  const ScratchFolder folder;
  for (uint64_t seed = 0; seed < count; ++seed) {
    Random random(seed);
    const std::string bytes = mutated(good, random).SerializeAsString();
    SCOPED_TRACE("seed " + std::to_string(seed));
    import_and_pack(folder.write("net.onnx", bytes));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Mutations, ::testing::Values("cnn", "detector", "vit", "segmenter", "encoder"),
                         [](const auto& network) { return std::string(network.param); });

}  // namespace
}  // namespace ferry::testing

// Blobs with a false description of their checkpoint.
#include <cstring>
#include <random>

#include "checkpoint_generated.h"
#include "tests/converter/export_fixture.h"

namespace ferry::export_test {
namespace {

namespace fs = std::filesystem;

class HostileExport : public ExportTest {
 protected:
  void SetUp() override {
    add("weight0", ElementType::F32, {kRows, kColumns}, text_of(numbers(1)));
    add("weight1", ElementType::F32, {kRows, kColumns}, text_of(numbers(2)));
    folder_.write("source/config.json", "{}");
    converted_ = write_and_open();
    pack(*graph(), converted_);
    std::shared_ptr<Model> model;
    ASSERT_TRUE(Model::open(blob().c_str(), &model).ok());
    const auto bytes = model->segment(model->root().checkpoint());
    own_.assign(bytes.begin(), bytes.end());
  }

  static std::unique_ptr<Graph> graph() {
    std::vector<float> folded = numbers(2);
    for (float& value : folded) value *= 1.1f;
    return graph_of({numbers(1), folded});
  }

  // A blob with this buffer.
  void pack_own(std::span<const std::byte> own) {
    pack_file(*graph(), {}, blob(), {}, [&](const auto&, auto, const Sink& sink) { sink(own); });
  }

  // The buffer with a changed table.
  std::string said_of(const std::function<void(fbs::CheckpointT&)>& change) {
    uint64_t size = 0;
    std::memcpy(&size, own_.data() + own_.size() - sizeof size, sizeof size);
    const size_t begin = own_.size() - sizeof size - size;
    fbs::CheckpointT table;
    fbs::GetCheckpoint(own_.data() + begin)->UnPackTo(&table);
    change(table);
    flatbuffers::FlatBufferBuilder builder;
    fbs::FinishCheckpointBuffer(builder, fbs::CreateCheckpoint(builder, &table));
    std::vector<std::byte> own(own_.begin(), own_.begin() + static_cast<std::ptrdiff_t>(begin));
    const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
    own.insert(own.end(), bytes.begin(), bytes.end());
    size = builder.GetSize();
    const auto length = std::as_bytes(std::span(&size, 1));
    own.insert(own.end(), length.begin(), length.end());
    pack_own(own);
    std::string said = round_trip();
    if (said.starts_with(blob().string() + ": ")) said = said.substr(blob().string().size() + 2);
    return said;
  }

  Converted converted_;
  std::vector<std::byte> own_;
};

fbs::NumbersT& numbers_of(fbs::CheckpointT& table, const std::string& name) {
  for (auto& file : table.files)
    for (auto& part : file->parts)
      if (part->numbers && part->numbers->name == name) return *part->numbers;
  throw std::runtime_error(name + " is not there");
}

TEST_F(HostileExport, IsRefusedWithAMessage) {
  EXPECT_EQ(said_of([](auto&) {}), "");
  const std::string tensor = "tensor 'weight0' of its checkpoint: ";
  struct Case {
    std::function<void(fbs::CheckpointT&)> change;
    std::string said;
  };
  const auto run = [](uint32_t buffer, uint64_t offset, uint64_t bytes) {
    return [=](fbs::CheckpointT& t) { numbers_of(t, "weight0").runs = {{buffer, offset, bytes}}; };
  };
  constexpr uint64_t kHuge = uint64_t{1} << 62;
  const uint64_t bytes = size_t{kRows} * kColumns * 4;
  const std::string file = "a file of its checkpoint has no name inside a folder, or one twice";
  const std::vector<Case> cases = {
      {run(0, 0, bytes), tensor + "in a buffer that does not exist"},
      {run(99, 0, bytes), tensor + "in a buffer that does not exist"},
      {run(1, 64, bytes), tensor + "outside of its buffer"},
      {run(1, ~uint64_t{0} - 3, bytes), tensor + "outside of its buffer"},
      {run(1, 0, bytes - 4), tensor + "not whole"},
      {run(1, 1, bytes - 3), tensor + "outside of its buffer"},
      {[](auto& t) { numbers_of(t, "weight0").runs.clear(); }, tensor + "not whole"},
      {[](auto& t) {
         numbers_of(t, "weight0").runs.insert(numbers_of(t, "weight0").runs.begin(), {1, 0, 4});
       },
       tensor + "of too many elements"},
      {[](auto& t) {
         numbers_of(t, "weight0").seen = {1 << 30, 1 << 30};
       },
       tensor + "larger than the blob"},
      {[](auto& t) {
         numbers_of(t, "weight0").seen = {-1, 5};
       },
       tensor + "larger than the blob"},
      {[](auto& t) {
         numbers_of(t, "weight0").perm = {0, 0};
       },
       tensor + "its dimensions are not permuted"},
      {[](auto& t) {
         numbers_of(t, "weight0").perm = {0, 1, 2};
       },
       tensor + "of an unknown form"},
      {[](auto& t) { numbers_of(t, "weight0").element = static_cast<fbs::Element>(9); }, tensor + "of an unknown form"},
      {[](auto& t) { numbers_of(t, "weight0").element = fbs::Element::U8; }, tensor + "neither numbers nor MXFP4"},
      {[](auto& t) { numbers_of(t, "weight1").rows->size = 0; },
       "tensor 'weight1' of its checkpoint: multiplied by another number of factors"},
      {[](auto& t) { numbers_of(t, "weight1").rows->offset = kHuge; },
       "stored parts of its checkpoint are outside of its buffer"},
      {[](auto& t) { numbers_of(t, "weight1").differences->size = kHuge; },
       "a stored part of its checkpoint has another size than its tensor"},
      {[](auto& t) { numbers_of(t, "weight1").differences->stored -= 1; }, "a deflated part is damaged"},
      {[](auto& t) { t.files[0]->parts[0]->kept->stored = kHuge; },
       "stored parts of its checkpoint are outside of its buffer"},
      {[](auto& t) { t.files[0]->parts[0]->kept->size = kHuge; },
       "its checkpoint's file 'model.safetensors' would be more than 64 times as large as the blob"},
      {[](auto& t) { t.files[0]->parts[0]->kept->size += 1, t.files[0]->size += 1; }, "a deflated part is damaged"},
      {[](auto& t) { t.files[0]->parts[0]->kept->size -= 1, t.files[0]->size -= 1; }, "a deflated part is damaged"},
      {[](auto& t) { t.files[0]->parts[0]->kept.reset(); },
       "a part of its checkpoint's file 'model.safetensors' is neither stored nor derived"},
      {[](auto& t) { t.files[0]->parts.pop_back(); },
       "the parts of its checkpoint's file 'model.safetensors' are not as long as it is"},
      {[](auto& t) { t.files[0]->sha256[3] ^= 1; },
       "cannot restore the checkpoint's 'model.safetensors': SHA-256 differs (a damaged blob?)"},
      {[](auto& t) { t.files[1]->name = "../config.json"; }, file},
      {[](auto& t) { t.files[1]->name = "/tmp/config.json"; }, file},
      {[](auto& t) { t.files[1]->name = "a/../../b"; }, file},
      {[](auto& t) { t.files[1]->name = "folder/"; }, file},
      {[](auto& t) { t.files[1]->name = ""; }, file},
      {[](auto& t) { t.files[1]->name = std::string("a\0b", 3); }, file},
      {[](auto& t) { t.files[1]->name = t.files[0]->name; }, file},
      {[](auto& t) { t.files.clear(); }, "its table of the checkpoint's files has none, or too many"},
  };
  for (size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(said_of(cases[i].change), cases[i].said) << "case " << i;
}

TEST_F(HostileExport, InvalidTablesAreRefused) {
  const std::string damaged = blob().string() + ": its table of the checkpoint's files is damaged";
  for (const size_t size : {size_t{1}, size_t{8}, own_.size() - 1, own_.size() / 2}) {
    pack_own(std::span(own_).first(size));
    EXPECT_EQ(round_trip(), damaged) << size;
  }
}

// Either a folder with all bytes right, or an error message and no folder.
TEST_F(HostileExport, DamageGivesAMessageOrTheExactFiles) {
  std::minstd_rand random(1);
  size_t refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::byte> own = own_;
    for (unsigned n = 1 + random() % 4; n > 0; --n) own[random() % own.size()] = static_cast<std::byte>(random());
    pack_own(own);
    const std::string said = round_trip();
    refused += !said.empty();
    if (said.ends_with(" differs")) {  // it has a new name
      EXPECT_FALSE(fs::exists(target() / said.substr(0, said.find(' ')))) << said;
    }
  }
  EXPECT_GT(refused, 200u);
}

}  // namespace
}  // namespace ferry::export_test

// Damaged checkpoints are opened or refused by an Error, and opened ones can be read to the last byte. Meant for the
// asan preset, which detects stray reads.
#include <gtest/gtest.h>

#include <random>

#include "converter/checkpoint/safetensors.h"
#include "tests/converter/checkpoint_fixtures.h"
#include "tests/support/paths.h"

namespace ferry {
namespace {

struct Tally {
  int opened = 0;
  int refused = 0;

  void open(const std::filesystem::path& path) {
    try {
      const auto checkpoint = open_checkpoint(path);
      for (const auto& [name, tensor] : checkpoint->tensors()) {
        ASSERT_EQ(tensor.bytes.size(), static_cast<size_t>(tensor.elements()) * element_size(tensor.type)) << name;
        ASSERT_EQ(tensor.to_doubles().size(), static_cast<size_t>(tensor.elements())) << name;
      }
      ++opened;
    } catch (const Error& error) {
      ASSERT_EQ(std::string(error.what()).find_first_of("\n\r"), std::string::npos) << error.what();
      ++refused;
    }
  }
};

// Changes, removes, doubles or inserts bytes at one to three positions.
std::string mutate(std::string bytes, std::mt19937& random) {
  const auto below = [&](size_t n) { return random() % std::max<size_t>(n, 1); };
  for (size_t edits = 1 + below(3); edits > 0; --edits) {
    const size_t at = below(bytes.size());
    switch (below(6)) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8)); break;
      case 2: bytes.erase(at, 1 + below(8)); break;
      case 3: bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(30))); break;
      case 4: bytes.insert(at, 1, "0123456789[]{},:\"-eE.\\"[below(22)]); break;
      case 5: bytes[at] = "0123456789"[below(10)]; break;
    }
    if (bytes.empty()) bytes = "x";
  }
  return bytes;
}

const std::string kSafetensors = safetensors(
    R"({"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
    R"("b":{"dtype":"F16","shape":[3],"data_offsets":[24,30]},"n":{"dtype":"I64","shape":[],"data_offsets":[30,38]}})",
    std::string(38, 'x'));
const std::string kModelJson =
    R"({"format":"layers-model","weightsManifest":[{"paths":["w1.bin","w2.bin"],"weights":[)"
    R"({"name":"a/kernel","shape":[2,3],"dtype":"float32"},{"name":"b","shape":[3],"dtype":"float32",)"
    R"("quantization":{"dtype":"uint8","scale":0.5,"min":-1}},{"name":"c","shape":[],"dtype":"int32"}]}]})";
const std::string kIndex = R"({"metadata":{"total_size":38},"weight_map":{"a.weight":"s","b":"s","n":"s"}})";

// From make_pytorch_fixtures.py.
std::string pytorch_fixture(const char* name) {
  return read_text(source_folder() / "tests" / "data" / "pytorch" / name);
}

TEST(DamagedCheckpoint, CutAtEveryByteIsRefused) {
  const ScratchFolder folder;
  folder.write("s", kSafetensors);
  folder.write("w1.bin", std::string(20, 'x'));
  folder.write("w2.bin", std::string(11, 'x'));
  const std::string zip = pytorch_fixture("tensors.pth"), pickles = pytorch_fixture("tensors_before_1_6.pth");
  for (const std::string& whole : {kSafetensors, kModelJson, kIndex, zip, pickles}) {
    Tally tally;
    for (size_t size = 0; size < whole.size(); ++size) tally.open(folder.write("x", whole.substr(0, size)));
    EXPECT_EQ(tally.opened, 0);
    tally.open(folder.write("x", whole));
    EXPECT_EQ(tally.opened, 1);
  }
}

TEST(DamagedCheckpoint, CutShardIsRefused) {
  const ScratchFolder folder;
  folder.write("w1.bin", std::string(20, 'x'));
  Tally tally;
  for (size_t size = 0; size < 11; ++size) {
    folder.write("w2.bin", std::string(size, 'x'));
    tally.open(folder.write("model.json", kModelJson));
  }
  EXPECT_EQ(tally.opened, 0);
}

TEST(DamagedCheckpoint, TwentyThousandMutationsOpenOrAreRefused) {
  const ScratchFolder folder;
  folder.write("s", kSafetensors);
  folder.write("w1.bin", std::string(20, 'x'));
  folder.write("w2.bin", std::string(11, 'x'));
  std::mt19937 random(20261121);
  Tally tally;
  for (int i = 0; i < 20000; ++i) {
    const std::string& whole = i % 4 < 2 ? kSafetensors : i % 4 == 2 ? kModelJson : kIndex;
    tally.open(folder.write("x", mutate(whole, random)));
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_EQ(tally.opened + tally.refused, 20000);
  EXPECT_GT(tally.opened, 100) << "the mutations are too coarse to reach the reader";
  EXPECT_GT(tally.refused, 10000) << "the mutations are too mild to reach the checks";
}

// The archive, the pickle inside a valid archive, and the pickles of PyTorch before 1.6.
TEST(DamagedCheckpoint, ThirtyThousandMutationsOfPyTorchFilesOpenOrAreRefused) {
  const ScratchFolder folder;
  const std::string zip = pytorch_fixture("training.pth"), pickles = pytorch_fixture("tensors_before_1_6.pth");
  const std::string tensors = pytorch_fixture("tensors.pth");
  const size_t begin = tensors.find("\x80\x02}"), end = tensors.find("u.PK") + 2;
  ASSERT_LT(begin, end);
  const std::string pickle = tensors.substr(begin, end - begin);
  std::vector<std::pair<std::string, std::string>> entries{{"x/data.pkl", pickle}};
  for (int i = 0; i < 20; ++i) entries.emplace_back("x/data/" + std::to_string(i), std::string(192, 'x'));
  std::mt19937 random(20261121);
  Tally archives, inside, legacy;
  for (int i = 0; i < 10000; ++i) {
    archives.open(folder.write("x", mutate(zip, random)));
    entries[0].second = mutate(pickle, random);
    inside.open(folder.write("x", stored_zip(entries)));
    legacy.open(folder.write("x", mutate(pickles, random)));
    if (::testing::Test::HasFatalFailure()) return;
  }
  for (const Tally& tally : {archives, inside, legacy}) {
    EXPECT_EQ(tally.opened + tally.refused, 10000);
    EXPECT_GT(tally.opened, 100) << "the mutations are too coarse to reach the reader";
    EXPECT_GT(tally.refused, 1000) << "the mutations are too mild to reach the checks";
  }
}

}  // namespace
}  // namespace ferry

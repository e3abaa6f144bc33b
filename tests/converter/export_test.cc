// From a checkpoint to a blob and back, byte for byte. (tests/parity/families_test.cc does this for real networks.)
#include <cmath>

#include "converter/checkpoint/mxfp4.h"
#include "converter/export/element_reader.h"
#include "converter/graph/float16.h"
#include "sdk/model/elements.h"
#include "tests/converter/export_fixture.h"
#include "tests/support/paths.h"

namespace ferry::export_test {
namespace {

namespace fs = std::filesystem;
using testing::noise;
using Export = ExportTest;

TEST_F(Export, FindsUnchangedWeights) {
  add("weight0", ElementType::F32, {kRows, kColumns}, text_of(numbers(1)));
  add("small", ElementType::I64, {1}, std::string(8, '\7'));
  folder_.write("source/config.json", "{\"model_type\": \"none\"}\n");
  folder_.write("source/tokenizer.json", std::string(100000, ' ') + "{}");
  folder_.write("source/tok64.bin", "llama2.c");
  pack(*graph_of({numbers(1)}), write_and_open());
  EXPECT_EQ(round_trip(), "");
  EXPECT_LT(recorded(), 2000u) << "the blob holds the weight twice";
}

TEST_F(Export, OmitsUnrelatedFiles) {
  add("weight0", ElementType::F32, {kRows, kColumns}, text_of(numbers(1)));
  folder_.write("source/diary.txt", "mine");
  pack(*graph_of({numbers(1)}), write_and_open());
  EXPECT_EQ(complaint([&] { export_checkpoint(blob(), target()); }), "");
  EXPECT_FALSE(fs::exists(target() / "diary.txt"));
  EXPECT_TRUE(fs::exists(target() / "model.safetensors"));
}

TEST_F(Export, NarrowsWidenedWeights) {
  std::vector<uint16_t> halves, bfloats;
  std::vector<float> of_float16, of_bfloats;
  std::vector<double> doubles;
  for (uint32_t i = 0; i < kRows * kColumns; ++i) {
    halves.push_back(static_cast<uint16_t>(i * 13 % 0x7c00 | (i % 2) << 15));
    of_float16.push_back(from_float16(halves.back()));
    bfloats.push_back(static_cast<uint16_t>(0x3f80 + i * 3));
    of_bfloats.push_back(from_bfloat16(bfloats.back()));
    doubles.push_back(noise(7, i));
  }
  add("half", ElementType::F16, {kRows, kColumns}, text_of(halves));
  add("bfloat", ElementType::BF16, {kRows, kColumns}, text_of(bfloats));
  add("double", ElementType::F64, {kRows, kColumns}, text_of(doubles));
  pack(*graph_of({of_float16, of_bfloats, {doubles.begin(), doubles.end()}}), write_and_open());
  EXPECT_EQ(round_trip(), "");
  EXPECT_LT(recorded(), 2000u);
}

TEST_F(Export, UndoesTheOrderThatWeightsWereReadIn) {
  const std::vector<float> stored = numbers(3);
  std::vector<float> turned(stored.size());
  for (size_t r = 0; r < kRows; ++r)
    for (size_t c = 0; c < kColumns; ++c) turned[c * kRows + r] = stored[r * kColumns + c];
  add("turned", ElementType::F32, {kRows, kColumns}, text_of(stored));
  Converted converted = write_and_open();
  converted.readings["turned"] = {{kRows, kColumns}, {1, 0}};
  pack(*graph_of({turned}, kRows), converted);
  EXPECT_EQ(round_trip(), "");
  EXPECT_LT(recorded(), 2000u);
}

TEST_F(Export, FindsMergedAndSplitWeights) {
  const std::vector<float> first = numbers(1), second = numbers(2), whole = numbers(3, 2 * kRows * kColumns);
  std::vector<float> merged = first;
  merged.insert(merged.end(), second.begin(), second.end());
  add("first", ElementType::F32, {kRows, kColumns}, text_of(first));
  add("second", ElementType::F32, {kRows, kColumns}, text_of(second));
  add("whole", ElementType::F32, {2 * kRows, kColumns}, text_of(whole));
  const auto middle = whole.begin() + 7 * kColumns;
  pack(*graph_of({merged, {middle, whole.end()}, {whole.begin(), middle}}), write_and_open());
  EXPECT_EQ(round_trip(), "");
  EXPECT_LT(recorded(), 2000u);
}

// A weight larger than what is read at once, split where no part ends, and one that differs in its last element only.
TEST_F(Export, ReadsLargeWeightsInParts) {
  const size_t rows = 3 * ElementReader::kAtOnce / sizeof(float) / kColumns;
  std::vector<uint16_t> stored;
  for (uint32_t i = 0; i < rows * kColumns; ++i) stored.push_back(to_bfloat16(noise(9, i)));
  std::vector<float> values, other;
  for (const uint16_t bits : stored) values.push_back(from_bfloat16(bits));
  other = values;
  other.back() = -1;
  add("weight", ElementType::BF16, {static_cast<int64_t>(rows), kColumns}, text_of(stored));
  const Converted converted = write_and_open();
  const auto split = values.begin() + static_cast<std::ptrdiff_t>(rows * 2 / 3 * kColumns);
  pack(*graph_of({other, {split, values.end()}, {values.begin(), split}}), converted);
  EXPECT_EQ(round_trip(), "");
  EXPECT_LT(recorded(), 2000u);
  pack(*graph_of({other}), converted);
  EXPECT_EQ(round_trip(), "");
}

TEST_F(Export, UndoesFoldedScales) {
  for (const auto& [rows, columns] : {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
    SCOPED_TRACE(std::to_string(rows) + std::to_string(columns));
    tensors_.clear();
    contents_.clear();
    const std::vector<float> weights = numbers(5);
    std::vector<float> folded = weights;
    for (size_t i = 0; i < folded.size(); ++i) {
      const size_t r = i / kColumns, c = i % kColumns;
      double product = weights[i];
      if (rows) product *= r == 9 ? 0 : 1 / std::sqrt(0.01 * static_cast<double>(r) + 0.3);  // a dead channel
      if (columns) product *= 0.7 + 0.013 * static_cast<double>(c);
      folded[i] = static_cast<float>(product);
    }
    add("weight0", ElementType::F32, {kRows, kColumns}, text_of(weights));
    pack(*graph_of({folded}), write_and_open());
    EXPECT_EQ(round_trip(), "");
    EXPECT_LT(recorded(), weights.size() * sizeof(float) / 3) << "kept whole";
  }
}

TEST_F(Export, Mxfp4WeightsAreReencoded) {
  std::string blocks, scales;
  for (int i = 0; i < kRows * 64 / 2; ++i) blocks += static_cast<char>(i * 37);
  for (int i = 0; i < kRows * 2; ++i) scales += static_cast<char>(118 + i % 19);
  // More than is stored without a search.
  for (int i = 0; i < 2; ++i) blocks += blocks, scales += scales;
  add("w_blocks", ElementType::U8, {4 * kRows, 2, 16}, blocks);
  add("w_scales", ElementType::U8, {4 * kRows, 2}, scales);
  Converted converted = write_and_open();
  converted.readings["w_blocks"] = {{4 * kRows, 64}, {1, 0}, "w_scales"};
  const auto& stored = converted.checkpoint->tensors();
  const std::vector<float> read = read_mxfp4(stored.at("w_blocks"), stored.at("w_scales"));
  std::vector<float> turned(read.size());
  for (size_t r = 0; r < 4 * kRows; ++r)
    for (size_t c = 0; c < 64; ++c) turned[c * 4 * kRows + r] = read[r * 64 + c];
  pack(*graph_of({turned}, 4 * kRows), converted);
  EXPECT_EQ(round_trip(), "");
  EXPECT_LT(recorded(), 2500u);
}

TEST_F(Export, UnusedTensorsAreKeptOnRequest) {
  add("weight0", ElementType::F32, {kRows, kColumns}, text_of(numbers(1)));
  add("gone", ElementType::F32, {200, 100}, text_of(numbers(2, 20000)));
  const Converted converted = write_and_open();
  pack(*graph_of({numbers(1)}), converted);
  EXPECT_EQ(round_trip(), blob().string() +
                              ": does not hold 'gone' as its checkpoint has it (80000 bytes are lost in all): `ferry "
                              "convert --exportable` keeps what is stored otherwise");
  EXPECT_LT(recorded(), 200u) << "it is kept for nothing";
  pack(*graph_of({numbers(1)}), converted, /*all=*/true);
  EXPECT_EQ(round_trip(), "");
}

TEST_F(Export, ShardsAndFoldersComeBack) {
  fs::create_directories(source() / "shards");
  for (const char* key : {"weight0", "weight1"}) {
    tensors_.clear();
    add(key, ElementType::F32, {kRows, kColumns}, text_of(numbers(key == std::string("weight1") ? 2 : 1)));
    tensors_[key].bytes = std::as_bytes(std::span(contents_.back().second));
    write_safetensors(source() / "shards" / (std::string(key) + ".safetensors"), tensors_);
  }
  folder_.write(
      "source/model.safetensors.index.json",
      R"({"weight_map": {"weight0": "shards/weight0.safetensors", "weight1": "shards/weight1.safetensors"}})");
  pack(*graph_of({numbers(2), numbers(1)}), {open_checkpoint(source()), {}});
  EXPECT_EQ(round_trip(), "");
  EXPECT_LT(recorded(), 2500u);
}

// For every format, bytes outside of tensors are kept.
TEST_F(Export, PyTorchFilesComeBack) {
  int opened = 0;
  for (const auto& entry : fs::directory_iterator(source_folder() / "tests" / "data" / "pytorch")) {
    std::shared_ptr<const Checkpoint> checkpoint;
    fs::remove_all(source());
    fs::create_directories(source());
    fs::copy(entry.path(), source() / entry.path().filename());
    if (complaint([&] { checkpoint = open_checkpoint(source() / entry.path().filename()); }) != "") continue;
    SCOPED_TRACE(entry.path().filename());
    pack(*graph_of({numbers(1)}), {checkpoint, {}});
    EXPECT_EQ(round_trip(), "");
    ++opened;
  }
  EXPECT_GT(opened, 3);
}

TEST_F(Export, WritesOnlyToNewFolders) {
  add("weight0", ElementType::F32, {kRows, kColumns}, text_of(numbers(1)));
  pack(*graph_of({numbers(1)}), write_and_open());
  fs::create_directories(target());
  EXPECT_EQ(complaint([&] { export_checkpoint(blob(), target() / ""); }), "");
  EXPECT_EQ(complaint([&] { export_checkpoint(blob(), target()); }),
            "'" + target().string() + "': exists and is not an empty folder");
  EXPECT_EQ(complaint([&] { export_checkpoint(blob(), folder_.path() / "none" / "of"); }),
            "'" + (folder_.path() / "none" / "of").string() + "': cannot be made: No such file or directory");
}

TEST_F(Export, TheSameConversionGivesTheSameBytes) {
  add("weight0", ElementType::F32, {kRows, kColumns}, text_of(numbers(1)));
  const Converted converted = write_and_open();
  pack(*graph_of({numbers(1)}), converted);
  const std::string first = read_text(blob());
  pack(*graph_of({numbers(1)}), converted);
  EXPECT_EQ(read_text(blob()), first);
}

TEST(ExportOfOthers, OlderBlobsReportThatTheyCannot) {
  const ScratchFolder folder;
  const std::vector<std::byte> bytes = pack(*testing::small_classifier());
  const fs::path blob =
      folder.write("m.ferry", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  EXPECT_EQ(complaint([&] { export_checkpoint(blob, folder.path() / "out"); }),
            blob.string() + ": does not contain its checkpoint's files: convert them again");
}

}  // namespace
}  // namespace ferry::export_test

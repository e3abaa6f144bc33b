// ferry quantise: images, the printed error, times, bounds, and messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/safetensors.h"
#include "sdk/image/codec.h"
#include "sdk/model/model.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"

namespace ferry::cli_test {
namespace {

namespace fs = std::filesystem;

class QuantiseCommand : public ::testing::Test {
 protected:
  QuantiseCommand() {
    const std::vector<std::byte> bytes = testing::small_blobs()[0].blob;  // a classifier
    folder_.write("m.ferry", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  void write_images(const std::string& folder, size_t count, const std::string& prefix = "image") {
    fs::create_directories(folder_.path() / folder);
    for (size_t i = 0; i < count; ++i) {
      constexpr int kSide = 12;
      std::vector<uint8_t> pixels;
      for (uint32_t p = 0; p < 3 * kSide * kSide; ++p)
        pixels.push_back(static_cast<uint8_t>(128 + 127 * testing::noise(static_cast<uint32_t>(i) + 1, p)));
      const fs::path path = folder_.path() / folder / (prefix + std::to_string(i) + ".png");
      ASSERT_TRUE(image::save_png({pixels.data(), kSide, kSide, 3, 3 * kSide}, path.c_str()).ok());
    }
  }

  Result quantise(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "quantise");
    // The same choices on every machine.
    if (std::find(arguments.begin(), arguments.end(), "--device") == arguments.end())
      arguments.insert(arguments.end(), {"--device", "arm64 dotprod"});
    return ferry(folder_.path(), arguments);
  }

  std::string read(const std::string& name) const { return read_text(folder_.path() / name); }

  ScratchFolder folder_;
};

TEST_F(QuantiseCommand, WritesABlobThatRuns) {
  write_images("images", 10);
  const Result result = quantise({"m.ferry", "--images", "images", "-o", "m8.ferry", "--explain"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* words : {"Int8", "dB SQNR on the held-out images", "6 calibrate, 2 choose, 2 are held out",
                            "agreement with the float network, not accuracy", "alone"})
    EXPECT_NE(result.out.find(words), std::string::npos) << words << "\n" << result.out;
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("certificate  4 stages, equal to the integer reference's here"), std::string::npos)
      << result.out;
  const Result verified = ferry(folder_.path(), {"verify", "m8.ferry"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  const Result run = ferry(folder_.path(), {"run", "m8.ferry", "images/image0.png"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_REFUSED(quantise({"m8.ferry", "--images", "images", "-o", "m88.ferry"}), "is quantised already");
}

TEST_F(QuantiseCommand, WritesTheSameBytesForOtherNames) {
  write_images("a", 9);
  write_images("b", 9, "other");
  fs::rename(folder_.path() / "b/other0.png", folder_.path() / "b/zzz.png");
  ASSERT_EQ(quantise({"m.ferry", "--images", "a", "-o", "a.ferry", "--threads", "1"}).exit_code, 0);
  ASSERT_EQ(quantise({"m.ferry", "--images", "b", "-o", "b.ferry", "--threads", "2"}).exit_code, 0);
  EXPECT_EQ(read("a.ferry"), read("b.ferry"));
}

TEST_F(QuantiseCommand, SaysWhatIsWrongWithImages) {
  write_images("images", 10);
  fs::copy_file(folder_.path() / "images/image1.png", folder_.path() / "images/copy.png");
  folder_.write("images/broken.png", "no image");
  std::vector<uint8_t> grey(3 * 8 * 8, 90);
  ASSERT_TRUE(image::save_png({grey.data(), 8, 8, 3, 24}, (folder_.path() / "images/grey.png").c_str()).ok());
  const Result result = quantise({"m.ferry", "--images", "images", "-o", "m8.ferry"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* words : {"1 of 12 images are copies", "broken.png", "left out", "grey.png has one colour"})
    EXPECT_NE(result.err.find(words), std::string::npos) << words << "\n" << result.err;
  write_images("few", 7);
  EXPECT_REFUSED(quantise({"m.ferry", "--images", "few", "-o", "m8.ferry"}), "7 different images are too few");
  EXPECT_REFUSED(quantise({"m.ferry", "--images", "absent", "-o", "m8.ferry"}), "there is no such file or folder");
}

TEST_F(QuantiseCommand, TakesTensorsWhereTheBlobHasNoPreprocessing) {
  testing::Parts parts(testing::small_blobs()[0].blob);
  parts.model.preprocess.reset();
  const std::vector<std::byte> blob = parts.assemble();
  folder_.write("plain.ferry", {reinterpret_cast<const char*>(blob.data()), blob.size()});
  const std::vector<int32_t>& shape = parts.model.tensors[index_of(parts.model.inputs[0]->tensor)]->shape;
  fs::create_directories(folder_.path() / "tensors");
  for (uint32_t i = 0; i < 9; ++i) {
    CheckpointTensor tensor;
    tensor.shape = {shape[0], shape[3], shape[1], shape[2]};
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    for (uint32_t j = 0; j < values.size(); ++j) values[j] = testing::noise(i + 1, j);
    tensor.bytes = std::as_bytes(std::span(values));
    write_safetensors(folder_.path() / ("tensors/" + std::to_string(i) + ".safetensors"), {{"x", tensor}});
    if (i > 0) continue;
    tensor.shape = {tensor.elements()};
    write_safetensors(folder_.path() / "tensors/flat.safetensors", {{"x", tensor}});
  }
  const Result result = quantise({"plain.ferry", "--images", "tensors", "-o", "m8.ferry"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("9: 7 calibrate, 1 choose, 1 are held out"), std::string::npos) << result.out;
  EXPECT_NE(result.err.find("flat.safetensors: 'input' is ["), std::string::npos) << result.err;
  write_images("images", 8);
  EXPECT_REFUSED(quantise({"plain.ferry", "--images", "images", "-o", "m8.ferry"}), "has no tensors");
}

TEST_F(QuantiseCommand, ChoosesByTheTimesOfADevice) {
  write_images("images", 10);
  const Result bench = ferry(folder_.path(), {"bench", "--types", "m.ferry", "-o", "times.json", "--runs", "2"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  EXPECT_NE(bench.out.find("conv2d 1x"), std::string::npos) << bench.out;
  // The classifier is slow on Int8.
  nlohmann::json times = nlohmann::json::parse(read("times.json"));
  ASSERT_GT(times["operators"].size(), 3u);
  for (auto& row : times["operators"]) {
    row["float_us"] = 10;
    row["int8_us"] = row["operator"].get<std::string>().starts_with("linear") ? 100 : 1;
  }
  folder_.write("planted.json", times.dump());
  const Result result =
      quantise({"m.ferry", "--images", "images", "-o", "m8.ferry", "--device", "planted.json", "--explain"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("Int8 does not pay"), std::string::npos) << result.out;
  for (const char* words : {"predicted", "planted.json, measured on", "measured here"})
    EXPECT_NE(result.out.find(words), std::string::npos) << words << "\n" << result.out;
  for (auto& row : times["operators"]) row["int8_us"] = 20;
  folder_.write("slow.json", times.dump());
  EXPECT_REFUSED(quantise({"m.ferry", "--images", "images", "-o", "n.ferry", "--device", "slow.json"}),
                 "no operator of this network is faster on Int8");
  EXPECT_REFUSED(quantise({"m.ferry", "--images", "images", "-o", "n.ferry", "--device", "none.json"}),
                 "there is no such file");
  EXPECT_REFUSED(quantise({"m.ferry", "--images", "images", "-o", "n.ferry", "--budget", "time=0.5"}),
                 "expected time=FACTOR");
  EXPECT_FALSE(fs::exists(folder_.path() / "n.ferry"));
}

// What the search knew stays in the blob; two blobs are compared by their answers, and searched for a fault.
TEST_F(QuantiseCommand, AFinishedBlobIsExplainedComparedAndSearched) {
  write_images("images", 10);
  const Result made = quantise({"m.ferry", "--images", "images", "-o", "m8.ferry", "--explain", "--html", "page.html"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(read("page.html").find("alone"), std::string::npos);
  const Result again = ferry(folder_.path(), {"quantise", "m8.ferry", "--explain"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  const std::string header = again.out.substr(0, again.out.find("alone"));
  EXPECT_NE(again.out.find("alone"), std::string::npos) << again.out;
  EXPECT_NE(made.out.find(again.out.substr(header.size())), std::string::npos) << again.out;

  const Result agreement = ferry(folder_.path(), {"diff", "m.ferry", "m8.ferry", "--images", "images"});
  EXPECT_EQ(agreement.exit_code, 1) << agreement.err;  // they differ
  EXPECT_NE(agreement.out.find("over 10 images"), std::string::npos) << agreement.out;
  EXPECT_REFUSED(ferry(folder_.path(), {"diff", "m.ferry", "m8.ferry", "--images", "images", "-o", "worst.png"}),
                 "classification has no answers that can be drawn");

#if defined(FERRY_HAS_CONVERTER)  // else the command has no bisect
  const Result faults = ferry(folder_.path(), {"bisect", "m8.ferry", "m.ferry", "--images", "images/image0.png"});
  EXPECT_EQ(faults.exit_code, 0) << faults.out << faults.err;
#endif
}

TEST_F(QuantiseCommand, JudgesABoundByTheHeldOutImages) {
  write_images("images", 10);
  const Result holds = quantise({"m.ferry", "--images", "images", "-o", "m8.ferry", "--bound", "sqnr=5"});
  EXPECT_EQ(holds.exit_code, 0) << holds.err;
  EXPECT_NE(holds.out.find("sqnr=5 holds on the held-out images"), std::string::npos) << holds.out;
  const Result unproven = quantise({"m.ferry", "--images", "images", "-o", "m8.ferry", "--bound", "top1=50"});
  EXPECT_EQ(unproven.exit_code, 0) << unproven.err;
  EXPECT_NE(unproven.out.find("5 held-out images without a difference would"), std::string::npos) << unproven.out;
  // The images that choose hold this, at 28 dB; the held-out ones have 17.
  const Result broken = quantise({"m.ferry", "--images", "images", "-o", "none.ferry", "--bound", "sqnr=22"});
  EXPECT_EQ(broken.exit_code, 1) << broken.out;
  EXPECT_NE(broken.out.find("sqnr=22 is broken: the held-out images reach sqnr="), std::string::npos) << broken.out;
  const Result unreachable = quantise({"m.ferry", "--images", "images", "-o", "none.ferry", "--bound", "sqnr=500"});
  EXPECT_REFUSED(unreachable, "the best reached sqnr=");
  EXPECT_FALSE(fs::exists(folder_.path() / "none.ferry"));
  EXPECT_REFUSED(quantise({"m.ferry", "--images", "images", "-o", "m8.ferry", "--bound", "fast"}), "expected top1=");
}

}  // namespace
}  // namespace ferry::cli_test

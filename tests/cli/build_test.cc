// ferry build: the list of parts that blobs need, and messages if no library can be built.
#include <gtest/gtest.h>

#include "converter/graph/graph.h"
#include "converter/pack/pack.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"

namespace ferry::cli_test {
namespace {

class BuildCommand : public ::testing::Test {
 protected:
  BuildCommand() {
    write("classifier.ferry", 0);
    write("upscaler.ferry", 1);
  }

  Result build(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "build");
    return ferry(folder_.path(), arguments);
  }

  // The list without its comment.
  std::string parts(const std::string& file) const {
    const std::string text = read_text(folder_.path() / file);
    EXPECT_EQ(text.rfind("# ", 0), 0u) << text;
    return text.substr(text.find('\n') + 1);
  }

  ScratchFolder folder_;

 private:
  void write(const std::string& name, size_t index) {
    const std::vector<std::byte> bytes = testing::small_blobs()[index].blob;
    folder_.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
};

// Blobs of tests/support/blobs.cc.
TEST_F(BuildCommand, ListsWhatABlobNeeds) {
  const Result done = build({"--for", "classifier.ferry", "-o", "parts.txt"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(parts("parts.txt"),
            "feature files\noperator binary\noperator conv2d\noperator linear\noperator pool2d\noperator reduce\n"
            "task Classification\n");
  ASSERT_EQ(build({"--for", "classifier.ferry", "--no-files", "--float16", "-o", "parts.txt"}).exit_code, 0);
  EXPECT_EQ(parts("parts.txt"),
            "feature float16\noperator binary\noperator conv2d\noperator linear\noperator pool2d\noperator reduce\n"
            "task Classification\n");
}

TEST_F(BuildCommand, ListsWhatSeveralBlobsNeedOnce) {
  const Result done = build({"--for", "classifier.ferry", "--for", "upscaler.ferry", "--no-files", "-o", "parts.txt"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(parts("parts.txt"),
            "operator binary\noperator conv2d\noperator linear\noperator pixel_shuffle\noperator pool2d\n"
            "operator reduce\noperator resize2d\noperator unary\ntask Classification\ntask ImageToImage\n");
}

// The library may be for another machine than this one.
TEST_F(BuildCommand, ListsWinogradForAnyMachine) {
  for (const int channels : {60, 64, 62}) {  // multiples of 4, which arm64's vectors have, of 8, and of neither
    Graph graph;
    const Tensor x = graph.add_input("x", {1, 32, 32, channels}, fbs::Layout::Same);
    const auto weight = graph.add_constant("weight", {channels, 3, 3, channels},
                                           std::vector<float>(static_cast<size_t>(channels * channels * 9)));
    graph.add_output("y", graph.add_op("conv", fbs::Conv2dT(), {x, weight}), fbs::Layout::Same);
    const std::vector<std::byte> bytes = pack(graph);
    folder_.write("dense.ferry", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    ASSERT_EQ(build({"--for", "dense.ferry", "--no-files", "-o", "parts.txt"}).exit_code, 0);
    EXPECT_EQ(parts("parts.txt").starts_with("feature winograd\n"), channels != 62) << channels;
  }
}

TEST_F(BuildCommand, ListsKernelsOfDepthwiseConvolutionsThatAreNot3x3) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 12, 12, 32}, fbs::Layout::Same);
  fbs::Conv2dT depthwise;
  depthwise.groups = 32;
  for (const int width : {3, 5}) {
    const auto weight = graph.add_constant("weight" + std::to_string(width), {32, 3, width, 1},
                                           std::vector<float>(static_cast<size_t>(32 * 3 * width)));
    graph.add_output("y" + std::to_string(width), graph.add_op("conv", depthwise, {x, weight}), fbs::Layout::Same);
    const std::vector<std::byte> bytes = pack(graph);
    folder_.write("depthwise.ferry", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    ASSERT_EQ(build({"--for", "depthwise.ferry", "--no-files", "-o", "parts.txt"}).exit_code, 0);
    EXPECT_EQ(parts("parts.txt"), width == 3 ? "operator conv2d\ntask Tensors\n"
                                             : "feature other_depthwise\noperator conv2d\ntask Tensors\n");
  }
}

TEST_F(BuildCommand, UnsupportedTargetsAreReported) {
  EXPECT_REFUSED(build({"-o", "parts.txt"}), "--for is required");
  EXPECT_REFUSED(build({"--for", "classifier.ferry"}), "--output is required");
  EXPECT_REFUSED(build({"--for", "absent.ferry", "-o", "parts.txt"}), "'absent.ferry': cannot be opened");
  EXPECT_REFUSED(build({"--for", "classifier.ferry", "arm64", "--source", ".", "-o", "small"}),
                 "--source .: it has no scripts/build-device");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "parts.txt"));
  const Result unknown =
      build({"--for", "classifier.ferry", "mips", "--source", source_folder().string(), "-o", "small"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("build-device: no target is called 'mips': one of arm64,"), std::string::npos)
      << unknown.err;
}

}  // namespace
}  // namespace ferry::cli_test

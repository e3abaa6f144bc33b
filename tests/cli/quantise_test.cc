// ferry quantise: images, the printed error, times, bounds, and messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/safetensors.h"
#include "converter/graph/ops.h"
#include "converter/pack/pack.h"
#include "sdk/image/codec.h"
#include "sdk/model/model.h"
#include "tests/cli/command.h"
#include "tests/shared.h"
#include "tests/support/blobs.h"
#include "tests/support/task_networks.h"

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

// A pointwise convolution: the input's channels, and `extra` of noise.
Tensor convolved(Graph& g, Tensor x, int32_t extra) {
  const int32_t inputs = x.shape()[3], outputs = inputs + extra;
  std::vector<float> weight;
  for (int32_t o = 0; o < outputs; ++o)
    for (int32_t i = 0; i < inputs; ++i)
      weight.push_back(o < inputs ? static_cast<float>(o == i)
                                  : testing::noise(static_cast<uint32_t>(o), static_cast<uint32_t>(i)));
  return g.add_op("conv", fbs::Conv2dT{}, {x, g.add_constant("weight", {outputs, 1, 1, inputs}, std::move(weight))});
}

void describe(const fbs::GraphT& from, fbs::GraphT* to) {
  to->name = from.name;
  to->labels = from.labels;
  to->preprocess = std::make_unique<fbs::PreprocessT>(*from.preprocess);
  if (from.postprocess) to->postprocess = std::make_unique<fbs::PostprocessT>(*from.postprocess);
}

// A network of convolutions with the first `channels` of the image's, at 1/`factor` of its size, for the task of
// `like`.
std::unique_ptr<Graph> colours_for(const Graph& like, int channels, int factor) {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  Tensor x = g.add_input("input", like.shape(like.table.inputs.front()->tensor), fbs::Layout::NCHW);
  for (const int extra : {61, 64, 64}) x = convolved(g, x, extra);
  x = slice(x, 3, 0, channels);
  if (factor > 1) x = avg_pool2d(x, {.kernel = factor, .stride = factor});
  g.add_output(like.table.outputs.front()->name, x, fbs::Layout::NCHW);
  describe(like.table, &g.table);
  return graph;
}

// testing::colour_reader() with convolutions: red is text, green and blue are its characters.
std::unique_ptr<Graph> colour_reader() {
  fbs::OcrT params;
  params.text_threshold = 0.1f;
  const auto plain = testing::colour_reader(32, 32, fbs::PreprocessT(), params);
  std::unique_ptr<Graph> graph = colours_for(*plain, 1, 1);
  Graph p;
  Tensor y = avg_pool2d(p.add_input("input", {1, 4, 8, 3}, fbs::Layout::NCHW), {.kernel = 4, .stride = 4});
  for (const int extra : {61, 64, 64}) y = convolved(p, y, extra);
  y = reshape(slice(y, 3, 0, 3), {1, -1, 3}) * p.add_constant("shares", {3}, std::vector<float>{0.3f, 1, 1});
  p.add_output("classes", y, fbs::Layout::Same);
  describe(*plain->table.graphs.front(), &p.table);
  graph->add_graph(std::move(p));
  return graph;
}

// Black pages with a red bar that is half green and half blue.
void write_pages(const fs::path& folder, int count) {
  fs::create_directories(folder);
  for (int i = 0; i < count; ++i) {
    image::Pixels page;
    ASSERT_TRUE(page.allocate(120, 60, 3).ok());
    const int left = 12 + 3 * i, top = 12 + i, middle = left + 20 + 2 * i;
    for (int y = 0; y < 60; ++y) {
      for (int x = 0; x < 120; ++x) {
        const bool text = x >= left && x < left + 70 && y >= top && y < top + 20;
        uint8_t* pixel = page.row(y) + 3 * x;
        pixel[0] = pixel[1] = pixel[2] = 0;
        if (text) pixel[0] = pixel[x < middle ? 1 : 2] = 255;
      }
    }
    ASSERT_TRUE(image::save_png(page.view(), (folder / (std::to_string(i) + ".png")).c_str()).ok());
  }
}

// The second graph reads the lines that the first one finds.
TEST_F(QuantiseCommand, QuantisesBothNetworksOfOcr) {
  const std::vector<std::byte> bytes = pack(*colour_reader());
  folder_.write("r.ferry", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  write_pages(folder_.path() / "pages", 10);
  ASSERT_EQ(ferry(folder_.path(), {"run", "r.ferry", "pages/0.png"}).out, "gb\n");
  const Result made = quantise({"r.ferry", "--images", "pages", "--bound", "lines=1", "--explain", "-o", "r8.ferry"});
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  for (const char* words : {"graph colour_reader\noperators  ", "graph line\noperators  ",
                            "images     10: 6 calibrate, 2 choose, 2 are held out", "lines=1 holds", "certificate  "})
    EXPECT_NE(made.out.find(words), std::string::npos) << words << "\n" << made.out;
  EXPECT_EQ(made.out.find("certificate  none"), std::string::npos) << made.out;
  const Result verified = ferry(folder_.path(), {"verify", "r8.ferry"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  EXPECT_EQ(ferry(folder_.path(), {"run", "r8.ferry", "pages/9.png"}).out, "gb\n");
  const Result same = ferry(folder_.path(), {"diff", "r.ferry", "r8.ferry", "--images", "pages", "-o", "worst.png"});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  EXPECT_NE(same.out.find("same lines: 1.0000 over 10 images"), std::string::npos) << same.out;
  const Result again = ferry(folder_.path(), {"quantise", "r8.ferry", "--explain"});
  EXPECT_NE(again.out.find("\ngraph line\n"), std::string::npos) << again.out;
  EXPECT_REFUSED(quantise({"r8.ferry", "--images", "pages", "-o", "r88.ferry"}), "is quantised already");
  EXPECT_REFUSED(quantise({"r.ferry", "--images", "pages", "--bound", "boxes=1", "-o", "n.ferry"}),
                 "whose answers have no such bound");
  EXPECT_REFUSED(quantise({"r.ferry", "--images", "pages", "--bound", "top1=99", "-o", "n.ferry"}),
                 "--bound top1 is for classifiers");
}

// Pages without text give the second graph no inputs.
TEST_F(QuantiseCommand, LeavesANetworkWithoutInputsInFloat) {
  const std::vector<std::byte> bytes = pack(*colour_reader());
  folder_.write("r.ferry", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  write_images("noise", 10);
  const Result made = quantise({"r.ferry", "--images", "noise", "-o", "r8.ferry"});
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  EXPECT_NE(made.out.find("graph line stays Float32: the task gives it "), std::string::npos) << made.out;
}

#if defined(FERRY_HAS_CONVERTER)
TEST_F(QuantiseCommand, ADetectorIsConvertedToIntegersInOneCommand) {
  if (shared_dir().empty()) GTEST_SKIP() << "../shared is not here";
  const std::string net = shared_dir() / "weights" / "ultraface" / "version-RFB-320.onnx";
  image::Pixels photo;
  ASSERT_TRUE(image::load((shared_dir() / "photos" / "face.jpg").c_str(), &photo).ok());
  const image::View whole = photo.view();
  fs::create_directories(folder_.path() / "faces");
  for (int i = 0; i < 8; ++i) {
    const image::View part{whole.data + static_cast<ptrdiff_t>(4 * i) * static_cast<ptrdiff_t>(whole.stride),
                           whole.width - 6 * i, whole.height - 8 * i, 3, whole.stride};
    ASSERT_TRUE(image::save_png(part, (folder_.path() / "faces" / (std::to_string(i) + ".png")).c_str()).ok());
  }
  const auto convert = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"convert", net, "-o", "u8.ferry"});
    return ferry(folder_.path(), more);
  };
  const Result made = convert({"--weights", "i8", "--activations", "i8", "--calibrate", "faces", "--bound", "boxes=.9",
                               "--device", "arm64 dotprod"});
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  EXPECT_NE(made.out.find("bound      boxes=.9 holds on the held-out images"), std::string::npos) << made.out;
  EXPECT_EQ(ferry(folder_.path(), {"verify", "u8.ferry"}).exit_code, 0);
  fs::remove(folder_.path() / "u8.ferry");
  EXPECT_REFUSED(convert({"--activations", "i8", "--calibrate", "faces"}), "expected --weights i8 beside it");
  EXPECT_REFUSED(convert({"--weights", "i8", "--calibrate", "faces"}), "or --weights i8 --activations i8 and images");
  EXPECT_REFUSED(convert({"--weights", "i8", "--bound", "boxes=.9"}), "are for --activations i8");
  EXPECT_REFUSED(convert({"--weights", "i8", "--activations", "i8"}), "expected --calibrate DIR");
  EXPECT_REFUSED(convert({"--weights", "i8", "--activations", "i8", "--calibrate", "faces", "--dry-run"}),
                 "without --dry-run and --certify");
  EXPECT_REFUSED(convert({"--weights", "i8", "--activations", "i8", "--calibrate", "absent"}),
                 "--calibrate absent: there is no such file or folder");
  EXPECT_REFUSED(convert({"--weights", "i8", "--activations", "i8", "--calibrate", "faces", "--bound", "fast"}),
                 "expected top1=");
  EXPECT_FALSE(fs::exists(folder_.path() / "u8.ferry"));
}
#endif

TEST_F(QuantiseCommand, JudgesDepthAndMasksByTheirAnswers) {
  write_images("images", 10);
  const auto write = [&](const char* name, const Graph& graph) {
    const std::vector<std::byte> bytes = pack(graph);
    folder_.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  write("depth.ferry", *colours_for(*testing::colour_as_depth(32, 32, 0, fbs::PreprocessT()), 1, 1));
  write("areas.ferry", *colours_for(*testing::brightest_colour(), 3, 2));
  const Result depth = quantise({"depth.ferry", "--images", "images", "--bound", "depth=.05", "-o", "d8.ferry"});
  EXPECT_EQ(depth.exit_code, 0) << depth.out << depth.err;
  EXPECT_NE(depth.out.find("bound      depth=.05 holds on the held-out images"), std::string::npos) << depth.out;
  const Result areas = quantise({"areas.ferry", "--images", "images", "--bound", "iou=.8", "-o", "a8.ferry"});
  EXPECT_EQ(areas.exit_code, 0) << areas.out << areas.err;
  EXPECT_NE(areas.out.find("bound      iou=.8 holds on the held-out images"), std::string::npos) << areas.out;

  const Result agreement =
      ferry(folder_.path(), {"diff", "depth.ferry", "d8.ferry", "--images", "images", "-o", "worst.png"});
  EXPECT_EQ(agreement.exit_code, 1) << agreement.err;
  EXPECT_NE(agreement.out.find("relative error of depth: "), std::string::npos) << agreement.out;
  EXPECT_TRUE(fs::exists(folder_.path() / "worst.png"));
  const auto diff = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "diff");
    return ferry(folder_.path(), arguments);
  };
  EXPECT_REFUSED(diff({"depth.ferry", "a8.ferry", "--images", "images"}), "depth.ferry is for ");
  EXPECT_REFUSED(diff({"depth.ferry", "d8.ferry", "--images", "images", "--json"}), "without --all and --json");
  EXPECT_REFUSED(diff({"depth.ferry", "d8.ferry", "-o", "worst.png"}), "add --images");

  for (const auto& [model, bound] : {std::pair("depth.ferry", "iou=.8"), std::pair("areas.ferry", "depth=.05"),
                                     std::pair("areas.ferry", "boxes=1"), std::pair("depth.ferry", "lines=1")})
    EXPECT_REFUSED(quantise({model, "--images", "images", "--bound", bound, "-o", "n.ferry"}),
                   "whose answers have no such bound");
  for (const char* bound : {"iou=1.5", "boxes=0", "depth=", "lines=-1", "lines", "iou=.9x"})
    EXPECT_REFUSED(quantise({"m.ferry", "--images", "images", "--bound", bound, "-o", "n.ferry"}), "expected top1=");
  EXPECT_FALSE(fs::exists(folder_.path() / "n.ferry"));
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

// ferry run: images, tensors, and messages if they do not match.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/safetensors.h"
#include "converter/pack/pack.h"
#include "sdk/image/codec.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"
#include "tests/support/environment.h"
#include "tests/support/task_networks.h"

namespace ferry::cli_test {
namespace {

namespace fs = std::filesystem;

enum Blob : size_t { kClassifier, kUpscaler, kMixture, kDecoder, kTransformer };

class Run : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"run"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return ferry(folder_.path(), all);
  }

  std::string blob(Blob index) {
    const std::vector<std::byte> bytes = testing::small_blobs()[index].blob;
    return folder_.write("model.ferry", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  std::string write(const Graph& graph) {
    const std::vector<std::byte> bytes = pack(graph);
    return folder_.write("model.ferry", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }

  std::string image(const std::string& name, int width, int height) {
    std::vector<uint8_t> pixels(static_cast<size_t>(width * height * 3));
    for (size_t i = 0; i < pixels.size(); ++i) {
      pixels[i] = static_cast<uint8_t>(128 + 255 * testing::noise(1, static_cast<uint32_t>(i)) / 2);
    }
    const std::string path = folder_.path() / name;
    EXPECT_TRUE(image::save_png({pixels.data(), width, height, 3, 3 * width}, path.c_str()).ok());
    return path;
  }

  // A safetensors file of noise: name -> shape.
  std::string tensors(const std::map<std::string, std::vector<int64_t>>& shapes) {
    std::map<std::string, CheckpointTensor> list;
    std::vector<std::vector<float>> values;
    values.reserve(shapes.size());
    uint32_t seed = 7;
    for (const auto& [name, shape] : shapes) {
      CheckpointTensor t;
      t.shape = shape;
      values.emplace_back(static_cast<size_t>(t.elements()));
      for (size_t i = 0; i < values.back().size(); ++i)
        values.back()[i] = testing::noise(seed, static_cast<uint32_t>(i));
      ++seed;
      t.bytes = std::as_bytes(std::span(values.back()));
      list[name] = t;
    }
    const fs::path path = folder_.path() / "in.safetensors";
    write_safetensors(path, list);
    return path;
  }

  bool exists(const char* name) const { return fs::exists(folder_.path() / name); }
  // Without the folder of packed weights.
  size_t files() const {
    const auto all = std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
    return static_cast<size_t>(all) - (exists("cache") ? 1 : 0);
  }

  ScratchFolder folder_;
};

TEST_F(Run, AClassifierPrintsItsBestClassesWithProbabilitiesAndLabels) {
  const Result r = run({blob(kClassifier), image("p.png", 20, 13)});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  const std::vector<std::string> classes = lines(r.out);
  ASSERT_EQ(classes.size(), 5u) << r.out;
  double sum = 0, last = 1;
  const char* labels[] = {"barge", "ferry", "kayak", "liner", "raft"};
  for (const std::string& line : classes) {
    double probability = 0;
    int index = -1;
    char label[32] = "";
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf %d %31s", &probability, &index, label), 3) << line;
    EXPECT_LE(probability, last);
    last = probability;
    sum += probability;
    ASSERT_TRUE(index >= 0 && index < 5);
    EXPECT_STREQ(label, labels[index]);
  }
  EXPECT_NEAR(sum, 1.0, 3e-4);
  EXPECT_EQ(lines(run({blob(kClassifier), image("p.png", 20, 13), "--top", "2"}).out).size(), 2u);
}

TEST_F(Run, PrintsAsManyClassesAsTheBlobSays) {
  auto graph = testing::small_classifier();
  graph->table.postprocess->top = 2;
  const std::vector<std::byte> bytes = pack(*graph);
  const std::string model =
      folder_.write("two.ferry", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const std::string photo = image("a.png", 20, 14);
  EXPECT_EQ(lines(run({model, photo}).out).size(), 2u);
  EXPECT_EQ(lines(run({model, photo, "--top", "3"}).out).size(), 3u);
}

TEST_F(Run, AFeatureExtractorPrintsASummaryAndSavesTheEmbedding) {
  auto graph = testing::small_classifier();
  graph->table.postprocess->task = fbs::Task::Embedding;
  graph->table.postprocess->unit_length = true;
  const std::vector<std::byte> bytes = pack(*graph);
  const std::string model =
      folder_.write("embed.ferry", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  Result r = run({model, image("a.png", 20, 14)});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.out.find("embedding of 5 values, length 1:"), 0u) << r.out;
  r = run({model, image("a.png", 20, 14), "--save", "out.safetensors"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto saved = open_checkpoint(folder_.path() / "out.safetensors");
  const std::vector<float> raw = saved->tensors().at("logits").to_floats();
  const std::vector<float> unit = saved->tensors().at("embedding").to_floats();
  ASSERT_EQ(unit.size(), 5u);
  double length = 0;
  for (const float v : raw) length += double{v} * v;
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(unit[i], raw[i] / std::sqrt(length), 1e-6);
}

TEST_F(Run, AnUpscalerWritesAPngBesideNothingElse) {
  const std::string model = blob(kUpscaler), photo = image("photo.png", 9, 11);
  Result r = run({model, photo, "-o", "large.png"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  image::Pixels large;
  ASSERT_TRUE(image::load((folder_.path() / "large.png").c_str(), &large).ok());
  EXPECT_GT(large.view().width, 9);
  EXPECT_EQ(files(), 3u);
  const int scale = large.view().width / 9;
  r = run({model, photo});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const std::string name = "photo_x" + std::to_string(scale) + ".png";
  EXPECT_TRUE(exists(name.c_str())) << r.out;
}

TEST_F(Run, WhatIsNotAnImageIsRefused) {
  const std::string model = blob(kClassifier);
  folder_.write("notes.jpg", "these are notes");
  EXPECT_REFUSED(run({model, "notes.jpg"}), "notes.jpg is not a JPEG, PNG or BMP image");
  EXPECT_REFUSED(run({model, "missing.jpg"}), "cannot open missing.jpg: No such file");
  const std::string png = read_text(image("p.png", 20, 13));
  folder_.write("cut.png", std::string_view(png).substr(0, png.size() / 2));
  EXPECT_REFUSED(run({model, "cut.png"}), "cut.png: damaged image");
}

// Mostly blobs from ONNX files: if an option is missing, the message names it.
TEST_F(Run, ABlobWithoutPreprocessingNamesTheOption) {
  auto graph = testing::small_classifier();
  graph->table.preprocess.reset();
  graph->table.postprocess.reset();
  const std::vector<std::byte> bytes = pack(*graph);
  folder_.write("raw.ferry", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  EXPECT_REFUSED(
      run({"raw.ferry", image("p.png", 20, 13)}),
      "raw.ferry has no preprocessing for images: pass tensors (--tensors), or convert it again with --like NAME, "
      "with --mean, --std and --resize, or with a preprocessor_config.json in the file's folder");
}

TEST_F(Run, AnUnwritableImageIsRefusedAndLeavesNothing) {
  const std::string model = blob(kUpscaler), photo = image("photo.png", 9, 11);
  EXPECT_REFUSED(run({model, photo, "-o", "no/such/large.png"}), "there is no folder no/such");
  EXPECT_REFUSED(run({model, photo, "-o", "photo.png/large.png"}), "there is no folder photo.png");
  EXPECT_REFUSED(run({model, photo, "-o", "photo.png/"}), "cannot make the folder photo.png/");
  EXPECT_EQ(files(), 2u);  // model, photo
}

TEST_F(Run, SeveralImagesGoToAFolder) {
  const std::string model = blob(kUpscaler), a = image("a.png", 9, 11), b = image("b.png", 12, 8);
  Result r = run({model, a, b, "-o", "large"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_TRUE(exists("large/a.png") && exists("large/b.png")) << r.out;
  EXPECT_EQ(lines(r.out).size(), 2u);
  r = run({model, a, b, "--json"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  ASSERT_EQ(lines(r.out).size(), 2u);
  const auto first = nlohmann::json::parse(lines(r.out)[0]);
  EXPECT_EQ(first["image"], a);
  EXPECT_EQ(first["file"], "a_x2.png");
  EXPECT_EQ(first["width"], 18);
  EXPECT_TRUE(exists("b_x2.png"));
  fs::create_directory(folder_.path() / "other");
  fs::copy_file(a, folder_.path() / "other" / "a.png");
  EXPECT_REFUSED(run({model, a, "other/a.png", "-o", "large"}), "would both be written to large/a.png");
  EXPECT_REFUSED(run({model, a, b, "--save", "x"}), "--save stores the tensors of one image, 2 are given");
}

TEST_F(Run, ClassesOfSeveralImagesAreLinesOfJson) {
  const std::string model = blob(kClassifier), a = image("a.png", 9, 11), b = image("b.png", 12, 8);
  Result r = run({model, a, b, "--json", "--top", "2"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  ASSERT_EQ(lines(r.out).size(), 2u);
  const auto second = nlohmann::json::parse(lines(r.out)[1]);
  EXPECT_EQ(second["image"], b);
  ASSERT_EQ(second["classes"].size(), 2u);
  EXPECT_GE(second["classes"][0]["probability"], second["classes"][1]["probability"]);
  r = run({model, a, b, "--top", "1"});
  ASSERT_EQ(lines(r.out).size(), 4u) << "the image's name before each";
  EXPECT_EQ(lines(r.out)[2], b);
}

TEST_F(Run, DepthIsWrittenInThreeWays) {
  const std::string model = write(*testing::colour_as_depth(8, 8, 0, fbs::PreprocessT()));
  const std::string photo = image("room.png", 20, 13);
  Result r = run({model, photo});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.out.find("room_depth.png: 20x13, from 0."), 0u) << r.out;
  EXPECT_NE(r.out.find("larger is nearer"), r.out.npos);
  ASSERT_EQ(run({model, photo, "-o", "c.png", "--colours"}).exit_code, 0);
  ASSERT_EQ(run({model, photo, "-o", "d.png", "--16bit"}).exit_code, 0);
  ASSERT_EQ(run({model, photo, "-o", "d.pfm"}).exit_code, 0);
  EXPECT_EQ(read_text(folder_.path() / "d.png")[24], 16);
  EXPECT_EQ(read_text(folder_.path() / "d.pfm").substr(0, 2), "Pf");
  EXPECT_REFUSED(run({model, photo, "--colours", "--16bit"}), "choose one");
  EXPECT_REFUSED(run({model, photo, "--point", "1,2"}), "this model is for depth");
  EXPECT_REFUSED(run({model, photo, "--tile", "64"}), "runs on whole images");
}

TEST_F(Run, ClassesOfPixelsHaveALegend) {
  const std::string model = write(*testing::brightest_colour()), photo = image("street.png", 20, 13);
  Result r = run({model, photo, "--colours"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const std::vector<std::string> legend = lines(r.out);
  ASSERT_GE(legend.size(), 2u);
  EXPECT_EQ(legend[0], "street_labels.png: 20x13");
  EXPECT_NE(legend[1].find(" %"), std::string::npos);
  EXPECT_NE(legend[1].find("  #"), std::string::npos);
  r = run({model, photo, "--json"});
  const auto json = nlohmann::json::parse(r.out);
  EXPECT_EQ(json["classes"].size(), legend.size() - 1);
  EXPECT_REFUSED(run({model, photo, "--16bit"}), "--16bit: this model returns no depth");
}

TEST_F(Run, AMaskSelectsTheInpaintedArea) {
  const std::string model = write(*testing::gray_painter());
  const std::string photo = image("street.png", 20, 13), mask = image("mask.png", 20, 13);
  Result r = run({model, photo, "--mask", mask, "-o", "empty.png"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.out, "empty.png: 20x13, from 20x13\n");
  EXPECT_REFUSED(run({model, photo}), "no area to inpaint: give --mask FILE");
  EXPECT_REFUSED(run({model, photo, "--mask", image("small.png", 8, 8)}), "a mask of 8x8 pixels for an image of 20x13");
  EXPECT_REFUSED(run({model, photo, photo, "--mask", mask}), "--mask goes with one image, 2 are given");
  EXPECT_REFUSED(run({blob(kClassifier), photo, "--mask", mask}), "is for inpainting models");
}

TEST_F(Run, ForegroundIsCutOut) {
  const std::string model = write(*testing::red_in_front()), photo = image("portrait.png", 20, 13);
  ASSERT_EQ(run({model, photo, "-o", "matte.png", "--composite", "cut.png"}).exit_code, 0);
  EXPECT_EQ(read_text(folder_.path() / "cut.png")[25], 6);
  ASSERT_EQ(run({model, photo, "--composite", "c.png", "--background", "#00ff00"}).exit_code, 0);
  ASSERT_EQ(run({model, photo, "--composite", "c.png", "--background", photo}).exit_code, 0);
  EXPECT_EQ(read_text(folder_.path() / "c.png")[25], 2) << "RGB";
  for (const std::string& background : {std::string("#00ff00"), photo}) {
    ASSERT_EQ(run({model, photo, "-o", "before.png", "--background", background}).exit_code, 0);
    EXPECT_EQ(read_text(folder_.path() / "before.png")[25], 2) << "RGB";
  }
  ASSERT_EQ(run({model, photo, "--background", photo}).exit_code, 0);
  EXPECT_EQ(read_text(folder_.path() / "portrait_composite.png")[25], 2) << "RGB";
  EXPECT_REFUSED(run({model, photo, "--composite", "c.png", "--background", "#0f0"}), "or a colour, #rrggbb");
  EXPECT_REFUSED(run({blob(kClassifier), photo, "--composite", "c.png"}), "--composite: this model returns no mask");
  EXPECT_REFUSED(run({blob(kClassifier), photo, "--background", "#00ff00"}),
                 "--background: this model returns no mask");
}

TEST_F(Run, LinesOfTextArePrintedAndDrawn) {
  fbs::OcrT params;
  params.text_threshold = 0.1f;
  const std::string model = write(*testing::colour_reader(32, 32, fbs::PreprocessT(), params));
  image::Pixels page;
  ASSERT_TRUE(page.allocate(120, 60, 3).ok());
  for (int y = 0; y < 60; ++y) {
    for (int x = 0; x < 120; ++x) {
      const bool text = x >= 20 && x < 100 && y >= 20 && y < 40;
      uint8_t* pixel = page.row(y) + 3 * x;
      pixel[0] = pixel[1] = pixel[2] = 0;
      if (text) pixel[0] = pixel[x < 60 ? 1 : 2] = 255;
    }
  }
  ASSERT_TRUE(image::save_png(page.view(), (folder_.path() / "page.png").c_str()).ok());
  EXPECT_EQ(run({model, "page.png"}).out, "gb\n");
  Result r = run({model, "page.png", "-o", "lines.png"});
  EXPECT_EQ(r.out, "gb\nlines.png\n");
  image::Pixels drawn;
  ASSERT_TRUE(image::load((folder_.path() / "lines.png").c_str(), &drawn).ok());
  EXPECT_NE(std::memcmp(drawn.view().data, page.view().data, 3 * 120 * 60), 0);
  r = run({model, "page.png", "--json"});
  const auto json = nlohmann::json::parse(r.out);
  ASSERT_EQ(json["lines"].size(), 1u) << r.out;
  EXPECT_EQ(json["lines"][0]["text"], "gb");
  ASSERT_EQ(json["lines"][0]["corners"].size(), 4u);
  EXPECT_NEAR(json["lines"][0]["corners"][0][0], 20 - 12, 0.5);  // 1.5 * 80 * 20 / 200
  EXPECT_NEAR(json["lines"][0]["corners"][2][1], 40 + 12, 0.5);
  EXPECT_EQ(run({model, image("empty.png", 20, 13)}).out, "no text found\n");
  EXPECT_REFUSED(run({model, "page.png", "--tile", "64"}), "runs on whole images");
  const Result inspected = ferry(folder_.path(), {"inspect", model});
  EXPECT_NE(inspected.out.find("OCR of lines by graph line; text from 0.3, boxes from 0.6"), std::string::npos)
      << inspected.out;
}

TEST_F(Run, BoxesArePrintedAndDrawn) {
  fbs::PreprocessT exact;
  exact.resize_mode = fbs::ResizeMode::Exact;
  exact.resize_h = exact.resize_w = 8;
  const std::string model = write(*testing::one_box(8, 8, exact, {0.25f, 0.5f, 0.75f, 1}));
  const std::string photo = image("street.png", 40, 20);
  const size_t before = files();
  const Result text = run({model, photo});
  EXPECT_EQ(text.out, " 1.0000  10,10 to 30,20  class 0\n") << text.err;
  const Result json = run({model, photo, "--json"});
  const auto j = nlohmann::json::parse(json.out);
  ASSERT_EQ(j["boxes"].size(), 1u);
  EXPECT_EQ(j["boxes"][0]["box"], nlohmann::json::array({10.0, 10.0, 30.0, 20.0}));
  EXPECT_EQ(j["boxes"][0]["landmarks"], nlohmann::json::parse("[[10.0, 10.0]]"));
  EXPECT_EQ(j["boxes"][0]["label"], "");
  EXPECT_EQ(files(), before) << "nothing is drawn unasked";
  const Result drawn = run({model, photo, "-o", "boxes.png"});
  EXPECT_EQ(drawn.out, " 1.0000  10,10 to 30,20  class 0\nboxes.png\n") << drawn.err;
  EXPECT_NE(read_text(folder_.path() / "boxes.png"), read_text(photo));
  const std::string other = image("road.png", 30, 20);
  fs::create_directory(folder_.path() / "drawn");
  ASSERT_EQ(run({model, photo, other, "-o", "drawn/"}).exit_code, 0);
  EXPECT_TRUE(exists("drawn/street.png"));
  EXPECT_TRUE(exists("drawn/road.png"));
  EXPECT_REFUSED(run({model, photo, "--colours"}), "--colours: this model returns neither depth nor a segmentation");
}

TEST_F(Run, PointsAndABoxArePrompts) {
  const std::string model = write(*testing::colour_masks()), photo = image("dog.png", 20, 13);
  Result r = run({model, photo, "--point", "3,4", "--point", "-9,2", "--box", "1,1,8,8", "--composite", "cut.png"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.out.find("dog_mask.png: 20x13, covers "), 0u) << r.out;
  const std::string cut = read_text(folder_.path() / "cut.png");
  EXPECT_EQ(cut[25], 6) << "RGB and alpha";
  r = run({model, photo, "--box", "1,1,8,8", "--json"});
  EXPECT_TRUE(nlohmann::json::parse(r.out).contains("quality")) << r.out;
  EXPECT_REFUSED(run({model, photo}), "no prompt: give --point X,Y or --box LEFT,TOP,RIGHT,BOTTOM");
  EXPECT_REFUSED(run({model, photo, "--point", "3"}), "--point 3: expected X,Y");
  EXPECT_REFUSED(run({model, photo, "--point", "3,4,5"}), "expected X,Y");
  EXPECT_REFUSED(run({model, photo, "--point", "30,4"}), "point 30,4 lies outside the image");
  EXPECT_REFUSED(run({model, photo, "--box", "1,2,3"}), "--box 1,2,3: expected LEFT,TOP,RIGHT,BOTTOM");
  EXPECT_REFUSED(run({model, photo, "--box", "5,5,5,9"}), "is empty");
}

TEST_F(Run, ContradictingOptionsAreRefused) {
  const std::string model = blob(kClassifier);
  EXPECT_REFUSED(run({model}), "give an image, --tensors FILE, --prompt TEXT or --tokens IDS");
  EXPECT_REFUSED(run({model, "a.png", "--tensors", "b", "--save", "c"}), "give one of them");
  EXPECT_REFUSED(run({model, "--tensors", "b"}), "--save FILE");
  EXPECT_REFUSED(run({model, "a.png", "--taps"}), "--save FILE");
  EXPECT_REFUSED(run({model, "--tensors", "b", "--save", "c", "-o", "d.png"}), "use --save");
  EXPECT_REFUSED(run({model, image("p.png", 20, 13), "-o", "d.png"}), "returns no image");
}

TEST_F(Run, TensorsGoInAndOutInTheFrameworksLayout) {
  const std::string model = blob(kClassifier);
  Result r = run({model, "--tensors", tensors({{"whatever", {1, 3, 8, 8}}}), "--save", "out.safetensors", "--taps"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto out = open_checkpoint(folder_.path() / "out.safetensors");
  ASSERT_EQ(out->tensors().size(), 4u);
  EXPECT_EQ(out->tensors().at("logits").shape, (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(out->tensors().at("pooled").shape, (std::vector<int64_t>{1, 8}));
  const CheckpointTensor& features = out->tensors().at("features");
  ASSERT_EQ(features.shape.size(), 4u);
  EXPECT_EQ(features.shape[1], 8);
  EXPECT_EQ(out->tensors().at("tap/block").shape, (std::vector<int64_t>{1, 8, 4, 4}));
  // `pooled` is the mean of each plane of `features`, but only if the layout is N,C,H,W.
  const std::vector<float> map = features.to_floats(), pooled = out->tensors().at("pooled").to_floats();
  const size_t plane = map.size() / 8;
  for (size_t c = 0; c < 8; ++c) {
    double sum = 0;
    for (size_t i = 0; i < plane; ++i) sum += map[c * plane + i];
    EXPECT_NEAR(pooled[c], sum / static_cast<double>(plane), 1e-6);
  }
}

// Above 1 MB, weights are checked beside the run. Nothing is written before both have ended.
TEST_F(Run, ADamagedBlobLeavesNoOutput) {
  constexpr int kSide = 1200;
  Graph graph;
  const Tensor x = graph.add_input("x", {1, kSide}, fbs::Layout::Same);
  std::vector<float> values;
  for (uint32_t i = 0; i < kSide * kSide; ++i) values.push_back(testing::noise(3, i));
  const Tensor weight = graph.add_constant("weight", {kSide, kSide}, std::move(values));
  graph.add_output("y", graph.add_op("y", fbs::LinearT(), {x, weight}), fbs::Layout::Same);
  const std::string model = write(graph);
  std::string bytes = read_text(model);
  bytes[bytes.size() - 4 * kSide] = static_cast<char>(bytes[bytes.size() - 4 * kSide] ^ 1);
  folder_.write("model.ferry", bytes);
  const std::vector<std::string> arguments = {model, "--tensors", tensors({{"x", {1, kSide}}}), "--save", "out"};
  EXPECT_REFUSED(run(arguments), "the blob is damaged: 'weight' does not have the checksum that was written");
  EXPECT_FALSE(exists("out"));
  std::vector<std::string> unchecked = arguments;
  unchecked.push_back("--no-check");
  EXPECT_EQ(run(unchecked).exit_code, 0);
  EXPECT_TRUE(exists("out"));
}

TEST_F(Run, InputsMayBeNamedAsInFixtures) {
  const std::string model = blob(kClassifier);
  ASSERT_EQ(
      run({model, "--tensors", tensors({{"input/input", {1, 3, 8, 8}}, {"logits", {5}}}), "--save", "a"}).exit_code, 0);
  ASSERT_EQ(run({model, "--tensors", tensors({{"input", {1, 3, 8, 8}}, {"logits", {5}}}), "--save", "b"}).exit_code, 0);
  EXPECT_EQ(read_text(folder_.path() / "a"), read_text(folder_.path() / "b"));
}

TEST_F(Run, ThreadsDoNotChangeABit) {
  const std::string model = blob(kClassifier), in = tensors({{"input", {1, 3, 8, 8}}});
  ASSERT_EQ(run({model, "--tensors", in, "--save", "one", "--threads", "1"}).exit_code, 0);
  ASSERT_EQ(run({model, "--tensors", in, "--save", "four", "--threads", "4"}).exit_code, 0);
  EXPECT_EQ(read_text(folder_.path() / "one"), read_text(folder_.path() / "four"));
}

TEST_F(Run, AnotherHeightAndWidthIsPlannedAnew) {
  const Result r =
      run({blob(kClassifier), "--tensors", tensors({{"input", {1, 3, 12, 20}}}), "--save", "out", "--taps"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(open_checkpoint(folder_.path() / "out")->tensors().at("tap/block").shape,
            (std::vector<int64_t>{1, 8, 6, 10}));
}

TEST_F(Run, WrongNamesAndShapesAreNamedAndNothingIsWritten) {
  const std::string model = blob(kClassifier);
  EXPECT_REFUSED(run({model, "--tensors", tensors({{"image", {1, 3, 8, 8}}, {"mask", {1}}}), "--save", "out"}),
                 "has no tensor 'input', which is an input of the model; it contains image, mask");
  EXPECT_REFUSED(run({model, "--tensors", tensors({{"input", {3, 8, 8}}}), "--save", "out"}),
                 "input 'input' is [3,8,8], the model takes [1,3,8,8]");
  EXPECT_REFUSED(run({model, "--tensors", tensors({{"input", {1, 4, 8, 8}}}), "--save", "out"}),
                 "input 'input' is [1,4,8,8], the model takes [1,3,8,8]");
  EXPECT_REFUSED(run({model, "--tensors", "missing.safetensors", "--save", "out"}), "missing.safetensors");
  EXPECT_FALSE(exists("out"));
}

TEST_F(Run, AModelOfTwoInputsNeedsBothNames) {
  const std::string model = blob(kMixture);
  EXPECT_REFUSED(run({model, "--tensors", tensors({{"a", {1, 4, 6}}}), "--save", "out"}), "has no tensor 'b'");
  const Result r = run({model, "--tensors", tensors({{"a", {1, 4, 6}}, {"b", {1, 4, 6}}}), "--save", "out"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
}

TEST_F(Run, AnUnwritableSaveIsRefused) {
  EXPECT_REFUSED(run({blob(kClassifier), "--tensors", tensors({{"input", {1, 3, 8, 8}}}), "--save", "no/such/out"}),
                 "no/such/out");
}

TEST_F(Run, WithoutAGpuItRunsOnTheCpuWithANote) {
  const HiddenVulkan hidden;
  const std::string model = blob(kClassifier), photo = image("a.png", 20, 15);
  const Result cpu = run({model, photo, "--precision", "f16"});
  const Result gpu = run({model, photo, "--backend", "gpu", "--precision", "f16"});
  EXPECT_EQ(gpu.exit_code, 0) << gpu.err;
  EXPECT_EQ(gpu.out, cpu.out);
  EXPECT_TRUE(gpu.err.starts_with("ferry run: on the CPU instead of the GPU: ")) << gpu.err;
  EXPECT_EQ(lines(gpu.err).size(), 1 + lines(cpu.err).size()) << gpu.err << cpu.err;
  EXPECT_LE(lines(cpu.err).size(), 1u) << cpu.err;  // a CPU without float16 prints one note
}

TEST_F(Run, AGraphOfSeveralIsChosenByName) {
  const std::string model = blob(kTransformer);
  const auto inspect = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"inspect", model};
    all.insert(all.end(), more.begin(), more.end());
    return ferry(folder_.path(), all);
  };
  const Result first = inspect({}), second = inspect({"--graph", "states"}), none = inspect({"--graph", "none"});
  EXPECT_NE(first.out.find("2 over the same weights: small_transformer, states"), std::string::npos) << first.out;
  EXPECT_NE(first.out.find("0.keys, up to [1,24,8] along dimension 1"), std::string::npos) << first.out;
  EXPECT_NE(first.out.find("logits"), std::string::npos) << first.out;
  EXPECT_NE(second.out.find("hidden"), std::string::npos) << second.out;
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("the model has no graph 'none'"), std::string::npos) << none.err;
  const Result r = run({model, "--graph", "none", "--tensors", "x", "--save", "y"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_NE(r.err.find("the model has no graph 'none'"), std::string::npos) << r.err;
}

TEST_F(Run, AFolderGivesItsImages) {
  const std::string model = blob(kClassifier);
  fs::create_directory(folder_.path() / "holidays");
  image("holidays/b.png", 9, 8);
  image("holidays/a.PNG", 8, 9);
  folder_.write("holidays/notes.txt", std::string_view("no image"));
  const Result r = run({model, "holidays", "--json"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  const std::vector<std::string> out = lines(r.out);
  ASSERT_EQ(out.size(), 2u) << r.out;
  EXPECT_EQ(nlohmann::json::parse(out[0])["image"], "holidays/a.PNG");
  EXPECT_EQ(nlohmann::json::parse(out[1])["image"], "holidays/b.png");
  fs::create_directory(folder_.path() / "empty");
  EXPECT_REFUSED(run({model, "empty"}), "the folder empty has no images");
}

// The others are run; the exit code reports the failure.
TEST_F(Run, OneImageOfSeveralThatCannotBeRead) {
  const std::string model = blob(kClassifier);
  image("a.png", 9, 8);
  folder_.write("b.png", std::string_view("\x89PNG\r\n\x1a\nand no more"));
  image("c.png", 8, 9);
  const Result r = run({model, "a.png", "b.png", "c.png", "--json"});
  EXPECT_EQ(r.exit_code, 2);
  const std::vector<std::string> out = lines(r.out);
  ASSERT_EQ(out.size(), 3u) << r.out;
  EXPECT_EQ(nlohmann::json::parse(out[1])["image"], "b.png");
  EXPECT_NE(nlohmann::json::parse(out[1])["error"].get<std::string>().find("b.png"), std::string::npos) << out[1];
  EXPECT_EQ(nlohmann::json::parse(out[2])["image"], "c.png");
  EXPECT_EQ(lines(r.err).size(), 1u) << r.err;
  EXPECT_REFUSED(run({model, "b.png"}), "b.png");
}

}  // namespace
}  // namespace ferry::cli_test

// ferry models and ferry convert, in builds with a converter.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "converter/checkpoint/safetensors.h"
#include "converter/pack/pack.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"
#include "tests/support/paths.h"

namespace ferry::cli_test {
namespace {

namespace fs = std::filesystem;

class Convert : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) { return ferry(folder_.path(), arguments); }

  std::string checkpoint(const std::string& name) {
    const std::vector<float> values(8, 1.0f);
    CheckpointTensor t;
    t.shape = {8};
    t.bytes = std::as_bytes(std::span(values));
    const fs::path path = folder_.path() / name;
    write_safetensors(path, {{"strange.weight", t}});
    return path;
  }

  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  ScratchFolder folder_;
};

#if defined(FERRY_HAS_CONVERTER)

TEST_F(Convert, ModelsListsFamiliesVariantsAndHubNames) {
  const Result overview = run({"models"});
  EXPECT_EQ(overview.exit_code, 0) << overview.err;
  EXPECT_NE(overview.out.find("\nResNet "), std::string::npos) << overview.out;
  EXPECT_LT(lines(overview.out).size(), 100u) << "a line for each family";
  for (const std::string& line : lines(overview.out)) EXPECT_LE(line.size(), 100u) << line;
  const Result table = run({"models", "RESNET50", "timm"});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  for (const char* words :
       {"ResNet\n", "\n  resnet50.a1_in1k ", " 224x224 ", " 1000 classes ", " timm\n", " networks\n"}) {
    EXPECT_NE(table.out.find(words), std::string::npos) << words;
  }
  EXPECT_EQ(table.out.find("mobilenet"), std::string::npos);
  EXPECT_EQ(table.out.find("torchvision"), std::string::npos);
  const Result all = run({"models", "--all"});
  std::set<std::string> names;
  for (const std::string& line : lines(all.out)) {
    if (!line.starts_with("  ") || line.starts_with("  name ")) continue;
    EXPECT_TRUE(names.insert(line.substr(2, line.find(' ', 2) - 2)).second) << "twice: " << line;
  }
  EXPECT_NE(all.out.find("timm, transformers facebook/dino-vits16"), std::string::npos);
  EXPECT_REFUSED(run({"models", "resnt50"}), "no network has 'resnt50' in its name (did you mean resnet50?)");
  const Result list = run({"models", "--json"});
  ASSERT_EQ(list.exit_code, 0);
  const auto j = nlohmann::json::parse(list.out);
  ASSERT_GT(j.size(), 10u);
  for (const auto& entry : j) {
    EXPECT_FALSE(entry["family"].get<std::string>().empty());
    const bool takes_text = entry.value("output", "") == "next token";  // of any length
    EXPECT_EQ(entry.contains("input"), !takes_text) << entry["family"];
    if (!takes_text) {
      EXPECT_EQ(entry["input"].size(), 3u) << entry["family"];
    }
  }
}

TEST_F(Convert, AnUnknownModelGetsANearOne) {
  EXPECT_REFUSED(run({"convert", checkpoint("c.safetensors"), "--model", "resnet5O"}),
                 "no model has this name (did you mean resnet50?)");
}

TEST_F(Convert, AMissingCheckpointIsNamed) {
  EXPECT_REFUSED(run({"convert", "missing.safetensors", "--model", "resnet50"}), "missing.safetensors does not exist");
}

TEST_F(Convert, OtherFilesAreRefused) {
  folder_.write("notes.safetensors", "these are notes");
  EXPECT_REFUSED(run({"convert", "notes.safetensors", "--model", "resnet50"}), "notes.safetensors");
}

TEST_F(Convert, AFailedConversionLeavesTheOutputAsItWas) {
  const std::string c = checkpoint("c.safetensors");
  folder_.write("m.ferry", "the former one");
  const Result r = run({"convert", c, "--model", "squeezenet1_0", "-o", "m.ferry"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(lines(r.err).size(), 1u) << r.err;
  EXPECT_EQ(read_text(folder_.path() / "m.ferry"), "the former one");
  EXPECT_EQ(files(), 2u);
}

TEST_F(Convert, AnUnwritableOutputIsRefused) {
  const std::string c = checkpoint("c.safetensors");
  EXPECT_REFUSED(run({"convert", c, "--model", "resnet50", "-o", "no/such/m.ferry"}), "there is no folder no/such");
  fs::create_directory(folder_.path() / "taken");
  EXPECT_REFUSED(run({"convert", c, "--model", "resnet50", "-o", "taken"}), "cannot write taken: it is a folder");
}

TEST_F(Convert, OptionsOutOfRangeAreNamed) {
  const std::string c = checkpoint("c.safetensors");
  EXPECT_REFUSED(run({"convert", c, "--model", "resnet50", "--input-size", "224by224"}), "expected HxW");
  EXPECT_REFUSED(run({"convert", c, "--model", "resnet50", "--in-chans", "0"}), "--in-chans 0");
  EXPECT_REFUSED(run({"convert", c, "--model", "resnet50", "--num-classes=-1"}), "--num-classes -1");
  EXPECT_REFUSED(run({"convert", c, "--model", "resnet50", "--weights", "int3"}), "--weights int3");
}

TEST_F(Convert, BisectRefusesRoundedWeights) {
  write_file(folder_.path() / "m.ferry", pack(*testing::small_integers()));
  EXPECT_REFUSED(run({"bisect", "m.ferry", "c.safetensors", "--fixture", "f"}), "m.ferry has rounded weights");
}

TEST_F(Convert, BisectTakesOnlyTheFormatThatTheBlobWasMadeFrom) {
  const std::string c = checkpoint("c.safetensors");
  write_file(folder_.path() / "m.ferry", pack(*testing::small_classifier()));
  folder_.write("net.onnx", read_text(source_folder() / "tests/data/onnx/cnn/model.onnx"));
  EXPECT_REFUSED(run({"bisect", "m.ferry", "net.onnx", "--fixture", "f"}),
                 "net.onnx is an ONNX file, but m.ferry was converted from another format");
  const auto graph = testing::small_classifier();
  graph->table.provenance = std::make_unique<fbs::ProvenanceT>();
  graph->table.provenance->family = "onnx";
  write_file(folder_.path() / "from_onnx.ferry", pack(*graph));
  EXPECT_REFUSED(run({"bisect", "from_onnx.ferry", c, "--fixture", "f"}),
                 "c.safetensors is a checkpoint, but from_onnx.ferry was converted from an ONNX file");
}

TEST_F(Convert, AnUnknownNetworkGetsAHintToOnnx) {
  const std::string strange = (source_folder() / "tests/data/pytorch/tensors.pth").string();
  EXPECT_REFUSED(run({"convert", strange}), "torch.onnx.export(), then `ferry convert net.onnx`");
}

TEST_F(Convert, BisectTakesTheCoresOfEveryCommandThatRuns) {
  EXPECT_REFUSED(run({"bisect", "m.ferry", "c.safetensors", "--fixture", "f", "--cores", "big"}),
                 "--cores big: expected performance");
}

#else

TEST_F(Convert, WithoutAConverterTheCommandsSaySo) {
  EXPECT_REFUSED(run({"models"}), "this build has no converter");
  EXPECT_REFUSED(run({"convert", checkpoint("c.safetensors")}), "this build has no converter");
}

#endif

}  // namespace
}  // namespace ferry::cli_test

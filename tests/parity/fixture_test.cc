// Reading fixture folders: a right one is read completely, a wrong one is refused with one sentence.
#include "cli/parity/fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/parity/generator.h"
#include "converter/checkpoint/safetensors.h"
#include "converter/checkpoint/sha256.h"
#include "converter/error.h"
#include "tests/parity/tiny_network.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

using nlohmann::json;

const Entry& find(const Fixture& fixture, const std::string& name) {
  for (const Entry& entry : fixture.entries)
    if (entry.name == name) return entry;
  throw Error("no entry " + name);
}

TEST(Fixture, ReadsInputsTapsPyramidsAndOutputs) {
  const Fixture fixture = read_fixture(tiny_fixture());
  EXPECT_EQ(fixture.name, "tiny");
  EXPECT_EQ(fixture.library, "numpy");
  ASSERT_EQ(fixture.inputs.size(), 1u);
  EXPECT_EQ(fixture.inputs[0].name, "input");
  EXPECT_EQ(fixture.inputs[0].shape, (Dims{1, 3, 36, 44}));

  const Entry& stem = find(fixture, "tap/stem");
  EXPECT_EQ(stem.module, "stem");
  EXPECT_EQ(stem.shape, (Dims{1, 8, 18, 22}));
  EXPECT_EQ(stem.values.size(), 256u);
  EXPECT_EQ(stem.positions, sample_positions("tap/stem", 256, 8 * 18 * 22));
  EXPECT_EQ(stem.absmax, 6.0);
  EXPECT_EQ(stem.floor, 2.1e-7);

  const Entry& pyramid = find(fixture, "feat/0");
  EXPECT_EQ(pyramid.kind, EntryKind::Pyramid);
  EXPECT_EQ(pyramid.module, "stem");
  EXPECT_EQ(pyramid.absmax, 6.0) << "its tap's, which is the whole tensor's";

  const Entry& logits = find(fixture, "logits");
  EXPECT_EQ(logits.kind, EntryKind::Output);
  EXPECT_TRUE(logits.positions.empty());
  EXPECT_EQ(logits.values.size(), 5u);
}

// A fixture that tests break.
class Broken : public ::testing::Test {
 protected:
  Broken() {
    manifest_ = json::parse(R"({
      "format": "parity-fixture/1", "name": "f", "arch": "a", "seed": 5, "library": {"name": "numpy", "version": "1"},
      "inputs": [{"name": "input", "shape": [1, 2, 3, 4], "dtype": "F32", "stored": "full"}],
      "taps": [{"name": "tap/a", "shape": [1, 2], "stored": "full", "absmax": 2.0, "float32_vs_float64": 1e-7}],
      "outputs": [{"name": "logits", "shape": [1, 3], "stored": "full", "absmax": 3.0}]})");
    put("input", {1, 2, 3, 4}, input_image({1, 2, 3, 4}, 5));
    manifest_["inputs"][0]["sha256"] = sha256_hex(std::as_bytes(std::span(values_["input"])));
    put("tap/a", {1, 2}, {-2, 1});
    put("logits", {1, 3}, {1, 2, 3});
  }

  void put(const std::string& name, const std::vector<int64_t>& shape, std::vector<float> values) {
    values_[name] = std::move(values);
    tensors_[name] = {ElementType::F32, shape, std::as_bytes(std::span(values_[name]))};
  }

  void write() {
    scratch_.write("manifest.json", text_.empty() ? manifest_.dump() : text_);
    write_safetensors(scratch_.path() / "fixture.safetensors", tensors_);
  }

  // The error message of reading, without the folder's path.
  std::string message() {
    write();
    try {
      read_fixture(scratch_.path());
    } catch (const Error& e) {
      std::string text = e.what();
      const std::string folder = scratch_.path().string() + "/";
      for (size_t at; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
      return text;
    }
    return "no error";
  }

  ScratchFolder scratch_;
  json manifest_;
  std::string text_;
  std::map<std::string, std::vector<float>> values_;
  std::map<std::string, CheckpointTensor> tensors_;
};

TEST_F(Broken, IsValidBeforeItIsBroken) { EXPECT_EQ(message(), "no error"); }

TEST_F(Broken, RegeneratesAnInpaintersInputBySha256) {
  const std::vector<float> masked = masked_image({1, 4, 8, 12}, 5);
  EXPECT_EQ(masked[2 * 12 + 3], 0.5f) << "known";
  EXPECT_EQ(masked[2 * 12 + 4], -0.5f) << "the hole's corner";
  EXPECT_EQ(masked[3 * 12 + 6], -0.5f);
  EXPECT_EQ(masked[3 * 12 + 7], 0.5f);
  EXPECT_EQ(masked[4 * 12 + 4], 0.5f);
  EXPECT_EQ(masked[96 + 2 * 12 + 4], 0.0f);
  const std::vector<float> image = input_image({1, 3, 8, 12}, 5);
  EXPECT_EQ(masked[96], std::clamp(image[0], -1.0f, 1.0f));
  json& input = manifest_["inputs"][0];
  input["shape"] = {1, 4, 8, 12};
  input["stored"] = "sample";
  input["sha256"] = sha256_hex(std::as_bytes(std::span(masked)));
  write();
  EXPECT_EQ(read_fixture(scratch_.path()).inputs[0].values, masked);
  input["sha256"] = std::string(64, '0');
  EXPECT_NE(message().find("its values have SHA-256"), std::string::npos);
}

TEST_F(Broken, ReadsTokenIds) {
  std::vector<int64_t> ids = {1, 403, 7};
  tensors_["input"] = {ElementType::I64, {1, 3}, std::as_bytes(std::span(ids))};
  json& input = manifest_["inputs"][0];
  input["shape"] = {1, 3};
  input["dtype"] = "I64";
  input["sha256"] = sha256_hex(std::as_bytes(std::span(ids)));
  write();
  EXPECT_EQ(read_fixture(scratch_.path()).inputs[0].values, (std::vector<float>{1, 403, 7}));
  ids[1] = int64_t{1} << 24;
  EXPECT_NE(message().find("holds 16777216, expected ids below 2^24"), std::string::npos) << message();
  ids[1] = 404;
  EXPECT_NE(message().find("its values have SHA-256"), std::string::npos) << message();
  put("input", {1, 3}, {1, 403, 7});
  EXPECT_NE(message().find("is F32, expected I64 or I32"), std::string::npos) << message();
}

TEST_F(Broken, RegeneratesAnInputStoredAsSamples) {
  manifest_["inputs"][0]["stored"] = "sample";
  manifest_["inputs"][0]["samples"] = 4;
  tensors_.erase("input");
  write();
  EXPECT_EQ(read_fixture(scratch_.path()).inputs[0].values, values_["input"]);
  manifest_["seed"] = 6;
  EXPECT_NE(message().find("input \"input\": its values have SHA-256"), std::string::npos) << message();
}

TEST_F(Broken, MissingFolder) {
  try {
    read_fixture(scratch_.path() / "nowhere");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("nowhere/manifest.json: cannot be opened; a fixture is a folder with"),
              std::string::npos)
        << e.what();
  }
}

TEST_F(Broken, ManifestThatIsNotJson) {
  text_ = "{\"format\": ";
  EXPECT_NE(message().find("manifest.json"), std::string::npos) << message();
  text_ = "[1]";
  EXPECT_EQ(message(), "manifest.json: not a JSON object");
}

TEST_F(Broken, OtherFormat) {
  manifest_["format"] = "parity-fixture/9";
  EXPECT_EQ(message(), "manifest.json: format \"parity-fixture/9\", expected \"parity-fixture/1\"");
  manifest_.erase("format");
  EXPECT_EQ(message(), "manifest.json: \"format\" is missing or not a string");
}

TEST_F(Broken, MissingTensorFile) {
  write();
  std::filesystem::remove(scratch_.path() / "fixture.safetensors");
  try {
    read_fixture(scratch_.path());
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("fixture.safetensors"), std::string::npos) << e.what();
  }
}

TEST_F(Broken, MissingTensor) {
  tensors_.erase("logits");
  EXPECT_EQ(message(), "fixture.safetensors: no tensor \"logits\", but the manifest lists it");
}

TEST_F(Broken, WrongShape) {
  put("tap/a", {2, 1}, {-2, 1});
  EXPECT_EQ(message(), "fixture.safetensors: tensor \"tap/a\" is 2x1, but the manifest says 1x2");
  manifest_["taps"][0]["shape"] = {1, 0};
  EXPECT_EQ(message(), "manifest.json: \"tap/a\": dimension 1 of the shape is out of range");
  manifest_["taps"][0]["shape"] = {1000000, 1000000};
  EXPECT_EQ(message(), "manifest.json: \"tap/a\": dimension 1 of the shape is out of range");
}

TEST_F(Broken, WrongType) {
  tensors_["tap/a"].type = ElementType::I32;
  EXPECT_EQ(message(), "fixture.safetensors: tensor \"tap/a\" is I32, expected F32");
}

TEST_F(Broken, WrongSha256) {
  values_["input"][3] += 1;
  EXPECT_NE(message().find("manifest.json: input \"input\": its values have SHA-256 "), std::string::npos) << message();
}

TEST_F(Broken, InconsistentMaximum) {
  manifest_["taps"][0]["absmax"] = 2.5;
  EXPECT_EQ(message(), "manifest.json: \"tap/a\": the maximum stored value is 2, but the manifest says 2.5");
  manifest_["taps"][0]["absmax"] = 1.5;
  EXPECT_EQ(message(), "manifest.json: \"tap/a\": the maximum stored value is 2, but the manifest says 1.5");
  manifest_["taps"][0].erase("absmax");
  EXPECT_EQ(message(), "manifest.json: \"tap/a\": \"absmax\" is missing or not a number");
}

TEST_F(Broken, NotANumber) {
  values_["logits"][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(message(), "fixture.safetensors: tensor \"logits\" holds nan");
}

TEST_F(Broken, NothingToCompare) {
  manifest_["taps"] = json::array();
  manifest_["outputs"] = json::array();
  EXPECT_EQ(message(), "manifest.json: no outputs or taps are listed");
  manifest_["inputs"] = json::array();
  EXPECT_EQ(message(), "manifest.json: no inputs are listed");
}

TEST_F(Broken, DuplicateName) {
  manifest_["taps"].push_back(manifest_["taps"][0]);
  EXPECT_EQ(message(), "manifest.json: \"tap/a\" is listed twice");
}

TEST_F(Broken, UnknownStorage) {
  manifest_["taps"][0]["stored"] = "half";
  EXPECT_EQ(message(), "manifest.json: \"tap/a\": stored as \"half\", expected \"full\" or \"sample\"");
}

// A missing field or one of another type gives our error message, not an exception of the JSON library.
TEST_F(Broken, EveryFieldMissingOrOfAnotherType) {
  const json whole = manifest_;
  for (const json& value : {json(nullptr), json(-1), json(1e300), json("x"), json::array(), json::object()}) {
    for (const char* place : {"/format",
                              "/name",
                              "/arch",
                              "/library",
                              "/library/name",
                              "/library/version",
                              "/inputs",
                              "/inputs/0",
                              "/inputs/0/name",
                              "/inputs/0/shape",
                              "/inputs/0/shape/1",
                              "/inputs/0/stored",
                              "/inputs/0/sha256",
                              "/taps",
                              "/taps/0",
                              "/taps/0/name",
                              "/taps/0/shape",
                              "/taps/0/stored",
                              "/taps/0/absmax",
                              "/outputs",
                              "/outputs/0",
                              "/features_only",
                              "/features_only/module"}) {
      manifest_ = whole;
      manifest_[json::json_pointer(place)] = value;
      EXPECT_NO_THROW(message()) << place << " = " << value;
    }
  }
}

}  // namespace
}  // namespace ferry::parity

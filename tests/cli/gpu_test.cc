// The commands on a GPU: reports, and that the GPU computes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sdk/image/codec.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"
#include "tests/support/gpus.h"

namespace ferry::cli_test {
namespace {

using Json = nlohmann::json;

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpus_.empty()) GTEST_SKIP() << "no Vulkan driver to test with: see cmake/test_gpus.cmake";
    const std::vector<std::byte> bytes = testing::small_blobs()[0].blob;
    blob_ = folder_.write("model.ferry", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  Result run(const std::vector<std::string>& arguments) { return ferry(folder_.path(), arguments); }
  // The JSON output of a command.
  Json json(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "--ops"});
    const Result r = run(arguments);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return Json::parse(r.out, nullptr, /*allow_exceptions=*/false);
  }

  const std::vector<std::string> gpus_ = testing::test_gpus();
  ScratchFolder folder_;
  std::string blob_;
};

TEST_F(Gpu, DevicesAreListedAndFoundByIndexAndByName) {
  const Json devices = Json::parse(run({"devices", "--json"}).out)["devices"];
  ASSERT_EQ(devices.size(), gpus_.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    EXPECT_EQ(devices[i]["problem"], "");
    EXPECT_EQ(devices[i]["type"], "software");
    EXPECT_EQ(devices[i]["float16_denormals"], "kept");
    const std::string name = devices[i]["name"];
    EXPECT_EQ(json({"inspect", blob_, "--backend", "gpu", "--device", std::to_string(i)})["gpu"]["device"], name);
    EXPECT_EQ(json({"inspect", blob_, "--backend", "gpu", "--device", name})["gpu"]["device"], name);
  }
  EXPECT_REFUSED(run({"inspect", blob_, "--backend", "gpu", "--device", "absent"}), "absent");
}

TEST_F(Gpu, AnAuditCountsWhatDiffers) {
  folder_.write("root/sys/class/devfreq/gpu/cur_freq", "600000000\n");
  const Result text = run({"devices", "--audit", blob_, "--minutes", "0", "--root", "root"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("passed: every run gave the same bits"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("600.0"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("gpu, MHz"), std::string::npos) << text.out;
  const Result result = run({"devices", "--audit", blob_, "--minutes", "0", "--precision", "f16", "--json"});
  const Json j = Json::parse(result.out);
  EXPECT_TRUE(j["passed"]);
  ASSERT_GT(j["operators"].size(), 0u);
  for (const Json& op : j["operators"]) {
    EXPECT_EQ(op["differed"], 0);
    EXPECT_GE(op["runs"], 128);
  }
  EXPECT_REFUSED(run({"devices", "--audit", blob_, "--minutes", "-1"}), "--minutes -1");
  EXPECT_REFUSED(run({"devices", "--audit", "absent.ferry"}), "absent.ferry");
}

TEST_F(Gpu, InspectAccountsForEveryOperator) {
  const size_t operators = json({"inspect", blob_})["graph"].size();
  for (const std::string& gpu : gpus_) {
    const Json j = json({"inspect", blob_, "--backend", "gpu", "--device", gpu})["gpu"];
    EXPECT_EQ(j["gpu_operators"].get<size_t>() + j["cpu_operators"].get<size_t>(), operators);
    EXPECT_EQ(j["steps"].size() + j["riders"].get<size_t>(), operators);
    EXPECT_GE(j["transfers"], 2) << "the input and the output";
    EXPECT_GT(j["minimum_bytes"], 0);
    uint64_t bytes = 0, operations = 0;
    for (const Json& step : j["steps"]) {
      bytes += step["bytes_moved"].get<uint64_t>();
      operations += step["operations"].get<uint64_t>();
      EXPECT_EQ(step["backend"] == "cpu", step.contains("reason")) << step;
    }
    EXPECT_EQ(j["bytes_moved"], bytes);
    EXPECT_EQ(j["operations"], operations);
  }
}

TEST_F(Gpu, Float16MovesLess) {
  const Json single = json({"inspect", blob_, "--backend", "gpu"});
  const Json half = json({"inspect", blob_, "--backend", "gpu", "--precision", "f16"});
  EXPECT_EQ(2 * half["gpu"]["minimum_bytes"].get<uint64_t>(), single["gpu"]["minimum_bytes"].get<uint64_t>());
  EXPECT_LT(half["memory"]["packed_bytes"], single["memory"]["packed_bytes"]);
}

TEST_F(Gpu, BenchTimesItsSteps) {
  for (const std::string& gpu : gpus_) {
    const Json j = json({"bench", blob_, "--backend", "gpu", "--device", gpu, "--runs", "2"});
    EXPECT_EQ(j["backend"], "gpu");
    EXPECT_NE(j["device"].get<std::string>().find(gpu), std::string::npos);
    EXPECT_GT(j["min_ms"], 0.0);
    const Json plan = json({"inspect", blob_, "--backend", "gpu", "--device", gpu})["gpu"];
    EXPECT_EQ(j["bytes_moved"], plan["bytes_moved"]);
    EXPECT_EQ(j["ops"].size(), plan["steps"].size());
    double microseconds = 0;
    for (const Json& op : j["ops"]) microseconds += op["microseconds"].get<double>();
    EXPECT_GT(microseconds, 0);
  }
}

TEST_F(Gpu, RunAgreesWithTheCpu) {
  std::vector<uint8_t> pixels(20 * 15 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 37);
  const std::string photo = folder_.path() / "photo.png";
  ASSERT_TRUE(image::save_png({pixels.data(), 20, 15, 3, 60}, photo.c_str()).ok());
  const auto labels = [](const std::string& out) {  // "0.2345  3  name"
    std::vector<std::string> names;
    for (const std::string& line : lines(out)) names.push_back(line.substr(7));
    return names;
  };
  const Result cpu = run({"run", blob_, photo});
  ASSERT_EQ(cpu.exit_code, 0) << cpu.err;
  for (const std::string& gpu : gpus_) {
    const Result r = run({"run", blob_, photo, "--backend", "gpu", "--device", gpu});
    EXPECT_EQ(r.exit_code, 0);
    // It is the GPU that ran; a rasteriser on the CPU, which the tests have, is named in a line.
    EXPECT_TRUE(r.err.empty() || (lines(r.err).size() == 1 && r.err.find(" is a software GPU: ") != std::string::npos))
        << r.err;
    const nlohmann::json devices = nlohmann::json::parse(run({"devices", "--json"}).out)["devices"];
    const auto software =
        std::count_if(devices.begin(), devices.end(), [](const auto& d) { return d["type"] == "software"; });
    if (software == static_cast<std::ptrdiff_t>(devices.size())) {
      EXPECT_NE(r.err, "");
    }
    EXPECT_EQ(labels(r.out), labels(cpu.out));
  }
  EXPECT_FALSE(std::filesystem::is_empty(folder_.path() / "cache" / "ferry" / "gpu")) << "pipelines are kept";
}

}  // namespace
}  // namespace ferry::cli_test

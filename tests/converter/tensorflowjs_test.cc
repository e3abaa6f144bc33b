#include <gtest/gtest.h>

#include "tests/converter/checkpoint_fixtures.h"

namespace ferry {
namespace {

struct TensorflowJs : ::testing::Test {
  ScratchFolder folder;

  std::filesystem::path model(const std::string& manifest, const std::string& format = "layers-model") const {
    return folder.write("model.json", R"({"format":")" + format + R"(","weightsManifest":)" + manifest + "}");
  }
  // One group whose only shard holds `data`.
  std::string refused(const std::string& weights, const std::string& data) const {
    folder.write("w.bin", data);
    return refusal(model(R"([{"paths":["w.bin"],"weights":)" + weights + "}]"));
  }
};

TEST_F(TensorflowJs, ReadsGroupsWhoseTensorsSpanShards) {
  const std::string floats = bytes_of({1.0f, 2.0f, 3.0f});
  folder.write("g1-1.bin", floats.substr(0, 5));
  folder.write("g1-2.bin", "");
  folder.write("g1-3.bin", floats.substr(5));
  folder.write("g2.bin", bytes_of<int32_t>({-7}) + std::string("\1\0", 2) + "\xc8");
  const auto checkpoint = open_checkpoint(model(R"([
      {"paths":["g1-1.bin","g1-2.bin","g1-3.bin"],"weights":[
        {"name":"conv/kernel","shape":[1,1,1,2],"dtype":"float32"},{"name":"conv/bias","shape":[1],"dtype":"float32"}]},
      {"paths":["g2.bin"],"weights":[{"name":"i","shape":[],"dtype":"int32"},{"name":"f","shape":[2],"dtype":"bool"},
        {"name":"u","shape":[1],"dtype":"uint8"}]}])"));
  const auto& t = checkpoint->tensors();
  ASSERT_EQ(t.size(), 5u);
  EXPECT_EQ(t.at("conv/kernel").to_floats(), (std::vector<float>{1, 2}));
  EXPECT_EQ(t.at("conv/kernel").shape, (std::vector<int64_t>{1, 1, 1, 2}));
  EXPECT_EQ(t.at("conv/bias").to_floats(), std::vector<float>{3});
  EXPECT_EQ(t.at("i").to_floats(), std::vector<float>{-7});
  EXPECT_EQ(t.at("f").to_floats(), (std::vector<float>{1, 0}));
  EXPECT_EQ(t.at("u").to_floats(), std::vector<float>{200});
  EXPECT_STREQ(checkpoint->format(), "tensorflow.js");
  EXPECT_EQ(checkpoint->sha256().size(), 64u);
}

TEST_F(TensorflowJs, Dequantises) {
  folder.write("w.bin", bytes_of<uint8_t>({0, 255}) + bytes_of<uint16_t>({1, 65535}) + bytes_of<uint16_t>({0x3e00}) +
                            bytes_of<uint8_t>({3}));
  const auto checkpoint = open_checkpoint(model(R"([{"paths":["w.bin"],"weights":[
      {"name":"a","shape":[2],"dtype":"float32","quantization":{"dtype":"uint8","scale":0.5,"min":-1.25}},
      {"name":"b","shape":[2],"dtype":"float32","quantization":{"dtype":"uint16","scale":2,"min":1}},
      {"name":"c","shape":[1],"dtype":"float32","quantization":{"dtype":"float16"}},
      {"name":"d","shape":[1],"dtype":"int32","quantization":{"dtype":"uint8","scale":1.5,"min":-10}}]}])"));
  const auto& t = checkpoint->tensors();
  EXPECT_EQ(t.at("a").to_floats(), (std::vector<float>{-1.25f, 126.25f}));
  EXPECT_EQ(t.at("b").to_floats(), (std::vector<float>{3, 131071}));
  EXPECT_EQ(t.at("c").to_floats(), std::vector<float>{1.5f});
  EXPECT_EQ(t.at("d").to_floats(), std::vector<float>{-6});
  EXPECT_EQ(t.at("d").type, ElementType::I32);
}

TEST_F(TensorflowJs, RefusesABadManifest) {
  EXPECT_EQ(refusal(model("[]", "graph-model")),
            "is a TensorFlow.js \"graph-model\", but only layers models are supported");
  EXPECT_EQ(refusal(model("{}")), "its \"weightsManifest\" is not a list");
  EXPECT_EQ(refusal(model("[{}]")), "a group of the weightsManifest: has no \"paths\"");
  EXPECT_EQ(refusal(model("[7]")), "a group of the weightsManifest: is not a JSON object");
  EXPECT_EQ(refusal(model(R"([{"paths":[],"weights":[{}]}])")), "a weight: has no \"name\"");
  EXPECT_EQ(refusal(model(R"([{"paths":[1],"weights":[]}])")),
            "a group of the weightsManifest: its \"paths\" are not strings");
  EXPECT_EQ(refusal(model(R"([{"paths":["gone.bin"],"weights":[]}])")),
            "the weightsManifest names the file \"gone.bin\", which is missing from that folder");
  EXPECT_EQ(refusal(model(R"([{"paths":["../w.bin"],"weights":[]}])")),
            "the weightsManifest names the file \"../w.bin\", which is not a path inside the same folder");
}

TEST_F(TensorflowJs, RefusesABadTensor) {
  EXPECT_EQ(refused(R"([{"name":"a","shape":[2],"dtype":"float32"}])", "12345678"), "opened");
  EXPECT_EQ(refused(R"([{"name":"a","shape":[2],"dtype":"float32"}])", "1234567"),
            "tensor \"a\": needs bytes 0 to 8 of its group, whose files hold 7: a truncated download?");
  EXPECT_EQ(refused(R"([{"name":"a","shape":[2],"dtype":"float32"}])", "123456789"),
            "a group of the weightsManifest: its tensors need 8 bytes, its files hold 9");
  EXPECT_EQ(refused(R"([{"name":"a","shape":[1],"dtype":"string"}])", "1"),
            "tensor \"a\": has the unknown dtype \"string\" (known: float32 int32 uint8 bool)");
  EXPECT_EQ(refused(R"([{"name":"a","shape":[-1],"dtype":"uint8"}])", "1"),
            "tensor \"a\": shape [-1] holds something other than sizes");
  EXPECT_EQ(refused(R"([{"name":"a","shape":[4294967296,4294967296],"dtype":"uint8"}])", "1"),
            "tensor \"a\": shape [4294967296,4294967296] is too large");
  EXPECT_EQ(refused(R"([{"name":"a","shape":[1],"dtype":"uint8"},{"name":"a","shape":[1],"dtype":"uint8"}])", "12"),
            "tensor \"a\": is listed twice");
}

TEST_F(TensorflowJs, RefusesABadQuantisation) {
  const auto quantised = [&](const std::string& dtype, const std::string& quantization) {
    return refused(R"([{"name":"a","shape":[1],"dtype":")" + dtype + R"(","quantization":)" + quantization + "}]",
                   "\xff");
  };
  EXPECT_EQ(quantised("float32", R"({"dtype":"uint8","scale":1,"min":0})"), "opened");
  EXPECT_EQ(quantised("float32", "7"), "tensor \"a\": is not a JSON object");
  EXPECT_EQ(quantised("bool", R"({"dtype":"uint8","scale":1,"min":0})"),
            "tensor \"a\": only float32 and int32 tensors can be quantized");
  EXPECT_EQ(quantised("float32", R"({"dtype":"uint4","scale":1,"min":0})"),
            "tensor \"a\": has the unknown quantization \"uint4\" (known: uint8 uint16, and float16 of float32)");
  EXPECT_EQ(quantised("float32", R"({"dtype":"uint8","min":0})"), "tensor \"a\": has no \"scale\"");
  EXPECT_EQ(quantised("float32", R"({"dtype":"uint8","scale":"1","min":0})"),
            "tensor \"a\": its \"scale\" is not a number");
  EXPECT_EQ(quantised("int32", R"({"dtype":"uint8","scale":1e300,"min":0})"),
            "tensor \"a\": its quantization results in values beyond int32");
}

}  // namespace
}  // namespace ferry

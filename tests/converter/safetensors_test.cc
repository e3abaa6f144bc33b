#include "converter/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/converter/checkpoint_fixtures.h"

namespace ferry {
namespace {

const std::string kTwo =
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[4],"data_offsets":[8,12]}})";

struct Safetensors : ::testing::Test {
  ScratchFolder folder;

  std::string refused(const std::string& header, const std::string& data = "") const {
    return refusal(folder.write("x.safetensors", safetensors(header, data)));
  }
  std::string refused_bytes(const std::string& bytes) const { return refusal(folder.write("x.safetensors", bytes)); }
};

TEST_F(Safetensors, ReadsEveryElementType) {
  const std::string header = R"({"__metadata__":{"format":"pt"},
    "f64":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},   "i64":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},
    "f32":{"dtype":"F32","shape":[1],"data_offsets":[16,20]}, "i32":{"dtype":"I32","shape":[],"data_offsets":[20,24]},
    "i16":{"dtype":"I16","shape":[1],"data_offsets":[24,26]}, "i8":{"dtype":"I8","shape":[1],"data_offsets":[26,27]},
    "u8":{"dtype":"U8","shape":[1],"data_offsets":[27,28]},
    "bool":{"dtype":"BOOL","shape":[2],"data_offsets":[28,30]},
    "bf16":{"dtype":"BF16","shape":[1],"data_offsets":[30,32]},
    "none":{"dtype":"F32","shape":[0,3],"data_offsets":[32,32]}
    })";
  const std::string data = bytes_of({0.1}) + bytes_of<int64_t>({-(1LL << 40)}) + bytes_of({0.1f}) +
                           bytes_of<int32_t>({-70000}) + bytes_of<int16_t>({-300}) + bytes_of<int8_t>({-5}) +
                           bytes_of<uint8_t>({200}) + bytes_of<uint8_t>({0, 2}) + bytes_of<uint16_t>({0xc049});
  const auto checkpoint = open_checkpoint(folder.write("all.safetensors", safetensors(header, data)));
  const auto& t = checkpoint->tensors();
  ASSERT_EQ(t.size(), 10u);
  EXPECT_EQ(t.at("f64").to_doubles(), std::vector<double>{0.1});
  EXPECT_EQ(t.at("f64").to_floats(), std::vector<float>{0.1f});
  EXPECT_EQ(t.at("f32").to_doubles(), std::vector<double>{static_cast<double>(0.1f)});
  EXPECT_EQ(t.at("i64").to_doubles(), std::vector<double>{-1099511627776.0});
  EXPECT_EQ(t.at("i32").to_floats(), std::vector<float>{-70000.0f});
  EXPECT_EQ(t.at("i32").elements(), 1);
  EXPECT_EQ(t.at("i16").to_floats(), std::vector<float>{-300.0f});
  EXPECT_EQ(t.at("i8").to_floats(), std::vector<float>{-5.0f});
  EXPECT_EQ(t.at("u8").to_floats(), std::vector<float>{200.0f});
  EXPECT_EQ(t.at("bool").to_floats(), (std::vector<float>{0.0f, 1.0f}));
  EXPECT_EQ(t.at("bf16").to_floats(), std::vector<float>{-3.140625f});
  EXPECT_EQ(t.at("none").elements(), 0);
  EXPECT_TRUE(t.at("none").to_floats().empty());
  EXPECT_STREQ(checkpoint->format(), "safetensors");
}

// IEEE 754 binary16 values.
TEST_F(Safetensors, WidensFloat16Exactly) {
  const std::string header = R"({"h":{"dtype":"F16","shape":[7],"data_offsets":[0,14]}})";
  const std::string data = bytes_of<uint16_t>({0x3c00, 0x7bff, 0x0001, 0x83ff, 0x7c00, 0xfc00, 0x7e00});
  const auto v =
      open_checkpoint(folder.write("h.safetensors", safetensors(header, data)))->tensors().at("h").to_floats();
  EXPECT_EQ(v[0], 1.0f);
  EXPECT_EQ(v[1], 65504.0f);
  EXPECT_EQ(v[2], std::ldexp(1.0f, -24));
  EXPECT_EQ(v[3], -1023 * std::ldexp(1.0f, -24));
  EXPECT_EQ(v[4], std::numeric_limits<float>::infinity());
  EXPECT_EQ(v[5], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(v[6]));
}

TEST_F(Safetensors, GivesTensorsInPlaceAndTheFilesHash) {
  const auto path = folder.write("x.safetensors", safetensors(kTwo, std::string(12, '\1')));
  const auto checkpoint = open_checkpoint(path);
  const auto& t = checkpoint->tensors();
  EXPECT_EQ(t.at("a").bytes.data() + 8, t.at("b").bytes.data());
  EXPECT_EQ(checkpoint->path(), path);
  EXPECT_EQ(checkpoint->sha256(), "7b815bdd3b19edde1a05bb86fc7fcbf64ae2d84c7e7625dd827d2e86213da44c");
}

TEST_F(Safetensors, ReadsBackWhatItWrote) {
  const std::vector<float> values = {1, -2, 3.5f, 0, 5, 6};
  const std::vector<uint8_t> flags = {1, 0, 1};
  const auto path = folder.path() / "w.safetensors";
  write_safetensors(path, {{"z", {ElementType::F32, {2, 3}, std::as_bytes(std::span(values))}},
                           {"a", {ElementType::Bool, {3}, std::as_bytes(std::span(flags))}}});
  const auto checkpoint = open_checkpoint(path);
  EXPECT_EQ(checkpoint->tensors().at("z").to_floats(), values);
  EXPECT_EQ(checkpoint->tensors().at("z").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(checkpoint->tensors().at("a").to_floats(), (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "a partial file was left";
}

TEST_F(Safetensors, WriterLeavesNothingBehindOnFailure) {
  const std::vector<float> values = {1};
  const std::map<std::string, CheckpointTensor> tensors{
      {"z", {ElementType::F32, {1}, std::as_bytes(std::span(values))}}};
  std::filesystem::create_directory(folder.path() / "taken");
  EXPECT_THROW(write_safetensors(folder.path() / "taken", tensors), Error);
  EXPECT_THROW(write_safetensors(folder.path() / "no" / "folder", tensors), Error);
  EXPECT_THROW(write_safetensors(folder.path() / "y", {{"z", {ElementType::F32, {2}, tensors.at("z").bytes}}}), Error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST_F(Safetensors, RefusesABadHeader) {
  const std::string kUnknown =
      "is no checkpoint that Ferry reads (safetensors, PyTorch, GGUF, TensorFlow.js), or a damaged one";
  EXPECT_EQ(refused_bytes(""), "is empty");
  EXPECT_EQ(refused_bytes("abc"), kUnknown);
  EXPECT_EQ(refused_bytes(length_field(100) + kTwo.substr(0, 99)),
            "its header would be 100 bytes long, but only 99 follow: truncated, or not a safetensors file");
  EXPECT_EQ(refused_bytes(length_field(~0ull) + "{}"), kUnknown);
  EXPECT_EQ(refused(R"({"a":)"), "the safetensors header: is not valid JSON (at byte 6 of 5)");
  EXPECT_EQ(refused("[]"), "the safetensors header is not a JSON object");
  EXPECT_EQ(refused("{\"\xff\":1}"), "the safetensors header: is not valid JSON (at byte 3 of 7)");
  EXPECT_EQ(refused(R"({"a":1e999})"),
            "the safetensors header: is not valid JSON ([json.exception.out_of_range.406] number overflow parsing "
            "'1e999')");
  EXPECT_EQ(refused(R"({"a":7})"), "tensor \"a\": is not described by a JSON object");
}

TEST_F(Safetensors, RefusesADuplicateKey) {
  const std::string a = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_EQ(refused("{" + a + "," + a + "}", "x"),
            "the safetensors header: the key \"a\" appears twice in one JSON object");
  EXPECT_EQ(refused(R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "x"),
            "the safetensors header: the key \"dtype\" appears twice in one JSON object");
}

TEST_F(Safetensors, RefusesABadTensor) {
  const auto tensor = [&](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return refused(R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
                   "12345678");
  };
  EXPECT_EQ(tensor("\"F32\"", "[2]", "[0,8]"), "opened");
  EXPECT_EQ(
      tensor("\"F4\"", "[8]", "[0,8]"),
      "tensor \"a\": has the unknown dtype \"F4\" (known: F64 F32 F16 BF16 F8_E4M3 F8_E5M2 F8_E8M0 I64 I32 I16 I8 "
      "U64 U32 U16 U8 BOOL)");
  EXPECT_EQ(tensor("5", "[8]", "[0,8]"), "tensor \"a\": has no \"dtype\" string");
  EXPECT_EQ(tensor("\"U8\"", "8", "[0,8]"), "tensor \"a\": has no \"shape\" list");
  EXPECT_EQ(tensor("\"U8\"", "[-8]", "[0,8]"), "tensor \"a\": shape [-8] holds something other than sizes");
  EXPECT_EQ(tensor("\"U8\"", "[8.0]", "[0,8]"), "tensor \"a\": shape [8.0] holds something other than sizes");
  EXPECT_EQ(tensor("\"U8\"", "[18446744073709551615]", "[0,8]"),
            "tensor \"a\": shape [18446744073709551615] holds something other than sizes");
  EXPECT_EQ(tensor("\"F32\"", "[4294967296,4294967296]", "[0,8]"),
            "tensor \"a\": shape [4294967296,4294967296] is too large");
  EXPECT_EQ(tensor("\"F32\"", "[0,4294967296,4294967296]", "[0,0]"),
            "tensor \"a\": shape [0,4294967296,4294967296] is too large");
  EXPECT_EQ(tensor("\"U8\"", "[8]", "[0]"), "tensor \"a\": has no \"data_offsets\" of two numbers");
  EXPECT_EQ(tensor("\"U8\"", "[8]", "[-1,7]"), "tensor \"a\": has no \"data_offsets\" of two numbers");
  EXPECT_EQ(tensor("\"U8\"", "[9]", "[0,9]"),
            "tensor \"a\": data_offsets [0,9] lie outside the file's 8 bytes of data (a truncated download?)");
  EXPECT_EQ(tensor("\"U8\"", "[2]", "[4,2]"),
            "tensor \"a\": data_offsets [4,2] lie outside the file's 8 bytes of data (a truncated download?)");
  EXPECT_EQ(tensor("\"F32\"", "[3]", "[0,8]"), "tensor \"a\": shape [3] of F32 needs 12 bytes, data_offsets give 8");
}

TEST_F(Safetensors, RefusesOverlapsAndHoles) {
  const auto two = [&](const std::string& a, const std::string& b) {
    return refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
                       R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}",
                   "0123456789");
  };
  EXPECT_EQ(two("[0,4]", "[3,7]"), "tensors \"a\" and \"b\" overlap");
  EXPECT_EQ(two("[0,4]", "[0,4]"), "tensors \"a\" and \"b\" overlap");
  EXPECT_EQ(two("[0,4]", "[6,10]"), "2 bytes before tensor \"b\" belong to no tensor");
  EXPECT_EQ(two("[4,8]", "[0,4]"), "the last 2 bytes belong to no tensor");
}

TEST_F(Safetensors, KeepsControlCharactersOutOfMessages) {
  EXPECT_EQ(refused(R"({"\u001b[2J\u0000x":7})"), "tensor \"?[2J?x\": is not described by a JSON object");
  const std::string message = refused("{\"" + std::string(5000, 'n') + "\":7}");
  EXPECT_LT(message.size(), 300u);
}

TEST_F(Safetensors, SurvivesDeepNesting) {
  for (const std::string& end : {std::string(), std::string(200000, ']') + "}"})
    EXPECT_EQ(refused(R"({"a":)" + std::string(200000, '[') + end),
              "the safetensors header: its JSON is nested deeper than 500");
}

struct Sharded : Safetensors {
  std::string index(const std::string& weight_map) const {
    return refusal(folder.write("model.safetensors.index.json", R"({"metadata":{},"weight_map":)" + weight_map + "}"));
  }
  Sharded() {
    folder.write("one.safetensors",
                 safetensors(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", std::string("\1\2\3\4")));
    folder.write("sub/two.safetensors",
                 safetensors(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", std::string("\5")));
  }
};

TEST_F(Sharded, ReadsAllShardsAndFoldersByTheirIndex) {
  EXPECT_EQ(index(R"({"a":"one.safetensors","b":"sub/two.safetensors"})"), "opened");
  const auto checkpoint = open_checkpoint(folder.path());
  EXPECT_EQ(checkpoint->tensors().size(), 2u);
  EXPECT_EQ(checkpoint->tensors().at("b").to_floats(), std::vector<float>{5});
  EXPECT_EQ(checkpoint->path(), folder.path() / "model.safetensors.index.json");
  EXPECT_EQ(checkpoint->sha256().size(), 64u);
}

TEST_F(Sharded, RefusesAnIndexThatDoesNotFitItsShards) {
  EXPECT_EQ(index("7"), "has no \"weight_map\" object");
  EXPECT_EQ(index(R"({"a":1})"), "tensor \"a\": its file is not a string");
  EXPECT_EQ(index(R"({"a":"one.safetensors","b":"three.safetensors"})"),
            "the index names the file \"three.safetensors\", which is missing from that folder");
  EXPECT_EQ(index(R"({"a":"one.safetensors","c":"one.safetensors"})"),
            "tensor \"c\" is not in the file \"one.safetensors\" that the index names");
  EXPECT_EQ(index(R"({"b":"sub/two.safetensors","a":"sub/two.safetensors"})"),
            "tensor \"a\" is not in the file \"sub/two.safetensors\" that the index names");
  folder.write("two.safetensors", safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
                               "b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                              "xy"));
  EXPECT_EQ(index(R"({"a":"one.safetensors","b":"two.safetensors"})"),
            "the file \"two.safetensors\" holds another tensor \"a\" than the file that the index names for it");
  EXPECT_EQ(index(R"({"a":"one.safetensors","a":"two.safetensors"})"),
            "the key \"a\" appears twice in one JSON object");
}

TEST_F(Sharded, ReadsWhatItsIndexDoesNotList) {
  folder.write("more.safetensors", safetensors(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                               "c":{"dtype":"U8","shape":[1],"data_offsets":[4,5]}})",
                                               std::string("\1\2\3\4\6")));
  folder.write("model.safetensors.index.json", R"({"weight_map":{"a":"more.safetensors","b":"sub/two.safetensors"}})");
  const auto checkpoint = open_checkpoint(folder.path() / "model.safetensors.index.json");
  EXPECT_EQ(checkpoint->tensors().at("c").to_floats(), std::vector<float>{6});
  EXPECT_EQ(checkpoint->notes(),
            std::vector<std::string>{
                "the index does not list 1 tensor of \"more.safetensors\", for example \"c\": they are read, too"});
  // A tensor that two shards hold, as tied weights are saved.
  EXPECT_EQ(index(R"({"a":"one.safetensors","c":"more.safetensors"})"), "opened");
}

TEST_F(Sharded, RefusesPathsOutOfItsFolder) {
  for (const char* name : {"../one.safetensors", "sub/../../x", "/etc/passwd", "", "one.safetensors\\u0000"})
    EXPECT_NE(index(R"({"a":")" + std::string(name) + "\"}").find("which is not a path inside the same folder"),
              std::string::npos)
        << name;
}

TEST_F(Sharded, RefusesATruncatedShard) {
  const std::string whole = read_text(folder.path() / "one.safetensors");
  folder.write("one.safetensors", whole.substr(0, whole.size() - 1));
  const std::string message = index(R"({"a":"one.safetensors"})");
  EXPECT_NE(message.find("one.safetensors: tensor \"a\": data_offsets [0,4] lie outside the file's 3 bytes"),
            std::string::npos)
      << message;
}

TEST_F(Safetensors, RefusesOtherFormatsByName) {
  EXPECT_EQ(refused_bytes("\x80\x02}q\x01."), "is a Python pickle, but not one that torch.save wrote");
  EXPECT_EQ(refused_bytes("\x89HDF\r\n\x1a\n").substr(0, 23), "is an HDF5 file (Keras)");
  EXPECT_EQ(refused_bytes("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
            "is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`");
  EXPECT_EQ(refused_bytes("{\"a\":1}"),
            "is JSON, but neither the index of a sharded checkpoint (\"weight_map\") nor a TensorFlow.js model "
            "(\"weightsManifest\")");
  EXPECT_EQ(refused_bytes("{\"a\":"), "is not valid JSON (at byte 6 of 5)");
}

TEST_F(Safetensors, FindsTheOneCheckpointOfAFolder) {
  EXPECT_EQ(refusal(folder.path()),
            "holds no checkpoint (model.safetensors, pytorch_model.bin, the index of either, or "
            "model.json)");
  EXPECT_EQ(refusal(folder.path() / "gone"), "cannot be opened: No such file or directory");
  const auto pth = folder.write("net.pth", "PK\x03\x04");
  EXPECT_NE(refusal(folder.path()).find("this zip archive has no directory"), std::string::npos);
  folder.write("b.safetensors", safetensors(kTwo, std::string(12, '\1')));
  EXPECT_EQ(open_checkpoint(folder.path())->path().filename(), "b.safetensors");
  folder.write("a.safetensors", safetensors(kTwo, std::string(12, '\1')));
  EXPECT_EQ(refusal(folder.path()), "holds 2 checkpoints; name one of them: a.safetensors, b.safetensors");
  folder.write("model.safetensors", safetensors(kTwo, std::string(12, '\1')));
  EXPECT_EQ(open_checkpoint(folder.path())->path().filename(), "model.safetensors");
}

}  // namespace
}  // namespace ferry

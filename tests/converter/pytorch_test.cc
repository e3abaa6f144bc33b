#include "converter/checkpoint/pytorch.h"

#include <gtest/gtest.h>

#include <set>

#include "converter/checkpoint/keys.h"
#include "tests/converter/checkpoint_fixtures.h"
#include "tests/support/paths.h"

namespace ferry {
namespace {

using namespace std::string_literals;

// Written by make_pytorch_fixtures.py.
const std::filesystem::path kFixtures = source_folder() / "tests" / "data" / "pytorch";

std::shared_ptr<const Checkpoint> open(const char* name, const std::string& state_dict = "") {
  return open_checkpoint(kFixtures / name, state_dict);
}

std::string refused(const char* name) { return refusal(kFixtures / name); }

std::vector<float> floats(const Checkpoint& checkpoint, const char* name) {
  return checkpoint.tensors().at(name).to_floats();
}

// The script's ramp(), starting at `first`.
std::vector<float> ramp(size_t count, float first = -1, float step = 1) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(first + step * static_cast<float>(i));
  return values;
}

std::set<std::string> names(const Checkpoint& checkpoint) {
  std::set<std::string> all;
  for (const auto& [name, tensor] : checkpoint.tensors()) all.insert(name);
  return all;
}

class PyTorchTensors : public ::testing::TestWithParam<const char*> {};

TEST_P(PyTorchTensors, OfEveryTypeAreRead) {
  const auto checkpoint = open(GetParam());
  EXPECT_STREQ(checkpoint->format(), "pytorch");
  const std::pair<const char*, ElementType> types[] = {{"float64", ElementType::F64},   {"float32", ElementType::F32},
                                                       {"float16", ElementType::F16},   {"int64", ElementType::I64},
                                                       {"bfloat16", ElementType::BF16}, {"int32", ElementType::I32},
                                                       {"int16", ElementType::I16},     {"int8", ElementType::I8}};
  for (const auto& [name, type] : types) {
    EXPECT_EQ(checkpoint->tensors().at(name).type, type) << name;
    EXPECT_EQ(checkpoint->tensors().at(name).shape, (std::vector<int64_t>{2, 3})) << name;
    EXPECT_EQ(floats(*checkpoint, name), ramp(6)) << name;
  }
  EXPECT_EQ(checkpoint->tensors().at("uint8").type, ElementType::U8);
  EXPECT_EQ(floats(*checkpoint, "uint8"), ramp(6, 0));
  EXPECT_EQ(checkpoint->tensors().at("bool").type, ElementType::Bool);
  EXPECT_EQ(floats(*checkpoint, "bool"), (std::vector<float>{1, 0, 1, 1, 1, 1}));
}

TEST_P(PyTorchTensors, OfEveryShapeAndStrideAreContiguous) {
  const auto checkpoint = open(GetParam());
  const auto& t = checkpoint->tensors();
  EXPECT_EQ(t.at("scalar").shape, std::vector<int64_t>{});
  EXPECT_EQ(floats(*checkpoint, "scalar"), std::vector<float>{2.5f});
  EXPECT_EQ(t.at("empty").shape, (std::vector<int64_t>{0, 3}));
  EXPECT_TRUE(floats(*checkpoint, "empty").empty());
  EXPECT_EQ(floats(*checkpoint, "parameter"), ramp(3));
  EXPECT_EQ(floats(*checkpoint, "tied"), ramp(24));
  EXPECT_EQ(t.at("tied").bytes.data(), t.at("tied_again").bytes.data());
  EXPECT_EQ(floats(*checkpoint, "tail"), ramp(6, 17));
  EXPECT_EQ(floats(*checkpoint, "sliced"), (std::vector<float>{5, 7, 9, 11, 13, 15}));
  EXPECT_EQ(floats(*checkpoint, "expanded"), (std::vector<float>{-1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(floats(*checkpoint, "channels_last"), ramp(24));
  EXPECT_EQ(t.at("transposed").shape, (std::vector<int64_t>{6, 4}));
  const std::vector<float> transposed = floats(*checkpoint, "transposed");
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(transposed[i], static_cast<float>(i % 4 * 6 + i / 4) - 1) << i;
  EXPECT_EQ(t.size(), 20u);
}

INSTANTIATE_TEST_SUITE_P(Formats, PyTorchTensors,
                         ::testing::Values("tensors.pth", "tensors_protocol4.pth", "tensors_before_1_6.pth"));

const std::set<std::string> kNet = {
    "conv.weight", "conv.bias", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var", "bn.num_batches_tracked"};

TEST(PyTorchStateDict, AveragedWeightsComeFirst) {
  const auto checkpoint = open("training.pth");
  EXPECT_EQ(names(*checkpoint), kNet);
  const auto plain = open("training.pth", "state_dict");
  EXPECT_EQ(names(*without_wrappers(plain)), kNet);
  EXPECT_EQ(floats(*checkpoint, "conv.weight")[0], floats(*plain, "module.conv.weight")[0] + 2);
  EXPECT_EQ(
      checkpoint->notes(),
      std::vector<std::string>{"of the dictionaries \"state_dict\", \"state_dict_ema\", \"state_dict_ema\" is read "
                               "(averaged weights); --state-dict reads another"});
  EXPECT_TRUE(plain->notes().empty());
  EXPECT_EQ(names(*open("training.pth", "state_dict/module.conv")),
            (std::set<std::string>{"module.conv.weight", "module.conv.bias"}));
}

TEST(PyTorchStateDict, WrapperPrefixesAreRemoved) {
  const std::string probes[] = {"conv.weight", "bn.running_mean"};
  for (const char* file : {"wrapped.pth", "wrapped_compiled.pth", "wrapped_timm.pth"}) {
    const auto unwrapped = without_wrappers(open(file));
    const auto prefixes = prefixes_for(*unwrapped, probes);
    ASSERT_EQ(prefixes.size(), 1u) << file;
    EXPECT_EQ(names(*with_prefix(unwrapped, prefixes.front(), probes, {})), kNet) << file;
  }
}

TEST(PyTorchObjects, BesideTheWeightsAreSkipped) {
  for (const char* file : {"objects.pth", "objects_protocol4.pth", "objects_before_1_6.pth", "namespace.pth"})
    EXPECT_EQ(names(*open(file)), kNet) << file;
  for (const char* file : {"module.pth", "modules.pth"}) {
    EXPECT_EQ(names(*open(file)), kNet) << file << ": state_dict() of a module";
    EXPECT_EQ(floats(*open(file), "conv.weight"), floats(*open("objects.pth"), "conv.weight")) << file;
  }
  EXPECT_EQ(names(*open("command.pth")), std::set<std::string>{"weight"});
  EXPECT_FALSE(std::filesystem::exists("ran")) << "a command of the pickle was run";
}

TEST(PyTorchObjects, ArraysOfNumPyAreTensors) {
  for (const char* file : {"arrays.pth", "arrays_protocol4.pth"}) {
    const auto checkpoint = open(file);
    const auto& t = checkpoint->tensors();
    EXPECT_EQ(t.at("float32").shape, (std::vector<int64_t>{2, 3}));
    for (const char* name : {"float32", "float64", "int64"}) EXPECT_EQ(floats(*checkpoint, name), ramp(6)) << name;
    EXPECT_EQ(t.at("float64").type, ElementType::F64);
    EXPECT_EQ(t.at("int64").type, ElementType::I64);
    EXPECT_EQ(floats(*checkpoint, "uint8"), ramp(6, 0));
    EXPECT_EQ(t.at("scalar").shape, std::vector<int64_t>{});
    EXPECT_EQ(floats(*checkpoint, "scalar"), std::vector<float>{2.5f});
  }
  EXPECT_EQ(floats(*open("subclass.pth"), "weight"), ramp(24));
  EXPECT_EQ(refused("big_endian.pth"),
            "tensor \"weight\": is a NumPy array of type >f4, expected little-endian elements of a plain type");
  EXPECT_EQ(floats(*open("column_major.pth"), "weight"), ramp(6));
}

TEST(PyTorchStateDict, SeveralAreAnErrorThatListsThem) {
  EXPECT_EQ(refused("two_names.pth"),
            "contains several dictionaries of tensors: choose one with --state-dict: \"model\", \"net\"");
  EXPECT_EQ(refused("no_names.pth"),
            "contains several dictionaries of tensors: choose one with --state-dict: \"first\", \"second/inner\"");
  EXPECT_EQ(names(*open("no_names.pth", "second/inner")), kNet);
  try {
    open("no_names.pth", "third");
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what())
                    .ends_with("has no dictionary of tensors at \"third\"; there are: \"first\", \"second/inner\""))
        << error.what();
  }
}

TEST(PyTorchStateDict, ShardsAreOneCheckpoint) {
  const auto checkpoint = open_checkpoint(kFixtures / "pytorch_model.bin.index.json");
  EXPECT_EQ(names(*checkpoint), (std::set<std::string>{"tied", "scalar", "transposed"}));
  EXPECT_STREQ(checkpoint->format(), "pytorch");
  EXPECT_EQ(floats(*checkpoint, "transposed")[1], 5);
  EXPECT_EQ(open_checkpoint(kFixtures)->path(), checkpoint->path());
}

TEST(PyTorchRefusals, NameObjectsInThePlaceOfTensors) {
  EXPECT_EQ(refused("object.pth"),
            "is the Python object \"trainer.State\", not a dictionary of tensors: torch.save(model.state_dict(), "
            "\"weights.pth\") writes one");
  EXPECT_EQ(refused("sparse.pth"),
            "tensor \"weight\": is made by torch._utils._rebuild_sparse_tensor, which is not supported: only plain "
            "tensors, parameters and NumPy arrays are");
}

TEST(PyTorchRefusals, ReportOtherFiles) {
  const std::string none =
      "contains no dictionary of tensors: torch.save(model.state_dict(), \"weights.pth\") writes one";
  EXPECT_EQ(refused("no_tensors.pth"), none);
  EXPECT_EQ(refused("one_tensor.pth"), none);
  EXPECT_EQ(refused("script.pt"),
            "is a TorchScript program, which Ferry does not read; save only its weights: "
            "torch.save(torch.jit.load(file).state_dict(), \"weights.pth\")");
}

// Handmade zip archives: the entry "x/data.pkl" and one storage of 8 bytes, "x/data/0".
struct HandmadePyTorch : ::testing::Test {
  ScratchFolder folder;

  std::string zip(const std::string& pickle) const {
    return refusal(folder.write("x.pth", stored_zip({{"x/data.pkl", pickle}, {"x/data/0", std::string(8, '\1')}})));
  }
  // {"a": a float32 tensor}
  std::string tensor(const std::string& offset, const std::string& size, const std::string& stride,
                     const std::string& count = "K\2") const {
    return zip(
        "\x80\2}U\1actorch._utils\n_rebuild_tensor_v2\n((U\7storagectorch\nFloatStorage\nU\1"
        "0U\3cpu" +
        count + "tQ" + offset + size + stride + "\x89NtRs.");
  }
};

TEST_F(HandmadePyTorch, TensorsStayInsideTheirStorage) {
  EXPECT_EQ(tensor("K\0"s, "K\2\x85", "K\1\x85"), "opened");
  EXPECT_EQ(tensor("K\1", "K\2\x85", "K\1\x85"),
            "tensor \"a\": shape [2] with strides [1] from element 1 leads out of its storage");
  EXPECT_EQ(tensor("K\0"s, "K\2\x85", "K\2\x85"),
            "tensor \"a\": shape [2] with strides [2] from element 0 leads out of its storage");
  EXPECT_EQ(tensor("K\0"s, "K\2\x85", "\x8a\x8\xff\xff\xff\xff\xff\xff\xff\x7f\x85"),
            "tensor \"a\": shape [2] with strides [9223372036854775807] from element 0 leads out of its storage");
  EXPECT_EQ(tensor("K\0"s, "K\2\x85", "K\1\x85", "K\3"),
            "tensor \"a\": its storage should hold 12 bytes, but there are 8: a truncated file?");
  EXPECT_EQ(tensor("K\0"s, "J\xff\xff\xff\x7fJ\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x87", "K\0K\0K\0\x87"s),
            "tensor \"a\": shape [2147483647,2147483647,2147483647] is too large");
  EXPECT_EQ(tensor("K\0"s, "J\xff\xff\xff\x7f\x85", "K\0\x85"s),
            "tensor \"a\": shape [2147483647] is expanded: its copy would be larger than the file");
  EXPECT_EQ(tensor("J\xff\xff\xff\xff", "K\2\x85", "K\1\x85"),
            "tensor \"a\": is damaged: its tensor is not what torch.save writes");
  EXPECT_EQ(tensor("K\0"s, "K\2\x85", "K\1K\1\x86"),
            "tensor \"a\": is damaged: its stride is not what torch.save writes");
}

TEST_F(HandmadePyTorch, DamagedPicklesAreRefused) {
  EXPECT_EQ(zip(""), "is damaged: its pickle ends too early at byte 0");
  EXPECT_EQ(zip("\x80\1."), "is a pickle of protocol 1; 2 to 5 are read");
  EXPECT_EQ(zip("\x80\2."), "is damaged: its pickle does not leave exactly one value at byte 3");
  EXPECT_EQ(zip("\x80\2t."), "is damaged: its pickle closes a collection that is not open at byte 3");
  EXPECT_EQ(zip("\x80\2(0."), "is damaged: its pickle pops more values than it has pushed at byte 4");
  EXPECT_EQ(zip("\x80\2h\5."), "is damaged: its pickle reads a memo entry that is not set at byte 4");
  EXPECT_EQ(zip("\x80\2Na."), "is damaged: its pickle pops more values than it has pushed at byte 4");
  EXPECT_EQ(zip("\x80\2NNR."), "is damaged: its pickle calls a value that is not callable at byte 5");
  EXPECT_EQ(zip("\x80\2\x82."),
            "its pickle has the opcode 0x82 at byte 2, which protocols 2 to 5 of torch.save do not write");
  EXPECT_EQ(zip("\x80\2(o."), "is damaged: its pickle calls a value that is not callable at byte 4");
  // A dictionary that contains itself: {"a": {...}}
  EXPECT_EQ(zip("\x80\2}q\1U\1ah\1s."),
            "contains no dictionary of tensors: torch.save(model.state_dict(), \"weights.pth\") writes one");
}

// Nested sets of one another's members: each call would double the result.
TEST_F(HandmadePyTorch, AFewBytesCannotAskForGigabytes) {
  std::string pickle = "\x80\2]q\1(" + std::string(100'000, 'N') + "e";
  for (int i = 0; i < 1000; ++i) pickle += "c__builtin__\nset\nh\1\x85R";
  EXPECT_EQ(zip(pickle + "."), "its pickle builds more than 20000000 values: it is not a checkpoint");
}

// Sizes and offset in the directory's extra field, as for archives above 4 GB, after another field.
TEST_F(HandmadePyTorch, SizesOf64BitsAreRead) {
  const std::string name = "x/data.pkl", pickle = "\x80\2}.";
  const auto field = [](uint64_t value, size_t size) { return length_field(value).substr(0, size); };
  const std::string extra = field(7, 2) + field(2, 2) + "zz" + field(1, 2) + field(24, 2) + field(pickle.size(), 8) +
                            field(pickle.size(), 8) + field(0, 8);
  const std::string local = "PK\3\4" + std::string(14, '\0') + field(pickle.size(), 4) + field(pickle.size(), 4) +
                            field(name.size(), 2) + field(0, 2) + name + pickle;
  const std::string directory = "PK\1\2" + std::string(16, '\0') + std::string(8, '\xff') + field(name.size(), 2) +
                                field(extra.size(), 2) + std::string(10, '\0') + std::string(4, '\xff') + name + extra;
  const std::string end = "PK\5\6" + std::string(4, '\0') + field(1, 2) + field(1, 2) + field(directory.size(), 4) +
                          field(local.size(), 4) + field(0, 2);
  EXPECT_EQ(refusal(folder.write("x.pth", local + directory + end)),
            "contains no dictionary of tensors: torch.save(model.state_dict(), \"weights.pth\") writes one");
}

TEST_F(HandmadePyTorch, OtherZipArchivesAreRefused) {
  const auto other = [&](const std::string& bytes) { return refusal(folder.write("x.pth", bytes)); };
  EXPECT_TRUE(other(stored_zip({{"a.npy", "x"}})).starts_with("holds NumPy arrays, which Ferry does not read"));
  EXPECT_EQ(other("PK\3\4rest of a zip"), "this zip archive has no directory at its end: a truncated download?");
  std::string compressed = stored_zip({{"x/data.pkl", "x"}});
  compressed[compressed.find("PK\1\2") + 10] = 8;
  EXPECT_EQ(other(compressed),
            "its entry \"x/data.pkl\" is compressed, which torch.save never does: unpack it and pack it with `zip "
            "-0`");
  const std::string twice = stored_zip({{"x/data.pkl", "x"}, {"x/data.pkl", "x"}});
  EXPECT_EQ(other(twice), "this zip archive holds the entry \"x/data.pkl\" twice");
}

}  // namespace
}  // namespace ferry

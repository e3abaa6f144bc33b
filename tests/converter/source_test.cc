// Detection of formats by content, options as rows, and files that no format reads.
#include "converter/source.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "converter/foreign.h"
#include "converter/provenance.h"
#include "models/families.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/shared.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;
using std::string_literals::operator""s;

std::string source_name(const fs::path& path) {
  const Source* source = find_source(path);
  return source ? source->name : "none";
}

TEST(Source, IsFoundByContentWhateverTheSuffix) {
  const ScratchFolder folder;
  const fs::path data = source_folder() / "tests" / "data";
  EXPECT_EQ(source_name(folder.write("a.onnx", read_text(data / "pytorch" / "tensors.pth"))), "a checkpoint");
  EXPECT_EQ(source_name(folder.write("b.pth", read_text(data / "pytorch" / "tensors_before_1_6.pth"))), "a checkpoint");
  EXPECT_EQ(source_name(folder.write("c", read_text(data / "pytorch" / "pytorch_model.bin.index.json"))),
            "a checkpoint");
  EXPECT_EQ(source_name(folder.path()), "a checkpoint");
  for (const auto& network : fs::directory_iterator(data / "onnx")) {
    const std::string model = read_text(network.path() / "model.onnx");
    if (model.empty()) continue;
    EXPECT_EQ(source_name(folder.write("d.safetensors", model)), "an ONNX file") << network.path();
    EXPECT_EQ(source_name(folder.write("e.pth", model.substr(0, model.size() - 1))), "an ONNX file") << "truncated";
  }
}

TEST(Source, EveryOnnxFileOfTheProjectIsRecognised) {
  const fs::path shared = shared_dir() / "onnx-node-tests";
  if (!fs::exists(shared)) GTEST_SKIP() << "no node tests here";
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(shared)) {
    if (entry.path().extension() != ".onnx") continue;
    EXPECT_EQ(source_name(entry.path()), "an ONNX file") << entry.path();
    ++count;
  }
  EXPECT_GT(count, 800u);
}

TEST(Source, TfliteFilesAreRecognised) {
  const ScratchFolder folder;
  EXPECT_EQ(source_name(folder.write("m.onnx", "\x1c\0\0\0TFL3\x14\0\0\0"s)), "a TensorFlow Lite file");
}

struct ForeignCase {
  const char* name;
  std::string bytes, sentence;
};

class ForeignFile : public ::testing::TestWithParam<ForeignCase> {};

TEST_P(ForeignFile, IsDescribedInOneLine) {
  const ScratchFolder folder;
  const fs::path path = folder.write(GetParam().name, GetParam().bytes);
  const std::string text = complaint([&] { source_of(path); });
  EXPECT_EQ(text.find(path.string() + ": " + GetParam().sentence), 0u) << text;
  EXPECT_EQ(text.find('\n'), text.npos) << text;
  EXPECT_LE(text.size() - path.string().size(), 240u) << text;
}

INSTANTIATE_TEST_SUITE_P(
    , ForeignFile,
    ::testing::Values(
        ForeignCase{"m.gguf", "FUGG\x03\0\0\0\0\0\0\0"s, "is a big-endian GGUF file, which Ferry does not read"},
        ForeignCase{"m.param", "7767517\n75 83\nInput data 0 1 data\n", "is an ncnn model (.param)"},
        ForeignCase{"m.bin", "\x47\x6b\x30\x01\0\0\0\0"s, "holds the weights of an ncnn model (.bin)"},
        ForeignCase{"m.pte", "\x30\0\0\0ET12\0\0\0\0"s, "is an ExecuTorch program (.pte)"},
        ForeignCase{"m.ort", "\x20\0\0\0ORTM\0\0\0\0"s, "is a model in ONNX Runtime's own format (.ort)"},
        ForeignCase{"m.h5", "\x89HDF\r\n\x1a\n\0\0\0\0"s, "is an HDF5 file (Keras)"},
        ForeignCase{"m.onnx", "\xff\xd8\xff\xe0\0\x10JFIF"s, "is a JPEG image, not a network"},
        ForeignCase{"m.safetensors", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "is a PNG image, not a network"},
        ForeignCase{"m.ferry", "FERRY\r\n\x1a\x02\0\0\0"s, "is already a Ferry blob"},
        ForeignCase{"m.html", "\n<!DOCTYPE html>\n<html lang=\"en\">", "is an HTML page saved in place of the file"},
        ForeignCase{"lfs.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "is a Git LFS pointer"},
        ForeignCase{"empty.pth", "", "is empty"}, ForeignCase{"m.pkl", "\x80\x04}q\x01.", "is a Python pickle"},
        ForeignCase{"m.tar.gz", "\x1f\x8b\x08\0\0\0\0\0\0\x03"s, "is an archive or a compressed file; unpack it first"},
        ForeignCase{"labels.json", "{\"0\": \"cat\"}\n", "is JSON, but neither"},
        ForeignCase{"zeros.onnx", std::string(64, '\0'),
                    "is damaged, or not in a format that Ferry reads (safetensors"},
        ForeignCase{"notes.txt", "these are notes", "is damaged, or not in a format that Ferry reads (safetensors"}));

TEST(Foreign, ZipArchivesAreToldApartByTheirEntries) {
  const ScratchFolder folder;
  const fs::path script = source_folder() / "tests/data/pytorch/script.pt";
  EXPECT_NE(complaint([&] { source_of(script); }).find("is a TorchScript program"), std::string::npos);
}

TEST(Foreign, NcnnWeightsInFloat32AreKnownByTheParamBesideThem) {
  const ScratchFolder folder;
  const std::string weights = "\0\0\0\0\x12\x34\x56\x3d"s;
  EXPECT_EQ(describe_foreign(*MappedFile::open(folder.write("m.bin", weights))), "");
  folder.write("m.param", "7767517\n1 1\n");
  EXPECT_NE(describe_foreign(*MappedFile::open(folder.write("m.bin", weights))).find("ncnn"), std::string::npos);
}

TEST(Foreign, TruncatedCheckpointsSayThatTheyAre) {
  const ScratchFolder folder;
  const fs::path cut = folder.write("a.safetensors", "\x40\0\0\0\0\0\0\0{\"w\":"s);
  EXPECT_EQ(source_name(cut), "a checkpoint");
  EXPECT_NE(complaint([&] { open_checkpoint(cut); }).find("but only 5 follow: truncated"), std::string::npos);
}

TEST(Options, HaveOneRowEach) {
  std::map<std::string, const Option*> names;  // formats may share a row
  const auto add = [&](std::span<const Option> options) {
    for (const Option& option : options) {
      const auto [known, is_new] = names.emplace(option.name, &option);
      EXPECT_TRUE(is_new || (known->second->help == option.help && known->second->check == option.check))
          << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_EQ(option.takes == Option::Takes::Nothing, option.argument.empty()) << option.name;
    }
  };
  add(common_options());
  for (const Source& source : sources()) add(source.options());
  for (const Family* family : families())
    for (const std::string_view setting : family->settings())
      EXPECT_TRUE(names.contains(std::string(setting))) << family->name() << " " << setting;
}

TEST(Options, ThatMakeTheNetworkComeBackFromProvenance) {
  for (const Source& source : sources()) {
    for (const Option& option : source.options()) {
      ConvertOptions options;
      options.settings.set(option.name, option.takes == Option::Takes::Nothing ? "" : "word");
      fbs::ProvenanceT provenance;
      write_options(options, &provenance);
      const bool own_field = option.records == Option::Records::Nothing;
      EXPECT_EQ(provenance.options.size(), own_field ? 0u : 1u) << option.name;
      if (!own_field && option.rebuilds) {
        EXPECT_TRUE(read_options(provenance).settings.has(option.name)) << option.name;
      }
    }
  }
}

TEST(Options, OfAnotherFormatAreRefused) {
  const auto refused = [](const fs::path& path, const std::string& name, const std::string& value) {
    Settings given;
    given.set(name, value);
    return complaint([&] { check_options(source_of(path), path, given); });
  };
  const fs::path data = source_folder() / "tests" / "data";
  const fs::path checkpoint = data / "pytorch" / "tensors.pth", network = data / "onnx" / "cnn" / "model.onnx";
  EXPECT_EQ(refused(checkpoint, "mean", "0.5"),
            "--mean: is for ONNX files and TensorFlow Lite files, and tensors.pth is a checkpoint");
  EXPECT_EQ(refused(checkpoint, "shape", "input=1x3"),
            "--shape: is for ONNX files and TensorFlow Lite files, and tensors.pth is a checkpoint");
  EXPECT_EQ(refused(network, "model", "resnet50"), "--model: is for checkpoints, and model.onnx is an ONNX file");
  EXPECT_EQ(refused(network, "input-size", "224"),
            "--input-size: is for checkpoints, and model.onnx is an ONNX file: an ONNX file has --shape "
            "NAME=1x3x224x224");
  EXPECT_EQ(refused(network, "labels", "f.txt"), "no error");
}

}  // namespace
}  // namespace ferry

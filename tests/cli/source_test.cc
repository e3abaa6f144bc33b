// Files that are not converted, in the place of a blob and of a checkpoint.
#include <gtest/gtest.h>

#include "tests/cli/command.h"
#include "tests/support/paths.h"

namespace ferry::cli_test {
namespace {

namespace fs = std::filesystem;

class Sources : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) { return ferry(folder_.path(), arguments); }
  std::string copy_of(const std::string& file, const std::string& name) {
    folder_.write(name, read_text(source_folder() / "tests" / "data" / file));
    return name;
  }
  ScratchFolder folder_;
};

const std::string kExecutorch = std::string("\x30\0\0\0ET12", 8) + std::string(100, '\1');

TEST_F(Sources, OtherProgramsFilesAreRefusedByEveryCommand) {
  folder_.write("m.pte", kExecutorch);
  const std::string what = "m.pte: is an ExecuTorch program (.pte), which Ferry does not read";
  for (const char* command : {"run", "inspect", "bench", "verify"}) EXPECT_REFUSED(run({command, "m.pte"}), what);
#if defined(FERRY_HAS_CONVERTER)
  EXPECT_REFUSED(run({"convert", "m.pte"}), what);
#endif
  EXPECT_REFUSED(run({"parity", "m.pte", "fixture"}), what);
  EXPECT_REFUSED(run({"diff", "m.pte", "m.pte"}), what);
}

#if defined(FERRY_HAS_CONVERTER)

TEST_F(Sources, ACheckpointIsToBeConvertedFirst) {
  const std::string pth = copy_of("pytorch/tensors.pth", "net.pth");
  const std::string what = "net.pth: is a checkpoint; convert it first: ferry convert net.pth -o MODEL.ferry";
  for (const char* command : {"run", "inspect", "bench", "verify"}) EXPECT_REFUSED(run({command, pth}), what);
  EXPECT_REFUSED(run({"parity", pth, "fixture"}), what);
}

#if defined(FERRY_HAS_ONNX)

TEST_F(Sources, AnOnnxFileIsToBeConvertedFirst) {
  const std::string net = copy_of("onnx/cnn/model.onnx", "net.model");  // whatever it is called
  const std::string what = "net.model: is an ONNX file; convert it first: ferry convert net.model -o MODEL.ferry";
  for (const char* command : {"run", "bench"}) EXPECT_REFUSED(run({command, net}), what);
  EXPECT_REFUSED(run({"parity", net, "fixture"}), what);
  EXPECT_EQ(run({"inspect", net}).exit_code, 0) << "its operators, and whether it can be converted";
  EXPECT_REFUSED(run({"inspect", net, "--graph", "net.html"}), "convert the file first: ferry convert net.model");
  EXPECT_EQ(run({"convert", net, "--shape", "input=1x3x16x16", "-o", "m.ferry"}).exit_code, 0);
}

#endif

TEST_F(Sources, ARefusedFileLeavesNoOutput) {
  folder_.write("page.safetensors", "<!doctype html>\n<html><body>Sign in</body></html>\n");
  folder_.write("net.onnx", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16));
  folder_.write("empty.pth", "");
  EXPECT_REFUSED(run({"convert", "page.safetensors", "-o", "m.ferry"}), "is an HTML page saved in place of the file");
  EXPECT_REFUSED(run({"convert", "net.onnx", "-o", "m.ferry"}), "is a PNG image, not a network");
  EXPECT_REFUSED(run({"convert", "empty.pth", "-o", "m.ferry"}), "empty.pth: is empty");
  EXPECT_FALSE(fs::exists(folder_.path() / "m.ferry"));
}

TEST_F(Sources, OptionsOfAnotherFormatNameIt) {
  const std::string pth = copy_of("pytorch/tensors.pth", "net.pth");
  EXPECT_REFUSED(run({"convert", pth, "--shape", "input=1x3"}),
                 "--shape: is for ONNX files and TensorFlow Lite files, and net.pth is a checkpoint");
  EXPECT_REFUSED(run({"convert", pth, "--weights", "int8"}), "--weights int8: expected f32, f16, i8 or i4");
}

TEST_F(Sources, TheHelpGroupsOptionsByFormat) {
  const std::string help = run({"convert", "--help"}).out;
  for (const char* words : {"Options for checkpoints", "Options for ONNX files", "--num-classes", "--shape", "--mean"})
    EXPECT_NE(help.find(words), std::string::npos) << words;
}

#endif

}  // namespace
}  // namespace ferry::cli_test

// Constants in files beside the model: any combination of offset and length that determines their bytes, else one
// sentence.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "converter/onnx/model.h"
#include "onnx.pb.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

using Entries = std::map<std::string, std::string>;

// y = Add(x, w), w float32 [2] with these entries.
std::string with_external(const Entries& entries) {
  ::onnx::ModelProto model;
  model.add_opset_import()->set_version(17);
  ::onnx::GraphProto& graph = *model.mutable_graph();
  ::onnx::NodeProto* node = graph.add_node();
  node->set_op_type("Add");
  node->add_input("x");
  node->add_input("w");
  node->add_output("y");
  graph.add_input()->set_name("x");
  graph.add_output()->set_name("y");
  ::onnx::TensorProto* tensor = graph.add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(::onnx::TensorProto::FLOAT);
  tensor->add_dims(2);
  tensor->set_data_location(::onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return model.SerializeAsString();
}

// The file's constant; or the sentence that refuses it.
std::pair<std::vector<double>, std::string> read(const ScratchFolder& folder, const Entries& entries) {
  try {
    const onnx::Model model = onnx::read_model(folder.write("net.onnx", with_external(entries)));
    return {model.constants.at("w").floats(), ""};
  } catch (const Error& error) {
    return {{}, error.what()};
  }
}

std::string bytes_of(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(ExternalData, OffsetAndLengthMayBeMissing) {
  const ScratchFolder folder;
  folder.write("one.bin", bytes_of({1.5f, -2}));
  folder.write("three.bin", bytes_of({1, 2, 3, 4, 5, 6}));
  folder.write("odd.bin", "abc" + bytes_of({7, 8}));
  folder.write("sub/w.bin", bytes_of({9, 10}));
  const std::pair<Entries, std::vector<double>> cases[] = {
      {{{"location", "one.bin"}}, {1.5, -2}},
      {{{"location", "one.bin"}, {"length", "8"}}, {1.5, -2}},
      {{{"location", "three.bin"}, {"offset", "8"}, {"length", "8"}}, {3, 4}},
      {{{"location", "three.bin"}, {"offset", "16"}}, {5, 6}},
      {{{"location", "three.bin"}, {"offset", "8"}}, {3, 4}},
      {{{"location", "three.bin"}}, {1, 2}},
      {{{"location", "odd.bin"}, {"offset", "3"}}, {7, 8}},
      {{{"location", "sub/w.bin"}, {"checksum", "0"}}, {9, 10}},
      {{{"location", "./sub/../one.bin"}}, {1.5, -2}},
  };
  for (const auto& [entries, values] : cases) {
    const auto& [got, sentence] = read(folder, entries);
    EXPECT_EQ(sentence, "");
    EXPECT_EQ(got, values) << entries.at("location");
  }
}

TEST(ExternalData, EverythingElseIsOneSentence) {
  const ScratchFolder folder;
  folder.write("in/w.bin", bytes_of({1, 2, 3}));
  folder.write("w.bin", bytes_of({1, 2, 3}));
  folder.write("short.bin", bytes_of({1}));
  folder.write("empty.bin", "");
  fs::create_directory(folder.path() / "folder.bin");
  fs::create_symlink("/etc/passwd", folder.path() / "link.bin");
  const std::pair<Entries, const char*> cases[] = {
      {{{"location", "w.bin"}, {"offset", "12"}}, "its 8 bytes from 12 on reach past the 12 bytes of w.bin"},
      {{{"location", "w.bin"}, {"offset", "8"}}, "its 8 bytes from 8 on reach past the 12 bytes of w.bin"},
      {{{"location", "w.bin"}, {"offset", "18446744073709551615"}}, "reach past the 12 bytes of w.bin"},
      {{{"location", "w.bin"}, {"offset", "8"}, {"length", "18446744073709551608"}}, "reach past the 12 bytes"},
      {{{"location", "w.bin"}, {"offset", "-4"}}, "external data's offset is '-4', expected a number of bytes"},
      {{{"location", "w.bin"}, {"offset", "4 "}}, "external data's offset is '4 ', expected a number of bytes"},
      {{{"location", "w.bin"}, {"offset", "0x4"}}, "external data's offset is '0x4'"},
      {{{"location", "w.bin"}, {"offset", ""}}, "external data's offset is ''"},
      {{{"location", "w.bin"}, {"offset", "99999999999999999999"}}, "expected a number of bytes"},
      {{{"location", "w.bin"}, {"length", "-8"}}, "external data's length is '-8', expected a number of bytes"},
      {{{"location", "w.bin"}, {"length", "4"}}, "tensor 'w' of shape [2] has 4 bytes, expected 8"},
      {{{"location", "w.bin"}, {"length", "12"}}, "tensor 'w' of shape [2] has 12 bytes, expected 8"},
      {{{"location", "short.bin"}}, "its 8 bytes from 0 on reach past the 4 bytes of short.bin"},
      {{{"location", "empty.bin"}}, "empty.bin"},
      {{{"location", "missing.bin"}}, "missing.bin"},
      {{{"location", "folder.bin"}}, "folder.bin"},
      {{{"location", "link.bin"}}, "link.bin"},
      {{{"location", "../w.bin"}}, "outside the file's folder"},
      {{{"location", "in/../../w.bin"}}, "outside the file's folder"},
      {{{"location", "/etc/passwd"}}, "outside the file's folder"},
      {{{"location", std::string("w.bin\0", 6)}}, "outside the file's folder"},
      {{{"location", ""}}, "its external data has no location"},
      {{{"offset", "0"}}, "its external data has no location"},
  };
  for (const auto& [entries, says] : cases) {
    const std::string sentence = read(folder, entries).second;
    EXPECT_NE(sentence.find(says), std::string::npos) << "'" << sentence << "' does not say: " << says;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  }
}

}  // namespace
}  // namespace ferry::testing

// Damaged and hostile files: one sentence, no crash.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "converter/error.h"
#include "converter/quantize/compute_on_integers.h"
#include "converter/tflite/importer.h"
#include "converter/tflite/sparse.h"
#include "tests/support/scratch_folder.h"
#include "tests/tflite/operator_cases.h"
#include "tests/tflite/run_file.h"

namespace ferry::testing {
namespace {

using Kind = schema::BuiltinOptions;
using Op = schema::BuiltinOperator;
using Type = FileBuilder::Type;

std::string case_file(const std::string& name) {
  for (const auto* cases : {&operator_cases(), &on_integers::cases(), &recurrent::cases(), &detection::cases(),
                            &control::cases(), &parts::cases(), &scatters::cases()})
    for (const OperatorCase& c : *cases) {
      if (c.name != name) continue;
      FileBuilder b;
      return b.finish(c.build(b));
    }
  return "";
}

std::string refused(const ScratchFolder& folder, const std::string& bytes) {
  return refusal(folder.write("m.tflite", bytes));
}

// One operator abs(x) with another shape, inputs or outputs.
std::string abs_file(const std::vector<int32_t>& shape, const std::vector<int>& inputs, const std::vector<int>& outputs,
                     const std::vector<int>& results) {
  FileBuilder b;
  b.input(shape);
  b.activation({2, 3});
  b.op(Op::ABS, inputs, outputs);
  return b.finish(results);
}

TEST(TfliteHostile, TruncatedAtEachByte) {
  const ScratchFolder folder;
  for (const char* name : {"densify", "conv_same"}) {
    const std::string whole = case_file(name);
    ASSERT_EQ(refused(folder, whole), "");
    for (size_t length = 0; length < whole.size(); length += length < 64 ? 1 : 7) {
      const std::string why = refused(folder, whole.substr(0, length));
      EXPECT_NE(why, "") << length;
      EXPECT_EQ(why.find('\n'), why.npos) << why;
    }
  }
}

// Each word of a file replaced by absurd values: whatever it was, a sentence or a network.
TEST(TfliteHostile, WordsReplaced) {
  const ScratchFolder folder;
  int broken = 0;
  for (const char* name : {"densify",
                           "strided_slice",
                           "depthwise",
                           "split_v",
                           "transpose_conv_same",
                           "int8_conv_same",
                           "int8_concatenation",
                           "lstm_clipped",
                           "lstm_step_projected",
                           "lstm_step_basic",
                           "if_computed_true",
                           "while_counted",
                           "reverse_sequence",
                           "update_slice",
                           "matrix_set_diag",
                           "detection_postprocess_by_class",
                           "sparse_to_dense",
                           "segment_sum",
                           "unsorted_segment_max",
                           "conv_3d_same",
                           "conv_3d_transpose_same",
                           "atan2",
                           "lstm_normalised",
                           "bidirectional_rnn_auxiliary"}) {
    const std::string whole = case_file(name);
    for (size_t at = 0; at + 4 <= whole.size(); at += 4)
      for (const int32_t value : {-1, 0, 1 << 20, INT32_MAX}) {
        std::string bytes = whole;
        std::memcpy(&bytes[at], &value, sizeof value);
        try {
          const tflite::File file = tflite::open_file(folder.write("m.tflite", bytes));
          const tflite::Imported imported = tflite::import_file(file, {});
          int8::compute_on_integers(*imported.graph, {});
        } catch (const Error& error) {
          ++broken;
          EXPECT_STRNE(error.what(), "");
        }
      }
  }
  EXPECT_GT(broken, 500);
}

TEST(TfliteHostile, IndicesOutsideOfTheFile) {
  const ScratchFolder folder;
  EXPECT_EQ(refused(folder, abs_file({2, 3}, {0}, {1}, {1})), "");
  EXPECT_NE(refused(folder, abs_file({2, 3}, {9}, {1}, {1})).find("is tensor 9 of 2"), std::string::npos);
  EXPECT_NE(refused(folder, abs_file({2, 3}, {-2}, {1}, {1})).find("is tensor -2 of 2"), std::string::npos);
  EXPECT_NE(refused(folder, abs_file({2, 3}, {0}, {-1}, {1})).find("is tensor -1 of 2"), std::string::npos);
  EXPECT_NE(refused(folder, abs_file({2, 3}, {0}, {1}, {2})).find("is tensor 2 of 2"), std::string::npos);
}

TEST(TfliteHostile, CyclesAndSecondWriters) {
  const ScratchFolder folder;
  EXPECT_NE(refused(folder, abs_file({2, 3}, {1}, {1}, {1})).find("computed by no operator before it"),
            std::string::npos);
  EXPECT_NE(refused(folder, abs_file({2, 3}, {0}, {0}, {0})).find("writes 'in0'"), std::string::npos);
}

TEST(TfliteHostile, Shapes) {
  const ScratchFolder folder;
  EXPECT_NE(refused(folder, abs_file({2, -3}, {0}, {1}, {1})).find("dimension 1 has -3 elements"), std::string::npos);
  EXPECT_NE(refused(folder, abs_file({1 << 30, 1 << 30}, {0}, {1}, {1})).find("elements"), std::string::npos);
  EXPECT_NE(refused(folder, abs_file({1, 1, 1, 1, 1, 1, 1}, {0}, {1}, {1})).find("7 dimensions"), std::string::npos);
}

TEST(TfliteHostile, PackOfOtherShapes) {
  FileBuilder b;
  const int x = b.input({2, 3}), other = b.input({}), y = b.activation({2, 3, 2});
  b.op(Op::PACK, {x, other}, {y}, Kind::PackOptions, schema::CreatePackOptions(b.fbb, 2, 2).Union());
  const ScratchFolder folder;
  EXPECT_NE(refused(folder, b.finish({y})).find("inputs [2,3] and []"), std::string::npos);
}

TEST(TfliteHostile, ConstantsOfAnotherSize) {
  FileBuilder b;
  const int x = b.input({2, 3}), c = b.constant({2, 3}, random_values(5, 1)), y = b.activation({2, 3});
  b.op(Op::MAXIMUM, {x, c}, {y});
  const ScratchFolder folder;
  EXPECT_NE(refused(folder, b.finish({y})).find("has 20 bytes, expected 24"), std::string::npos);
}

// A scale per channel for channels that the constant has not.
TEST(TfliteHostile, ScalesThatDoNotFit) {
  FileBuilder b;
  const int x = b.input({1, 2}), y = b.activation({1, 3});
  const auto scales =
      schema::CreateQuantizationParameters(b.fbb, 0, 0, b.fbb.CreateVector(std::vector<float>{1, 2, 3, 4}));
  const int w = b.constant_of({3, 2}, Type::INT8, std::vector<int8_t>(6), scales);
  b.op(Op::FULLY_CONNECTED, {x, w, -1}, {y}, Kind::FullyConnectedOptions,
       schema::CreateFullyConnectedOptions(b.fbb).Union());
  const ScratchFolder folder;
  EXPECT_NE(refused(folder, b.finish({y})).find("4 scales along dimension 0 do not fit"), std::string::npos);
}

}  // namespace
}  // namespace ferry::testing

// Weights as integers with a scale and a zero point per group of inputs, as GPTQ, AWQ and compressed-tensors store
// them: weight[row][column] = (integer - zero) * scale. A row is an output, a column an input.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "converter/checkpoint/checkpoint.h"

namespace ferry::quantized {

// Unsigned integers in little-endian words of 32 bits, the first one in the least significant bits.
struct Packing {
  int bits = 4;          // of an integer: 1 to 8
  bool spanning = true;  // an integer may continue in the next word; else a word holds 32 / bits of them
  // Where the i-th of eight consecutive integers lies. Other than ascending only for 4 bits.
  std::array<uint8_t, 8> place = {0, 1, 2, 3, 4, 5, 6, 7};

  // Words for `count` integers.
  int64_t words(int64_t count) const;
};

// Integers [outer, count, inner], packed along `count`: words [outer, words, inner].
struct Integers {
  std::span<const std::byte> bytes;
  std::optional<Packing> packing;  // none: int8, in place
  int64_t outer = 1, count = 1, inner = 1;
  int added = 0;         // to each
  bool wrapped = false;  // the sum modulo 2^bits

  std::vector<int16_t> values() const;
};

// Where the value of a group of a row is: row * rows + group * groups.
struct Steps {
  int64_t row = 0, group = 0;
};

// Groups of consecutive inputs that share scales; the last one may be smaller.
struct Groups {
  int64_t size, count;

  // "4 groups of 32 inputs"
  std::string text() const;
};
// `size`: of a group; -1: all inputs. Throws Error for other sizes below 1.
Groups groups_of(int64_t size, int64_t inputs);

// The parts of a weight [rows, columns].
struct Affine {
  Integers integers;
  bool by_column = false;  // integers are [columns, rows]
  std::optional<Integers> zeros = {};
  Steps zero_steps = {};
  CheckpointTensor scales;  // of any floating-point type
  Steps scale_steps;
  int64_t group = 0;                                 // columns of a group
  std::optional<CheckpointTensor> group_index = {};  // the group of each column, instead of column / group
  bool kept = false;  // products are not rounded, if the integers fit a blob (Encoding::has_integers)
};

// Difference and product are computed in the type of the scales, as the frameworks do: the product is rounded once, to
// float16, bfloat16 or float32. (The difference is exact in each of them.)
std::shared_ptr<const Encoding> affine_weight(Affine parts);

// `value` rounded to F16 or BF16, half to even; unchanged for other types.
float rounded_to(ElementType type, float value);

// Throws Error that names `key` if the groups of `columns` columns are not from 0 to `groups` - 1.
void check_group_index(const std::string& key, const CheckpointTensor& tensor, int64_t columns, int64_t groups);

}  // namespace ferry::quantized

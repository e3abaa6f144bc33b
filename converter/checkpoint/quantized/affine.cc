#include "converter/checkpoint/quantized/affine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/quantized/method.h"
#include "converter/error.h"
#include "converter/graph/float16.h"
#include "sdk/model/elements.h"

namespace ferry::quantized {
namespace {

constexpr int kWord = 32;

uint64_t word_at(std::span<const std::byte> bytes, size_t index) {
  uint32_t word;
  std::memcpy(&word, &bytes[index * sizeof word], sizeof word);
  return word;
}

class AffineWeight final : public Encoding {
 public:
  explicit AffineWeight(Affine parts) : parts_(std::move(parts)) { kept_ = parts_.kept && fit_a_blob(); }

  bool has_integers() const override { return kept_; }

  std::vector<float> values(std::span<const std::byte>, const std::vector<int64_t>& shape) const override {
    const auto rows = static_cast<size_t>(shape[0]), columns = static_cast<size_t>(shape[1]);
    const std::vector<int16_t> integers = parts_.integers.values();
    const std::vector<int16_t> zeros = parts_.zeros ? parts_.zeros->values() : std::vector<int16_t>();
    const std::vector<float> scales = parts_.scales.to_floats();
    const std::vector<size_t> groups = groups_of(columns);
    std::vector<float> out(rows * columns);
    // By bands of rows, so that integers [columns, rows] are read in order as well.
    constexpr size_t kBand = 64;
    for (size_t begin = 0; begin < rows; begin += kBand)
      for (size_t column = 0; column < columns; ++column)
        for (size_t row = begin; row < std::min(begin + kBand, rows); ++row) {
          const int integer = integers[parts_.by_column ? column * rows + row : row * columns + column];
          const int zero = zeros.empty() ? 0 : zeros[at(parts_.zero_steps, row, groups[column])];
          const float scale = scales[at(parts_.scale_steps, row, groups[column])];
          const float product = static_cast<float>(integer - zero) * scale;
          out[row * columns + column] = kept_ ? product : rounded_to(parts_.scales.type, product);
        }
    return out;
  }

 private:
  static size_t at(const Steps& steps, size_t row, size_t group) {
    return row * static_cast<size_t>(steps.row) + group * static_cast<size_t>(steps.group);
  }

  // Whether differences have at most 8 bits, and groups consist of blocks of 32.
  bool fit_a_blob() const {
    constexpr int64_t kBlock = 32;
    const ElementType type = parts_.scales.type;
    if (parts_.group % kBlock != 0 || (type != ElementType::F16 && type != ElementType::BF16)) return false;
    const std::vector<double> groups = parts_.group_index ? parts_.group_index->to_doubles() : std::vector<double>();
    for (size_t i = 0; i < groups.size(); ++i)
      if (groups[i] != groups[i / kBlock * kBlock]) return false;
    const std::vector<int16_t> zeros = parts_.zeros ? parts_.zeros->values() : std::vector<int16_t>{0};
    const auto [least, most] = std::minmax_element(zeros.begin(), zeros.end());
    const int bits = parts_.integers.packing ? parts_.integers.packing->bits : 8;
    const int low = parts_.integers.added - (parts_.integers.packing ? 0 : 128), high = low + (1 << bits) - 1;
    return low - *most >= -128 && high - *least <= 127;
  }

  std::vector<size_t> groups_of(size_t columns) const {
    std::vector<size_t> out(columns);
    const std::vector<double> given = parts_.group_index ? parts_.group_index->to_doubles() : std::vector<double>();
    for (size_t column = 0; column < columns; ++column)
      out[column] = given.empty() ? column / static_cast<size_t>(parts_.group) : static_cast<size_t>(given[column]);
    return out;
  }

  Affine parts_;
  bool kept_;
};

}  // namespace

int64_t Packing::words(int64_t count) const {
  const int64_t each = kWord / bits;
  return spanning ? (count * bits + kWord - 1) / kWord : (count + each - 1) / each;
}

std::string Groups::text() const { return std::to_string(count) + " groups of " + std::to_string(size) + " inputs"; }

Groups groups_of(int64_t size, int64_t inputs) {
  if (size != -1 && size < 1)
    fail("%s: group_size is %lld, expected -1 or an integer above 0", kWhere, static_cast<long long>(size));
  const int64_t each = size == -1 ? inputs : std::min(size, inputs);
  return {.size = each, .count = (inputs + each - 1) / each};
}

std::vector<int16_t> Integers::values() const {
  const auto lines = static_cast<size_t>(outer), length = static_cast<size_t>(count), step = static_cast<size_t>(inner);
  std::vector<int16_t> out(lines * length * step);
  if (!packing) {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<int16_t>(static_cast<int8_t>(std::to_integer<int>(bytes[i])) + added);
    return out;
  }
  const auto bits = static_cast<size_t>(packing->bits), words = static_cast<size_t>(packing->words(count));
  const int mask = (1 << bits) - 1;
  for (size_t line = 0; line < lines; ++line)
    for (size_t i = 0; i < length; ++i) {
      const size_t position = bits == 4 ? i / 8 * 8 + packing->place[i % 8] : i, each = kWord / bits;
      const size_t first = packing->spanning ? position * bits / kWord : position / each;
      const size_t shift = packing->spanning ? position * bits % kWord : position % each * bits;
      const bool continues = shift + bits > kWord;
      for (size_t j = 0; j < step; ++j) {
        uint64_t word = word_at(bytes, (line * words + first) * step + j);
        if (continues) word |= word_at(bytes, (line * words + first + 1) * step + j) << kWord;
        const int value = (static_cast<int>(word >> shift) & mask) + added;
        out[(line * length + i) * step + j] = static_cast<int16_t>(wrapped ? value & mask : value);
      }
    }
  return out;
}

float rounded_to(ElementType type, float value) {
  if (type == ElementType::BF16) return from_bfloat16(to_bfloat16(static_cast<double>(value)));
  if (type != ElementType::F16) return value;
  // Normal numbers of float16 are float32 with 13 bits fewer.
  const float magnitude = std::fabs(value);
  if (!(magnitude >= 0x1p-14f && magnitude < 65504)) return from_float16(to_float16(static_cast<double>(value)));
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t{0x1fff});
}

std::shared_ptr<const Encoding> affine_weight(Affine parts) { return std::make_shared<AffineWeight>(std::move(parts)); }

void check_group_index(const std::string& key, const CheckpointTensor& tensor, int64_t columns, int64_t groups) {
  if (is_float(tensor.type)) fail("%s is %s, expected integers", in_quotes(key).c_str(), element_name(tensor.type));
  expect_shape(key, tensor, {columns}, "one group for each input");
  const std::vector<double> values = tensor.to_doubles();
  for (size_t i = 0; i < values.size(); ++i)
    if (!(values[i] >= 0 && values[i] < static_cast<double>(groups)))
      fail("%s puts input %zu in group %g, but there are %lld groups", in_quotes(key).c_str(), i, values[i],
           static_cast<long long>(groups));
}

}  // namespace ferry::quantized

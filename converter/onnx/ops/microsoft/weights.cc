// Weights in blocks of integers with a scale each, dequantized in float32 when they are read.
#include <algorithm>
#include <array>

#include "converter/onnx/ops/microsoft/microsoft.h"

namespace ferry::onnx::microsoft {
namespace {

// Unsigned integers of 2, 4 or 8 bits in bytes, the first in the low bits.
struct Packed {
  std::span<const std::byte> bytes;
  int64_t bits;

  int64_t at(int64_t i) const {
    const int64_t per_byte = 8 / bits;
    const auto byte = std::to_integer<int64_t>(bytes[static_cast<size_t>(i / per_byte)]);
    return byte >> (i % per_byte * bits) & ((int64_t{1} << bits) - 1);
  }
};

// A matrix [rows,columns] of integers in blocks along a row, in the layout of MatMulNBits: each row begins at a block,
// its zero points at a byte.
struct Blocks {
  int64_t rows, columns, size;
  int64_t bits;  // of a stored integer
  Array integers, scales;
  double zero_point;                     // of all blocks, unless they have their own
  std::vector<double> zero_points = {};  // [rows,blocks], or empty
  std::vector<int64_t> group = {};       // block of each column; empty: column / size

  int64_t per_row() const { return (columns + size - 1) / size; }

  std::vector<float> values() const {
    const Constant held = integers.data.read();
    const Packed packed{held.bytes, bits};
    const std::vector<double> scale = scales.floats();
    std::vector<float> out(static_cast<size_t>(rows * columns));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t chosen = group.empty() ? c / size : group[static_cast<size_t>(c)];
        const auto block = static_cast<size_t>(r * per_row() + chosen);
        const double zero = zero_points.empty() ? zero_point : zero_points[block];
        int64_t integer = packed.at(r * per_row() * size + c);
        if (integers.type == Type::Int4) integer = static_cast<int8_t>(integer);
        out[static_cast<size_t>(r * columns + c)] =
            static_cast<float>((static_cast<double>(integer) - zero) * scale[block]);
      }
    }
    return out;
  }
};

// A float32 array that is computed when it is read, so that a file's weights need not be in memory at once.
template <typename Weights>
Array computed(const Dims& dims, Weights weights) {
  const auto held = std::make_shared<const Weights>(std::move(weights));
  Array array{Type::Float32, dims, {}};
  array.data.owner = held;
  array.data.size = static_cast<size_t>(count_elements(dims)) * sizeof(float);
  array.data.compute = [held] { return hold(held->values()); };
  return array;
}

void check_bits(Op& op, int64_t bits) {
  if (bits != 2 && bits != 4 && bits != 8)
    op.refuse("attribute 'bits' is %lld, expected 2, 4 or 8", static_cast<long long>(bits));
}

// The zero point of unsigned integers that have none of their own.
double middle_of(int64_t bits) { return static_cast<double>(int64_t{1} << (bits - 1)); }

void check_count(Op& op, const char* what, int64_t count, int64_t expected) {
  if (count != expected)
    op.refuse("%s has %lld elements, expected %lld", what, static_cast<long long>(count),
              static_cast<long long>(expected));
}

// Zero points [rows,blocks], packed as the weights are or as floating point.
std::vector<double> read_zero_points(Op& op, size_t input, const Blocks& b) {
  const Array& zeros = op.array(input, "zero_points");
  if (zeros.type != Type::UInt8) {
    check_count(op, "zero_points", zeros.elements(), b.rows * b.per_row());
    return zeros.floats();
  }
  const int64_t per_byte = 8 / b.bits, row = (b.per_row() + per_byte - 1) / per_byte;
  check_count(op, "zero_points", zeros.elements(), b.rows * row);
  const Constant held = zeros.data.read();
  const Packed packed{held.bytes, b.bits};
  std::vector<double> out;
  for (int64_t r = 0; r < b.rows; ++r)
    for (int64_t i = 0; i < b.per_row(); ++i) out.push_back(static_cast<double>(packed.at(r * row * per_byte + i)));
  return out;
}

// Values of 4 bits of bitsandbytes' types (Dettmers et al. 2023), which a block's absolute maximum scales.
constexpr std::array<double, 16> kFp4 = {0,    0.00520833333,  0.66666667,  1,  0.33333333,  0.5,  0.16666667,  0.25,
                                         -0.0, -0.00520833333, -0.66666667, -1, -0.33333333, -0.5, -0.16666667, -0.25};
constexpr std::array<double, 16> kNf4 = {-1.0,
                                         -0.6961928009986877,
                                         -0.5250730514526367,
                                         -0.39491748809814453,
                                         -0.28444138169288635,
                                         -0.18477343022823334,
                                         -0.09105003625154495,
                                         0.0,
                                         0.07958029955625534,
                                         0.16093020141124725,
                                         0.24611230194568634,
                                         0.33791524171829224,
                                         0.44070982933044434,
                                         0.5626170039176941,
                                         0.7229568362236023,
                                         1.0};

// Blocks of the flattened matrix; the first of two values is in the high bits.
struct BnbBlocks {
  int64_t count, size;
  bool nf4;
  Array bytes, absmax;

  std::vector<float> values() const {
    const Constant held = bytes.data.read();
    const std::vector<double> largest = absmax.floats();
    const std::array<double, 16>& table = nf4 ? kNf4 : kFp4;
    std::vector<float> out;
    for (int64_t i = 0; i < count; ++i) {
      const auto byte = std::to_integer<size_t>(held.bytes[static_cast<size_t>(i / 2)]);
      out.push_back(static_cast<float>(static_cast<float>(table[i % 2 == 0 ? byte >> 4 : byte & 15]) *
                                       largest[static_cast<size_t>(i / size)]));
    }
    return out;
  }
};

Tensor times(Op& op, Tensor x, const Array& weight, std::optional<Tensor> bias) {
  std::vector<Tensor> inputs = {x, add_constant(op.graph(), op.input_name(1), weight)};
  if (bias) inputs.push_back(*bias);
  return op.graph().add_op("", fbs::LinearT{}, inputs);
}

}  // namespace

void matmul_nbits(Op& op) {
  Blocks b{op.integer("N", 0),
           op.integer("K", 0),
           op.integer("block_size", 0),
           op.integer("bits", 4),
           op.array(1, "B"),
           op.array(2, "scales"),
           0};
  check_bits(op, b.bits);
  b.zero_point = middle_of(b.bits);
  if (op.integer("weight_prepacked", 0) != 0)
    op.refuse("attribute 'weight_prepacked': B has the layout of one processor");
  if (b.rows < 1 || b.columns < 1 || b.size < 8 || b.size > 1 << 20 || count_elements({b.rows, b.columns}) < 1)
    op.refuse("a weight of %lld x %lld in blocks of %lld", static_cast<long long>(b.rows),
              static_cast<long long>(b.columns), static_cast<long long>(b.size));
  if (op.type(1) != Type::UInt8) op.refuse("B is of type %s, expected uint8", type_name(op.type(1)).c_str());
  check_count(op, "B", b.integers.elements(), b.rows * b.per_row() * b.size * b.bits / 8);
  check_count(op, "scales", b.scales.elements(), b.rows * b.per_row());
  if (op.has(3)) b.zero_points = read_zero_points(op, 3, b);
  if (op.has(4)) {
    b.group = op.array(4, "g_idx").ints();
    if (static_cast<int64_t>(b.group.size()) < b.columns ||
        std::any_of(b.group.begin(), b.group.end(), [&](int64_t g) { return g < 0 || g >= b.per_row(); }))
      op.refuse("g_idx does not name one of %lld blocks for each of %lld columns", static_cast<long long>(b.per_row()),
                static_cast<long long>(b.columns));
  }
  std::optional<Tensor> bias;
  if (op.has(5)) bias = op.floating(5);
  const Dims dims = {b.rows, b.columns};
  op.set(times(op, op.tensor(0), computed(dims, std::move(b)), bias), op.type(0));
}

void matmul_bnb4(Op& op) {
  const int64_t columns = op.integer("K", 0), rows = op.integer("N", 0), kind = op.integer("quant_type", 0);
  if (op.integer("transB", 1) == 0) op.refuse("attribute 'transB' is 0, which only training uses");
  if (kind != 0 && kind != 1)
    op.refuse("attribute 'quant_type' is %lld, expected 0 (FP4) or 1 (NF4)", static_cast<long long>(kind));
  BnbBlocks b{count_elements({std::max<int64_t>(rows, 0), std::max<int64_t>(columns, 0)}), op.integer("block_size", 0),
              kind == 1, op.array(1, "B"), op.array(2, "absmax")};
  if (rows < 1 || columns < 1 || b.size < 1 || b.size > 1 << 20)
    op.refuse("a weight of %lld x %lld in blocks of %lld", static_cast<long long>(rows),
              static_cast<long long>(columns), static_cast<long long>(b.size));
  check_count(op, "B", b.bytes.elements(), (b.count + 1) / 2);
  check_count(op, "absmax", b.absmax.elements(), (b.count + b.size - 1) / b.size);
  op.set(times(op, op.tensor(0), computed({rows, columns}, std::move(b)), {}), op.type(0));
}

// A table of rows in blocks along the last dimension.
void gather_block_quantized(Op& op) {
  const Array& data = op.array(0, "data");
  const bool nibbles = data.type == Type::UInt4 || data.type == Type::Int4;  // an array has a byte for each
  if (!nibbles && data.type != Type::UInt8)
    op.refuse("data is of type %s, expected uint8, uint4 or int4", type_name(data.type).c_str());
  const int64_t bits = nibbles ? 8 : op.integer("bits", 4);
  check_bits(op, bits);
  const int rank = static_cast<int>(data.dims.size());
  if (rank < 2) op.refuse("data is %s, expected two or more dimensions", to_string(data.dims).c_str());
  if (op.axis(op.integer("gather_axis", 0), rank) != 0)
    op.refuse("attribute 'gather_axis' is %lld, expected 0", static_cast<long long>(op.integer("gather_axis", 0)));
  if (op.axis(op.integer("quantize_axis", 1), rank) != rank - 1)
    op.refuse("attribute 'quantize_axis' is %lld, expected the last dimension",
              static_cast<long long>(op.integer("quantize_axis", 1)));
  Dims dims = data.dims;
  dims.back() *= 8 / bits;
  Blocks b{count_elements(dims) / std::max<int64_t>(dims.back(), 1),
           dims.back(),
           op.integer("block_size", 128),
           bits,
           data,
           op.array(2, "scales"),
           nibbles ? 0 : middle_of(bits)};
  if (b.columns < 1 || b.size < 1 || b.columns % b.size != 0)
    op.refuse("rows of %lld in blocks of %lld", static_cast<long long>(b.columns), static_cast<long long>(b.size));
  check_count(op, "scales", b.scales.elements(), b.rows * b.per_row());
  if (op.has(3)) b.zero_points = read_zero_points(op, 3, b);
  op.set(call(op, onnx::gather, {computed(dims, std::move(b)), argument(op, 1)}, {}), op.type(2));
}

}  // namespace ferry::onnx::microsoft

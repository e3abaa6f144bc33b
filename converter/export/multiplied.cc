#include "converter/export/multiplied.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "converter/export/deflate.h"

namespace ferry {
namespace {

constexpr double kTolerance = 1e-6;  // relative error of a product: factors and products are rounded to float32

std::span<const float> floats(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};  // aligned to 64 bytes
}

// Products in the blob and weights in the checkpoint, as rows x columns x inner matrices.
struct Pair {
  std::span<const float> products, weights;
  size_t rows, columns;

  size_t row() const { return weights.size() / rows; }
  // 0: unknown, since weights or products are 0; elements with an unknown factor are not derived.
  static float factor(double above, double below) {
    const float factor = below > 0 ? static_cast<float>(above / below) : 0;
    return std::isnormal(factor) ? factor : 0;
  }
};

// Fits the factors of rows, given those of columns.
std::vector<float> fit_rows(const Pair& p, const std::vector<float>& columns) {
  std::vector<float> out(p.rows);
  for (size_t r = 0; r < p.rows; ++r) {
    double above = 0, below = 0;
    for (size_t i = r * p.row(); i < (r + 1) * p.row(); ++i) {
      const double weight = columns.empty() ? p.weights[i] : p.weights[i] * double{columns[i % p.columns]};
      above += p.products[i] * weight;
      below += weight * weight;
    }
    out[r] = Pair::factor(above, below);
  }
  return out;
}

std::vector<float> fit_columns(const Pair& p, const std::vector<float>& rows) {
  std::vector<double> above(p.columns), below(p.columns);
  for (size_t i = 0; i < p.weights.size(); ++i) {
    const double weight = rows.empty() ? p.weights[i] : p.weights[i] * double{rows[i / p.row()]};
    above[i % p.columns] += p.products[i] * weight;
    below[i % p.columns] += weight * weight;
  }
  std::vector<float> out(p.columns);
  for (size_t c = 0; c < p.columns; ++c) out[c] = Pair::factor(above[c], below[c]);
  return out;
}

// Whether most products follow. Others (weights lost by a factor of 0) only need larger differences.
bool fits(const Pair& p, const std::vector<float>& rows, const std::vector<float>& columns) {
  size_t misses = 0;
  for (size_t i = 0; i < p.weights.size(); ++i) {
    double product = p.weights[i];
    if (!rows.empty()) product *= rows[i / p.row()];
    if (!columns.empty()) product *= columns[i % p.columns];
    misses += !(std::fabs(p.products[i] - product) <= kTolerance * std::fabs(product));
  }
  return misses <= p.weights.size() / 8;
}

std::optional<Multiplied> fit(const Pair& p) {
  Multiplied out;
  out.rows = fit_rows(p, {});
  if (fits(p, out.rows, {})) return out;
  out.rows.clear();
  out.columns = fit_columns(p, {});
  if (fits(p, {}, out.columns)) return out;
  // Both: the factors of columns are those of the row with the largest products, whose own factor is 1.
  size_t largest = 0;
  double most = -1;
  for (size_t r = 0; r < p.rows; ++r) {
    double sum = 0;
    for (const float product : p.products.subspan(r * p.row(), p.row())) sum += std::fabs(product);
    if (sum > most) most = sum, largest = r;
  }
  const Pair one{p.products.subspan(largest * p.row(), p.row()), p.weights.subspan(largest * p.row(), p.row()), 1,
                 p.columns};
  out.rows = fit_rows(p, fit_columns(one, {}));
  out.columns = fit_columns(p, out.rows);
  out.rows = fit_rows(p, out.columns);
  if (fits(p, out.rows, out.columns)) return out;
  return {};
}

// Whether the first row, of which `weights` are some elements, may match one of `products`: a quick test.
bool may_match(std::span<const float> products, std::span<const float> weights) {
  double factor = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const double ratio = double{products[i]} / weights[i];
    if (factor == 0) factor = ratio;
    if (!(std::fabs(ratio - factor) <= kTolerance * std::fabs(factor))) return false;
  }
  return factor != 0;
}

}  // namespace

std::optional<Multiplied> find_multiplied(const Constants& constants, const std::string& name,
                                          const ElementReader& wanted, size_t rows, size_t columns) {
  const size_t count = wanted.bytes() / sizeof(float), row = count / rows;
  std::vector<float> weights;  // all, once a segment may match
  const auto at = [&](const Constants::FloatBuffer& segment, size_t offset) -> std::optional<Multiplied> {
    if (weights.empty()) {
      weights.resize(count);
      for (size_t done = 0; done < wanted.bytes();) {
        const std::span<const std::byte> part = wanted.from(done);
        std::memcpy(reinterpret_cast<std::byte*>(weights.data()) + done, part.data(), part.size());
        done += part.size();
      }
    }
    auto found = fit({floats(segment.bytes).subspan(offset, count), weights, rows, columns});
    if (!found) return found;
    found->runs = {{segment.buffer, offset * sizeof(float), wanted.bytes()}};
    for (auto* factors : {&found->rows, &found->columns}) std::replace(factors->begin(), factors->end(), 0.0f, 1.0f);
    return found;
  };
  for (const Constants::FloatBuffer& segment : constants.buffers())
    if (!segment.half && segment.name == name && floats(segment.bytes).size() == count)
      if (auto found = at(segment, 0)) return found;
  constexpr size_t kCompared = 8;
  std::vector<float> first(std::min(kCompared, row));
  std::memcpy(first.data(), wanted.from(0).data(), first.size() * sizeof(float));
  for (const Constants::FloatBuffer& segment : constants.buffers()) {
    if (segment.half) continue;
    const std::span<const float> products = floats(segment.bytes);
    for (size_t offset = 0; offset + count <= products.size(); offset += row)
      if (may_match(products.subspan(offset, row), first))
        if (auto found = at(segment, offset)) return found;
  }
  return {};
}

std::vector<std::byte> deflated_differences(std::span<const std::byte> wanted, const Walk& order, size_t size,
                                            std::vector<std::byte> near) {
  std::byte* to = near.data();
  walk(order, [&](size_t from) {
    uint64_t a = 0, b = 0;
    std::memcpy(&a, &wanted[from * size], size);
    std::memcpy(&b, to, size);
    const int unused = static_cast<int>(64 - 8 * size);
    const auto difference = static_cast<int64_t>((a - b) << unused) >> unused;  // sign-extended
    const uint64_t folded = static_cast<uint64_t>(difference) << 1 ^ static_cast<uint64_t>(difference >> 63);
    std::memcpy(to, &folded, size);
    to += size;
  });
  // All first bytes, then all second ones.
  const size_t count = near.size() / size;
  std::vector<std::byte> part;
  const auto planes = [&](size_t at, size_t bytes) {
    part.resize(bytes);
    size_t plane = at / count, i = at % count;
    for (std::byte& byte : part) {
      byte = near[i * size + plane];
      if (++i == count) i = 0, ++plane;
    }
    return std::span<const std::byte>(part);
  };
  return deflated(near.size(), planes, Content::Noise);
}

}  // namespace ferry

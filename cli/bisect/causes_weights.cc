#include <algorithm>
#include <bit>
#include <cmath>

#include "cli/bisect/causes.h"

namespace ferry::bisect {
namespace {

using WeightIndex = std::array<int64_t, 4>;  // o, ky, kx, i

// A weight's shape as O,KH,KW,I; a linear weight has a 1x1 kernel.
WeightIndex extent(const Shape& shape) {
  if (shape.rank == 4) return {shape[0], shape[1], shape[2], shape[3]};
  return {shape[0], 1, 1, shape[1]};
}

size_t flat(const WeightIndex& n, const WeightIndex& p) {
  return static_cast<size_t>(((p[0] * n[1] + p[1]) * n[2] + p[2]) * n[3] + p[3]);
}

// Replaces every element of the weight by the one at from(position).
template <typename From>
void rearrange(Array& weight, const From& from) {
  const WeightIndex n = extent(weight.shape);
  const std::vector<double> old = weight.values;
  WeightIndex p;
  for (p[0] = 0; p[0] < n[0]; ++p[0])
    for (p[1] = 0; p[1] < n[1]; ++p[1])
      for (p[2] = 0; p[2] < n[2]; ++p[2])
        for (p[3] = 0; p[3] < n[3]; ++p[3]) weight.values[flat(n, p)] = old[flat(n, from(p, n))];
}

// The position of element `at` of the weight, stored in another order of dimensions.
WeightIndex unflat(const WeightIndex& n, const std::array<int, 4>& order, int64_t at) {
  WeightIndex p{};
  for (size_t d = 4; d-- > 0; at /= n[static_cast<size_t>(order[d])])
    p[static_cast<size_t>(order[d])] = at % n[static_cast<size_t>(order[d])];
  return p;
}

double rounded(double value, int bits) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, bits)), exponent - bits);
}

class WeightCauses {
 public:
  WeightCauses(const Piece& piece, size_t k, std::vector<Cause>& out)
      : k_(k), tensor_(piece.operators[k].inputs[1]), n_(extent(piece.known.at(tensor_).shape)), out_(out) {}

  template <typename From>
  void moved(std::string text, std::string repaired, From from) {
    out_.push_back({std::move(text), std::move(repaired), k_,
                    [tensor = tensor_, from](Piece& p) { rearrange(p.known.at(tensor), from); }});
  }

  template <typename Map>
  void mapped(std::string text, std::string repaired, Map map) {
    out_.push_back({std::move(text), std::move(repaired), k_, [tensor = tensor_, map](Piece& p) {
                      for (double& v : p.known.at(tensor).values) v = map(v);
                    }});
  }

  // The weight read as if it were stored in `order` (0: O, 1: KH, 2: KW, 3: I) and not transposed.
  void order(const char* name, std::array<int, 4> order) {
    const std::string read = std::string("read in the order ") + name;
    moved("the weight is " + read + " without being transposed to O,KH,KW,I",
          blob_has("the weight as O,KH,KW,I", "the same values " + read),
          [order](const WeightIndex& p, const WeightIndex& n) {
            return unflat(n, order, static_cast<int64_t>(flat(n, p)));
          });
  }

  const WeightIndex& extent_of() const { return n_; }

 private:
  size_t k_;
  TensorId tensor_;
  WeightIndex n_;
  std::vector<Cause>& out_;
};

void kernel_causes(WeightCauses& w) {
  const WeightIndex n = w.extent_of();
  if (n[1] * n[2] == 1) return;
  w.moved("the kernel is rotated by 180 degrees (flipped)",
          blob_has("the kernel in one orientation", "has it rotated by 180 degrees (flipped)"),
          [](WeightIndex p, const WeightIndex& m) {
            return WeightIndex{p[0], m[1] - 1 - p[1], m[2] - 1 - p[2], p[3]};
          });
  w.moved("the kernel is mirrored left to right",
          blob_has("the kernel in one orientation", "has it mirrored left to right"),
          [](WeightIndex p, const WeightIndex& m) {
            return WeightIndex{p[0], p[1], m[2] - 1 - p[2], p[3]};
          });
  w.moved("the kernel is mirrored top to bottom",
          blob_has("the kernel in one orientation", "has it mirrored top to bottom"),
          [](WeightIndex p, const WeightIndex& m) {
            return WeightIndex{p[0], m[1] - 1 - p[1], p[2], p[3]};
          });
  if (n[1] == n[2])
    w.moved("the kernel's rows and columns are exchanged",
            blob_has("the kernel in one orientation", "has its rows and columns exchanged"),
            [](WeightIndex p, const WeightIndex&) {
              return WeightIndex{p[0], p[2], p[1], p[3]};
            });
  w.order("O,I,KH,KW (PyTorch's)", {0, 3, 1, 2});
  w.order("KH,KW,I,O (TensorFlow's)", {1, 2, 3, 0});
}

void channel_causes(WeightCauses& w, bool linear) {
  const WeightIndex n = w.extent_of();
  if (n[0] == n[3] && n[0] > 1)
    w.moved("the weight is transposed: outputs and inputs are exchanged",
            blob_has("the weight in one orientation", "has it transposed"), [](WeightIndex p, const WeightIndex&) {
              return WeightIndex{p[3], p[1], p[2], p[0]};
            });
  else if (linear)
    w.order("I,O", {3, 1, 2, 0});
  if (n[3] > 1) {
    const std::string colours = n[3] == 3 ? " (RGB read as BGR)" : "";
    w.moved("the input channels are reversed" + colours,
            blob_has("the input channels in one order", "has them reversed" + colours),
            [](WeightIndex p, const WeightIndex& m) {
              return WeightIndex{p[0], p[1], p[2], m[3] - 1 - p[3]};
            });
  }
  if (n[3] % 2 == 0)
    w.moved("the halves of the inputs are exchanged (the order of a concatenation)",
            blob_has("the halves of the inputs in one order", "in the other (that of a concatenation)"),
            [](WeightIndex p, const WeightIndex& m) {
              return WeightIndex{p[0], p[1], p[2], (p[3] + m[3] / 2) % m[3]};
            });
  if (n[0] % 2 == 0)
    w.moved("the halves of the outputs are exchanged (gate and value)",
            blob_has("the halves of the outputs in one order", "in the other (gate and value)"),
            [](WeightIndex p, const WeightIndex& m) {
              return WeightIndex{(p[0] + m[0] / 2) % m[0], p[1], p[2], p[3]};
            });
  if (n[0] % 3 == 0 && linear) {
    const std::string thirds = "the outputs' thirds (query, key, value) in one order";
    w.moved("the outputs' thirds are in another order: query and key exchanged",
            blob_has(thirds, "has query and key exchanged"), [](WeightIndex p, const WeightIndex& m) {
              const int64_t third = m[0] / 3;
              return WeightIndex{p[0] < 2 * third ? (p[0] + third) % (2 * third) : p[0], p[1], p[2], p[3]};
            });
    for (int64_t turn : {1, 2})
      w.moved("the outputs' thirds (query, key, value) are in another order", blob_has(thirds, "in another"),
              [turn](WeightIndex p, const WeightIndex& m) {
                return WeightIndex{(p[0] + turn * (m[0] / 3)) % m[0], p[1], p[2], p[3]};
              });
  }
  for (int64_t groups : {2, 3, 4, 6, 8, 12, 16, 32}) {
    if (n[0] % groups != 0 || n[0] == groups) continue;
    const std::string count = std::to_string(groups), channels = "the output channels ";
    w.moved(channels + "of " + count + " groups are interleaved",
            blob_has(channels + "of " + count + " groups contiguous", "interleaved"),
            [groups](WeightIndex p, const WeightIndex& m) {
              return WeightIndex{p[0] % groups * (m[0] / groups) + p[0] / groups, p[1], p[2], p[3]};
            });
    w.moved(channels + "are read as interleaved by " + count + " groups and are not",
            blob_has(channels + "interleaved by " + count + " groups", "one group after the other"),
            [groups](WeightIndex p, const WeightIndex& m) {
              const int64_t size = m[0] / groups;
              return WeightIndex{p[0] % size * groups + p[0] / size, p[1], p[2], p[3]};
            });
  }
  // A flattened feature map: C,H,W in PyTorch; H,W,C in TensorFlow and Ferry.
  for (int64_t area : {4, 9, 16, 25, 36, 49, 64, 81, 100, 144, 196}) {
    if (!linear || n[3] % area != 0 || n[3] == area) continue;
    const std::string map = "the flattened feature map of " + std::to_string(area) + " positions";
    w.moved(map + " is read as H,W,C and is C,H,W", blob_has(map + " as C,H,W", "as H,W,C"),
            [area](WeightIndex p, const WeightIndex& m) {
              const int64_t c = m[3] / area;
              return WeightIndex{p[0], p[1], p[2], p[3] % c * area + p[3] / c};
            });
    w.moved(map + " is read as C,H,W and is H,W,C", blob_has(map + " as H,W,C", "as C,H,W"),
            [area](WeightIndex p, const WeightIndex& m) {
              const int64_t c = m[3] / area;
              return WeightIndex{p[0], p[1], p[2], p[3] % area * c + p[3] / area};
            });
  }
}

}  // namespace

void weight_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out) {
  const Piece& piece = suspect.piece;
  const fbs::OperatorT& op = piece.operators[k];
  const bool linear = op.params.type == fbs::OpParams::Linear;
  if (!linear && op.params.type != fbs::OpParams::Conv2d && op.params.type != fbs::OpParams::ConvTranspose2d) return;
  WeightCauses w(piece, k, out);
  kernel_causes(w);
  channel_causes(w, linear);
  w.mapped("the weights are rounded to float16", blob_has("the weights unrounded", "rounded to float16"),
           [](double v) { return rounded(v, 11); });
  w.mapped("the weights are rounded to bfloat16", blob_has("the weights unrounded", "rounded to bfloat16"),
           [](double v) { return rounded(v, 8); });
  w.mapped("the weights have the wrong sign", blob_has("the weights with one sign", "with the other"),
           [](double v) { return -v; });
  if (op.inputs.size() > 2)
    out.push_back({"the bias is missing", blob_has("a bias", "none"), k, [bias = op.inputs[2]](Piece& p) {
                     auto& values = p.known.at(bias).values;
                     std::fill(values.begin(), values.end(), 0.0);
                   }});
}

}  // namespace ferry::bisect

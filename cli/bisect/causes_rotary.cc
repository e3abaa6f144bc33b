// Rotary embeddings rotate channels by angles from tables. A table's parameters are inferred from its values: scale *
// cos or sin (position * frequency), one frequency for each column.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>

#include "cli/bisect/causes.h"
#include "cli/bisect/edit.h"

namespace ferry::bisect {
namespace {

using Frequencies = std::vector<double>;  // one for each pair of rotated channels

struct Table {
  TensorId tensor;
  bool sine;
  double scale;
  bool neighbours;  // a pair's columns are adjacent, not half a head apart
  Frequencies frequencies;

  double frequency(size_t column) const { return frequencies[neighbours ? column / 2 : column % frequencies.size()]; }
  double angle(size_t place, size_t column) const { return static_cast<double>(place) * frequency(column); }
  double number(size_t place, size_t column) const {
    const double turned = angle(place, column);
    return scale * (sine ? std::sin(turned) : std::cos(turned));
  }
};

void write(const Table& table, Array& array) {
  const auto columns = static_cast<size_t>(array.shape[1]);
  for (size_t i = 0; i < array.values.size(); ++i) array.values[i] = table.number(i / columns, i % columns);
}

// The table that the array holds, if it is one.
std::optional<Table> table_of(TensorId tensor, const Array& array) {
  constexpr double kSame = 1e-5, kAngle = 0x1p-22;  // angles are float32
  if (array.shape.rank != 2 || array.shape[0] < 3 || array.shape[1] < 2 || array.shape[1] % 2 != 0) return {};
  const auto columns = static_cast<size_t>(array.shape[1]);
  const auto at = [&](size_t place, size_t column) { return array.values[place * columns + column]; };
  Table out{.tensor = tensor, .sine = at(0, 0) == 0, .scale = at(0, 0), .neighbours = false, .frequencies = {}};
  Frequencies each;
  for (size_t i = 0; i < columns; ++i) {
    const double one = at(1, i), two = at(2, i);
    if (out.sine && one == 0) return {};
    const double cosine = out.sine ? two / (2 * one) : one / out.scale;
    if (!(std::fabs(cosine) <= 1)) return {};
    each.push_back(std::acos(cosine));
  }
  if (out.sine) out.scale = at(1, 0) / std::sin(each[0]);
  if (!(std::fabs(out.scale) > 0)) return {};
  // acos is imprecise for small angles; rows of later positions refine the frequency.
  for (size_t i = 0; i < columns; ++i) {
    const double far = std::floor(1.5 / each[i]);
    const auto place = static_cast<size_t>(std::min<double>(array.shape[0] - 1, far));
    if (!(far > 2)) continue;
    const double part = at(place, i) / out.scale;
    if (std::fabs(part) <= 1) each[i] = (out.sine ? std::asin(part) : std::acos(part)) / static_cast<double>(place);
  }
  const auto same = [&](size_t a, size_t b) { return std::fabs(each[a] - each[b]) <= kSame * each[a]; };
  out.neighbours = columns > 2 && same(0, 1);
  for (size_t i = 0; i < columns / 2; ++i) {
    out.frequencies.push_back(each[out.neighbours ? 2 * i : i]);
    if (out.neighbours ? !same(2 * i, 2 * i + 1) : !same(i, i + columns / 2)) return {};
  }
  for (size_t i = 0; i < array.values.size(); ++i) {
    const size_t place = i / columns, column = i % columns;
    const double bound = kSame + kAngle * out.angle(place, column);
    if (std::fabs(out.number(place, column) - array.values[i]) > bound * std::fabs(out.scale)) return {};
  }
  return out;
}

struct Tables {
  std::vector<Table> all;
  size_t first_reader = 0;
};

Tables tables_in(const Piece& piece) {
  Tables out{.all = {}, .first_reader = piece.operators.size()};
  for (const auto& [tensor, name] : piece.constants) {
    const auto reads = [tensor = tensor](const fbs::OperatorT& op) {
      return (op.params.type == fbs::OpParams::Gather || op.params.type == fbs::OpParams::RotaryEmbedding) &&
             std::count(op.inputs.begin(), op.inputs.end(), tensor) > 0;
    };
    const auto reader = std::find_if(piece.operators.begin(), piece.operators.end(), reads);
    if (reader == piece.operators.end()) continue;
    const auto table = table_of(tensor, piece.known.at(tensor));
    if (!table) continue;
    out.all.push_back(*table);
    out.first_reader = std::min(out.first_reader, static_cast<size_t>(reader - piece.operators.begin()));
  }
  return out;
}

class TableCauses {
 public:
  TableCauses(const Suspect& suspect, const Tables& tables) : tables_(tables) {
    for (size_t k = 0; k < suspect.piece.operators.size() && !turns_; ++k)
      if (suspect.piece.operators[k].params.type == fbs::OpParams::RotaryEmbedding) turns_ = k;
  }

  template <typename Change>
  Cause changed(std::string text, std::string repaired, Change change) const {
    return {.text = std::move(text),
            .repaired = std::move(repaired),
            .from = tables_.first_reader,
            .plant =
                [tables = tables_.all, change](Piece& p) {
                  for (Table table : tables) {
                    change(table);
                    write(table, p.known.at(table.tensor));
                  }
                },
            .at = turns_};
  }

 private:
  Tables tables_;
  std::optional<size_t> turns_;
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// Frequencies that are powers of a base, base^-(i / n), times a common factor.
struct Powers {
  double base, factor;
};
std::optional<Powers> powers_of(const Frequencies& f) {
  if (f.size() < 2) return {};
  const double ratio = f[0] / f[1];
  for (size_t i = 1; i < f.size(); ++i)
    if (std::fabs(f[i - 1] / f[i] / ratio - 1) > 1e-4) return {};
  return Powers{std::pow(f[0] / f.back(), static_cast<double>(f.size()) / static_cast<double>(f.size() - 1)), f[0]};
}

Frequencies frequencies_of(double base, double factor, size_t n) {
  Frequencies out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(factor * std::pow(base, -static_cast<double>(i) / static_cast<double>(n)));
  return out;
}

// Rounds off the table's rounding error: 9999.99 becomes 10000.
double tidied(double base) {
  const double unit = std::pow(10, std::floor(std::log10(base)) - 3), near = std::nearbyint(base / unit) * unit;
  return std::fabs(near / base - 1) < 1e-3 ? near : base;
}

void base_causes(const TableCauses& make, const Frequencies& f, Causes& out) {
  const auto powers = powers_of(f);
  if (!powers) {
    // Most methods of context extension stretch low frequencies only, so the highest ones determine the base.
    const double base = tidied(std::pow(f[0] / f[1], static_cast<double>(f.size())));
    const std::string plain = "use base " + number(base) + " at all frequencies",
                      scaled = "be scaled at low frequencies";
    out.known.push_back(
        make.changed("the rotary angles " + plain + " and should " + scaled,
                     "the rotary angles are scaled at low frequencies and should " + plain,
                     [base](Table& table) { table.frequencies = frequencies_of(base, 1, table.frequencies.size()); }));
    return;
  }
  const double now = tidied(powers->base);
  const auto of_base = [make, now, factor = powers->factor](double base) {
    const auto text = [](double wrong, double right) {
      return "the rotary base (rope_theta) is " + number(wrong) + " instead of " + number(right);
    };
    return make.changed(text(base, now), text(now, base), [base, factor](Table& table) {
      table.frequencies = frequencies_of(base, factor, table.frequencies.size());
    });
  };
  for (const double base : {1e4, 1e5, 1.5e5, 1.6e5, 2.5e5, 5e5, 1e6, 2e6, 5e6, 1e7, 1e8})
    if (std::fabs(base / now - 1) > 1e-3) out.known.push_back(of_base(base));
  out.fits.push_back({.low = 100, .high = 1e9, .cause = of_base});
}

// All angles times one factor: interpolated positions.
void stretch_causes(const TableCauses& make, Causes& out) {
  const auto stretched = [make](double factor) {
    const auto text = [](double by) { return "the rotary angles are " + number(by) + " times the right ones"; };
    return make.changed(text(factor), text(1 / factor), [factor](Table& table) {
      for (double& f : table.frequencies) f *= factor;
    });
  };
  for (const double factor : {2, 4, 8, 16, 32}) {
    out.known.push_back(stretched(factor));
    out.known.push_back(stretched(1 / factor));
  }
}

constexpr const char* kSplitHalves = "the rotary embedding rotates the halves of a head instead of adjacent channels";
constexpr const char* kInterleaved =
    "the rotary embedding rotates adjacent channels (interleaved) instead of the halves of a head";

Cause pairing_cause(const TableCauses& make, bool neighbours) {
  Cause out = make.changed(neighbours ? kSplitHalves : kInterleaved, neighbours ? kInterleaved : kSplitHalves,
                           [](Table& table) { table.neighbours ^= true; });
  out.plant = [tables = out.plant](Piece& p) {
    tables(p);
    for (fbs::OperatorT& op : p.operators)
      if (auto* rotary = op.params.AsRotaryEmbedding()) rotary->interleaved ^= true;
  };
  return out;
}

// ---- positions ----

// The input of attention that the operator leads to; nullopt if it is outside the piece.
std::optional<size_t> input_of_attention(const Piece& piece, size_t k) {
  std::set<TensorId> from{piece.operators[k].outputs.front()};
  for (size_t i = k + 1; i < piece.operators.size(); ++i) {
    const fbs::OperatorT& op = piece.operators[i];
    const auto read = std::find_if(op.inputs.begin(), op.inputs.end(), [&](TensorId t) { return from.contains(t); });
    if (read == op.inputs.end()) continue;
    if (op.params.type == fbs::OpParams::Attention) return static_cast<size_t>(read - op.inputs.begin());
    from.insert(op.outputs.begin(), op.outputs.end());
  }
  return {};
}

struct Angles {
  Array cos, sin;
};

// The angles `by` positions later: the angle between consecutive positions is added. nullopt if the positions are not
// consecutive.
std::optional<Angles> moved(const Array& cos, const Array& sin, int by) {
  if (cos.shape.rank != 2 || cos.shape != sin.shape || cos.shape[0] < 3) return {};
  const auto columns = static_cast<size_t>(cos.shape[1]);
  Angles out{cos, sin};
  for (size_t i = 0; i < cos.values.size(); ++i) {
    const size_t column = i % columns;
    const auto step = [&](size_t place) {
      const size_t a = place * columns + column, b = a + columns;
      return std::atan2(sin.values[b] * cos.values[a] - cos.values[b] * sin.values[a],
                        cos.values[b] * cos.values[a] + sin.values[b] * sin.values[a]);
    };
    const double angle = step(0);
    if (i + columns < cos.values.size() && std::fabs(step(i / columns) - angle) > 1e-4) return {};
    const double c = std::cos(by * angle), s = std::sin(by * angle);
    out.cos.values[i] = cos.values[i] * c - sin.values[i] * s;
    out.sin.values[i] = sin.values[i] * c + cos.values[i] * s;
  }
  return out;
}

// Positions of queries and keys that are off by one from each other. A shift of both by one changes nothing.
void place_causes(const Suspect& suspect, size_t k, std::vector<Cause>& out) {
  const fbs::OperatorT& op = suspect.piece.operators[k];
  const Array *cos = suspect.value(op.inputs[1]), *sin = suspect.value(op.inputs[2]);
  const auto role = input_of_attention(suspect.piece, k);
  if (cos == nullptr || sin == nullptr || role == 1u)
    return;  // a shift of the keys equals the opposite shift of the queries
  for (const int by : {1, -1}) {
    const auto angles = moved(*cos, *sin, by);
    if (!angles) return;
    const auto text = [&](bool ahead) {
      const std::string whose = role ? "the queries' are one " : "they are one ", of = role ? " the keys'" : "";
      return "the positions of the rotary embedding are off by one: " + whose +
             (ahead ? "ahead" + (role ? " of" + of : "") : "behind" + of);
    };
    out.push_back({.text = text(by > 0), .repaired = text(by < 0), .from = k, .plant = [k, angles = *angles](Piece& p) {
                     Edit edit(p, k);
                     p.operators[k].inputs[1] = edit.add_constant("cos", angles.cos);
                     p.operators[k].inputs[2] = edit.add_constant("sin", angles.sin);
                   }});
  }
}

// ---- sections: the positions of an image have several axes (time, height, width); each rotates some channels ----

// The axis of each channel, from a mask [axes,...,channels] with a single one per channel.
std::optional<std::vector<int>> axes_of(const Array& mask) {
  if (mask.shape.rank < 2 || mask.shape[0] < 2 || mask.shape[0] > 4) return {};
  const auto channels = static_cast<size_t>(mask.shape[mask.shape.rank - 1]);
  if (mask.values.size() != channels * static_cast<size_t>(mask.shape[0])) return {};
  std::vector<int> out(channels, -1);
  for (size_t i = 0; i < mask.values.size(); ++i) {
    if (mask.values[i] != 0 && (mask.values[i] != 1 || out[i % channels] >= 0)) return {};
    if (mask.values[i] == 1) out[i % channels] = static_cast<int>(i / channels);
  }
  const auto half = static_cast<std::ptrdiff_t>(channels / 2);
  if (channels % 2 != 0 || !std::equal(out.begin(), out.begin() + half, out.begin() + half)) return {};
  if (std::count(out.begin(), out.end(), -1) > 0) return {};
  return out;
}

struct Sections {
  size_t k;
  TensorId mask;
  std::vector<int> axes;  // by channel; both halves are equal
};

Cause section_cause(const Sections& s, std::string text, std::string repaired, std::vector<int> axes) {
  return {.text = std::move(text),
          .repaired = std::move(repaired),
          .from = s.k,
          .plant = [mask = s.mask, axes = std::move(axes)](Piece& p) {
            std::vector<double>& values = p.known.at(mask).values;
            for (size_t i = 0; i < values.size(); ++i)
              values[i] = axes[i % axes.size()] == static_cast<int>(i / axes.size()) ? 1 : 0;
          }};
}

void section_causes(const Sections& s, std::vector<Cause>& out) {
  const size_t pairs = s.axes.size() / 2;
  const int count = *std::max_element(s.axes.begin(), s.axes.end()) + 1;
  const std::string sections = "the sections of the rotary embedding ";
  for (int a = 0; a < count; ++a)
    for (int b = a + 1; b < count; ++b) {
      std::vector<int> axes = s.axes;
      for (int& axis : axes) axis = axis == a ? b : axis == b ? a : axis;
      const std::string text = sections + "are exchanged: those of axes " + std::to_string(a) + " and " +
                               std::to_string(b) + " (of time, height, width)";
      out.push_back(section_cause(s, text, text, std::move(axes)));
    }
  std::vector<size_t> sizes(static_cast<size_t>(count));
  for (size_t i = 0; i < pairs; ++i) ++sizes[static_cast<size_t>(s.axes[i])];
  std::vector<int> beside, in_turns;
  for (size_t axis = 0; axis < sizes.size(); ++axis) beside.insert(beside.end(), sizes[axis], static_cast<int>(axis));
  for (size_t i = 0; i < pairs; ++i) {  // the first axis takes over from axes that are used up
    const size_t axis = i % sizes.size();
    in_turns.push_back(i / sizes.size() < sizes[axis] ? static_cast<int>(axis) : 0);
  }
  const std::string are_beside = sections + "are contiguous and should be interleaved",
                    take_turns = sections + "are interleaved and should be contiguous";
  for (const auto& [axes, text, repaired] :
       {std::tuple{&beside, &are_beside, &take_turns}, {&in_turns, &take_turns, &are_beside}}) {
    std::vector<int> both = *axes;
    both.insert(both.end(), axes->begin(), axes->end());
    if (both != s.axes) out.push_back(section_cause(s, *text, *repaired, both));
  }
}

}  // namespace

void rotary_causes(const Suspect& suspect, Causes& out) {
  for (size_t k = 0; k < suspect.piece.operators.size(); ++k)
    if (suspect.piece.operators[k].params.type == fbs::OpParams::RotaryEmbedding) place_causes(suspect, k, out.known);
  for (size_t k = 0; k < suspect.piece.operators.size(); ++k)
    for (const TensorId input : suspect.piece.operators[k].inputs)
      if (suspect.piece.is_constant(input))
        if (const auto axes = axes_of(suspect.piece.known.at(input))) section_causes({k, input, *axes}, out.known);
  const Tables tables = tables_in(suspect.piece);
  if (tables.all.empty()) return;
  const TableCauses make(suspect, tables);
  const Table& first = tables.all.front();
  const auto alike = [&](const Table& table) {
    return table.neighbours == first.neighbours && table.frequencies.size() == first.frequencies.size() &&
           std::equal(table.frequencies.begin(), table.frequencies.end(), first.frequencies.begin(),
                      [](double a, double b) { return std::fabs(a / b - 1) < 1e-3; });
  };
  if (!std::all_of(tables.all.begin(), tables.all.end(), alike)) return;
  if (first.frequencies.size() < 2) return;
  out.known.push_back(pairing_cause(make, first.neighbours));
  base_causes(make, first.frequencies, out);
  stretch_causes(make, out);
}

}  // namespace ferry::bisect

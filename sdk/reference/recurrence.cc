// Step by step, as the schema writes it.
#include "sdk/operators/recurrence.h"

#include <algorithm>
#include <cmath>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

double apply(const fbs::GateFunction& function, double x) {
  using Kind = fbs::GateFunctionKind;
  const double alpha = static_cast<double>(function.alpha()), beta = static_cast<double>(function.beta());
  switch (function.kind()) {
    case Kind::Sigmoid: return 1 / (1 + std::exp(-x));
    case Kind::Tanh: return std::tanh(x);
    case Kind::Relu: return maximum(x, 0);
    case Kind::Affine: return alpha * x + beta;
    case Kind::LeakyRelu: return x < 0 ? alpha * x : x;
    case Kind::ThresholdedRelu: return x <= alpha ? 0 : x;
    case Kind::ScaledTanh: return alpha * std::tanh(beta * x);
    case Kind::HardSigmoid: return clamp(alpha * x + beta, 0, 1);
    case Kind::Elu: return x < 0 ? alpha * std::expm1(x) : x;
    case Kind::Softsign: return x / (1 + std::fabs(x));
    case Kind::Softplus: return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
  }
  return 0;
}

struct Cell {
  const fbs::Recurrence& p;
  const std::vector<double>& r;
  size_t hidden;
  std::vector<double> h, c;

  // Row `row` of r times `v`.
  double product(size_t row, const std::vector<double>& v) const {
    double sum = 0;
    for (size_t j = 0; j < hidden; ++j) sum += r[row * hidden + j] * v[j];
    return sum;
  }
  double extra(size_t row, size_t i) const {
    return r[(static_cast<size_t>(size_of(p).gates) * hidden + row) * hidden + i];
  }
  double f(double x) const { return apply(*p.f(), clamp(x, -p.clip(), p.clip())); }
  double g(double x) const { return apply(*p.g(), clamp(x, -p.clip(), p.clip())); }

  void step(const double* x) {
    const std::vector<double> past = h, cell = c;
    const auto input = [&](size_t gate, size_t i) { return x[gate * hidden + i] + product(gate * hidden + i, past); };
    std::vector<double> masked(hidden);
    if (p.cell() == fbs::RecurrentCell::Gru)
      for (size_t i = 0; i < hidden; ++i) masked[i] = f(input(1, i)) * past[i];
    for (size_t i = 0; i < hidden; ++i) {
      if (p.cell() == fbs::RecurrentCell::Rnn) {
        h[i] = f(input(0, i));
      } else if (p.cell() == fbs::RecurrentCell::Gru) {
        const size_t row = 2 * hidden + i;
        const double rest =
            p.reset_after() ? f(input(1, i)) * (product(row, past) + extra(0, i)) : product(row, masked);
        const double z = f(input(0, i));
        h[i] = (1 - z) * g(x[row] + rest) + z * past[i];
      } else {
        const auto peep = [&](size_t row, double value) { return p.peepholes() ? extra(row, i) * value : 0.0; };
        const double in = f(input(0, i) + peep(0, cell[i]));
        const double forget = p.input_forget() ? 1 - in : f(input(2, i) + peep(2, cell[i]));
        c[i] = forget * cell[i] + in * g(input(3, i));
        h[i] = f(input(1, i) + peep(1, c[i])) * apply(*p.h(), c[i]);
      }
    }
  }
};

}  // namespace

void recurrence(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Recurrence& p = *op.params_as_Recurrence();
  const Array &x = *inputs[0], &r = *inputs[1], &state = *inputs[2];
  const auto steps = static_cast<size_t>(x.shape[0]), samples = static_cast<size_t>(x.shape[1]);
  const auto hidden = static_cast<size_t>(r.shape[1]), parts = static_cast<size_t>(state.shape[0]);
  const size_t width = static_cast<size_t>(x.shape[2]);
  for (size_t n = 0; n < samples; ++n) {
    const auto initial = [&](size_t part) {
      const size_t row = state.shape[1] == 1 ? part : part * samples + n;
      const double* from = state.values.data() + row * hidden;
      return std::vector<double>(from, from + hidden);
    };
    Cell cell{p, r.values, hidden, initial(0), parts > 1 ? initial(1) : std::vector<double>()};
    const auto put = [&](size_t row, const std::vector<double>& values) {
      std::copy(values.begin(), values.end(), output.values.data() + (row * samples + n) * hidden);
    };
    for (size_t i = 0; i < steps; ++i) {
      const size_t t = p.reverse() ? steps - 1 - i : i;
      if (inputs.size() > 3 && static_cast<double>(t) >= inputs[3]->values[n]) {
        put(parts + t, std::vector<double>(hidden, 0.0));
        continue;
      }
      cell.step(x.values.data() + (t * samples + n) * width);
      put(parts + t, cell.h);
    }
    put(0, cell.h);
    if (parts > 1) put(1, cell.c);
  }
}

}  // namespace ferry::reference

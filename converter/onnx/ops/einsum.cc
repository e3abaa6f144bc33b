// Einsum: sums of products over named dimensions. Two factors at a time become a matrix product: shared dimensions of
// the result are batch dimensions, other shared dimensions are summed over.
#include <algorithm>
#include <map>
#include <numeric>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

using Labels = std::vector<int>;  // letters; dimensions of an ellipsis are negative, the last one is -1

struct Factor {
  Tensor x;
  Labels labels;

  int64_t size(int label) const {
    const auto at = std::find(labels.begin(), labels.end(), label);
    return dims_of(x)[static_cast<size_t>(at - labels.begin())];
  }
};

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

// "b...ij" for a factor of `rank` dimensions. `ellipsis`: its number of dimensions if `rank` is -1.
Labels parse_term(Op& op, const std::string& term, int rank, int ellipsis) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0) {
      const int count = rank < 0 ? ellipsis : rank - static_cast<int>(term.size() - 3);
      for (int k = count; k > 0; --k) labels.push_back(-k);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
      labels.push_back(term[i]);
    } else {
      op.refuse("attribute 'equation' has a term '%s'", term.c_str());
    }
  }
  if (rank >= 0 && static_cast<int>(labels.size()) != rank)
    op.refuse("term '%s' does not fit an input of %d dimensions", term.c_str(), rank);
  return labels;
}

struct Equation {
  std::vector<Labels> terms;
  Labels output;
};

Equation parse(Op& op) {
  std::string text = op.text("equation", "");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  Equation e;
  int ellipsis = 0;
  const std::string left = text.substr(0, arrow);
  for (size_t begin = 0; begin <= left.size();) {
    const size_t end = std::min(left.find(',', begin), left.size());
    if (e.terms.size() == op.input_count()) op.refuse("attribute 'equation' has more terms than there are inputs");
    e.terms.push_back(parse_term(op, left.substr(begin, end - begin), op.rank(e.terms.size()), 0));
    for (const int label : e.terms.back()) ellipsis = std::max(ellipsis, -label);
    begin = end + 1;
  }
  if (e.terms.size() != op.input_count())
    op.refuse("attribute 'equation' has %zu terms for %zu inputs", e.terms.size(), op.input_count());
  if (arrow != std::string::npos) {
    e.output = parse_term(op, text.substr(arrow + 2), -1, ellipsis);
    return e;
  }
  // Implicit output: the ellipsis, then labels that occur once, in alphabetical order.
  std::map<int, int> counts;
  for (const Labels& term : e.terms)
    for (const int label : term) ++counts[label];
  for (const auto& [label, count] : counts)
    if (label < 0 || count == 1) e.output.push_back(label);
  return e;
}

// Transposes the factor to the order of `labels`.
Tensor ordered(const Factor& f, const Labels& labels) {
  std::vector<int32_t> perm;
  for (const int label : labels)
    perm.push_back(static_cast<int32_t>(std::find(f.labels.begin(), f.labels.end(), label) - f.labels.begin()));
  return std::is_sorted(perm.begin(), perm.end()) ? f.x : ferry::transpose(f.x, perm);
}

// Takes the diagonal of a label that occurs twice in a term.
Factor without_repeats(Op& op, Factor f) {
  for (size_t i = 0; i < f.labels.size(); ++i) {
    const auto again = std::find(f.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, f.labels.end(), f.labels[i]);
    if (again == f.labels.end()) continue;
    const auto j = static_cast<size_t>(again - f.labels.begin());
    Dims dims = dims_of(f.x);
    const int64_t n = dims[i];
    if (dims[j] != n) op.refuse("a diagonal of %s", to_string(dims).c_str());
    std::vector<int32_t> perm;
    Labels labels;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (d == i || d == j) continue;
      perm.push_back(static_cast<int32_t>(d));
      labels.push_back(f.labels[d]);
    }
    perm.insert(perm.end(), {static_cast<int32_t>(i), static_cast<int32_t>(j)});
    labels.push_back(f.labels[i]);
    Dims flat = dims_of(ferry::transpose(f.x, perm));
    flat.resize(flat.size() - 2);
    flat.push_back(n * n);
    std::vector<int64_t> positions;
    for (int64_t p = 0; p < n; ++p) positions.push_back(p * (n + 1));
    const Tensor squares = reshape_to(ferry::transpose(f.x, perm), flat);
    return without_repeats(op, {pick(op, squares, static_cast<int>(flat.size()) - 1, positions), labels});
  }
  return f;
}

// Sums over labels that are not `needed`.
Factor summed(const Factor& f, const Labels& needed) {
  std::vector<int> axes;
  Labels left;
  for (size_t i = 0; i < f.labels.size(); ++i) {
    if (has(needed, f.labels[i]))
      left.push_back(f.labels[i]);
    else
      axes.push_back(static_cast<int>(i));
  }
  return {reduce(f.x, fbs::ReduceKind::Sum, axes, false), left};
}

// Removes dimensions of 1 that broadcast against the other factor.
Factor without_broadcast(const Factor& f, const Factor& other) {
  Dims dims;
  Labels labels;
  for (const int label : f.labels) {
    if (f.size(label) == 1 && has(other.labels, label) && other.size(label) != 1) continue;
    dims.push_back(f.size(label));
    labels.push_back(label);
  }
  return {reshape_to(f.x, dims), labels};
}

Labels joined(Labels a, const Labels& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

int64_t elements(const Factor& f, const Labels& labels) {
  return std::accumulate(labels.begin(), labels.end(), int64_t{1},
                         [&](int64_t n, int label) { return n * f.size(label); });
}

// The product of two factors, summed over labels that are not `needed`.
Factor product(Op& op, Factor a, Factor b, const Labels& needed) {
  if (op.graph().is_constant(a.x.id)) std::swap(a, b);  // a constant is the weight
  a = summed(without_broadcast(a, b), joined(needed, b.labels));
  b = summed(without_broadcast(b, a), joined(needed, a.labels));
  Labels samples, rows, columns, inner;
  for (const int label : a.labels)
    (!has(b.labels, label) ? rows : has(needed, label) ? samples : inner).push_back(label);
  for (const int label : b.labels)
    if (!has(a.labels, label)) columns.push_back(label);
  for (const int label : joined(samples, inner))
    if (a.size(label) != b.size(label))
      op.refuse("a dimension is both %lld and %lld", static_cast<long long>(a.size(label)),
                static_cast<long long>(b.size(label)));
  const int64_t n = elements(a, samples), r = elements(a, rows), c = elements(b, columns), k = elements(a, inner);
  const Labels by_rows = joined(joined(samples, rows), inner);
  Factor out;
  out.labels = joined(joined(samples, rows), columns);
  Dims dims;
  for (const int label : out.labels) dims.push_back(has(a.labels, label) ? a.size(label) : b.size(label));
  Tensor y;
  if (samples.empty() && op.graph().is_constant(b.x.id)) {
    const Tensor weight = reshape_to(ordered(b, joined(columns, inner)), {c, k});
    y = op.graph().add_op("", fbs::LinearT{}, {reshape_to(ordered(a, by_rows), {r, k}), weight});
  } else if (inner.empty()) {
    y = reshape_to(ordered(a, by_rows), {n, r, 1}) * reshape_to(ordered(b, joined(samples, columns)), {n, 1, c});
  } else {
    // Uses transposed operands as they are stored, without a Transpose.
    const Labels by_inner = joined(joined(samples, inner), columns),
                 by_columns = joined(joined(samples, columns), inner);
    const bool transpose_a = a.labels != by_rows && a.labels == joined(joined(samples, inner), rows);
    const bool transpose_b = b.labels != by_inner && b.labels == by_columns;
    const Tensor left = transpose_a ? reshape_to(a.x, {n, k, r}) : reshape_to(ordered(a, by_rows), {n, r, k});
    const Tensor right = transpose_b ? reshape_to(b.x, {n, c, k}) : reshape_to(ordered(b, by_inner), {n, k, c});
    y = multiply(op, left, right, transpose_a, transpose_b);
  }
  out.x = reshape_to(y, dims);
  return out;
}

}  // namespace

void einsum(Op& op) {
  const Equation e = parse(op);
  std::vector<Factor> factors;
  for (size_t i = 0; i < e.terms.size(); ++i) factors.push_back(without_repeats(op, {op.tensor(i), e.terms[i]}));
  Factor all = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) {
    Labels needed = e.output;
    for (size_t k = i + 1; k < factors.size(); ++k) needed = joined(needed, factors[k].labels);
    all = product(op, all, factors[i], needed);
  }
  all = summed(all, e.output);
  for (const int label : e.output)
    if (!has(all.labels, label)) op.refuse("the result of attribute 'equation' has a label that no input has");
  op.set(ordered(all, e.output));
}

}  // namespace ferry::onnx

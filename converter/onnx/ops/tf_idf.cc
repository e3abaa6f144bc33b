// TfIdfVectorizer over integers: how often each n-gram of a pool occurs. Tokens are compared with the pool at every
// position.
#include <algorithm>
#include <map>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

using Binary = fbs::BinaryKind;

constexpr int64_t kMaxCompared = int64_t{1} << 26;  // tokens with n-grams, at once
constexpr int64_t kMaxOutputs = int64_t{1} << 20;

// How often the n-grams [G,n] occur in tokens [N,C], with `step` between tokens: Int32 [N,G].
Tensor occurrences(Op& op, Tensor tokens, const std::vector<int64_t>& grams, int64_t n, int64_t step) {
  const Dims dims = dims_of(tokens);
  const int64_t count = static_cast<int64_t>(grams.size()) / n, places = dims[1] - step * (n - 1);
  if (count_elements({dims[0], count, places}) > kMaxCompared)
    op.refuse("%lld n-grams are looked up at %lld positions", static_cast<long long>(count),
              static_cast<long long>(places));
  std::optional<Tensor> hits;
  for (int64_t j = 0; j < n; ++j) {
    std::vector<int64_t> column;
    for (int64_t g = 0; g < count; ++g) column.push_back(grams[static_cast<size_t>(g * n + j)]);
    const Tensor wanted =
        add_constant(op.graph(), op.node().name + ".pool", make_array(Type::Int64, {1, count, 1}, column));
    const Tensor part = ferry::slice(tokens, 1, static_cast<int>(j * step), static_cast<int>(places));
    const Tensor same = binary(Binary::Equal, reshape_to(part, {dims[0], 1, places}), wanted);
    hits = hits ? binary(Binary::And, *hits, same) : same;
  }
  return reduce(*hits, fbs::ReduceKind::Sum, {2}, false);
}

struct Grams {
  int64_t n = 1;               // tokens of each
  std::vector<int64_t> grams;  // one after the other
};

// The n-grams by their length.
std::vector<Grams> read_pools(Op& op, const std::vector<int64_t>& all) {
  const std::vector<int64_t> starts = op.integers("ngram_counts");
  std::vector<Grams> pools;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t n = static_cast<int64_t>(i) + 1, begin = starts[i];
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : static_cast<int64_t>(all.size());
    if (begin < 0 || end < begin || end > static_cast<int64_t>(all.size()) || (end - begin) % n != 0)
      op.refuse("attribute 'ngram_counts' gives n-grams of %lld from %lld to %lld of %zu", static_cast<long long>(n),
                static_cast<long long>(begin), static_cast<long long>(end), all.size());
    pools.push_back({n, {all.begin() + begin, all.begin() + end}});
    std::map<std::vector<int64_t>, bool> seen;
    for (int64_t at = begin; at < end; at += n)
      if (!seen.emplace(std::vector<int64_t>(all.begin() + at, all.begin() + at + n), true).second)
        op.refuse("attribute 'pool_int64s' has an n-gram twice");
  }
  return pools;
}

}  // namespace

void tf_idf_vectorizer(Op& op) {
  if (op.has_attribute("pool_strings")) op.refuse("its n-grams are strings, which are not supported");
  const Dims dims = op.dims(0);
  if (dims.empty() || dims.size() > 2 || count_elements(dims) == 0)
    op.refuse("tokens of %s, expected [C] or [N,C]", to_string(dims).c_str());
  const std::vector<int64_t> pool = op.integers("pool_int64s"), indexes = op.integers("ngram_indexes");
  const int64_t shortest = op.integer("min_gram_length", 0), longest = op.integer("max_gram_length", 0),
                skips = op.integer("max_skip_count", 0);
  if (shortest < 1 || longest < shortest || longest > 64 || skips < 0 || skips > 1 << 10)
    op.refuse("n-grams of %lld to %lld tokens with %lld skips", static_cast<long long>(shortest),
              static_cast<long long>(longest), static_cast<long long>(skips));
  const std::string mode = op.text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    op.refuse("attribute 'mode' is '%s', expected TF, IDF or TFIDF", mode.c_str());
  const std::vector<double> weights = op.numbers("weights");
  const std::vector<Grams> pools = read_pools(op, pool);

  // Where each column of the output is among the counts; columns of no n-gram read the zeros in front.
  int64_t outputs = 0;
  for (const int64_t index : indexes) {
    if (index < 0 || index >= kMaxOutputs)
      op.refuse("attribute 'ngram_indexes' has a value of %lld", static_cast<long long>(index));
    outputs = std::max(outputs, index + 1);
  }
  size_t grams = 0;
  for (const Grams& each : pools) grams += each.grams.size() / static_cast<size_t>(each.n);
  if (grams == 0 || indexes.size() != grams || (!weights.empty() && weights.size() != grams))
    op.refuse("%zu n-grams with %zu indexes and %zu weights", grams, indexes.size(), weights.size());
  std::vector<int64_t> columns(static_cast<size_t>(outputs), 0);
  for (size_t i = 0; i < grams; ++i) {
    int64_t& column = columns[static_cast<size_t>(indexes[i])];
    if (column != 0) op.refuse("attribute 'ngram_indexes' has %lld twice", static_cast<long long>(indexes[i]));
    column = static_cast<int64_t>(i) + 1;
  }
  // The definition counts weights as n-grams, its implementations as columns.
  for (size_t i = 0; i < weights.size(); ++i)
    if (outputs != static_cast<int64_t>(grams) || weights[static_cast<size_t>(indexes[i])] != weights[i])
      op.refuse("attribute 'weights' is in another order than its columns");

  const int64_t rows = dims.size() == 2 ? dims[0] : 1;
  if (is_float(op.type(0))) op.refuse("tokens of type %s, expected integers", type_name(op.type(0)).c_str());
  // Constants stay integers: as Float32, large ones would be equal to others.
  const Tensor given = op.known(0) ? add_constant(op.graph(), op.input_name(0), op.array(0, "X")) : op.tensor(0);
  const Tensor tokens = reshape_to(given, {rows, dims.back()});
  const auto zeros = [&](int64_t count) {
    const Dims size = {rows, count};
    return add_constant(op.graph(), op.node().name + ".none",
                        make_array(Type::Int32, size, std::vector<int64_t>(static_cast<size_t>(count_computed(size)))));
  };
  std::vector<Tensor> counts = {zeros(1)};
  for (const Grams& each : pools) {
    if (each.grams.empty()) continue;
    std::optional<Tensor> sum;
    for (int64_t skip = 0; skip <= (each.n == 1 ? 0 : skips); ++skip) {
      if (each.n < shortest || each.n > longest || (skip + 1) * (each.n - 1) >= dims.back()) break;
      const Tensor found = occurrences(op, tokens, each.grams, each.n, skip + 1);
      sum = sum ? *sum + found : found;
    }
    counts.push_back(sum ? *sum : zeros(static_cast<int64_t>(each.grams.size()) / each.n));
  }
  Tensor y = cast_to(pick(op, ferry::concat(counts, 1), 1, columns), fbs::DType::Float32);
  if (mode == "IDF") y = unary(y, fbs::UnaryKind::Clamp, 0, 1);
  if (mode != "TF" && !weights.empty())
    y = y * add_constant(op.graph(), op.node().name + ".weights", make_array(Type::Float32, {outputs}, weights));
  op.set(dims.size() == 2 ? y : reshape_to(y, {outputs}), Type::Float32);
}

}  // namespace ferry::onnx

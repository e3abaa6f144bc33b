// Rotary position embeddings with a cache of cosines and sines.
#include <algorithm>

#include "converter/onnx/ops/microsoft/microsoft.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx::microsoft {

Tensor rows_at(Op& op, size_t cache, const Argument& positions) {
  const Dims table = op.dims(cache);
  if (table.size() != 2) op.refuse("the cache is %s, expected two dimensions", to_string(table).c_str());
  if (const Array* known = std::get_if<Array>(&positions.value)) {
    std::vector<int64_t> rows = known->ints();
    for (const int64_t row : rows)
      if (row < 0 || row >= table[0])
        op.refuse("position %lld is outside the cache of %lld", static_cast<long long>(row),
                  static_cast<long long>(table[0]));
    // One table for all samples if their positions are equal.
    const int64_t length = known->dims[1];
    bool same = true;
    for (size_t i = 0; i < rows.size(); ++i) same = same && rows[i] == rows[i % static_cast<size_t>(length)];
    if (same) rows.resize(static_cast<size_t>(length));
    const Dims to = {same ? 1 : known->dims[0], length, 1, table[1]};
    if (op.known(cache))
      return add_constant(op.graph(), op.input_name(cache), pick(op.array(cache, "the cache"), 0, rows).reshaped(to));
    return reshape_to(pick(op, op.tensor(cache), 0, rows), to);
  }
  const Tensor at = std::get<Tensor>(positions.value);
  const Dims dims = dims_of(at);
  const Tensor rows = op.graph().add_op("", fbs::GatherT{}, {op.tensor(cache), at});
  return reshape_to(rows, {dims[0], dims[1], 1, table[1]});
}

namespace {

// Positions [B,L]: as given, or counted from one given position.
Argument positions_of(Op& op, size_t input, int64_t batch, int64_t length) {
  const Dims dims = op.dims(input);
  if (count_elements(dims) == 1 && dims.size() < 2) {
    if (op.known(input)) {
      const int64_t first = op.array(input, "position_ids").ints()[0];
      std::vector<int64_t> rows;
      for (int64_t i = 0; i < length; ++i) rows.push_back(first + i);
      return make_array(Type::Int64, {1, length}, rows);
    }
    return reshape_to(op.tensor(input) + counted(op, 0, length), {1, length});
  }
  if (dims != Dims{batch, length})
    op.refuse("position_ids are %s, expected [1] or [%lld,%lld]", to_string(dims).c_str(),
              static_cast<long long>(batch), static_cast<long long>(length));
  return argument(op, input);
}

}  // namespace

void rotary_embedding(Op& op) {
  const Dims dims = op.dims(0);
  const int64_t given = op.integer("rotary_embedding_dim", 0);
  if (op.rank(2) != 2 || count_elements(op.dims(2)) == 0)
    op.refuse("cos_cache is %s, expected two dimensions", to_string(op.dims(2)).c_str());
  if (given != 0 && op.dims(2)[1] * 2 != given)
    op.refuse("attribute 'rotary_embedding_dim' is %lld, the cache turns %lld channels", static_cast<long long>(given),
              static_cast<long long>(op.dims(2)[1] * 2));
  Tensor x = op.tensor(0);
  if (dims.size() == 4) {
    x = swap_heads(x);
  } else {
    if (dims.size() != 3) op.refuse("an input of %s, expected three or four dimensions", to_string(dims).c_str());
    int64_t heads = op.integer("num_heads", 0);
    if (heads == 0 && given != 0) op.refuse("attribute 'rotary_embedding_dim' without 'num_heads'");
    if (heads == 0) heads = dims[2] / (op.dims(2)[1] * 2);
    x = split_heads(op, x, heads);
  }
  const Dims d = dims_of(x);
  const Argument positions = positions_of(op, 1, d[0], d[1]);
  const Tensor y =
      onnx::rotate(op, x, rows_at(op, 2, positions), rows_at(op, 3, positions), op.integer("interleaved", 0) != 0);
  op.set(dims.size() == 4 ? swap_heads(y) : reshape_to(y, dims));
}

void gemma_rotary_embedding(Op& op) {
  const Dims dims = op.dims(0);
  if (dims.size() != 3) op.refuse("emb is %s, expected three dimensions", to_string(dims).c_str());
  const Tensor angles = reshape_to(op.floating(0), {dims[0], 1, dims[1], dims[2]});
  const Tensor cos = unary(angles, fbs::UnaryKind::Cos), sin = unary(angles, fbs::UnaryKind::Sin);
  for (const size_t i : {0, 1}) {
    const Tensor y = op.tensor(1 + 2 * i) * cos + op.tensor(2 + 2 * i) * sin;
    op.set(i, y, op.type(1));
  }
}

}  // namespace ferry::onnx::microsoft

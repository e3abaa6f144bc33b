#include <algorithm>
#include <bit>

#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/strided_copy.h"
#include "sdk/gpu/lowering/tiles.h"

namespace ferry::gpu {
namespace {

// One binding from `first` to `last`, workspaces of one step.
Operand both(const Operand& first, const Operand& last) {
  return Operand::workspace(first.offset, last.offset + last.bytes - first.offset);
}

// Copies input `i` with dimensions `dims` into a workspace.
Status copy(unsigned i, std::vector<CopiedDim> dims, Lowering* out, Operand* copied) {
  uint64_t rows = 1;
  for (const CopiedDim& dim : dims) rows *= word(dim.size);
  const uint32_t length = word(dims.back().size);
  *copied = out->workspace(rows / length * ceil_div(length, 4) * quad_bytes(out->problem().storage));
  return add_strided_copy(std::move(dims), 0, 0, out, out->input(i), *copied);
}

// [n][s][heads * d] to [n][heads][s][d].
Status split_heads(unsigned i, uint32_t heads, Lowering* out, Operand* split) {
  const Shape& shape = out->problem().inputs[i];
  const int32_t length = shape[2] / static_cast<int32_t>(heads);
  return copy(i,
              {{.size = shape[0], .stride = stored_stride(shape, 0)},
               {.size = static_cast<int32_t>(heads), .stride = length},
               {.size = shape[1], .stride = stored_stride(shape, 1)},
               {.size = length, .stride = 1}},
              out, split);
}

// Consecutive biases: constants are packed so, others are copied. `push`: see attention.comp.
Status gather_biases(size_t count, Lowering* out, WordList* push, Operand* biases) {
  const Problem& problem = out->problem();
  Region region;
  std::vector<Operand> copies;
  const bool constant =
      std::find(problem.is_constant.begin() + 3, problem.is_constant.end(), false) == problem.is_constant.end();
  for (unsigned i = 3; i < 3 + count; ++i) {
    const Shape& shape = problem.inputs[i];
    const Rows rows = rows_of(shape);
    uint64_t first = region.quads();
    if (constant) {
      region.pieces.push_back(pack_rows(problem.input_tensor(i), rows.rows, rows.channels));
    } else {
      std::vector<CopiedDim> dims;
      for (int d = 0; d < shape.rank; ++d) dims.push_back({.size = shape[d], .stride = stored_stride(shape, d)});
      FERRY_TRY(copy(i, std::move(dims), out, &copies.emplace_back()));
      first = (copies.back().offset - copies.front().offset) / quad_bytes(problem.storage);
    }
    push->append({word(static_cast<int64_t>(first)), word(shape[0]), word(shape[1]), word(shape[2])});
  }
  if (!copies.empty()) *biases = both(copies.front(), copies.back());
  if (!region.pieces.empty()) *biases = out->weights(std::move(region));
  for (size_t i = count; i < 2; ++i) push->append({0, 0, 0, 0});
  return {};
}

// The queries, followed by the sinks, in one binding. *sinks: the first quad of the sinks.
Status copy_queries(Lowering* out, Operand* queries, uint64_t* sinks) {
  const Problem& problem = out->problem();
  const Rows rows = rows_of(problem.inputs[0]);
  const auto size = [](uint32_t n) { return static_cast<int32_t>(n); };
  const unsigned last = static_cast<unsigned>(problem.inputs.size()) - 1;
  Operand copied, behind;
  FERRY_TRY(
      copy(0, {{.size = size(rows.rows), .stride = size(rows.quads() * 4)}, {.size = size(rows.channels), .stride = 1}},
           out, &copied));
  FERRY_TRY(copy(last, {{.size = problem.inputs[last][0], .stride = 1}}, out, &behind));
  *queries = both(copied, behind);
  *sinks = (behind.offset - copied.offset) / quad_bytes(problem.storage);
  return {};
}

}  // namespace

// Alternative 0: keys and values in place, one binding each; no biases; sinks share the binding of the queries.
// Alternative 1: keys and values copied head by head to one binding; heads whose channels are not whole quads are
// padded on the way in and cropped on the way out.
Status lower_attention(const Problem& problem, int alternative, Lowering* out) {
  const fbs::Attention& p = *problem.op.params_as_Attention();
  const Shape &query = problem.inputs[0], &key = problem.inputs[1], &value = problem.inputs[2];
  const uint32_t heads = word(p.heads()), kv_heads = word(p.kv_heads());
  const uint32_t depth = word(query[2]) / heads, width = word(value[2]) / kv_heads;
  const uint32_t depth_quads = ceil_div(depth, 4), width_quads = ceil_div(width, 4);
  const bool in_place = alternative == 0;
  const uint32_t biases = static_cast<uint32_t>(problem.inputs.size()) - (p.sinks() ? 4 : 3);
  if (in_place && biases > 0) return unsupported("biases with keys and values in place");
  if (!in_place && p.sinks()) return unsupported("sinks with copied keys and values");
  if (in_place && (depth % 4 != 0 || width % 4 != 0)) return unsupported("heads that begin within a quad");

  // An invocation computes a quad of the output for four queries.
  const uint32_t slots = width_quads <= 8 ? 8 : width_quads <= 16 ? 16 : 32, groups = 64 / slots;
  const uint64_t blocks = ceil_div(word(key[1]), 2 * slots);
  if (blocks * (depth_quads + 4 * slots + 24) > kMaxRounds) return unsupported("attention to too many keys");
  const uint32_t tiles = ceil_div(word(query[1]), 4 * groups), chunks = ceil_div(width_quads, slots);

  Call call{.kernel = Kernel::Attention, .workgroup = {slots, groups, 1}};
  FERRY_TRY(gather_biases(biases, out, &call.push, &call.weights));
  const uint64_t quad = quad_bytes(problem.storage);
  uint64_t behind = 0;
  if (in_place) {
    call.operand = out->input(1);
    call.weights = out->input(2);
    if (p.sinks()) FERRY_TRY(copy_queries(out, &call.input, &behind));
  } else {
    Operand keys, values;
    FERRY_TRY(split_heads(1, kv_heads, out, &keys));
    FERRY_TRY(split_heads(2, kv_heads, out, &values));
    call.operand = both(keys, values);
    behind = (values.offset - keys.offset) / quad;
  }
  const Rows rows = rows_of(query), queries{rows.rows * heads, depth}, split{rows.rows * heads, width};
  if (depth % 4 != 0) {
    call.input = out->workspace(queries.total() * quad);
    add_reshape(rows, queries, out->input(0), call.input, out);
  }
  if (width % 4 != 0) call.output = out->workspace(split.total() * quad);
  call.constants = {slots, groups, biases, in_place ? 1u : 0u, p.sinks() ? 1u : 0u};
  call.push.append({word(query[0]), heads, word(query[1]), word(key[1]), heads / kv_heads, depth_quads, width_quads,
                    static_cast<uint32_t>(behind), tiles, chunks, std::bit_cast<uint32_t>(p.scale()),
                    p.causal() ? word(key[1] - query[1]) + 1 : word(key[1]), p.causal() ? 1u : 0u,
                    p.window() > 0 ? word(p.window()) : word(key[1]), std::bit_cast<uint32_t>(p.softcap())});
  call.groups = spread(uint64_t{word(query[0])} * heads * tiles * chunks, 1, problem.limits);
  call.flops = 2 * uint64_t{word(query[0])} * heads * word(query[1]) * word(key[1]) * (depth + width);
  out->add(call);
  if (width % 4 != 0) add_reshape(split, rows_of(problem.output), call.output, {}, out);
  return {};
}

}  // namespace ferry::gpu

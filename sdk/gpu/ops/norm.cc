// Layer, group and global response normalization with one kernel. The last has a reduction before it and a product
// after.
#include <algorithm>
#include <bit>

#include "sdk/gpu/lowering/lowerings.h"

namespace ferry::gpu {
namespace {

// Groups of channels that are normalized over `rows` rows each.
struct Norm {
  uint32_t samples, rows, groups;
  float epsilon;
  enum Kind : uint32_t { Centered, Response, Uncentered } kind = Centered;  // norm.comp: kKind
};

// Normalizes input 0, or call.input, which has the output's shape. `region`: weights [C].
Status add_norm(const Norm& norm, Call call, Region region, Lowering* out) {
  const Problem& problem = out->problem();
  const Rows rows = rows_of(problem.output);
  const uint32_t group_size = rows.channels / norm.groups;
  const uint32_t bundle = norm.groups == 1 || group_size % 4 == 0 ? 1 : group_size % 2 == 0 ? 2 : 4;
  const uint64_t quads = uint64_t{norm.rows} * (bundle * group_size + 3) / 4;
  const uint32_t shares = quads <= 64 ? 8 : quads <= 1024 ? 32 : 128, bundles = shares == 8 ? 8 : 1;
  if (quads > UINT32_MAX || (2 * bundle + 1) * quads / shares > kMaxRounds) return unsupported("groups too long");
  call.kernel = Kernel::Norm;
  call.workgroup = {shares, bundles, 1};
  const uint64_t count = uint64_t{norm.samples} * ((norm.groups + bundle - 1) / bundle);
  call.groups = spread(count, bundles, problem.limits);
  call.constants = {shares, bundles, norm.kind};
  call.push = {norm.samples, norm.rows, norm.groups, group_size, bundle, std::bit_cast<uint32_t>(norm.epsilon)};
  call.flops = uint64_t{rows.rows} * rows.channels * 8;
  return out->add_with_epilogue(std::move(call), std::move(region));
}

Status add_norm(const Norm& norm, Lowering* out) {
  const Problem& problem = out->problem();
  const uint32_t channels = rows_of(problem.output).channels;
  return add_norm(norm, {},
                  {{pack_rows(problem.input_tensor(1), 1, channels), pack_rows(problem.input_tensor(2), 1, channels)}},
                  out);
}

}  // namespace

Status lower_layer_norm(const Problem& problem, int, Lowering* out) {
  const fbs::LayerNorm& p = *problem.op.params_as_LayerNorm();
  return add_norm(
      {rows_of(problem.output).rows, 1, 1, p.epsilon(), p.centered() ? Norm::Kind::Centered : Norm::Kind::Uncentered},
      out);
}

Status lower_group_norm(const Problem& problem, int, Lowering* out) {
  const fbs::GroupNorm& p = *problem.op.params_as_GroupNorm();
  const uint32_t samples = word(problem.output[0]);
  return add_norm({samples, rows_of(problem.output).rows / samples, word(p.groups()), p.epsilon()}, out);
}

// Computes the norm of each channel, one row per sample; its factors; the input times the factors plus the bias.
Status lower_grn(const Problem& problem, int, Lowering* out) {
  constexpr uint32_t kQuads = 8, kShares = 16;  // as in reduce.cc
  const Rows rows = rows_of(problem.output);
  const uint32_t samples = word(problem.output[0]), places = rows.rows / samples;
  if (places / kShares > kMaxRounds) return unsupported("too many terms in a sum");
  if (problem.epilogue.tensor() != TensorId::None) return unsupported("a second tensor operand is fused into it");
  Problem inner = problem;
  inner.output = {problem.output[0], problem.output[problem.output.rank - 1]};
  const uint64_t bytes = stored_bytes(inner.output, problem.storage);
  const Operand lengths = out->workspace(bytes), factors = out->workspace(bytes);

  inner.epilogue = {{{.kind = EpilogueStep::kUnary + static_cast<uint8_t>(fbs::UnaryKind::Sqrt)}}};
  Call squares{.kernel = Kernel::ReduceRows,
               .workgroup = {kQuads, kShares, 1},
               .groups = spread(uint64_t{samples} * ((rows.quads() + kQuads - 1) / kQuads), 1, problem.limits),
               .constants = {kShares, kQuads, 1},
               .push = {samples, places, std::bit_cast<uint32_t>(1.0f), 1, 1, places, 0, 0, 1, 1, 1, 0, 0},
               .output = lengths,
               .flops = uint64_t{rows.rows} * rows.channels * 2};
  FERRY_TRY(out->with(inner).add_with_epilogue(std::move(squares)));

  inner.epilogue = {};
  Lowering normalize = out->with(inner);
  FERRY_TRY(add_norm({samples, 1, 1, problem.op.params_as_Grn()->epsilon(), Norm::Kind::Response},
                     {.output = factors, .input = lengths}, {{pack_rows(problem.input_tensor(1), 1, rows.channels)}},
                     &normalize));

  Problem whole = problem;
  const auto kind = [](fbs::BinaryKind binary) {
    return static_cast<uint8_t>(EpilogueStep::kBinary + static_cast<uint8_t>(binary));
  };
  whole.epilogue = {{{.kind = kind(fbs::BinaryKind::Mul), .source = EpilogueStep::Source::Tensor, .rows = places},
                     {.kind = kind(fbs::BinaryKind::Add),
                      .source = EpilogueStep::Source::Vector,
                      .tensor = problem.input_tensor(2)}}};
  for (const EpilogueStep& step : problem.epilogue.steps)
    if (!whole.epilogue.add(step)) return unsupported("more than %zu elementwise steps", kMaxEpilogueSteps);
  return out->with(whole).add_with_epilogue({.kernel = Kernel::Elementwise,
                                             .groups = spread(rows.total(), 64, problem.limits),
                                             .push = {rows.rows},
                                             .operand = factors});
}

}  // namespace ferry::gpu

#include <numeric>

#include "converter/passes/rewriter.h"

namespace ferry {
namespace {

bool swaps_last_two(const fbs::TransposeT& transpose) {
  std::vector<int32_t> perm(transpose.perm.size());
  if (perm.size() < 2) return false;
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
  return transpose.perm == perm;
}

}  // namespace

void absorb_transpose(Graph& graph, const PassOptions& options) {
  Rewriter rewriter(graph, options);
  for (const auto& op : graph.table.operators) {
    fbs::MatMulT* product = op->params.AsMatMul();
    if (!product) continue;
    for (const size_t side : {0, 1}) {
      const fbs::OperatorT* transpose = rewriter.producer(op->inputs[side]);
      if (!transpose || !transpose->params.AsTranspose() || !swaps_last_two(*transpose->params.AsTranspose())) continue;
      bool& transposed = side == 0 ? product->transpose_a : product->transpose_b;
      transposed = !transposed;
      rewriter.set_input(op.get(), side, {&graph, transpose->inputs.front()});
    }
  }
}

}  // namespace ferry

// Pixel shuffle as a reshape to N,C,r,r,H,W, a transpose to N,C,H,r,W,r and a reshape.
#include "converter/graph/ops.h"
#include "converter/onnx/patterns/graph_matcher.h"

namespace ferry::onnx {

void recognise_pixel_shuffle(GraphMatcher& m) {
  for (size_t i = 0; i < m.size(); ++i) {
    if (!m.computes_floats(i)) continue;
    const TensorId output = m.at(i).outputs.front();
    const fbs::OperatorT* swap =
        m.at(i).params.AsReshape() ? m.producer(m.at(i).inputs.front(), fbs::OpParams::Transpose) : nullptr;
    if (!swap || swap->params.AsTranspose()->perm != std::vector<int32_t>{0, 1, 4, 2, 5, 3}) continue;
    const Shape d = m.shape(swap->inputs.front());  // N,C,r,r,H,W
    const auto map = m.reshaped_from(swap->inputs.front(), Shape{d[0], d[1] * d[2] * d[3], d[4], d[5]});
    if (!map || d[2] != d[3] || d[2] < 2 || m.shape(output) != Shape{d[0], d[1], d[4] * d[2], d[5] * d[3]}) continue;
    fbs::TransposeT first;
    first.perm = {0, 3, 1, 2};
    m.rewrite(i, first, {pixel_shuffle(transpose(m.tensor(*map), {0, 2, 3, 1}), d[2])});
  }
}

}  // namespace ferry::onnx

// Operators with several outputs.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include "converter/reference/interpreter.h"
#include "tests/runtime/networks.h"

namespace ferry::testing {
namespace {

// x [3,40] -> the top k [3,k] squared, and their indices if `places`.
std::unique_ptr<Graph> best_of(int32_t k, bool places) {
  auto graph = std::make_unique<Graph>();
  const Tensor x = graph->add_input("x", {3, 40}, fbs::Layout::Same);
  fbs::TopKT params;
  params.k = k;
  const std::vector<Tensor> found = graph->add_op_with_outputs("best", params, {x}, 2);
  fbs::UnaryT square;
  square.kind = fbs::UnaryKind::Square;
  graph->add_output("squares", graph->add_op("squares", square, {found[1]}), fbs::Layout::Same);
  if (places) graph->add_output("places", found[0], fbs::Layout::Same, fbs::DType::Int64);
  return graph;
}

TEST(SeveralOutputs, BothAreComputed) {
  for (const ferry_backend backend : {FERRY_BACKEND_CPU, FERRY_BACKEND_GPU})
    for (const int32_t k : {1, 7})
      for (const bool places : {false, true}) {
        SCOPED_TRACE(::testing::Message() << backend << " " << k << " " << places);
        const std::unique_ptr<Graph> graph = best_of(k, places);
        Opened opened(*graph);
        ferry_session_options options = default_options();
        options.backend = backend;  // if there is no GPU, the CPU
        const SessionPtr session = make_session(opened.model, options);
        fill_inputs(opened.model, session.get());
        ASSERT_OK(ferry_session_run(session.get()));
        ferry_tensor tensor;
        ASSERT_OK(ferry_session_input(session.get(), 0, &tensor));
        const std::vector<float> x = elements(tensor);
        const auto expected = reference::interpret(*graph, {{{3, 40}, {x.begin(), x.end()}}});
        ASSERT_OK(ferry_session_output(session.get(), 0, &tensor));
        EXPECT_LE(relative_error(elements(tensor), expected.at(graph->table.outputs[0]->tensor).values), 1e-6);
        if (!places) continue;
        ASSERT_OK(ferry_session_output(session.get(), 1, &tensor));
        const std::vector<double>& right = expected.at(graph->table.outputs[1]->tensor).values;
        const int32_t* got = static_cast<const int32_t*>(tensor.data);
        EXPECT_EQ(std::vector<double>(got, got + right.size()), right);
      }
}

}  // namespace
}  // namespace ferry::testing

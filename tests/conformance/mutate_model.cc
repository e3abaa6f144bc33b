#include "tests/conformance/mutate_model.h"

#include <limits>

namespace ferry::testing {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  // 0 <= result < n
  size_t below(size_t n) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>((state_ >> 33) % n);
  }

 private:
  uint64_t state_;
};

int64_t odd_integer(Random& random) {
  constexpr int64_t kOdd[] = {0,       -1,        1,         2,
                              3,       4,         5,         7,
                              16,      64,        255,       999,
                              1 << 20, 1ll << 31, 1ll << 40, std::numeric_limits<int64_t>::max(),
                              -2,      -5,        -99,       std::numeric_limits<int64_t>::min()};
  return kOdd[random.below(std::size(kOdd))];
}

float odd_float(Random& random) {
  constexpr float kOdd[] = {0,
                            -1,
                            1,
                            0.5f,
                            3.7f,
                            1e30f,
                            -1e30f,
                            1e-40f,
                            std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
  return kOdd[random.below(std::size(kOdd))];
}

template <typename Repeated>
auto* pick(Repeated* list, Random& random) {
  return list->Mutable(static_cast<int>(random.below(static_cast<size_t>(list->size()))));
}

// The name of a value of the graph, or an unused name.
std::string some_value(const ::onnx::GraphProto& graph, Random& random) {
  const ::onnx::NodeProto& node = graph.node(static_cast<int>(random.below(static_cast<size_t>(graph.node_size()))));
  if (random.below(8) == 0 || node.input_size() == 0) return "";
  return random.below(2) == 0 ? node.output(0) : node.input(0);
}

void mutate_attribute(::onnx::AttributeProto* attribute, Random& random) {
  const size_t way = random.below(4);
  if (way == 0) return attribute->set_type(static_cast<::onnx::AttributeProto::AttributeType>(1 + random.below(8)));
  if (way == 1 && attribute->ints_size() > 0) return attribute->mutable_ints()->RemoveLast();
  if (way == 2) return attribute->add_ints(odd_integer(random));
  if (attribute->has_s()) return attribute->set_s(random.below(2) == 0 ? "SAME_UPPER" : "cubic");
  if (attribute->has_f()) return attribute->set_f(odd_float(random));
  if (attribute->ints_size() == 0) return attribute->set_i(odd_integer(random));
  attribute->set_ints(static_cast<int>(random.below(static_cast<size_t>(attribute->ints_size()))), odd_integer(random));
}

void mutate_node(::onnx::GraphProto* graph, Random& random) {
  ::onnx::NodeProto* node = pick(graph->mutable_node(), random);
  switch (random.below(8)) {
    case 0: return node->set_op_type(pick(graph->mutable_node(), random)->op_type());
    case 1: return node->add_input(some_value(*graph, random));
    case 2: return node->add_output(some_value(*graph, random));
    case 3: return graph->add_node()->CopyFrom(::onnx::NodeProto(*node));
    case 4: return node->clear_attribute();
    case 5:
      if (node->input_size() > 0) node->mutable_input()->RemoveLast();
      return;
    case 6:
      if (node->input_size() > 0) *pick(node->mutable_input(), random) = some_value(*graph, random);
      return;
    default:
      if (node->attribute_size() > 0) mutate_attribute(pick(node->mutable_attribute(), random), random);
  }
}

void mutate_constant(::onnx::TensorProto* tensor, Random& random) {
  std::string* bytes = tensor->mutable_raw_data();
  switch (random.below(5)) {
    case 0: return tensor->set_data_type(static_cast<int>(random.below(24)));
    case 1: return tensor->add_dims(odd_integer(random));
    case 2:
      if (tensor->dims_size() > 0)
        tensor->set_dims(static_cast<int>(random.below(static_cast<size_t>(tensor->dims_size()))), odd_integer(random));
      return;
    case 3: return bytes->resize(random.below(bytes->size() + 1));
    default:
      // Among these are shapes, axes and sizes.
      const int64_t value = odd_integer(random);
      const size_t at = bytes->size() < sizeof value ? 0 : random.below(bytes->size() / sizeof value) * sizeof value;
      for (size_t i = 0; at + i < bytes->size() && i < sizeof value; ++i)
        (*bytes)[at + i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
}

::onnx::TensorProto* some_constant(::onnx::GraphProto* graph, Random& random) {
  ::onnx::NodeProto* node = pick(graph->mutable_node(), random);
  if (node->op_type() == "Constant" && node->attribute_size() > 0) return node->mutable_attribute(0)->mutable_t();
  return graph->initializer_size() > 0 ? pick(graph->mutable_initializer(), random) : graph->add_initializer();
}

}  // namespace

::onnx::ModelProto mutated(const ::onnx::ModelProto& good, uint64_t seed) {
  Random random(seed);
  ::onnx::ModelProto model = good;
  ::onnx::GraphProto* graph = model.mutable_graph();
  for (size_t n = random.below(3) + 1; n > 0; --n) {
    switch (random.below(8)) {
      case 0: {
        auto* type = pick(graph->mutable_input(), random)->mutable_type()->mutable_tensor_type();
        if (random.below(3) == 0)
          type->set_elem_type(static_cast<int>(random.below(24)));
        else if (type->shape().dim_size() > 0)
          pick(type->mutable_shape()->mutable_dim(), random)->set_dim_value(odd_integer(random));
        break;
      }
      case 1:
      case 2:
      case 3: mutate_constant(some_constant(graph, random), random); break;
      case 4:
        if (random.below(4) == 0) pick(model.mutable_opset_import(), random)->set_version(odd_integer(random));
        break;
      default: mutate_node(graph, random);
    }
  }
  return model;
}

}  // namespace ferry::testing

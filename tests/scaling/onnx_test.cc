// Reading and importing an ONNX file takes work in proportion to each of its lists.
#include <gtest/gtest.h>

#include <fstream>

#include "converter/onnx/importer.h"
#include "converter/passes/passes.h"
#include "onnx.pb.h"
#include "tests/scaling/counted.h"
#include "tests/support/scratch_folder.h"

namespace ferry::onnx {
namespace {

std::string numbered(const char* name, size_t i) { return name + std::to_string(i); }

::onnx::ValueInfoProto value(const std::string& name, std::initializer_list<int64_t> dims) {
  ::onnx::ValueInfoProto out;
  out.set_name(name);
  auto& type = *out.mutable_type()->mutable_tensor_type();
  type.set_elem_type(::onnx::TensorProto::FLOAT);
  for (const int64_t d : dims) type.mutable_shape()->add_dim()->set_dim_value(d);
  return out;
}

void set_floats(::onnx::TensorProto* tensor, const std::string& name, std::initializer_list<float> values) {
  tensor->set_name(name);
  tensor->set_data_type(::onnx::TensorProto::FLOAT);
  tensor->add_dims(static_cast<int64_t>(values.size()));
  for (const float v : values) tensor->add_float_data(v);
}

// y = ... (x), x [1,4]; a network that a test fills.
struct File {
  File() {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    *graph().add_input() = value("x", {1, 4});
  }
  ::onnx::GraphProto& graph() { return *model.mutable_graph(); }
  static ::onnx::NodeProto* add(::onnx::GraphProto* to, const char* op, std::initializer_list<std::string> inputs,
                                const std::string& output) {
    ::onnx::NodeProto* node = to->add_node();
    node->set_op_type(op);
    for (const std::string& input : inputs) node->add_input(input);
    node->add_output(output);
    return node;
  }
  ::onnx::NodeProto* add(const char* op, std::initializer_list<std::string> inputs, const std::string& output) {
    return add(&graph(), op, inputs, output);
  }
  void constant(const std::string& name, std::initializer_list<float> values) {
    set_floats(graph().add_initializer(), name, values);
  }
  void returns(const std::string& name) { *graph().add_output() = value(name, {}); }

  ::onnx::ModelProto model;
};

using Fill = std::function<void(File&, size_t n)>;

class OnnxScaling : public ::testing::Test {
 protected:
  // Reads the file and imports it, without passes if `fill` needs none of them.
  void expect(const char* name, size_t n, const Fill& fill, bool imports = true) {
    expect_linear_work(name, n, [&](size_t size) -> std::function<void()> {
      File file;
      fill(file, size);
      const auto path = folder_.write("net.onnx", file.model.SerializeAsString());
      return [path, imports] {
        const Model model = read_model(path);
        if (!imports) return;
        Imported imported = import_model(model, {});
        make_channels_last(*imported.graph, {});
        run_passes(*imported.graph, {});
      };
    });
  }
  ScratchFolder folder_;
};

// `next(i, from)` adds what reads `from`; returns the value that the next one reads.
void chain(File& file, size_t n, const std::function<std::string(size_t, const std::string&)>& next) {
  std::string last = "x";
  for (size_t i = 0; i < n; ++i) last = next(i, last);
  file.returns(last);
}

TEST_F(OnnxScaling, Nodes) {
  expect("a chain", 100, [](File& file, size_t n) {
    chain(file, n, [&](size_t i, const std::string& from) {
      return file.add(i % 2 == 0 ? "Sigmoid" : "Tanh", {from}, numbered("v", i))->output(0);
    });
  });
  expect("copies", 100, [](File& file, size_t n) {
    chain(file, n,
          [&](size_t i, const std::string& from) { return file.add("Identity", {from}, numbered("v", i))->output(0); });
  });
  expect("readers of one value", 100, [](File& file, size_t n) {
    for (size_t i = 0; i < n; ++i) file.add("Sigmoid", {"x"}, numbered("v", i));
    chain(file, n, [&](size_t i, const std::string& from) {
      return file.add("Add", {from, numbered("v", i)}, numbered("w", i))->output(0);
    });
  });
  expect("in the wrong order", 100, [](File& file, size_t n) {
    for (size_t i = n; i-- > 0;) file.add("Tanh", {i == 0 ? "x" : numbered("v", i - 1)}, numbered("v", i));
    file.returns(numbered("v", n - 1));
  });
}

TEST_F(OnnxScaling, Initializers) {
  expect("used", 100, [](File& file, size_t n) {
    chain(file, n, [&](size_t i, const std::string& from) {
      file.constant(numbered("c", i), {1, 2, 3, 4});
      return file.add("Pow", {from, numbered("c", i)}, numbered("v", i))->output(0);
    });
  });
  expect("shared", 100, [](File& file, size_t n) {
    file.constant("c", {1, 2, 3, 4});
    chain(file, n, [&](size_t i, const std::string& from) {
      return file.add("Pow", {from, "c"}, numbered("v", i))->output(0);
    });
  });
  expect("unused", 100, [](File& file, size_t n) {
    for (size_t i = 0; i < n; ++i) file.constant(numbered("c", i), {1});
    chain(file, 1, [&](size_t, const std::string& from) { return file.add("Tanh", {from}, "y")->output(0); });
  });
  expect("computed of constants", 100, [](File& file, size_t n) {
    file.constant("c", {1, 2, 3, 4});
    chain(file, n, [&](size_t i, const std::string& from) {
      file.add("Exp", {"c"}, numbered("e", i));
      return file.add("Pow", {from, numbered("e", i)}, numbered("v", i))->output(0);
    });
  });
}

TEST_F(OnnxScaling, Attributes) {
  expect(
      "of a node", 200,
      [](File& file, size_t n) {
        ::onnx::NodeProto* node = file.add("Tanh", {"x"}, "y");
        node->set_domain("of.another");
        for (size_t i = 0; i < n; ++i) {
          auto* attribute = node->add_attribute();
          attribute->set_name(numbered("a", i));
          attribute->set_type(::onnx::AttributeProto::INT);
          attribute->set_i(1);
        }
        file.returns("y");
      },
      /*imports=*/false);
  expect("values", 20'000, [](File& file, size_t n) {
    auto* attribute = file.add("Constant", {}, "c")->add_attribute();
    attribute->set_name("value_floats");
    attribute->set_type(::onnx::AttributeProto::FLOATS);
    for (size_t i = 0; i < n; ++i) attribute->add_floats(2);
    file.constant("zero", {0});
    file.add("Gather", {"c", "first"}, "g");
    auto* first = file.graph().add_initializer();
    first->set_name("first");
    first->set_data_type(::onnx::TensorProto::INT64);
    first->add_int64_data(0);
    file.add("Pow", {"x", "g"}, "y");
    file.returns("y");
  });
}

TEST_F(OnnxScaling, InputsAndOutputs) {
  expect("inputs", 100, [](File& file, size_t n) {
    chain(file, n, [&](size_t i, const std::string& from) {
      *file.graph().add_input() = value(numbered("in", i), {1, 4});
      return file.add("Add", {from, numbered("in", i)}, numbered("v", i))->output(0);
    });
  });
  expect("outputs", 100, [](File& file, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      file.add("Tanh", {"x"}, numbered("v", i));
      file.returns(numbered("v", i));
    }
  });
  expect("declared shapes", 200, [](File& file, size_t n) {
    for (size_t i = 0; i < n; ++i) *file.graph().add_value_info() = value(numbered("unused", i), {1, 4});
    file.add("Tanh", {"x"}, "y");
    file.returns("y");
  });
  expect("a node's inputs", 100, [](File& file, size_t n) {
    ::onnx::NodeProto* join = file.add("Concat", {}, "y");
    for (size_t i = 0; i < n; ++i) join->add_input("x");
    auto* axis = join->add_attribute();
    axis->set_name("axis");
    axis->set_type(::onnx::AttributeProto::INT);
    axis->set_i(1);
    file.returns("y");
  });
}

// A branch as an attribute; the other one is empty.
::onnx::GraphProto* branch(::onnx::NodeProto* node, const char* name) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  return attribute->mutable_g();
}

// y = cond ? filled branch : tanh(x), whose condition is known.
::onnx::GraphProto* add_if(::onnx::GraphProto* to, const std::string& output) {
  ::onnx::NodeProto* node = File::add(to, "If", {"true"}, output);
  ::onnx::GraphProto* other = branch(node, "else_branch");
  File::add(other, "Tanh", {"x"}, output + ".else");
  *other->add_output() = value(output + ".else", {});
  ::onnx::GraphProto* then = branch(node, "then_branch");
  *then->add_output() = value(output + ".then", {});
  return then;
}

void add_true(File& file) {
  auto* yes = file.graph().add_initializer();
  yes->set_name("true");
  yes->set_data_type(::onnx::TensorProto::BOOL);
  yes->add_int32_data(1);
}

TEST_F(OnnxScaling, Subgraphs) {
  // protobuf reads 100 messages within each other, which are 32 graphs.
  expect("deep", 7, [](File& file, size_t n) {
    add_true(file);
    file.returns("y");
    ::onnx::GraphProto* at = &file.graph();
    std::string output = "y";
    for (size_t i = 0; i < n; ++i) {
      at = add_if(at, output);
      output += ".then";
      for (int k = 0; k < 4; ++k) File::add(at, "Sigmoid", {"x"}, numbered("s", 4 * i + static_cast<size_t>(k)));
    }
    File::add(at, "Sigmoid", {"x"}, output);
  });
  expect("of many nodes and constants", 100, [](File& file, size_t n) {
    add_true(file);
    file.returns("y");
    ::onnx::GraphProto* then = add_if(&file.graph(), "y");
    std::string last = "x";
    for (size_t i = 0; i < n; ++i) {
      set_floats(then->add_initializer(), numbered("c", i), {1, 2, 3, 4});
      last = File::add(then, "Pow", {last, numbered("c", i)}, i + 1 == n ? "y.then" : numbered("v", i))->output(0);
    }
  });
  expect("many", 50, [](File& file, size_t n) {
    add_true(file);
    chain(file, n, [&](size_t i, const std::string& from) {
      const std::string output = numbered("v", i);
      File::add(add_if(&file.graph(), output), "Sigmoid", {from}, output + ".then");
      return output;
    });
  });
  expect("functions", 50, [](File& file, size_t n) {
    file.model.add_opset_import()->set_domain("own");
    file.model.mutable_opset_import(1)->set_version(1);
    for (size_t i = 0; i < n; ++i) {
      auto* function = file.model.add_functions();
      function->set_name(numbered("F", i));
      function->set_domain("own");
      function->add_input("a");
      function->add_output("b");
      function->add_opset_import()->set_version(17);
      auto* inner = function->add_node();
      inner->set_op_type("Tanh");
      inner->add_input("a");
      inner->add_output("b");
    }
    chain(file, n, [&](size_t i, const std::string& from) {
      ::onnx::NodeProto* call = file.add(numbered("F", i).c_str(), {from}, numbered("v", i));
      call->set_domain("own");
      return call->output(0);
    });
  });
}

// A loop of n iterations, or one with n nodes in its body.
void add_loop(File& file, size_t iterations, size_t nodes, size_t constants) {
  auto* count = file.graph().add_initializer();
  count->set_name("count");
  count->set_data_type(::onnx::TensorProto::INT64);
  count->add_int64_data(static_cast<int64_t>(iterations));
  add_true(file);
  ::onnx::NodeProto* loop = file.add("Loop", {"count", "true", "x"}, "y");
  ::onnx::GraphProto* body = branch(loop, "body");
  for (const char* input : {"i", "condition", "state"}) *body->add_input() = value(input, {});
  File::add(body, "Identity", {"condition"}, "goes_on");
  for (size_t i = 0; i < constants; ++i) set_floats(body->add_initializer(), numbered("c", i), {1});
  std::string last = "state";
  for (size_t i = 0; i < nodes; ++i) last = File::add(body, "Tanh", {last}, numbered("b", i))->output(0);
  *body->add_output() = value("goes_on", {});
  *body->add_output() = value(last, {});
  file.returns("y");
}

TEST_F(OnnxScaling, Loops) {
  expect("iterations", 50, [](File& file, size_t n) { add_loop(file, n, 2, 1); });
  expect("nodes of a body", 50, [](File& file, size_t n) { add_loop(file, 3, n, 1); });
  // As many iterations as constants: each iteration must not visit all of them.
  expect("constants of a body", 50, [](File& file, size_t n) { add_loop(file, n, 2, n); });
}

TEST_F(OnnxScaling, Patterns) {
  expect("silu", 50, [](File& file, size_t n) {
    chain(file, n, [&](size_t i, const std::string& from) {
      file.add("Sigmoid", {from}, numbered("s", i));
      return file.add("Mul", {from, numbered("s", i)}, numbered("v", i))->output(0);
    });
  });
  expect("gelu of shared constants", 50, [](File& file, size_t n) {
    for (const auto& [name, number] : {std::pair("root", 1.41421356f), {"one", 1.0f}, {"half", 0.5f}})
      file.constant(name, {number});
    chain(file, n, [&](size_t i, const std::string& from) {
      file.add("Div", {from, "root"}, numbered("d", i));
      file.add("Erf", {numbered("d", i)}, numbered("e", i));
      file.add("Add", {numbered("e", i), "one"}, numbered("a", i));
      file.add("Mul", {from, numbered("a", i)}, numbered("m", i));
      return file.add("Mul", {numbered("m", i), "half"}, numbered("v", i))->output(0);
    });
  });
  // Each match adds operators before its last one.
  expect("pixel shuffles", 25, [](File& file, size_t n) {
    *file.graph().mutable_input(0) = value("x", {1, 4, 2, 3});
    const auto sizes = [&](const char* name, std::initializer_list<int64_t> dims) {
      auto* tensor = file.graph().add_initializer();
      tensor->set_name(name);
      tensor->set_data_type(::onnx::TensorProto::INT64);
      tensor->add_dims(static_cast<int64_t>(dims.size()));
      for (const int64_t d : dims) tensor->add_int64_data(d);
    };
    sizes("split", {1, 1, 2, 2, 2, 3});
    sizes("joined", {1, 1, 4, 6});
    for (size_t i = 0; i < n; ++i) {
      file.add("Reshape", {"x", "split"}, numbered("r", i));
      auto* perm = file.add("Transpose", {numbered("r", i)}, numbered("t", i))->add_attribute();
      perm->set_name("perm");
      perm->set_type(::onnx::AttributeProto::INTS);
      for (const int64_t d : {0, 1, 4, 2, 5, 3}) perm->add_ints(d);
      file.add("Reshape", {numbered("t", i), "joined"}, numbered("v", i));
      file.returns(numbered("v", i));
    }
  });
}

}  // namespace
}  // namespace ferry::onnx

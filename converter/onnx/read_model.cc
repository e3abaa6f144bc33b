// Converts protobuf messages to a Model: checks versions and types, inlines functions.
#include <algorithm>
#include <set>
#include <tuple>

#include "converter/onnx/model.h"
#include "converter/onnx/schema_check.h"
#include "converter/onnx/tensor_proto.h"
#include "converter/onnx/versions.h"

namespace ferry::onnx {
namespace {

constexpr int kMaxDepth = 32;                           // maximum depth of function calls
constexpr size_t kMaxNodes = 1'000'000;                 // maximum number of nodes and calls after inlining
constexpr size_t kMaxInlinedBytes = size_t{256} << 20;  // maximum size of function attributes, which each call copies

using Opsets = std::map<std::string, int>;  // by domain; "ai.onnx" is stored as ""

std::string short_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

// Opsets only change by a newer version, which may redefine any operator: none newer than the known ones is read.
template <typename List>
Opsets read_opsets(const List& list) {
  Opsets opsets;
  for (const auto& entry : list) {
    const std::string domain = short_domain(entry.domain());
    const int64_t version = entry.version();
    const int64_t newest = domain.empty()              ? kNewestOpset
                           : domain == "com.microsoft" ? kNewestMicrosoftOpset
                                                       : INT32_MAX;
    if (version < 1 || version > newest)
      fail("it needs opset %lld of %s, the newest that is understood is %lld: export it with an older opset",
           static_cast<long long>(version), domain.empty() ? "ai.onnx" : domain.c_str(),
           static_cast<long long>(newest));
    int& opset = opsets[domain];
    opset = std::max(opset, static_cast<int>(version));  // a file may name a domain twice: the highest counts
  }
  return opsets;
}

size_t bytes_of(const Attribute& attribute) {
  size_t bytes = sizeof attribute + attribute.ints.size() * sizeof(int64_t) + attribute.floats.size() * sizeof(double);
  for (const std::string& text : attribute.strings) bytes += text.size();
  return bytes;
}

class ModelReader {
 public:
  explicit ModelReader(const std::filesystem::path& path);
  Model read();

 private:
  // Names in a function's body: inputs and outputs are the caller's, others get the prefix.
  struct Scope {
    std::string prefix;
    std::map<std::string, std::string> names;
    const Node* caller = nullptr;  // provides the attributes that the body references
    const Opsets* opsets = nullptr;
    int depth = 0;

    std::string name(const std::string& inner) const {
      if (inner.empty() || caller == nullptr) return inner;
      const auto renamed = names.find(inner);
      return renamed != names.end() ? renamed->second : prefix + inner;
    }
  };

  struct Function {
    const ::onnx::FunctionProto* proto = nullptr;
    Opsets opsets;
    std::set<std::string> attributes;           // all names
    std::map<std::string, Attribute> defaults;  // of those that have one
  };

  void add(const ::onnx::NodeProto& proto, const Scope& scope);
  void inline_function(const Function& function, Node call, const Scope& scope);
  void count_node();
  void count_attributes(const ::onnx::NodeProto& proto, const Scope& scope);
  void count_bytes(size_t bytes);
  void read_branch(const ::onnx::GraphProto& graph, const Scope& scope, Node* node);
  Attribute read_attribute(const ::onnx::AttributeProto& proto);
  void read_attributes(const ::onnx::NodeProto& proto, const Scope& scope, Node* node);
  ValueInfo read_value(const ::onnx::ValueInfoProto& proto);
  void add_declared_shapes();
  void read_functions();

  std::shared_ptr<::onnx::ModelProto> proto_;
  std::map<std::tuple<std::string, std::string, std::string>, Function> functions_;  // by domain, name and overload
  std::map<std::string, std::string> unreadable_;  // why an initializer cannot be read: refused where it is used
  Opsets opsets_;
  size_t count_ = 0;  // number of nodes
  size_t inlined_bytes_ = 0;
  Model model_;
};

ModelReader::ModelReader(const std::filesystem::path& path) : proto_(std::make_shared<::onnx::ModelProto>()) {
  model_.path = path;
  parse_message(*MappedFile::open(path), proto_.get());
  // Files of IR versions 1 and 2 do not name their opset, which is the first one.
  if (!proto_->has_graph() ||
      (proto_->opset_import_size() == 0 && (proto_->ir_version() < 1 || proto_->ir_version() > 2)))
    fail("%s is damaged, or not an ONNX file: it has no graph or no opset", path.filename().string().c_str());
}

// Files of IR version 1 do not name the type of an attribute: the field that is set does.
Attribute::Kind kind_of(const ::onnx::AttributeProto& proto) {
  using Kind = Attribute::Kind;
  if (proto.type() > ::onnx::AttributeProto::STRINGS) return Kind::Other;
  if (proto.type() != ::onnx::AttributeProto::UNDEFINED) return static_cast<Kind>(proto.type());
  if (proto.has_f()) return Kind::Float;
  if (proto.has_i()) return Kind::Int;
  if (proto.has_s()) return Kind::String;
  if (proto.has_t()) return Kind::Tensor;
  if (proto.has_g()) return Kind::Graph;
  if (proto.floats_size() > 0) return Kind::Floats;
  if (proto.ints_size() > 0) return Kind::Ints;
  return proto.strings_size() > 0 ? Kind::Strings : Kind::Undefined;
}

Attribute ModelReader::read_attribute(const ::onnx::AttributeProto& proto) {
  using Kind = Attribute::Kind;
  check_fields(proto);
  Attribute attribute;
  attribute.kind = kind_of(proto);
  switch (attribute.kind) {
    case Kind::Float: attribute.floats = {static_cast<double>(proto.f())}; break;
    case Kind::Int: attribute.ints = {proto.i()}; break;
    case Kind::String: attribute.strings = {proto.s()}; break;
    case Kind::Floats: attribute.floats.assign(proto.floats().begin(), proto.floats().end()); break;
    case Kind::Ints: attribute.ints.assign(proto.ints().begin(), proto.ints().end()); break;
    case Kind::Strings: attribute.strings.assign(proto.strings().begin(), proto.strings().end()); break;
    case Kind::Tensor: attribute.tensor = read_tensor(proto.t(), model_.path.parent_path(), proto_); break;
    case Kind::Graph:
    case Kind::Undefined:
    case Kind::Other: break;
  }
  return attribute;
}

void ModelReader::read_attributes(const ::onnx::NodeProto& proto, const Scope& scope, Node* node) {
  for (const auto& attribute : proto.attribute()) {
    try {
      if (attribute.ref_attr_name().empty()) {
        node->attributes[attribute.name()] = read_attribute(attribute);
      } else if (!scope.caller) {
        fail("it refers to attribute '%s' of a function, but the node is in none", attribute.ref_attr_name().c_str());
      } else {
        const auto given = scope.caller->attributes.find(attribute.ref_attr_name());
        if (given != scope.caller->attributes.end()) node->attributes[attribute.name()] = given->second;
      }
    } catch (const Error& error) {
      node->problem = "attribute '" + attribute.name() + "': " + error.what();
    }
  }
  try {
    check_fields(proto);
  } catch (const Error& error) {
    node->problem = error.what();
  }
}

// The attributes of a node that are graphs, in the order of Node::branches.
std::vector<const char*> branch_attributes(const Node& node) {
  if (!node.domain.empty()) return {};
  if (node.op == "If") return {"then_branch", "else_branch"};
  if (node.op == "Loop" || node.op == "Scan" || node.op == "SequenceMap") return {"body"};
  return {};
}

void ModelReader::add(const ::onnx::NodeProto& proto, const Scope& scope) {
  Node node;
  node.op = proto.op_type();
  node.domain = short_domain(proto.domain());
  for (const std::string& input : proto.input()) node.inputs.push_back(scope.name(input));
  for (const std::string& output : proto.output()) node.outputs.push_back(scope.name(output));
  node.name = scope.prefix + (proto.name().empty() && proto.output_size() > 0 ? proto.output(0) : proto.name());
  const auto opset = scope.opsets->find(node.domain);
  node.opset = opset == scope.opsets->end() ? 0 : opset->second;
  if (scope.depth > 0) count_attributes(proto, scope);
  read_attributes(proto, scope, &node);
  const auto function = functions_.find({node.domain, node.op, proto.overload()});
  if (function != functions_.end() && node.problem.empty()) return inline_function(function->second, node, scope);
  if (node.problem.empty() && !proto.overload().empty())
    node.problem = "the file has no function of that name with the overload '" + proto.overload() + "'";
  if (node.problem.empty() && node.domain.empty() && node.opset == 0)
    node.problem = "the file does not say which opset of ai.onnx it is of";
  const OpsetRow* row = find_opset_row(node);
  if (node.problem.empty() && row != nullptr) node.problem = unread_attribute(*row, node);
  for (const std::string& input : node.inputs)
    if (const auto found = unreadable_.find(input); found != unreadable_.end()) node.problem = found->second;
  if (node.op == "Loop" && node.domain.empty() && node.inputs.size() < 2) node.inputs.resize(2);
  for (const char* name : branch_attributes(node))
    for (const auto& attribute : proto.attribute())
      if (attribute.name() == name && attribute.has_g()) read_branch(attribute.g(), scope, &node);
  count_node();
  model_.nodes.push_back(std::move(node));
}

void ModelReader::count_node() {
  if (++count_ > kMaxNodes) fail("the graph has more than %zu nodes", kMaxNodes);
}

void ModelReader::count_bytes(size_t bytes) {
  inlined_bytes_ += bytes;
  if (inlined_bytes_ > kMaxInlinedBytes)
    fail("attributes of functions take more than %zu MB where they are called", kMaxInlinedBytes >> 20);
}

void ModelReader::count_attributes(const ::onnx::NodeProto& proto, const Scope& scope) {
  for (const auto& attribute : proto.attribute()) {
    const auto given = scope.caller->attributes.find(attribute.ref_attr_name());
    count_bytes(attribute.ByteSizeLong() + (given != scope.caller->attributes.end() ? bytes_of(given->second) : 0));
  }
}

void ModelReader::read_branch(const ::onnx::GraphProto& graph, const Scope& scope, Node* node) {
  check_fields(graph);
  Branch branch;
  std::vector<Node> outer;
  std::swap(outer, model_.nodes);
  for (const auto& inner : graph.node()) add(inner, scope);
  std::swap(outer, model_.nodes);
  branch.nodes = std::move(outer);
  for (const auto& tensor : graph.initializer())
    branch.constants[scope.name(tensor.name())] = read_tensor(tensor, model_.path.parent_path(), proto_);
  for (const auto& input : graph.input()) branch.inputs.push_back(scope.name(input.name()));
  for (const auto& output : graph.output()) branch.outputs.push_back(scope.name(output.name()));

  std::set<std::string> inside(branch.inputs.begin(), branch.inputs.end()),
      seen(node->inputs.begin(), node->inputs.end());
  for (const auto& constant : branch.constants) inside.insert(constant.first);
  std::vector<std::string> given(inside.begin(), inside.end());
  for (const Node& inner : branch.nodes) inside.insert(inner.outputs.begin(), inner.outputs.end());
  const auto read = [&](const std::string& value) {
    if (value.empty() || inside.contains(value)) return;
    given.push_back(value);
    if (seen.insert(value).second) node->inputs.push_back(value);
  };
  for (const Node& inner : branch.nodes) std::for_each(inner.inputs.begin(), inner.inputs.end(), read);
  std::for_each(branch.outputs.begin(), branch.outputs.end(), read);
  sort_nodes(&branch.nodes, given);
  node->branches.push_back(std::move(branch));
}

void ModelReader::inline_function(const Function& function, Node call, const Scope& scope) {
  count_node();
  const ::onnx::FunctionProto& proto = *function.proto;
  if (scope.depth == kMaxDepth)
    fail("function '%s' is called %d deep: functions may not call themselves", call.op.c_str(), kMaxDepth);
  if (call.inputs.size() > static_cast<size_t>(proto.input_size()) ||
      call.outputs.size() > static_cast<size_t>(proto.output_size()))
    fail("node '%s' calls function '%s' with %zu inputs for %zu outputs, it has %d and %d", call.name.c_str(),
         call.op.c_str(), call.inputs.size(), call.outputs.size(), proto.input_size(), proto.output_size());
  for (const auto& [name, attribute] : call.attributes)
    if (!function.attributes.contains(name))
      fail("node '%s' calls function '%s' with attribute '%s', which it does not have", call.name.c_str(),
           call.op.c_str(), name.c_str());
  for (const auto& [name, attribute] : function.defaults)
    if (call.attributes.emplace(name, attribute).second) count_bytes(bytes_of(attribute));
  Scope body;
  for (const std::string& output : call.outputs)  // output names are unique, node names need not be
    if (body.prefix.empty() && !output.empty()) body.prefix = output + "/";
  body.caller = &call;
  body.opsets = &function.opsets;
  body.depth = scope.depth + 1;
  for (int i = 0; i < proto.input_size(); ++i)
    body.names[proto.input(i)] = static_cast<size_t>(i) < call.inputs.size() ? call.inputs[static_cast<size_t>(i)] : "";
  for (int i = 0; i < proto.output_size(); ++i)
    if (static_cast<size_t>(i) < call.outputs.size() && !call.outputs[static_cast<size_t>(i)].empty())
      body.names[proto.output(i)] = call.outputs[static_cast<size_t>(i)];
  for (const auto& node : proto.node()) add(node, body);
}

void ModelReader::read_functions() {
  for (const auto& proto : proto_->functions()) {
    check_fields(proto);
    Function& function = functions_[{short_domain(proto.domain()), proto.name(), proto.overload()}];
    if (function.proto != nullptr) fail("two functions have the name '%s'", proto.name().c_str());
    function.proto = &proto;
    function.opsets = read_opsets(proto.opset_import());
    function.opsets.insert(opsets_.begin(), opsets_.end());
    function.attributes.insert(proto.attribute().begin(), proto.attribute().end());
    for (const auto& attribute : proto.attribute_proto()) {
      function.attributes.insert(attribute.name());
      function.defaults[attribute.name()] = read_attribute(attribute);
    }
  }
}

ValueInfo ModelReader::read_value(const ::onnx::ValueInfoProto& proto) {
  check_fields(proto);
  ValueInfo value;
  value.name = proto.name();
  // An optional tensor is one that every run has.
  const bool optional = proto.type().has_optional_type();
  const auto& type = optional ? proto.type().optional_type().elem_type() : proto.type();
  if (!type.has_tensor_type()) return value;
  const auto& tensor = type.tensor_type();
  value.type = static_cast<Type>(tensor.elem_type());
  value.has_shape = tensor.has_shape();
  for (const auto& dimension : tensor.shape().dim()) {
    Dimension& d = value.shape.emplace_back();
    if (dimension.has_dim_value()) d.size = dimension.dim_value();
    d.symbol = dimension.dim_param();
  }
  return value;
}

void ModelReader::add_declared_shapes() {
  std::map<std::string, Dims> shapes;
  const auto add = [&](const ::onnx::ValueInfoProto& proto) {
    Dims& dims = shapes[proto.name()];
    for (const Dimension& d : read_value(proto).shape) dims.push_back(d.size);
  };
  for (const auto& value : proto_->graph().value_info()) add(value);
  for (const auto& value : proto_->graph().output()) add(value);
  for (Node& node : model_.nodes) {
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const auto found = shapes.find(node.outputs[i]);
      if (found == shapes.end() || found->second.empty()) continue;
      node.declared.resize(node.outputs.size());
      node.declared[i] = found->second;
    }
  }
}

Model ModelReader::read() {
  const auto& graph = proto_->graph();
  check_ir_version(*proto_);
  check_fields(*proto_);
  check_fields(graph);
  model_.producer = proto_->producer_name();
  opsets_ = proto_->opset_import_size() > 0 ? read_opsets(proto_->opset_import()) : Opsets{{"", 1}};
  model_.opset = opsets_.contains("") ? opsets_[""] : 0;
  read_functions();

  std::vector<std::string> given;
  for (const auto& tensor : graph.initializer()) {
    given.push_back(tensor.name());
    try {
      model_.constants[tensor.name()] = read_tensor(tensor, model_.path.parent_path(), proto_);
    } catch (const Error& error) {
      if (type_size(static_cast<Type>(tensor.data_type())) != 0) throw;  // damaged
      unreadable_[tensor.name()] = error.what();
    }
  }
  std::set<std::string> names;
  for (const auto& input : graph.input()) {
    if (!names.insert(input.name()).second) fail("two inputs have the name '%s'", input.name().c_str());
    // Before IR version 4, initializers were inputs as well.
    if (model_.constants.contains(input.name()) || unreadable_.contains(input.name())) continue;
    model_.inputs.push_back(read_value(input));
    given.push_back(input.name());
  }
  for (const auto& output : graph.output()) model_.outputs.push_back(read_value(output));
  if (model_.outputs.empty()) fail("the graph has no outputs");
  if (graph.sparse_initializer_size() > 0)
    fail("initialiser '%s' is sparse: only dense ones are supported",
         graph.sparse_initializer(0).values().name().c_str());

  const Scope outermost{.opsets = &opsets_};
  for (const auto& node : graph.node()) add(node, outermost);
  add_declared_shapes();
  sort_nodes(&model_.nodes, given);
  return std::move(model_);
}

}  // namespace

Model read_model(const std::filesystem::path& path) {
  ModelReader reader(path);
  try {
    return reader.read();
  } catch (const Error& error) {
    fail("%s: %s", path.filename().string().c_str(), error.what());
  }
}

}  // namespace ferry::onnx

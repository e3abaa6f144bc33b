#include "converter/detect/outputs.h"

#include <algorithm>
#include <set>

#include "converter/graph/ops.h"

namespace ferry::detect {
namespace {

// A port's dimensions in the file's order.
std::vector<int> file_dims(const Graph& graph, const fbs::PortT& port) {
  const Shape shape = graph.shape(port.tensor);
  std::vector<int> dims(shape.dims.begin(), shape.dims.begin() + shape.rank);
  if (port.source_layout == fbs::Layout::NCHW && shape.rank == 4) dims = {shape[0], shape[3], shape[1], shape[2]};
  return dims;
}

std::string dims_text(const std::vector<int>& dims) {
  std::string text;
  for (const int d : dims) text += (text.empty() ? "[" : ",") + std::to_string(d);
  return text + "]";
}

// Returns false if the output is not a list of rows.
bool as_rows(const std::vector<int>& dims, Layout layout, int anchors, OutputLevel* out) {
  const size_t rank = dims.size();
  if (rank < 1 || rank > 5 || (rank > 2 && dims[0] != 1)) return false;
  out->layout = layout != Layout::Auto ? layout : rank == 4 ? Layout::First : Layout::Last;
  out->map = rank > 3;
  out->anchors = out->map ? anchors : 1;
  const bool first = out->layout == Layout::First;
  switch (rank) {
    case 1: out->rows = dims[0], out->width = 1; break;
    case 2:
    case 3: out->rows = dims[rank - (first ? 1 : 2)], out->width = dims[rank - (first ? 2 : 1)]; break;
    case 4:
      out->width = dims[first ? 1 : 3];
      if (out->width % anchors != 0) return false;
      out->width /= anchors;
      out->rows = dims[first ? 2 : 1] * dims[first ? 3 : 2] * anchors;
      break;
    default:  // [1,A,H,W,C] or [1,A,C,H,W]
      out->anchors = dims[1];
      out->width = dims[first ? 2 : 4];
      out->rows = dims[1] * (first ? dims[3] * dims[4] : dims[2] * dims[3]);
  }
  return true;
}

std::string names_of(const Graph& graph) {
  std::string all;
  for (const auto& port : graph.table.outputs) all += (all.empty() ? "" : ", ") + port->name;
  return all;
}

size_t port_of(const Graph& graph, const std::variant<int, std::string>& output, const std::string& where) {
  const auto& ports = graph.table.outputs;
  if (const int* index = std::get_if<int>(&output)) {
    if (static_cast<size_t>(*index) < ports.size()) return static_cast<size_t>(*index);
    fail("%s: there is no output %d: the file has %zu, %s", where.c_str(), *index, ports.size(),
         names_of(graph).c_str());
  }
  const std::string& name = std::get<std::string>(output);
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i]->name == name) return i;
  fail("%s: there is no output '%s': the file has %s", where.c_str(), name.c_str(), names_of(graph).c_str());
}

Tensor rows_of(Graph& graph, const OutputLevel& source) {
  const fbs::PortT& port = *graph.table.outputs[source.port];
  Tensor x{&graph, port.tensor};
  const bool first = source.layout == Layout::First;
  const std::vector<int32_t> rows = {1, source.rows, source.width};
  switch (x.shape().rank) {
    case 2: return reshape(first ? transpose(x, {1, 0}) : x, rows);
    case 3: return first ? transpose(x, {0, 2, 1}) : x;
    case 4: {
      const bool last_here = port.source_layout == fbs::Layout::NCHW;
      if (first != last_here) x = transpose(x, first ? std::vector{0, 2, 3, 1} : std::vector{0, 3, 1, 2});
      if (!source.numbers_first) return reshape(x, rows);
      x = reshape(x, {1, source.rows / source.anchors, source.width, source.anchors});
      return reshape(transpose(x, {0, 1, 3, 2}), rows);
    }
    case 5: return reshape(transpose(x, first ? std::vector{0, 3, 4, 1, 2} : std::vector{0, 2, 3, 1, 4}), rows);
    default: return reshape(x, rows);
  }
}

}  // namespace

void find_origin(const Graph& graph, TensorId tensor, Origin* origin) {
  std::map<TensorId, const fbs::OperatorT*> producers;
  for (const auto& op : graph.table.operators)
    for (const TensorId output : op->outputs) producers[output] = op.get();
  std::set<TensorId> seen;
  std::vector<TensorId> open = {tensor};
  while (!open.empty()) {
    const TensorId at = open.back();
    open.pop_back();
    if (!seen.insert(at).second || graph.is_constant(at)) continue;
    const auto found = producers.find(at);
    if (found == producers.end()) {
      origin->raw = true;
      continue;
    }
    const fbs::OperatorT& op = *found->second;
    const fbs::BinaryT* binary = op.params.AsBinary();
    const bool scaled = binary && binary->kind <= fbs::BinaryKind::Div &&
                        graph.is_constant(op.inputs[0]) != graph.is_constant(op.inputs[1]);
    const fbs::UnaryT* unary = op.params.AsUnary();
    switch (op.params.type) {
      case fbs::OpParams::Reshape:
      case fbs::OpParams::Transpose:
      case fbs::OpParams::Slice:
      case fbs::OpParams::Concat: open.insert(open.end(), op.inputs.begin(), op.inputs.end()); break;
      case fbs::OpParams::Conv2d:
      case fbs::OpParams::Linear:
      case fbs::OpParams::MatMul: origin->raw = true; break;
      case fbs::OpParams::Softmax: origin->softmax = true; break;
      default:
        if (scaled) {
          open.insert(open.end(), op.inputs.begin(), op.inputs.end());
        } else if (unary && (unary->kind == fbs::UnaryKind::Sigmoid || unary->kind == fbs::UnaryKind::HardSigmoid)) {
          origin->sigmoid = true;
        } else {
          origin->other = true;
        }
    }
  }
}

Tensor OutputColumns::append(Graph& graph) const {
  std::vector<Tensor> parts;
  for (const OutputLevel& level : levels) parts.push_back(rows_of(graph, level));
  const Tensor all = parts.size() == 1 ? parts.front() : concat(parts, 1);
  return size == channels(all) ? all : slice(all, 2, begin, size);
}

OutputColumns choose(const Graph& graph, const ColumnSpec& part, const std::vector<int>& anchors,
                     const std::string& detector, const char* what) {
  const std::string where = detector + ": " + what;
  OutputColumns chosen;
  chosen.what = what;
  const auto add = [&](size_t index, bool must) {
    const fbs::PortT& port = *graph.table.outputs[index];
    OutputLevel source;
    source.port = index;
    source.name = port.name;
    source.numbers_first = part.numbers_first;
    const int count = anchors.empty() ? 1 : anchors[std::min(chosen.levels.size(), anchors.size() - 1)];
    const std::vector<int> dims = file_dims(graph, port);
    const bool floats = graph.dtype(port.tensor) == fbs::DType::Float32;
    if (floats && as_rows(dims, part.layout, count, &source) && (must || source.width == part.width)) {
      chosen.levels.push_back(source);
    } else if (must) {
      fail("%s: output '%s' is %s%s: expected rows of values, or maps with %d anchors per position", where.c_str(),
           port.name.c_str(), dims_text(dims).c_str(), floats ? "" : " of integers", count);
    }
  };
  for (const auto& output : part.outputs) add(port_of(graph, output, where), true);
  if (part.outputs.empty()) {
    for (size_t i = 0; i < graph.table.outputs.size(); ++i) add(i, false);
    std::stable_sort(chosen.levels.begin(), chosen.levels.end(),
                     [](const OutputLevel& a, const OutputLevel& b) { return a.rows > b.rows; });
    if (chosen.levels.empty())
      fail("%s: no output has rows of %d values: the file has %s", where.c_str(), part.width, names_of(graph).c_str());
  }
  const int width = chosen.levels.front().width;
  for (const OutputLevel& level : chosen.levels) {
    if (level.width != width)
      fail("%s: output '%s' has rows of %d values, '%s' of %d: expected equal numbers", where.c_str(),
           chosen.levels.front().name.c_str(), width, level.name.c_str(), level.width);
    chosen.rows += level.rows;
    find_origin(graph, graph.table.outputs[level.port]->tensor, &chosen.origin);
  }
  const auto from_end = [width](int channel) { return channel < 0 ? channel + width : channel; };
  chosen.begin = from_end(part.begin);
  const int end = part.end == 0 ? width : from_end(part.end);
  chosen.size = end - chosen.begin;
  if (chosen.begin < 0 || end > width || chosen.size < 1)
    fail("%s: channels %d to %d of output '%s', which has %d", where.c_str(), chosen.begin, end,
         chosen.levels.front().name.c_str(), width);
  return chosen;
}

}  // namespace ferry::detect

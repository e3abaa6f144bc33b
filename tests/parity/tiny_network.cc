#include "tests/parity/tiny_network.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "converter/pack/pack.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/support/paths.h"

namespace ferry::parity {

namespace {

class Builder {
 public:
  Builder(const Checkpoint& checkpoint, TinyFault fault)
      : graph_(std::make_unique<Graph>()), weights_(checkpoint.tensors()), fault_(fault) {}

  std::unique_ptr<Graph> build() {
    Tensor x = graph_->add_input("input", {1, 36, 44, 3}, fbs::Layout::NCHW);
    fbs::Conv2dT stem;
    stem.stride_h = stem.stride_w = 2;
    x = tap(convolution("stem.conv", stem, fault_ == TinyFault::PaddingSide, x), fbs::Layout::NCHW);
    x = norm("stem.bn", x);
    fbs::UnaryT relu6;
    relu6.kind = fbs::UnaryKind::Clamp;
    relu6.beta = 6;
    x = tap(graph_->add_op("stem", relu6, {x}), fbs::Layout::NCHW);
    fbs::Conv2dT depthwise;
    depthwise.groups = 8;
    Tensor y = tap(convolution("block.0.conv", depthwise, false, x), fbs::Layout::NCHW);
    y = tap(norm("block.0.bn", y), fbs::Layout::NCHW);
    x = graph_->add_op("block.0", fbs::BinaryT(), {x, y});
    tap(x, fbs::Layout::NCHW, "block.0", true);
    if (fault_ != TinyFault::NoFeatures) tap(x, fbs::Layout::NCHW, "features");
    fbs::ReduceT mean;
    mean.axes = {1, 2};
    x = tap(graph_->add_op("pooled", mean, {x}), fbs::Layout::Same);
    std::vector<double> bias = values("head.bias");
    if (fault_ == TinyFault::NotFinite) bias[3] = std::numeric_limits<double>::infinity();
    std::vector<double> weight = values("head.weight");
    if (fault_ == TinyFault::WrongWeight) weight[0] += 4e-4;
    x = graph_->add_op(
        "head", fbs::LinearT(),
        {x, graph_->add_constant("head.weight", {5, 8}, weight), graph_->add_constant("head.bias", {5}, bias)});
    graph_->add_output("logits", x, fbs::Layout::Same);
    graph_->table.name = "tiny";
    return std::move(graph_);
  }

 private:
  std::vector<double> values(const std::string& name) const { return weights_.at(name).to_doubles(); }

  Tensor tap(Tensor x, fbs::Layout layout, std::string name = "", bool block = false) {
    auto port = std::make_unique<fbs::PortT>();
    port->name = name.empty() ? graph_->table.operators.back()->name : name;
    port->tensor = x.id;
    port->source_layout = layout;
    port->block = block;
    graph_->table.taps.push_back(std::move(port));
    return x;
  }

  Tensor convolution(const std::string& name, fbs::Conv2dT params, bool wrong_side, Tensor x) {
    const CheckpointTensor& tensor = weights_.at(name + ".weight");
    const auto n = static_cast<int32_t>(tensor.shape[0]), c = static_cast<int32_t>(tensor.shape[1]);
    const std::vector<double> from = tensor.to_doubles();
    std::vector<double> to;  // O,I,KH,KW -> O,KH,KW,I
    for (int o = 0; o < n; ++o)
      for (int k = 0; k < 9; ++k)
        for (int i = 0; i < c; ++i) {
          const int from_k = fault_ == TinyFault::FlippedKernel && c == 1 ? 8 - k : k;
          to.push_back(from[static_cast<size_t>((o * c + i) * 9 + from_k)]);
        }
    params.pad_top = params.pad_left = wrong_side ? 0 : 1;
    params.pad_bottom = params.pad_right = wrong_side ? 2 : 1;
    return graph_->add_op(name, params, {x, graph_->add_constant(name + ".weight", {n, 3, 3, c}, to)});
  }

  Tensor norm(const std::string& name, Tensor x) {
    std::vector<double> scale = values(name + ".weight"), shift = values(name + ".bias");
    const std::vector<double> mean = values(name + ".running_mean"), variance = values(name + ".running_var");
    if (fault_ == TinyFault::DroppedShift && name == "block.0.bn") std::fill(shift.begin(), shift.end(), 0.0);
    for (size_t i = 0; i < scale.size(); ++i) {
      scale[i] /= std::sqrt(variance[i] + (fault_ == TinyFault::WrongEpsilon ? 1e-5 : 1e-3));
      shift[i] -= mean[i] * scale[i];
    }
    fbs::BinaryT multiply;
    multiply.kind = fbs::BinaryKind::Mul;
    x = graph_->add_op(name + ".scale", multiply, {x, graph_->add_constant(name + ".scale", {8}, scale)});
    return graph_->add_op(name, fbs::BinaryT(), {x, graph_->add_constant(name + ".shift", {8}, shift)});
  }

  std::unique_ptr<Graph> graph_;
  const std::map<std::string, CheckpointTensor>& weights_;
  TinyFault fault_;
};

}  // namespace

std::unique_ptr<Graph> tiny_network(const Checkpoint& checkpoint, TinyFault fault) {
  return Builder(checkpoint, fault).build();
}

std::filesystem::path tiny_fixture() { return source_folder() / "tests/parity/tiny"; }

std::filesystem::path write_tiny_blob(const std::filesystem::path& folder, TinyFault fault) {
  const auto checkpoint = folder / "tiny.safetensors", blob = folder / "tiny.ferry";
  make_checkpoint(tiny_fixture() / "manifest.json", checkpoint);
  write_file(blob, pack(*tiny_network(*open_checkpoint(checkpoint), fault)));
  return blob;
}

}  // namespace ferry::parity

#include "tests/support/blobs.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "converter/graph/ops.h"
#include "converter/pack/pack.h"
#include "converter/quantize/quantize.h"
#include "sdk/model/model.h"

namespace ferry::testing {
namespace {

Tensor constant(Graph& g, const std::string& name, const Shape& shape) {
  uint32_t seed = 17;
  for (char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = noise(seed, static_cast<uint32_t>(i));
  return g.add_constant(name, shape, std::move(values));
}

struct Conv {
  int32_t out, kernel, stride = 1, groups = 1;
  bool relu = false;
};

Tensor conv(Graph& g, const std::string& name, Tensor x, const Conv& c) {
  fbs::Conv2dT p;
  p.stride_h = p.stride_w = c.stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = c.kernel / 2;
  p.groups = c.groups;
  if (c.relu) p.output_min = 0;
  return g.add_op(name, p,
                  {x, constant(g, name + ".weight", {c.out, c.kernel, c.kernel, x.shape()[3] / c.groups}),
                   constant(g, name + ".bias", {c.out})});
}

Tensor conv_transpose(Graph& g, const std::string& name, Tensor x, int32_t out, int32_t kernel,
                      fbs::ConvTranspose2dT p) {
  return g.add_op(name, p,
                  {x, constant(g, name + ".weight", {out, kernel, kernel, x.shape()[3] / p.groups}),
                   constant(g, name + ".bias", {out})});
}

Tensor linear(Graph& g, const std::string& name, Tensor x, int32_t out) {
  return g.add_op(
      name, fbs::LinearT(),
      {x, constant(g, name + ".weight", {out, x.shape()[x.shape().rank - 1]}), constant(g, name + ".bias", {out})});
}

Tensor unary(Graph& g, fbs::UnaryKind kind, Tensor x, float alpha = 0, float beta = 0) {
  fbs::UnaryT p;
  p.kind = kind;
  p.alpha = alpha;
  p.beta = beta;
  return g.add_op(std::string("unary.") + EnumNameUnaryKind(kind), p, {x});
}

Tensor binary(Graph& g, fbs::BinaryKind kind, Tensor a, Tensor b) {
  fbs::BinaryT p;
  p.kind = kind;
  return g.add_op(std::string("binary.") + EnumNameBinaryKind(kind), p, {a, b});
}

Tensor pool(Graph& g, fbs::PoolKind kind, Tensor x) {
  fbs::Pool2dT p;
  p.kind = kind;
  p.kernel_h = p.kernel_w = 3;
  p.stride_h = p.stride_w = 2;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 1;
  p.count_include_pad = false;
  return g.add_op(std::string("pool.") + EnumNamePoolKind(kind), p, {x});
}

Tensor reduce(Graph& g, fbs::ReduceKind kind, Tensor x, std::vector<int32_t> axes) {
  fbs::ReduceT p;
  p.kind = kind;
  p.axes = std::move(axes);
  return g.add_op(std::string("reduce.") + EnumNameReduceKind(kind), p, {x});
}

Tensor resize(Graph& g, fbs::ResizeKind kind, Tensor x) {
  fbs::Resize2dT p;
  p.kind = kind;
  p.scale_h = p.scale_w = 2;
  return g.add_op(std::string("resize.") + EnumNameResizeKind(kind), p, {x});
}

void add_tap(Graph& g, const std::string& name, Tensor value, fbs::Layout layout) {
  auto tap = std::make_unique<fbs::PortT>();
  tap->name = name;
  tap->tensor = value.id;
  tap->source_layout = layout;
  tap->block = true;
  g.table.taps.push_back(std::move(tap));
}

}  // namespace

AlignedBytes::AlignedBytes(std::span<const std::byte> bytes) : data_(nullptr), size_(bytes.size()) {
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, size_ ? size_ : 1) != 0) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(memory);
  if (size_ > 0) std::memcpy(data_, bytes.data(), size_);
}

AlignedBytes::~AlignedBytes() { std::free(data_); }

float noise(uint32_t seed, uint32_t i) {
  uint32_t x = seed * 0x9E3779B9u + i * 0x85EBCA6Bu + 0xC2B2AE35u;
  x = (x ^ (x >> 15)) * 0x2C1B3C6Du;
  x = (x ^ (x >> 12)) * 0x297A2D39u;
  x ^= x >> 15;
  return static_cast<float>(x >> 22) / 1024.0f - 0.5f;
}

std::unique_ptr<Graph> small_classifier() {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  Tensor x = g.add_input("input", {1, 8, 8, 3}, fbs::Layout::NCHW);
  x = conv(g, "stem", x, {.out = 8, .kernel = 3, .relu = true});
  x = pool(g, fbs::PoolKind::Max, x);
  Tensor y = conv(g, "block.depthwise", x, {.out = 8, .kernel = 3, .groups = 8, .relu = true});
  y = conv(g, "block.pointwise", y, {.out = 8, .kernel = 1});
  x = binary(g, fbs::BinaryKind::Add, x, y);
  add_tap(g, "block", x, fbs::Layout::NCHW);
  x = pool(g, fbs::PoolKind::Average, x);
  add_tap(g, "features", x, fbs::Layout::NCHW);
  x = reduce(g, fbs::ReduceKind::Mean, x, {1, 2});
  add_tap(g, "pooled", x, fbs::Layout::Same);
  g.add_output("logits", linear(g, "fc", x, 5), fbs::Layout::Same);

  g.table.name = "small_classifier";
  g.table.preprocess = std::make_unique<fbs::PreprocessT>();
  fbs::PreprocessT& pre = *g.table.preprocess;
  pre.resize_mode = fbs::ResizeMode::ShortestEdge;
  pre.resize_h = 10;
  pre.filter = fbs::Filter::Bicubic;
  pre.crop_h = pre.crop_w = 8;
  pre.mean = {0.485f, 0.456f, 0.406f};
  pre.std = {0.229f, 0.224f, 0.225f};
  g.table.postprocess = std::make_unique<fbs::PostprocessT>();
  g.table.postprocess->task = fbs::Task::Classification;
  g.table.labels = {"barge", "ferry", "kayak", "liner", "raft"};
  g.table.provenance = std::make_unique<fbs::ProvenanceT>();
  g.table.provenance->family = "test";
  g.table.provenance->variant = "small_classifier";
  g.table.provenance->converter = "ferry tests";
  return graph;
}

std::unique_ptr<Graph> small_upscaler() {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  const Tensor input = g.add_input("input", {1, 6, 7, 3}, fbs::Layout::NCHW);
  Tensor x = conv(g, "body.0", input, {.out = 8, .kernel = 3});
  x = binary(g, fbs::BinaryKind::PRelu, x, constant(g, "body.1.weight", {8}));
  add_tap(g, "body.1", x, fbs::Layout::NCHW);
  x = conv(g, "body.2", x, {.out = 12, .kernel = 3});
  x = unary(g, fbs::UnaryKind::LeakyRelu, x, 0.2f);
  fbs::PixelShuffleT shuffle;
  x = g.add_op("upsampler", shuffle, {x});
  x = binary(g, fbs::BinaryKind::Add, x, resize(g, fbs::ResizeKind::Nearest, input));
  x = binary(g, fbs::BinaryKind::Sub, x, resize(g, fbs::ResizeKind::Bilinear, input));
  g.add_output("output", x, fbs::Layout::NCHW);

  g.table.name = "small_upscaler";
  g.table.preprocess = std::make_unique<fbs::PreprocessT>();
  g.table.postprocess = std::make_unique<fbs::PostprocessT>();
  g.table.postprocess->task = fbs::Task::ImageToImage;
  g.table.postprocess->upscale = 2;
  g.table.postprocess->halo = 2;
  return graph;
}

std::unique_ptr<Graph> small_mixture() {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  const Tensor a = g.add_input("a", {1, 4, 6}, fbs::Layout::Same);
  const Tensor b = g.add_input("b", {1, 4, 6}, fbs::Layout::Same);
  using Of = fbs::UnaryKind;
  Tensor x = binary(g, fbs::BinaryKind::Max, a, constant(g, "floor", {6}));
  x = binary(g, fbs::BinaryKind::Min, x, b);
  x = binary(g, fbs::BinaryKind::Mul, x, constant(g, "gain", {1, 4, 1}));
  x = unary(g, Of::Gelu, unary(g, Of::Silu, unary(g, Of::HardSwish, unary(g, Of::Tanh, x))));
  x = unary(g, Of::Clamp, unary(g, Of::Neg, unary(g, Of::Abs, unary(g, Of::Sigmoid, x))), -0.5f, 0.5f);
  x = linear(g, "mlp", unary(g, Of::Sqrt, unary(g, Of::Exp, unary(g, Of::Square, x))), 6);
  fbs::ConcatT concat;
  concat.axis = 1;
  x = g.add_op("concat", concat, {x, b});  // [1,8,6]
  fbs::SliceT slice;
  slice.begin = {0, 0, 2};
  slice.size = {1, -1, 3};
  x = g.add_op("slice", slice, {x});  // [1,8,3]
  add_tap(g, "slice", x, fbs::Layout::Same);
  g.add_output("probabilities", g.add_op("softmax", fbs::SoftmaxT(), {x}), fbs::Layout::Same);

  fbs::TransposeT transpose;
  transpose.perm = {2, 0, 1};
  Tensor y = g.add_op("transpose", transpose, {x});  // [3,1,8]
  fbs::PadT pad;
  pad.before = {1, 0, 0};
  pad.after = {0, 0, 1};
  pad.value = 0.25f;
  y = g.add_op("pad", pad, {y});  // [4,1,9]
  y = binary(g, fbs::BinaryKind::Div, y, constant(g, "divisor", {1}));
  fbs::ReshapeT reshape;
  reshape.shape = {0, 3, -1};
  y = g.add_op("reshape", reshape, {y});  // [4,3,3]
  g.add_output("sums", reduce(g, fbs::ReduceKind::Sum, y, {1}), fbs::Layout::Same);
  g.table.name = "small_mixture";
  return graph;
}

std::unique_ptr<Graph> small_decoder() {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  Tensor x = g.add_input("x", {1, 4, 5, 6}, fbs::Layout::NCHW);
  fbs::ConvTranspose2dT p;
  p.stride_h = p.stride_w = 2;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = 1;
  p.output_padding_h = p.output_padding_w = 1;
  p.output_min = 0;
  x = conv_transpose(g, "up", x, 8, 3, p);
  p = {};
  p.groups = 8;
  p.pad_right = 1;
  x = conv_transpose(g, "depthwise", x, 8, 3, p);
  p = {};
  p.groups = 2;
  p.dilation_h = p.dilation_w = 2;
  p.output_max = 1;
  g.add_output("y", conv_transpose(g, "dilated", x, 4, 3, p), fbs::Layout::NCHW);
  g.table.name = "small_decoder";
  return graph;
}

std::unique_ptr<Graph> small_products() {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  const Tensor a = g.add_input("a", {2, 1, 10, 6}, fbs::Layout::Same);
  const Tensor b = g.add_input("b", {3, 6, 7}, fbs::Layout::Same);
  const auto product = [&](const char* name, Tensor left, Tensor right, bool transpose_a, bool transpose_b) {
    fbs::MatMulT p;
    p.transpose_a = transpose_a;
    p.transpose_b = transpose_b;
    return g.add_op(name, p, {left, right});
  };
  Tensor x = product("wide", a, b, false, false);                    // [2,3,10,7]
  x = product("narrow", x, b, false, true);                          // [2,3,10,6]
  x = product("square", a, x, true, false);                          // [2,3,6,6]
  x = product("few", constant(g, "left", {4, 6}), x, false, false);  // [2,3,4,6]
  const Tensor rows = product("rows", x, constant(g, "right", {5, 6}), false, true);
  g.add_output("rows", rows, fbs::Layout::Same);
  const Tensor columns = product("columns", x, constant(g, "column", {6, 1}), false, false);
  g.add_output("columns", columns, fbs::Layout::Same);
  g.table.name = "small_products";
  return graph;
}

namespace {

// The graphs of small_transformer(), which share these weights.
class Transformer {
 public:
  struct Options {
    int32_t tokens = 24, run = 16;
    int32_t window = 0;   // attention's window
    bool forgets = true;  // states have the same window
  };
  Transformer() = default;
  explicit Transformer(const Options& options) : options_(options) {}

  std::unique_ptr<Graph> graph(const std::string& name, bool logits) {
    auto graph = std::make_unique<Graph>();
    Graph& g = *graph;
    g.table.name = name;
    const Tensor ids = g.add_input("ids", {1, 3}, fbs::Layout::Same, fbs::DType::Int64);
    g.table.inputs[0]->bound = {1, options_.run};
    Tensor x = gather(weight(g, "embedding", {kWords, kWidth}), ids);
    for (const char* layer : {"0", "1"}) x = block(x, layer);
    if (logits) x = g.add_op("head", fbs::LinearT(), {x, weight(g, "head.weight", {kWords, kWidth})});
    g.add_output(logits ? "logits" : "hidden", x, fbs::Layout::Same);
    return graph;
  }

 private:
  static constexpr int32_t kWords = 11, kWidth = 16, kHeads = 4, kKeyHeads = 2, kHead = kWidth / kHeads;

  static Tensor gather(Tensor table, Tensor indices) {
    return table.graph->add_op("gather", fbs::GatherT(), {table, indices});
  }

  Tensor weight(Graph& g, const std::string& name, const Shape& shape) {
    Constant& constant = weights_[name];
    if (constant.owner == nullptr) {
      uint32_t seed = 5;
      for (char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
      std::vector<float> values(static_cast<size_t>(shape.elements()));
      for (size_t i = 0; i < values.size(); ++i) values[i] = noise(seed, static_cast<uint32_t>(i));
      auto owner = std::make_shared<const std::vector<float>>(std::move(values));
      constant = {owner, std::as_bytes(std::span(*owner))};
    }
    return g.add_constant(name, fbs::DType::Float32, shape, constant);
  }

  Tensor block(Tensor x, const std::string& name) {
    Graph& g = *x.graph;
    const auto project = [&](Tensor from, const char* part, int32_t out) {
      return g.add_op(name + part, fbs::LinearT(), {from, weight(g, name + part, {out, kWidth})});
    };
    fbs::LayerNormT norm;
    norm.centered = false;
    const Tensor y =
        g.add_op(name + ".norm", norm,
                 {x, weight(g, name + ".norm.weight", {kWidth}), weight(g, name + ".norm.bias", {kWidth})});
    const Shape kept{1, options_.tokens, kKeyHeads * kHead};
    const int32_t window = options_.forgets ? options_.window : 0;
    const State keys = g.add_state(name + ".keys", kept, 1, fbs::DType::Float32, window);
    const State values = g.add_state(name + ".values", kept, 1, fbs::DType::Float32, window);
    const Tensor places = positions(y, keys);
    const Tensor cos = gather(weight(g, "cos", {options_.tokens, kHead}), places);
    const Tensor sin = gather(weight(g, "sin", {options_.tokens, kHead}), places);
    const Tensor q = rotary_embedding(project(y, ".q", kWidth), cos, sin, kHeads, false);
    const Tensor k = rotary_embedding(project(y, ".k", kKeyHeads * kHead), cos, sin, kKeyHeads, false);
    const Tensor v = project(y, ".v", kKeyHeads * kHead);
    const Tensor all_keys = append(k, keys), all_values = append(v, values);
    const Tensor mixed =
        attention(q, all_keys, all_values,
                  {.heads = kHeads, .kv_heads = kKeyHeads, .scale = 3, .causal = true, .window = options_.window});
    const Tensor joined = x + project(mixed, ".o", kWidth);
    return joined + project(silu(project(joined, ".up", kWidth)), ".down", kWidth);
  }

  Options options_;
  std::map<std::string, Constant> weights_;
};

}  // namespace

std::unique_ptr<Graph> small_window(bool forgets) {
  Transformer transformer({.tokens = 400, .run = 200, .window = 5, .forgets = forgets});
  std::unique_ptr<Graph> graph = transformer.graph("small_window", true);
  graph->add_graph(std::move(*transformer.graph("states", false)));
  return graph;
}

std::unique_ptr<Graph> small_transformer() {
  Transformer transformer;
  std::unique_ptr<Graph> graph = transformer.graph("small_transformer", true);
  graph->add_graph(std::move(*transformer.graph("states", false)));
  return graph;
}

std::unique_ptr<Graph> small_recurrent(int32_t value_size) {
  constexpr int32_t kWords = 11, kWidth = 16, kHeads = 4, kKeys = 2 * 5;
  const int32_t values = kHeads * value_size, all = 2 * kKeys + values;
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  g.table.name = "small_recurrent";
  const Tensor ids = g.add_input("ids", {1, 3}, fbs::Layout::Same, fbs::DType::Int64);
  g.table.inputs[0]->bound = {1, 100};
  const auto project = [&](Tensor x, const char* name, int32_t out, int32_t in) {
    return g.add_op(name, fbs::LinearT(), {x, constant(g, name, {out, in})});
  };
  const Tensor x = g.add_op("words", fbs::GatherT(), {constant(g, "words", {kWords, kWidth}), ids});
  fbs::CausalConv1dT conv;
  conv.state = g.add_state("inputs", {1, 3, all}, Graph::kFixed).index;
  const Tensor qkv =
      g.add_op("conv", conv,
               {project(x, "qkv", all, kWidth), constant(g, "conv.weight", {4, all}), constant(g, "conv.bias", {all})});
  const State memory = g.add_state("memory", {2, 1, kHeads, 5, value_size}, Graph::kFixed);
  const Tensor beta = sigmoid(project(x, "beta", kHeads, kWidth));
  const Tensor decay = softplus(project(x, "decay", kHeads, kWidth)) * -1.0;
  const Tensor y = gated_delta_rule(slice(qkv, -1, 0, kKeys), slice(qkv, -1, kKeys, kKeys),
                                    slice(qkv, -1, 2 * kKeys, values), decay, beta, memory);
  const Tensor mixed = x + project(y, "out", kWidth, values);
  g.add_output("logits", project(mixed, "head", kWords, kWidth), fbs::Layout::Same);
  g.add_output("places", g.add_op("places", fbs::CastT(), {positions(ids, memory)}), fbs::Layout::Same);
  return graph;
}

std::unique_ptr<Graph> small_integers() {
  auto graph = std::make_unique<Graph>();
  Graph& g = *graph;
  g.table.name = "small_integers";
  const Tensor ids = g.add_input("ids", {1, 3}, fbs::Layout::Same, fbs::DType::Int64);
  const Tensor words = constant(g, "words", {11, 32}), up = constant(g, "up", {64, 32}),
               down = constant(g, "down", {32, 64});
  Tensor x = g.add_op("words", fbs::GatherT(), {words, ids});
  fbs::LinearT relu;
  relu.output_min = 0;
  x = g.add_op("up", relu, {x, up, constant(g, "up.bias", {64})});
  x = g.add_op("down", fbs::LinearT(), {x, down});
  g.add_output("logits", g.add_op("head", fbs::LinearT(), {x, words}), fbs::Layout::Same);
  quantize_to_int4(g, g.at(up.id));
  for (const Tensor& weight : {words, down}) quantize_to_int8(g, g.at(weight.id));
  return graph;
}

std::vector<Named> small_blobs() {
  return {{"small_classifier", pack(*small_classifier())},   {"small_upscaler", pack(*small_upscaler())},
          {"small_mixture", pack(*small_mixture())},         {"small_decoder", pack(*small_decoder())},
          {"small_transformer", pack(*small_transformer())}, {"small_integers", pack(*small_integers())},
          {"small_products", pack(*small_products())},       {"small_recurrent", pack(*small_recurrent())}};
}

Parts::Parts(std::span<const std::byte> blob) {
  BlobHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  version = header.version;
  fbs::GetGraph(blob.data() + header.graph_offset)->UnPackTo(&model);
  version = header.version;
  const auto section = blob.subspan(header.data_offset, header.data_bytes);
  data.assign(section.begin(), section.end());
}

std::vector<std::byte> Parts::assemble() const {
  flatbuffers::FlatBufferBuilder builder;
  fbs::FinishGraphBuffer(builder, fbs::CreateGraph(builder, &model));
  return testing::assemble({builder.GetBufferPointer(), builder.GetSize()}, data, version);
}

std::vector<std::byte> assemble(std::span<const uint8_t> graph, std::span<const std::byte> data, uint32_t version) {
  BlobHeader header{};
  std::memcpy(header.magic, BlobHeader::kMagic, sizeof header.magic);
  header.version = version;
  header.header_bytes = sizeof header;
  header.graph_offset = sizeof header;
  header.graph_bytes = graph.size();
  header.data_offset = (sizeof header + graph.size() + kAlignment - 1) / kAlignment * kAlignment;
  header.data_bytes = data.size();
  std::vector<std::byte> blob(header.data_offset + data.size());
  std::memcpy(blob.data(), &header, sizeof header);
  std::memcpy(blob.data() + header.graph_offset, graph.data(), graph.size());
  if (!data.empty()) std::memcpy(blob.data() + header.data_offset, data.data(), data.size());
  return blob;
}

}  // namespace ferry::testing

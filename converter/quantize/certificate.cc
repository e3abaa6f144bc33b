#include "converter/quantize/certificate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "converter/checkpoint/sha256.h"
#include "converter/graph/macs.h"
#include "converter/reference/interpreter.h"
#include "sdk/model/seeded.h"
#include "sdk/operators/operators.h"

namespace ferry::int8 {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int64_t kMaxValues = 2048;  // of an input that is no image
constexpr uint64_t kMaxMacs = 20'000'000'000;
constexpr size_t kSampleBytes = 48 << 10, kStageSamples = 512;
constexpr float kExactBound = 1e-6f, kRoundedBound = 1e-4f;

// How far a value is the same on every device.
enum class Proof : uint8_t { None, Rounded, Exact };

PerTensor<Proof> proofs_of(const Graph& graph) {
  PerTensor<Proof> proofs(graph.table.tensors.size(), Proof::Exact);  // of constants and inputs
  const auto is_int8 = [&](TensorId t) { return graph.at(t).dtype == fbs::DType::Int8; };
  for (const auto& op : graph.table.operators) {
    Proof worst = Proof::Exact;
    for (const TensorId t : op->inputs) worst = std::min(worst, proofs[t]);
    const bool reads = is_int8(op->inputs.front()), writes = is_int8(op->outputs.front());
    const bool moves = op->params.type == fbs::OpParams::Reshape;
    Proof proof = worst;
    if (writes && worst == Proof::Rounded) proof = Proof::None;
    if (!reads && !writes && !moves) proof = std::min(worst, Proof::Rounded);
    for (const TensorId t : op->outputs) proofs[t] = proof;
  }
  return proofs;
}

// The input, and its values in the blob's layout; null if it cannot be generated.
std::unique_ptr<fbs::CertificateInputT> generated(const Graph& graph, const fbs::PortT& port,
                                                  std::vector<float>* values) {
  const Shape shape = graph.shape(port.tensor);
  if (graph.at(port.tensor).dtype != fbs::DType::Float32) return nullptr;
  auto out = std::make_unique<fbs::CertificateInputT>();
  for (int i = 0; i < shape.rank; ++i) out->shape.push_back(shape[i]);
  values->resize(static_cast<size_t>(shape.elements()));
  if (shape.rank == 4) {
    out->seed = kSeed;
    seeded_images(kSeed, shape[0], shape[3], shape[1], shape[2], /*channels_last=*/true, values->data());
    return out;
  }
  if (shape.elements() > kMaxValues) return nullptr;
  const Stream stream("input", kSeed);
  for (size_t i = 0; i < values->size(); ++i) (*values)[i] = static_cast<float>(stream.unit(i));
  out->values = *values;
  return out;
}

// The index in the blob's layout of the position `at` in the framework's.
size_t stored_at(const fbs::PortT& port, const Shape& shape, uint64_t at) {
  if (port.source_layout != fbs::Layout::NCHW || shape.rank != 4) return static_cast<size_t>(at);
  const auto area = static_cast<uint64_t>(shape[1]) * static_cast<uint64_t>(shape[2]);
  const auto channels = static_cast<uint64_t>(shape[3]);
  return static_cast<size_t>((at / area / channels * area + at % area) * channels + at / area % channels);
}

std::unique_ptr<fbs::CertificateStageT> stage_of(const fbs::PortT& port, const reference::Array& value, Proof proof,
                                                 size_t samples) {
  auto out = std::make_unique<fbs::CertificateStageT>();
  out->name = port.name;
  const std::vector<float> floats(value.values.begin(), value.values.end());
  float largest = 0;
  for (const float v : floats) largest = std::max(largest, std::fabs(v));
  out->absmax = largest > 0 && std::isfinite(largest) ? largest : 1;
  const Stream places = sample_stream(port.name, "tap/");
  for (size_t i = 0; i < std::min(samples, floats.size()); ++i)
    out->samples.push_back(floats[stored_at(port, value.shape, places.bits(i) % floats.size())]);
  out->bound = proof == Proof::Exact ? kExactBound : kRoundedBound;
  if (proof == Proof::Exact) out->sha256 = sha256_hex(std::as_bytes(std::span(floats)));
  return out;
}

}  // namespace

std::unique_ptr<fbs::CertificateT> certificate_of(const Graph& graph) {
  if (macs_of(graph) > kMaxMacs) return nullptr;
  auto out = std::make_unique<fbs::CertificateT>();
  out->fixture = "integers";
  out->library = "the integer reference of ferry";
  std::vector<reference::Array> inputs;
  for (const auto& port : graph.table.inputs) {
    std::vector<float> values;
    auto input = generated(graph, *port, &values);
    if (input == nullptr) return nullptr;
    out->inputs.push_back(std::move(input));
    inputs.push_back({graph.shape(port->tensor), {values.begin(), values.end()}});
  }

  const PerTensor<Proof> proofs = proofs_of(graph);
  std::vector<const fbs::PortT*> ports;
  for (const auto* list : {&graph.table.taps, &graph.table.outputs})
    for (const auto& port : *list) {
      const bool real = graph.at(port->tensor).dtype == fbs::DType::Float32;
      if (real && proofs[port->tensor] != Proof::None) ports.push_back(port.get());
    }
  if (ports.empty()) return nullptr;
  PerTensor<size_t> position(graph.table.tensors.size());
  for (size_t i = 0; i < graph.table.operators.size(); ++i)
    for (const TensorId t : graph.table.operators[i]->outputs) position[t] = i;
  std::stable_sort(ports.begin(), ports.end(),
                   [&](const auto* a, const auto* b) { return position[a->tensor] < position[b->tensor]; });

  const std::map<TensorId, reference::Array> values = reference::interpret(graph, inputs);
  const size_t samples = std::clamp<size_t>(kSampleBytes / ports.size() / sizeof(float), 1, kStageSamples);
  for (const fbs::PortT* port : ports)
    out->stages.push_back(stage_of(*port, values.at(port->tensor), proofs[port->tensor], samples));
  return out;
}

}  // namespace ferry::int8

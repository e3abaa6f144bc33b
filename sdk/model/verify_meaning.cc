#include "sdk/model/verify_meaning.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <string_view>

#include "sdk/model/model.h"
#include "sdk/model/verify_states.h"
#include "sdk/model/verify_types.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type_rules.h"

namespace ferry {
namespace {

using ull = unsigned long long;
using Ports = flatbuffers::Vector<flatbuffers::Offset<fbs::Port>>;
using Floats = flatbuffers::Vector<float>;

template <typename T>
uint32_t count(const flatbuffers::Vector<T>* list) {
  return list ? list->size() : 0;
}

// One pass over the graph in the order of its parts, each relying on those before it.
class Meaning {
 public:
  Meaning(const fbs::Graph& graph, uint64_t data_bytes) : graph_(graph), data_bytes_(data_bytes) {}

  Status check() {
    FERRY_TRY(check_presence());
    FERRY_TRY(check_buffers());
    FERRY_TRY(verify_states(graph_, &states_));
    for (uint32_t i = 0; i < count(graph_.tensors()); ++i) FERRY_TRY(check_tensor(i));
    FERRY_TRY(verify_types(graph_));
    state_.reset(new (std::nothrow) State[count(graph_.tensors())]());
    shapes_.reset(new (std::nothrow) Shape[kMaxOperatorInputs]);
    types_.reset(new (std::nothrow) Type[kMaxOperatorInputs]);
    appended_.reset(new (std::nothrow) bool[states_.count]());
    if (!state_ || !shapes_ || !types_ || !appended_)
      return error(FERRY_OUT_OF_MEMORY, "no memory to verify %u tensors", count(graph_.tensors()));
    FERRY_TRY(check_inputs());
    for (uint32_t i = 0; i < count(graph_.operators()); ++i) FERRY_TRY(check_operator(i));
    FERRY_TRY(check_ports("output", graph_.outputs()));
    FERRY_TRY(check_ports("tap", graph_.taps()));
    FERRY_TRY(check_preprocess());
    FERRY_TRY(check_postprocess());
    return check_packed();
  }

 private:
  enum class State : uint8_t { Missing, Input, Produced };

  Status check_presence() const;
  Status check_buffers() const;
  Status check_tensor(uint32_t index) const;
  Status check_segment(uint32_t index, int64_t elements) const;
  Status check_inputs();
  Status check_operator(uint32_t index);
  Status check_operand(uint32_t op, uint32_t place);
  Status check_append(uint32_t index);
  Status check_ports(const char* kind, const Ports* ports) const;
  Status check_port(const char* kind, uint32_t index, const fbs::Port& port) const;
  Status check_unique_names(const char* kind, const Ports* ports) const;
  Status check_preprocess() const;
  Status check_postprocess() const;
  Status check_packed() const;

  const fbs::Tensor& tensor(uint32_t index) const { return *graph_.tensors()->Get(index); }

  const fbs::Graph& graph_;
  const uint64_t data_bytes_;
  std::unique_ptr<State[]> state_;   // of every tensor
  std::unique_ptr<Shape[]> shapes_;  // of the operator at hand
  std::unique_ptr<Type[]> types_;
  StateShapes states_;
  std::unique_ptr<bool[]> appended_;  // of every state: by an operator so far
  uint32_t operands_ = 0;             // of all operators so far
};

Status Meaning::check_presence() const {
  if (count(graph_.tensors()) == 0) return error(FERRY_CORRUPT, "graph: no tensors");
  if (count(graph_.operators()) == 0) return error(FERRY_CORRUPT, "graph: no operators");
  if (count(graph_.inputs()) == 0) return error(FERRY_CORRUPT, "graph: no inputs");
  if (count(graph_.outputs()) == 0) return error(FERRY_CORRUPT, "graph: no outputs");
  if (count(graph_.buffers()) == 0) return error(FERRY_CORRUPT, "graph: no buffers, expected at least the empty one");
  return {};
}

Status Meaning::check_buffers() const {
  const fbs::Buffer& none = *graph_.buffers()->Get(0);
  if (none.offset() != 0 || none.size() != 0)
    return error(FERRY_CORRUPT, "buffer 0: %llu bytes at %llu, expected the empty buffer",
                 static_cast<ull>(none.size()), static_cast<ull>(none.offset()));
  uint64_t end = 0;  // of the segments so far, with the bytes that may be read past each
  for (uint32_t i = 1; i < count(graph_.buffers()); ++i) {
    const uint64_t offset = graph_.buffers()->Get(i)->offset(), size = graph_.buffers()->Get(i)->size();
    if (offset % kAlignment != 0)
      return error(FERRY_CORRUPT, "buffer %u: begins at %llu of the data section, expected a multiple of %zu", i,
                   static_cast<ull>(offset), kAlignment);
    if (offset > data_bytes_ || size > data_bytes_ - offset || kExtraBytes > data_bytes_ - offset - size)
      return error(FERRY_CORRUPT,
                   "buffer %u: %llu bytes at %llu and %zu of padding reach past the data section's end at %llu", i,
                   static_cast<ull>(size), static_cast<ull>(offset), kExtraBytes, static_cast<ull>(data_bytes_));
    if (offset < end)
      return error(FERRY_CORRUPT, "buffer %u: begins at %llu, before the padded buffer %u ends at %llu", i,
                   static_cast<ull>(offset), i - 1, static_cast<ull>(end));
    end = offset + size + kExtraBytes;
  }
  return {};
}

Status Meaning::check_tensor(uint32_t index) const {
  const fbs::Tensor& t = tensor(index);
  const uint32_t rank = count(t.shape());
  if (rank > FERRY_MAX_RANK)
    return error(FERRY_CORRUPT, "tensor %u '%.64s': has %u dimensions, at most %d are allowed", index, text(t.name()),
                 rank, FERRY_MAX_RANK);
  int64_t elements = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    const int32_t d = t.shape()->Get(i);
    if (d < 1)
      return error(FERRY_CORRUPT, "tensor %u '%.64s': dimension %u is %d, expected 1 or more", index, text(t.name()), i,
                   d);
    if (elements > kMaxElements / d)
      return error(FERRY_CORRUPT, "tensor %u '%.64s': %s has more than 2^40 elements", index, text(t.name()),
                   to_string(declared_shape(t)).c_str());
    elements *= d;
  }
  FERRY_TRY(verify_dtype(t, index));
  return t.buffer() != 0 ? check_segment(index, elements) : Status();
}

// A constant's segment holds exactly its elements.
Status Meaning::check_segment(uint32_t index, int64_t elements) const {
  const fbs::Tensor& t = tensor(index);
  if (t.buffer() >= count(graph_.buffers()))
    return error(FERRY_CORRUPT, "tensor %u '%.64s': buffer %u of %u does not exist", index, text(t.name()), t.buffer(),
                 count(graph_.buffers()));
  const uint64_t want = bytes_of(t.dtype(), elements);
  const uint64_t size = graph_.buffers()->Get(t.buffer())->size();
  if (size != want)
    return error(FERRY_CORRUPT, "tensor %u '%.64s': %s of %s takes %llu bytes, buffer %u has %llu", index,
                 text(t.name()), to_string(declared_shape(t)).c_str(), EnumNameDType(t.dtype()), static_cast<ull>(want),
                 t.buffer(), static_cast<ull>(size));
  return {};
}

Status Meaning::check_inputs() {
  const Ports& inputs = *graph_.inputs();
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const uint32_t index = inputs.Get(i)->tensor();
    if (index >= count(graph_.tensors())) break;  // check_ports() below says so
    if (state_[index] == State::Input) return error(FERRY_CORRUPT, "input %u: tensor %u is an input already", i, index);
    state_[index] = State::Input;
  }
  return check_ports("input", graph_.inputs());
}

Status Meaning::check_operator(uint32_t index) {
  const fbs::Operator& op = *graph_.operators()->Get(index);
  const char* name = text(op.name());
  const uint32_t inputs = count(op.inputs()), outputs = count(op.outputs());
  operands_ += std::min(inputs, kMaxInputs);
  if (inputs == 0 || inputs > kMaxOperatorInputs || operands_ > kMaxInputs)
    return error(FERRY_CORRUPT, "operator %u '%.64s': %u inputs, expected 1 to %u, and at most %u in all operators",
                 index, name, inputs, kMaxOperatorInputs, kMaxInputs);
  for (uint32_t i = 0; i < inputs; ++i) {
    FERRY_TRY(check_operand(index, i));
    shapes_[i] = declared_shape(tensor(static_cast<uint32_t>(op.inputs()->Get(i))));
  }
  if (outputs != 1) return error(FERRY_CORRUPT, "operator %u '%.64s': %u outputs, expected 1", index, name, outputs);
  const uint32_t out = static_cast<uint32_t>(op.outputs()->Get(0));
  if (out >= count(graph_.tensors()))
    return error(FERRY_CORRUPT, "operator %u '%.64s': output tensor %d of %u does not exist", index, name,
                 static_cast<int>(out), count(graph_.tensors()));
  if (tensor(out).buffer() != 0)
    return error(FERRY_CORRUPT, "operator %u '%.64s': output tensor %u is a constant", index, name, out);
  if (state_[out] != State::Missing)
    return error(FERRY_CORRUPT, "operator %u '%.64s': output tensor %u is %s already", index, name, out,
                 state_[out] == State::Input ? "an input" : "computed");
  state_[out] = State::Produced;

  Shape shape;
  Type type;
  Status status = infer_shape(op, {shapes_.get(), inputs}, &shape, states_);
  if (status.ok()) status = infer_type(op, {types_.get(), inputs}, &type);
  if (status.ok()) status = check_state_type(op, {types_.get(), inputs}, states_);
  if (!status.ok())
    return error(status.code() == FERRY_UNSUPPORTED ? FERRY_UNSUPPORTED : FERRY_CORRUPT, "operator %u '%.64s': %s",
                 index, name, status.message().c_str());
  if (shape != declared_shape(tensor(out)))
    return error(FERRY_CORRUPT, "operator %u '%.64s': gives %s, but output tensor %u declares %s", index, name,
                 to_string(shape).c_str(), out, to_string(declared_shape(tensor(out))).c_str());
  if (type.dtype != tensor(out).dtype())
    return error(FERRY_CORRUPT, "operator %u '%.64s': gives %s, but output tensor %u declares %s", index, name,
                 EnumNameDType(type.dtype), out, EnumNameDType(tensor(out).dtype()));
  return check_append(index);
}

// A state holds what one operator appends.
Status Meaning::check_append(uint32_t index) {
  const fbs::Append* p = graph_.operators()->Get(index)->params_as_Append();
  if (p == nullptr) return {};
  if (appended_[p->state()])
    return error(FERRY_CORRUPT, "operator %u '%.64s': appends to state %u, which another operator has appended to",
                 index, text(graph_.operators()->Get(index)->name()), p->state());
  appended_[p->state()] = true;
  return {};
}

// Input `place` of operator `op`: there, computed before, of a kind that the operator reads. Notes its type.
Status Meaning::check_operand(uint32_t index, uint32_t place) {
  const fbs::Operator& op = *graph_.operators()->Get(index);
  const uint32_t in = static_cast<uint32_t>(op.inputs()->Get(place));
  if (in >= count(graph_.tensors()))
    return error(FERRY_CORRUPT, "operator %u '%.64s': input tensor %d of %u does not exist", index, text(op.name()),
                 static_cast<int>(in), count(graph_.tensors()));
  const fbs::Tensor& t = tensor(in);
  const bool constant = t.buffer() != 0;
  if (!constant && state_[in] == State::Missing)
    return error(FERRY_CORRUPT, "operator %u '%.64s': reads tensor %u '%.64s' before anything computes it", index,
                 text(op.name()), in, text(t.name()));
  if (takes_constants(op.params_type()) && place > 0 && !constant)
    return error(FERRY_UNSUPPORTED, "operator %u '%.64s': input %u of a %s must be a constant", index, text(op.name()),
                 place, op_name(op.params_type()));
  types_[place] = type_of(t);
  return {};
}

Status Meaning::check_ports(const char* kind, const Ports* ports) const {
  if (count(ports) > kMaxPorts)
    return error(FERRY_CORRUPT, "graph: %u %ss, at most %u are allowed", count(ports), kind, kMaxPorts);
  for (uint32_t i = 0; i < count(ports); ++i) FERRY_TRY(check_port(kind, i, *ports->Get(i)));
  return check_unique_names(kind, ports);
}

Status Meaning::check_port(const char* kind, uint32_t index, const fbs::Port& port) const {
  if (!port.name() || port.name()->size() == 0) return error(FERRY_CORRUPT, "%s %u: has no name", kind, index);
  const char* name = port.name()->c_str();
  if (port.name()->size() > kMaxNameBytes || port.name()->string_view().find('\0') != std::string_view::npos)
    return error(FERRY_CORRUPT, "%s %u: a name of %u bytes, expected 1 to %u without a zero", kind, index,
                 port.name()->size(), kMaxNameBytes);
  if (port.tensor() >= count(graph_.tensors()))
    return error(FERRY_CORRUPT, "%s %u '%.64s': tensor %u of %u does not exist", kind, index, name, port.tensor(),
                 count(graph_.tensors()));
  const fbs::Tensor& t = tensor(port.tensor());
  if (t.buffer() != 0)
    return error(FERRY_CORRUPT, "%s %u '%.64s': tensor %u is a constant, expected a value that the graph computes",
                 kind, index, name, port.tensor());
  if (state_[port.tensor()] == State::Missing)
    return error(FERRY_CORRUPT, "%s %u '%.64s': nothing computes tensor %u", kind, index, name, port.tensor());
  if (port.source_layout() > fbs::Layout::MAX)
    return error(FERRY_UNSUPPORTED, "%s %u '%.64s': layout %u is unknown to this version", kind, index, name,
                 static_cast<unsigned>(port.source_layout()));
  if (port.source_layout() == fbs::Layout::NCHW && count(t.shape()) != 4)
    return error(FERRY_CORRUPT, "%s %u '%.64s': layout NCHW for a tensor of %u dimensions, expected 4", kind, index,
                 name, count(t.shape()));
  return {};
}

Status Meaning::check_unique_names(const char* kind, const Ports* ports) const {
  const uint32_t n = count(ports);
  if (n < 2) return {};
  std::unique_ptr<std::string_view[]> names(new (std::nothrow) std::string_view[n]);
  if (!names) return error(FERRY_OUT_OF_MEMORY, "no memory to verify %u names", n);
  for (uint32_t i = 0; i < n; ++i) names[i] = ports->Get(i)->name()->string_view();
  std::sort(names.get(), names.get() + n);
  const auto* twice = std::adjacent_find(names.get(), names.get() + n);
  if (twice != names.get() + n)
    return error(FERRY_CORRUPT, "graph: two %ss have the name '%.64s'", kind, twice->data());
  return {};
}

// Of what is shown, and of what is seen: satellites and microscopes have more channels than screens.
constexpr uint32_t kMaxPictureChannels = 4, kMaxInputChannels = 1024;
constexpr int32_t kPatchChannels = 3;

Status check_range(const char* what, int32_t value, int32_t least, int32_t most) {
  if (value >= least && value <= most) return {};
  return error(FERRY_CORRUPT, "%s is %d, expected %d to %d", what, value, least, most);
}

// mean and std: both absent, or one number for each of the picture's channels, which are at most `most`.
Status check_scaling(const char* where, const Floats* mean, const Floats* std, int32_t channels, uint32_t most) {
  if (count(mean) == 0 && count(std) == 0) return {};
  if (count(mean) != count(std) || count(mean) > most || count(mean) != static_cast<uint32_t>(channels))
    return error(FERRY_CORRUPT, "%s: %u means and %u deviations for %d channels, expected one a channel, at most %u",
                 where, count(mean), count(std), channels, most);
  for (uint32_t i = 0; i < count(mean); ++i)
    if (!std::isfinite(mean->Get(i)) || !std::isfinite(std->Get(i)) || std->Get(i) == 0)
      return error(FERRY_CORRUPT, "%s: channel %u has mean %g and deviation %g, expected finite numbers, not 0", where,
                   i, static_cast<double>(mean->Get(i)), static_cast<double>(std->Get(i)));
  return {};
}

Status Meaning::check_preprocess() const {
  const fbs::Preprocess* p = graph_.preprocess();
  if (!p) return {};
  if (p->resize_mode() > fbs::ResizeMode::MAX || p->filter() > fbs::Filter::MAX || p->color() > fbs::ColorOrder::MAX)
    return error(
        FERRY_UNSUPPORTED, "preprocess: resize mode %u, filter %u or colour order %u is unknown to this version",
        static_cast<unsigned>(p->resize_mode()), static_cast<unsigned>(p->filter()), static_cast<unsigned>(p->color()));
  constexpr int32_t kMaxSide = 65536;
  using Mode = fbs::ResizeMode;
  const Mode mode = p->resize_mode();
  const bool budget = mode == Mode::PixelBudget;
  FERRY_TRY(check_range("preprocess: resize_h", p->resize_h(), mode == Mode::None || budget ? 0 : 1, kMaxSide));
  const bool one_edge = mode == Mode::None || mode == Mode::ShortestEdge || mode == Mode::LongestEdge;
  FERRY_TRY(check_range("preprocess: resize_w", p->resize_w(), one_edge || budget ? 0 : 1, kMaxSide));
  FERRY_TRY(check_range("preprocess: crop_h", p->crop_h(), 0, kMaxSide));
  FERRY_TRY(check_range("preprocess: crop_w", p->crop_w(), p->crop_h() > 0 ? 1 : 0, p->crop_h() > 0 ? kMaxSide : 0));
  FERRY_TRY(check_range("preprocess: multiple_of", p->multiple_of(), 1, kMaxSide));
  constexpr int32_t kMaxPixels = 1 << 28;
  FERRY_TRY(check_range("preprocess: max_pixels", p->max_pixels(), budget ? 1 : 0, kMaxPixels));
  FERRY_TRY(check_range("preprocess: min_pixels", p->min_pixels(), 0, p->max_pixels()));
  FERRY_TRY(check_range("preprocess: patch", p->patch(), 0, 1024));
  FERRY_TRY(check_range("preprocess: patch_block", p->patch_block(), 1, 64));
  FERRY_TRY(check_range("preprocess: patch_frames", p->patch_frames(), 1, 64));
  // An older library would overlook these fields; it refuses the modes that they come with.
  const bool later =
      p->multiple_of() > 1 || p->max_pixels() > 0 || count(p->fill()) > 0 || p->corner() || p->patch() > 0;
  if (later && mode < Mode::LongestEdge)
    return error(FERRY_CORRUPT, "preprocess: resize mode %s with a fill, a corner, multiples, pixels or patches",
                 EnumNameResizeMode(mode));
  const Shape input = declared_shape(tensor(graph_.inputs()->Get(0)->tensor()));
  const bool patches = p->patch() > 0;
  const int64_t patch = int64_t{p->patch()} * p->patch() * p->patch_frames();
  if (input.rank != (patches ? 2 : 4) || (patches && input[1] != kPatchChannels * patch))
    return error(FERRY_CORRUPT, "preprocess: input 0 is %s, expected %s", to_string(input).c_str(),
                 patches ? "a list of patches in colour" : "a picture of 4 dimensions");
  const int32_t channels = patches ? kPatchChannels : input[3];
  FERRY_TRY(check_scaling("preprocess", p->mean(), p->std(), channels, kMaxInputChannels));
  if (count(p->fill()) != 0 && count(p->fill()) != static_cast<uint32_t>(channels))
    return error(FERRY_CORRUPT, "preprocess: %u fills for %d channels, expected one a channel", count(p->fill()),
                 channels);
  return {};
}

Status Meaning::check_postprocess() const {
  const fbs::Postprocess* p = graph_.postprocess();
  if (!p) return {};
  if (p->task() > fbs::Task::MAX)
    return error(FERRY_UNSUPPORTED, "postprocess: task %u is unknown to this version",
                 static_cast<unsigned>(p->task()));
  FERRY_TRY(check_range("postprocess: upscale", p->upscale(), 1, 16));
  FERRY_TRY(check_range("postprocess: halo", p->halo(), 0, 4096));
  FERRY_TRY(check_range("postprocess: top", p->top(), 1, 1 << 20));
  if (p->task() != fbs::Task::ImageToImage) return {};
  const Shape input = declared_shape(tensor(graph_.inputs()->Get(0)->tensor()));
  const Shape output = declared_shape(tensor(graph_.outputs()->Get(0)->tensor()));
  if (input.rank != 4 || output.rank != 4)
    return error(FERRY_CORRUPT, "postprocess: from %s to %s, expected two pictures of 4 dimensions",
                 to_string(input).c_str(), to_string(output).c_str());
  return check_scaling("postprocess", p->mean(), p->std(), output[3], kMaxPictureChannels);
}

// Where packed files lie. What is in them is verified by whoever opens them.
Status Meaning::check_packed() const {
  for (uint32_t i = 0; i < count(graph_.packed()); ++i) {
    const uint32_t buffer = graph_.packed()->Get(i)->buffer();
    if (buffer == 0 || buffer >= count(graph_.buffers()))
      return error(FERRY_CORRUPT, "packed weights %u: buffer %u of %u does not exist", i, buffer,
                   count(graph_.buffers()));
  }
  return {};
}

}  // namespace

Status verify_meaning(const fbs::Graph& graph, uint64_t data_bytes) { return Meaning(graph, data_bytes).check(); }

Shape declared_shape(const fbs::Tensor& tensor) {
  Shape shape;
  for (uint32_t i = 0; i < count(tensor.shape()); ++i) shape[shape.rank++] = tensor.shape()->Get(i);
  return shape;
}

}  // namespace ferry

// Opening a blob from a path, from part of a file and from memory, and the message for every possible fault.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <limits>

#include "converter/pack/pack.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/task_networks.h"

namespace ferry::testing {
namespace {

using Bytes = std::vector<std::byte>;

const Bytes& classifier() {
  static const Bytes blob = pack(*small_classifier());
  return blob;
}

Status open_bytes(std::span<const std::byte> blob) {
  AlignedBytes bytes(blob);
  std::shared_ptr<Model> model;
  const Status status = Model::open_memory(bytes.data(), bytes.size(), &model);
  EXPECT_EQ(status.ok(), model != nullptr);
  return status;
}

#define EXPECT_STATUS(expression, expected_code, part)                                                   \
  do {                                                                                                   \
    const Status actual = (expression);                                                                  \
    EXPECT_EQ(actual.code(), expected_code) << actual.message();                                         \
    EXPECT_NE(actual.message().find(part), std::string::npos) << "the message is: " << actual.message(); \
  } while (false)

// Checks that the constants of `model` are those of `blob`, aligned, and readable past their end.
void expect_constants(const Model& model, const Bytes& blob) {
  const Parts parts(blob);
  int constants = 0;
  for (const TensorId t : model.tensors()) {
    const auto bytes = model.constant(t);
    const auto& tensor = *parts.model.tensors[index_of(t)];
    ASSERT_EQ(model.is_constant(t), tensor.buffer != 0);
    if (!model.is_constant(t)) {
      EXPECT_TRUE(bytes.empty());
      continue;
    }
    ++constants;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment, 0u);
    const auto& segment = *parts.model.buffers[tensor.buffer];
    ASSERT_EQ(bytes.size(), segment.size);
    EXPECT_EQ(std::memcmp(bytes.data(), parts.data.data() + segment.offset, bytes.size()), 0);
    for (size_t k = 0; k < kExtraBytes; ++k) EXPECT_EQ(bytes.data()[bytes.size() + k], std::byte{0});
  }
  EXPECT_GT(constants, 0);
}

TEST(ModelOpen, ByPath) {
  const ScratchFolder scratch;
  const auto& folder = scratch.path();
  const auto path = folder / "small.ferry";
  write_file(path, classifier());
  std::shared_ptr<Model> model;
  const Status status = Model::open(path.c_str(), &model);
  ASSERT_TRUE(status.ok()) << status.message();
  std::filesystem::remove(path);  // the mapping stays
  expect_constants(*model, classifier());
  EXPECT_STREQ(text(model->graph().name()), "small_classifier");
  EXPECT_EQ(model->shape(model->graph().inputs()->Get(0)->tensor()), (Shape{1, 8, 8, 3}));
}

TEST(ModelOpen, FromMemoryWithoutCopying) {
  AlignedBytes bytes(classifier());
  std::shared_ptr<Model> model;
  const Status status = Model::open_memory(bytes.data(), bytes.size(), &model);
  ASSERT_TRUE(status.ok()) << status.message();
  expect_constants(*model, classifier());
  const auto* graph = reinterpret_cast<const std::byte*>(&model->graph());
  EXPECT_GE(graph, bytes.data());
  EXPECT_LT(graph, bytes.data() + bytes.size());
}

TEST(ModelOpen, FromTheMiddleOfAFileAtAnyAlignment) {
  const ScratchFolder scratch;
  const auto& folder = scratch.path();
  const auto path = folder / "archive.bin";
  for (const size_t offset : {size_t{0}, size_t{1}, size_t{13}, size_t{64}, size_t{100}, size_t{4095}, size_t{4096},
                              size_t{4160}, size_t{70000}, size_t{70016}}) {
    SCOPED_TRACE(offset);
    Bytes archive(offset, std::byte{0xAB});
    archive.insert(archive.end(), classifier().begin(), classifier().end());
    archive.insert(archive.end(), 5000, std::byte{0xCD});
    write_file(path, archive);
    const int fd = ::open(path.c_str(), O_RDONLY);
    ASSERT_GE(fd, 0);
    std::shared_ptr<Model> model;
    const Status status = Model::open_fd(fd, offset, classifier().size(), &model);
    ::close(fd);  // no longer needed
    ASSERT_TRUE(status.ok()) << status.message();
    expect_constants(*model, classifier());
  }
}

TEST(ModelOpen, RefusesRangesOutsideTheFile) {
  const ScratchFolder scratch;
  const auto& folder = scratch.path();
  const auto path = folder / "small.ferry";
  write_file(path, classifier());
  const uint64_t size = classifier().size();
  const int fd = ::open(path.c_str(), O_RDONLY);
  ASSERT_GE(fd, 0);
  constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
  std::shared_ptr<Model> model;
  EXPECT_STATUS(Model::open_fd(fd, 0, size + 1, &model), FERRY_INVALID_ARGUMENT, "reach past the file's end");
  EXPECT_STATUS(Model::open_fd(fd, size + 1, 0, &model), FERRY_INVALID_ARGUMENT, "reach past the file's end");
  EXPECT_STATUS(Model::open_fd(fd, kLast - 10, 64, &model), FERRY_INVALID_ARGUMENT, "reach past the file's end");
  EXPECT_STATUS(Model::open_fd(fd, 64, kLast - 63, &model), FERRY_INVALID_ARGUMENT, "reach past the file's end");
  EXPECT_STATUS(Model::open_fd(fd, 0, 0, &model), FERRY_NOT_A_BLOB, "not a ferry blob");
  EXPECT_STATUS(Model::open_fd(fd, 1, size - 1, &model), FERRY_NOT_A_BLOB, "not a ferry blob");
  EXPECT_STATUS(Model::open_fd(fd, 0, size - 1, &model), FERRY_CORRUPT, "reaches past the blob's end");
  ::close(fd);
  EXPECT_STATUS(Model::open_fd(-1, 0, size, &model), FERRY_IO_ERROR, "Bad file descriptor");
  EXPECT_EQ(model, nullptr);
}

TEST(ModelOpen, RefusesMissingFilesAndFolders) {
  const ScratchFolder scratch;
  const auto& folder = scratch.path();
  std::shared_ptr<Model> model;
  EXPECT_STATUS(Model::open(nullptr, &model), FERRY_INVALID_ARGUMENT, "NULL");
  EXPECT_STATUS(Model::open((folder / "missing.ferry").c_str(), &model), FERRY_IO_ERROR, "No such file");
  EXPECT_STATUS(Model::open((folder / ".").c_str(), &model), FERRY_IO_ERROR, "a folder");
  write_file(folder / "empty.ferry", {});
  EXPECT_STATUS(Model::open((folder / "empty.ferry").c_str(), &model), FERRY_NOT_A_BLOB, "empty.ferry");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_STATUS(Model::open_fd(ends[0], 0, 64, &model), FERRY_IO_ERROR, "not a regular file");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(ModelOpen, RefusesUnalignedAndAbsentMemory) {
  Bytes room(classifier().size() + 2 * kAlignment);
  void* start = room.data();
  size_t space = room.size();
  auto* aligned = static_cast<std::byte*>(std::align(kAlignment, classifier().size() + 8, start, space));
  std::memcpy(aligned + 8, classifier().data(), classifier().size());
  std::shared_ptr<Model> model;
  EXPECT_STATUS(Model::open_memory(aligned + 8, classifier().size(), &model), FERRY_INVALID_ARGUMENT,
                "not a multiple of 64");
  EXPECT_STATUS(Model::open_memory(nullptr, 64, &model), FERRY_INVALID_ARGUMENT, "NULL");
  EXPECT_STATUS(Model::open_memory(aligned, 0, &model), FERRY_NOT_A_BLOB, "not a ferry blob");
}

TEST(ModelOpen, RefusesATruncationAtEveryByte) {
  for (const Named& blob : small_blobs()) {
    SCOPED_TRACE(blob.name);
    ASSERT_TRUE(open_bytes(blob.blob).ok());
    for (size_t size = 0; size < blob.blob.size(); ++size) {
      const Status status = open_bytes(std::span(blob.blob).first(size));
      ASSERT_EQ(status.code(), size < 8 ? FERRY_NOT_A_BLOB : FERRY_CORRUPT) << "at byte " << size;
      ASSERT_FALSE(status.message().empty());
    }
  }
}

TEST(ModelOpen, RefusesTrailingBytes) {
  Bytes blob = classifier();
  blob.push_back(std::byte{0});
  EXPECT_STATUS(open_bytes(blob), FERRY_CORRUPT, "but its data section ends at");
}

// ---- the header -----------------------------------------------------------------------------------------------------

struct HeaderCase {
  const char* name;
  std::function<void(BlobHeader&)> damage;
  ferry_status code;
  const char* message;
};

class DamagedHeader : public ::testing::TestWithParam<HeaderCase> {};

TEST_P(DamagedHeader, IsRefusedWithAMessage) {
  Bytes blob = classifier();
  BlobHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  GetParam().damage(header);
  std::memcpy(blob.data(), &header, sizeof header);
  EXPECT_STATUS(open_bytes(blob), GetParam().code, GetParam().message);
}

const HeaderCase kHeaderCases[] = {
    {"magic", [](BlobHeader& h) { h.magic[7] = '\n'; }, FERRY_NOT_A_BLOB, "not a ferry blob"},
    {"version_0", [](BlobHeader& h) { h.version = 0; }, FERRY_CORRUPT, "format version 0"},
    {"version_7", [](BlobHeader& h) { h.version = 7; }, FERRY_UNSUPPORTED_VERSION, "reads versions up to 6"},
    {"header_bytes", [](BlobHeader& h) { h.header_bytes = 128; }, FERRY_CORRUPT, "header_bytes is 128, expected 64"},
    {"reserved", [](BlobHeader& h) { h.reserved[15] = 1; }, FERRY_CORRUPT, "a reserved byte is 1"},
    {"graph_unaligned", [](BlobHeader& h) { h.graph_offset = 72; }, FERRY_CORRUPT, "graph section begins at 72"},
    {"graph_in_header", [](BlobHeader& h) { h.graph_offset = 0; }, FERRY_CORRUPT, "inside the header"},
    {"graph_far", [](BlobHeader& h) { h.graph_offset = uint64_t{1} << 40; }, FERRY_CORRUPT, "reaches past"},
    {"graph_long", [](BlobHeader& h) { h.graph_bytes = uint64_t{1} << 40; }, FERRY_CORRUPT, "reaches past"},
    {"graph_wraps", [](BlobHeader& h) { h.graph_bytes = ~uint64_t{0} - 63; }, FERRY_CORRUPT, "reaches past"},
    {"graph_empty", [](BlobHeader& h) { h.graph_bytes = 0; }, FERRY_CORRUPT, "no flatbuffer"},
    {"graph_short", [](BlobHeader& h) { h.graph_bytes = 40; }, FERRY_CORRUPT, "leads outside its 40 bytes"},
    {"graph_elsewhere", [](BlobHeader& h) { h.graph_offset = 128, h.graph_bytes -= 128; }, FERRY_CORRUPT,
     "identifier FRRY"},
    {"data_unaligned", [](BlobHeader& h) { h.data_offset += 8; }, FERRY_CORRUPT, "expected a multiple of 64"},
    {"data_in_header", [](BlobHeader& h) { h.data_offset = 0; }, FERRY_CORRUPT, "inside the header"},
    {"data_in_graph", [](BlobHeader& h) { h.data_offset = 64; }, FERRY_CORRUPT, "before the graph section ends"},
    {"data_far", [](BlobHeader& h) { h.data_offset = ~uint64_t{0} - 63; }, FERRY_CORRUPT, "reaches past"},
    {"data_long", [](BlobHeader& h) { h.data_bytes += 64; }, FERRY_CORRUPT, "reaches past"},
    {"data_short", [](BlobHeader& h) { h.data_bytes -= 64; }, FERRY_CORRUPT, "but its data section ends at"},
};

INSTANTIATE_TEST_SUITE_P(Blob, DamagedHeader, ::testing::ValuesIn(kHeaderCases),
                         [](const auto& test) { return std::string(test.param.name); });

// ---- the graph's meaning --------------------------------------------------------------------------------------------

struct GraphCase {
  const char* name;
  std::function<void(Parts&)> damage;  // of small_classifier()
  ferry_status code;
  const char* message;
};

class DamagedGraph : public ::testing::TestWithParam<GraphCase> {};

TEST_P(DamagedGraph, IsRefusedWithAMessage) {
  Parts parts(classifier());
  ASSERT_EQ(parts.assemble(), classifier());  // so that the damage alone causes the refusals below
  GetParam().damage(parts);
  EXPECT_STATUS(open_bytes(parts.assemble()), GetParam().code, GetParam().message);
}

// The constant `name`, its operator, and the operator's output.
fbs::TensorT& tensor(Parts& parts, const std::string& name) {
  for (auto& t : parts.model.tensors)
    if (t->name == name) return *t;
  fail("no tensor '%s'", name.c_str());
}
fbs::OperatorT& op(Parts& parts, const std::string& name) {
  for (auto& o : parts.model.operators)
    if (o->name == name) return *o;
  fail("no operator '%s'", name.c_str());
}
fbs::BufferT& buffer(Parts& parts, const std::string& name) { return *parts.model.buffers[tensor(parts, name).buffer]; }
TensorId named(Parts& parts, const std::string& name) {
  for (const TensorId t : TensorIds(parts.model.tensors.size()))
    if (parts.model.tensors[index_of(t)]->name == name) return t;
  fail("no tensor '%s'", name.c_str());
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

const GraphCase kGraphCases[] = {
    // presence
    {"no_tensors", [](Parts& p) { p.model.tensors.clear(); }, FERRY_CORRUPT, "no tensors"},
    {"no_operators", [](Parts& p) { p.model.operators.clear(); }, FERRY_CORRUPT, "no operators"},
    {"no_inputs", [](Parts& p) { p.model.inputs.clear(); }, FERRY_CORRUPT, "no inputs"},
    {"no_outputs", [](Parts& p) { p.model.outputs.clear(); }, FERRY_CORRUPT, "no outputs"},
    {"no_buffers", [](Parts& p) { p.model.buffers.clear(); }, FERRY_CORRUPT, "no buffers"},
    // buffers
    {"buffer_0_used", [](Parts& p) { p.model.buffers[0]->size = 4; }, FERRY_CORRUPT, "buffer 0: 4 bytes"},
    {"buffer_unaligned", [](Parts& p) { p.model.buffers[2]->offset += 4; }, FERRY_CORRUPT, "buffer 2: begins at"},
    {"buffer_outside", [](Parts& p) { p.model.buffers.back()->offset += 1 << 20; }, FERRY_CORRUPT,
     "reach past the data"},
    {"buffer_wraps", [](Parts& p) { p.model.buffers.back()->offset = ~uint64_t{0} - 63; }, FERRY_CORRUPT, "reach past"},
    {"packed_buffer",
     [](Parts& p) {
       p.model.packed.push_back(std::make_unique<fbs::PackedT>());
       p.model.packed[0]->buffer = 99;
     },
     FERRY_CORRUPT, "packed weights 0: buffer 99 of"},
    {"buffer_size_wraps", [](Parts& p) { p.model.buffers.back()->size = ~uint64_t{0}; }, FERRY_CORRUPT, "reach past"},
    {"buffer_overlaps", [](Parts& p) { p.model.buffers[2]->offset = 0; }, FERRY_CORRUPT, "before the padded buffer 1"},
    {"buffer_unpadded", [](Parts& p) { p.data.resize(p.model.buffers.back()->offset + p.model.buffers.back()->size); },
     FERRY_CORRUPT, "16 of padding"},
    {"buffer_padded_15",
     [](Parts& p) { p.data.resize(p.model.buffers.back()->offset + p.model.buffers.back()->size + 15); }, FERRY_CORRUPT,
     "16 of padding"},
    // tensors
    {"rank_7", [](Parts& p) { tensor(p, "stem").shape.assign(7, 1); }, FERRY_CORRUPT, "'stem': has 7 dimensions"},
    {"dimension_0", [](Parts& p) { tensor(p, "stem").shape[1] = 0; }, FERRY_CORRUPT, "dimension 1 is 0"},
    {"dimension_negative", [](Parts& p) { tensor(p, "fc.bias").shape[0] = -5; }, FERRY_CORRUPT, "dimension 0 is -5"},
    {"too_many_elements", [](Parts& p) { tensor(p, "stem").shape.assign(6, 0x7fffffff); }, FERRY_CORRUPT,
     FERRY_MAX_ELEMENTS},
    {"elements_wrap_to_zero", [](Parts& p) { tensor(p, "stem").shape.assign(4, 1 << 16); }, FERRY_CORRUPT,
     FERRY_MAX_ELEMENTS},
    {"type_unknown", [](Parts& p) { tensor(p, "stem").dtype = static_cast<fbs::DType>(77); }, FERRY_UNSUPPORTED,
     "type 77 is unknown"},
    {"activation_int8", [](Parts& p) { tensor(p, "stem").dtype = fbs::DType::Int8; }, FERRY_UNSUPPORTED,
     "an activation of type Int8"},
    {"constant_float64", [](Parts& p) { tensor(p, "fc.bias").dtype = fbs::DType::Float64; }, FERRY_CORRUPT, "Float64"},
    {"constant_int8", [](Parts& p) { tensor(p, "fc.bias").dtype = fbs::DType::Int32; }, FERRY_UNSUPPORTED,
     "'fc': linear: input 2 is of type Int32"},
    {"buffer_missing", [](Parts& p) { tensor(p, "fc.bias").buffer = 99; }, FERRY_CORRUPT, "buffer 99 of"},
    {"buffer_of_another", [](Parts& p) { tensor(p, "fc.bias").buffer = tensor(p, "fc.weight").buffer; }, FERRY_CORRUPT,
     "takes 20 bytes"},
    {"segment_short", [](Parts& p) { buffer(p, "fc.weight").size -= 4; }, FERRY_CORRUPT, "takes 160 bytes, buffer"},
    {"segment_long", [](Parts& p) { buffer(p, "fc.weight").size += 4; }, FERRY_CORRUPT, "has 164"},
    // operators
    {"no_parameters", [](Parts& p) { op(p, "stem").params.Reset(); }, FERRY_CORRUPT, "no parameters"},
    {"input_missing", [](Parts& p) { op(p, "stem").inputs[0] = TensorId{999}; }, FERRY_CORRUPT, "input tensor 999 of"},
    {"input_negative", [](Parts& p) { op(p, "stem").inputs[0] = TensorId::None; }, FERRY_CORRUPT, "input tensor -1 of"},
    {"no_operands", [](Parts& p) { op(p, "stem").inputs.clear(); }, FERRY_CORRUPT, "0 inputs"},
    {"many_operands", [](Parts& p) { op(p, "stem").inputs.resize(1025); }, FERRY_CORRUPT, "1025 inputs"},
    {"one_operand_too_many", [](Parts& p) { op(p, "stem").inputs.push_back(op(p, "stem").inputs[2]); }, FERRY_CORRUPT,
     "takes 2 to 3 inputs"},
    {"no_result", [](Parts& p) { op(p, "stem").outputs.clear(); }, FERRY_CORRUPT, "0 outputs"},
    {"two_results", [](Parts& p) { op(p, "stem").outputs.push_back(TensorId::First); }, FERRY_CORRUPT, "2 outputs"},
    {"result_missing", [](Parts& p) { op(p, "stem").outputs[0] = TensorId{-7}; }, FERRY_CORRUPT, "output tensor -7"},
    {"result_constant", [](Parts& p) { op(p, "stem").outputs[0] = named(p, "fc.bias"); }, FERRY_CORRUPT,
     "is a constant"},
    {"result_is_input", [](Parts& p) { op(p, "stem").outputs[0] = named(p, "input"); }, FERRY_CORRUPT,
     "is an input already"},
    {"computed_twice", [](Parts& p) { op(p, "fc").outputs[0] = named(p, "stem"); }, FERRY_CORRUPT,
     "is computed already"},
    {"used_before", [](Parts& p) { std::swap(p.model.operators[0], p.model.operators[1]); }, FERRY_CORRUPT,
     "before anything computes it"},
    {"cycle", [](Parts& p) { op(p, "stem").inputs[0] = named(p, "stem"); }, FERRY_CORRUPT,
     "before anything computes it"},
    {"weight_computed", [](Parts& p) { op(p, "block.pointwise").inputs[1] = named(p, "stem"); }, FERRY_UNSUPPORTED,
     "input 1 of a conv2d must be a constant"},
    {"bias_computed", [](Parts& p) { op(p, "fc").inputs[2] = named(p, "input"); }, FERRY_UNSUPPORTED,
     "input 2 of a linear must be a constant"},
    {"stride_0", [](Parts& p) { op(p, "stem").params.AsConv2d()->stride_h = 0; }, FERRY_CORRUPT, "stride_h is 0"},
    {"groups", [](Parts& p) { op(p, "stem").params.AsConv2d()->groups = 3; }, FERRY_CORRUPT,
     "expects 9 input channels"},
    {"clamp_nan", [](Parts& p) { op(p, "stem").params.AsConv2d()->output_min = kNaN; }, FERRY_CORRUPT, "clamps to"},
    {"kind_unknown", [](Parts& p) { op(p, "pool.Max").params.AsPool2d()->kind = static_cast<fbs::PoolKind>(9); },
     FERRY_UNSUPPORTED, "unknown kind 9"},
    {"axes_absent", [](Parts& p) { op(p, "reduce.Mean").params.AsReduce()->axes.clear(); }, FERRY_CORRUPT, "no axes"},
    {"other_shape",
     [](Parts& p) {
       tensor(p, "stem").shape = {1, 8, 8, 9};
     },
     FERRY_CORRUPT, "declares [1,8,8,9]"},
    // ports
    {"port_without_name", [](Parts& p) { p.model.outputs[0]->name.clear(); }, FERRY_CORRUPT, "output 0: has no name"},
    {"port_name_long", [](Parts& p) { p.model.taps[1]->name.assign(513, 'x'); }, FERRY_CORRUPT, "a name of 513 bytes"},
    {"port_name_zero", [](Parts& p) { p.model.taps[1]->name += '\0'; }, FERRY_CORRUPT, "without a zero"},
    {"port_names_equal", [](Parts& p) { p.model.taps[2]->name = "block"; }, FERRY_CORRUPT,
     "two taps have the name 'block'"},
    {"port_tensor_missing", [](Parts& p) { p.model.inputs[0]->tensor = TensorId{4096}; }, FERRY_CORRUPT,
     "tensor 4096 of"},
    {"input_constant", [](Parts& p) { p.model.inputs[0]->tensor = named(p, "fc.bias"); }, FERRY_CORRUPT,
     "is a constant, expected a value"},
    {"output_constant", [](Parts& p) { p.model.outputs[0]->tensor = named(p, "fc.bias"); }, FERRY_CORRUPT,
     "is a constant, expected a value"},
    {"tap_never_computed",
     [](Parts& p) {
       p.model.tensors.push_back(std::make_unique<fbs::TensorT>());
       p.model.taps[0]->source_layout = fbs::Layout::Same;
       p.model.taps[0]->tensor = tensor_at(p.model.tensors.size() - 1);
     },
     FERRY_CORRUPT, "nothing computes tensor"},
    {"input_twice",
     [](Parts& p) {
       p.model.inputs.push_back(std::make_unique<fbs::PortT>(*p.model.inputs[0]));
       p.model.inputs[1]->name = "again";
     },
     FERRY_CORRUPT, "is an input already"},
    {"layout_unknown", [](Parts& p) { p.model.taps[0]->source_layout = static_cast<fbs::Layout>(5); },
     FERRY_UNSUPPORTED, "layout 5 is unknown"},
    {"layout_rank", [](Parts& p) { p.model.outputs[0]->source_layout = fbs::Layout::NCHW; }, FERRY_CORRUPT,
     "NCHW for a tensor of 2 dimensions"},
    // preprocessing
    {"resize_mode", [](Parts& p) { p.model.preprocess->resize_mode = static_cast<fbs::ResizeMode>(8); },
     FERRY_UNSUPPORTED, "resize mode 8"},
    {"filter", [](Parts& p) { p.model.preprocess->filter = static_cast<fbs::Filter>(8); }, FERRY_UNSUPPORTED,
     "filter 8"},
    {"color", [](Parts& p) { p.model.preprocess->color = static_cast<fbs::ColorOrder>(8); }, FERRY_UNSUPPORTED,
     "colour order 8"},
    {"resize_0", [](Parts& p) { p.model.preprocess->resize_h = 0; }, FERRY_CORRUPT,
     "resize_h is 0, expected 1 to 65536"},
    {"resize_w", [](Parts& p) { p.model.preprocess->resize_w = -1; }, FERRY_CORRUPT, "resize_w is -1"},
    {"crop_h", [](Parts& p) { p.model.preprocess->crop_h = 65537; }, FERRY_CORRUPT, "crop_h is 65537"},
    {"crop_w_absent", [](Parts& p) { p.model.preprocess->crop_w = 0; }, FERRY_CORRUPT, "crop_w is 0, expected 1"},
    {"mean_std_differ", [](Parts& p) { p.model.preprocess->std.pop_back(); }, FERRY_CORRUPT,
     "3 means and 2 deviations"},
    {"mean_channels", [](Parts& p) { p.model.preprocess->mean = p.model.preprocess->std = {1}; }, FERRY_CORRUPT,
     "for 3 channels"},
    {"mean_infinite", [](Parts& p) { p.model.preprocess->mean[1] = kInfinity; }, FERRY_CORRUPT,
     "channel 1 has mean inf"},
    {"std_0", [](Parts& p) { p.model.preprocess->std[2] = 0; }, FERRY_CORRUPT, "channel 2 has mean"},
    {"std_nan", [](Parts& p) { p.model.preprocess->std[0] = kNaN; }, FERRY_CORRUPT, "deviation nan"},
    {"resize_w_0", [](Parts& p) { p.model.preprocess->resize_mode = fbs::ResizeMode::Cover; }, FERRY_CORRUPT,
     "resize_w is 0, expected 1 to 65536"},
    {"multiple_of", [](Parts& p) { p.model.preprocess->multiple_of = 0; }, FERRY_CORRUPT, "multiple_of is 0"},
    {"max_pixels", [](Parts& p) { p.model.preprocess->resize_mode = fbs::ResizeMode::PixelBudget; }, FERRY_CORRUPT,
     "max_pixels is 0, expected 1"},
    {"min_pixels",
     [](Parts& p) {
       p.model.preprocess->resize_mode = fbs::ResizeMode::PixelBudget;
       p.model.preprocess->max_pixels = 9;
       p.model.preprocess->min_pixels = 10;
     },
     FERRY_CORRUPT, "min_pixels is 10, expected 0 to 9"},
    {"patch_block", [](Parts& p) { p.model.preprocess->patch_block = 0; }, FERRY_CORRUPT, "patch_block is 0"},
    {"patch_frames", [](Parts& p) { p.model.preprocess->patch_frames = 65; }, FERRY_CORRUPT, "patch_frames is 65"},
    {"fill_in_an_older_mode", [](Parts& p) { p.model.preprocess->corner = true; }, FERRY_CORRUPT,
     "resize mode ShortestEdge with a fill"},
    {"fill_channels",
     [](Parts& p) {
       p.model.preprocess->resize_mode = fbs::ResizeMode::LongestEdge;
       p.model.preprocess->fill = {1, 1};
     },
     FERRY_CORRUPT, "2 fills for 3 channels"},
    {"patches_of_an_image",
     [](Parts& p) {
       p.model.preprocess->resize_mode = fbs::ResizeMode::LongestEdge;
       p.model.preprocess->patch = 2;
     },
     FERRY_CORRUPT, "expected a list of patches in colour"},
    {"top", [](Parts& p) { p.model.postprocess->top = 0; }, FERRY_CORRUPT, "top is 0"},
    {"task", [](Parts& p) { p.model.postprocess->task = static_cast<fbs::Task>(14); }, FERRY_UNSUPPORTED, "task 14"},
    {"depth_without_parameters", [](Parts& p) { p.model.postprocess->task = fbs::Task::Depth; }, FERRY_CORRUPT,
     "Depth with parameters of NONE"},
    {"parameters_of_another_task", [](Parts& p) { p.model.postprocess->params.Set(fbs::DepthT()); }, FERRY_CORRUPT,
     "Classification with parameters of Depth, expected NONE"},
    {"depth_of_classes",
     [](Parts& p) {
       p.model.postprocess->task = fbs::Task::Depth;
       p.model.postprocess->params.Set(fbs::DepthT());
     },
     FERRY_CORRUPT, "expected an image with a recipe and Float32 places of it"},
    {"depth_without_end",
     [](Parts& p) {
       p = Parts(pack(*colour_as_depth(8, 8, 0, fbs::PreprocessT())));
       p.model.postprocess->params.AsDepth()->maximum = std::numeric_limits<float>::infinity();
     },
     FERRY_CORRUPT, "depth of at most inf metres"},
    {"classes_of_pixels_without_pixels", [](Parts& p) { p.model.postprocess->task = fbs::Task::SemanticSegmentation; },
     FERRY_CORRUPT, "places of it, at most 65536 channels"},
    {"classes_of_pixels_without_a_recipe",
     [](Parts& p) {
       p = Parts(pack(*brightest_colour()));
       p.model.preprocess.reset();
     },
     FERRY_CORRUPT, "expected an image with a recipe"},
    {"upscale_0", [](Parts& p) { p.model.postprocess->upscale = 0; }, FERRY_CORRUPT, "upscale is 0, expected 1 to 16"},
    {"upscale_17", [](Parts& p) { p.model.postprocess->upscale = 17; }, FERRY_CORRUPT, "upscale is 17"},
    {"halo", [](Parts& p) { p.model.postprocess->halo = 4097; }, FERRY_CORRUPT, "halo is 4097"},
    {"scaling_of_the_result",
     [](Parts& p) {
       p = Parts(pack(*small_upscaler()));
       p.model.postprocess->mean = p.model.postprocess->std = {1, 1};
     },
     FERRY_CORRUPT, "postprocess: 2 means and 2 deviations for 3 channels"},
    {"multiple_of_0",
     [](Parts& p) {
       p = Parts(pack(*small_upscaler()));
       p.model.postprocess->multiple_of = 0;
     },
     FERRY_CORRUPT, "postprocess: multiple_of is 0, expected 1 to 64"},
    {"multiple_of_65",
     [](Parts& p) {
       p = Parts(pack(*small_upscaler()));
       p.model.postprocess->multiple_of = 65;
     },
     FERRY_CORRUPT, "postprocess: multiple_of is 65, expected 1 to 64"},
    {"multiple_of_another_task", [](Parts& p) { p.model.postprocess->multiple_of = 2; }, FERRY_CORRUPT,
     "postprocess: multiple_of is 2, expected 1 to 1"},
    {"inpainting_of_logits",
     [](Parts& p) {
       p.model.postprocess->task = fbs::Task::Inpainting;
       p.model.postprocess->params.Set(fbs::InpaintingT());
       p.model.preprocess->mean.clear();
       p.model.preprocess->std.clear();
     },
     FERRY_CORRUPT, "expected a mask and an image with a recipe, and an image"},
    {"inpainting_without_a_mask",
     [](Parts& p) {
       p = Parts(pack(*gray_painter()));
       p.model.postprocess->params.Reset();
     },
     FERRY_CORRUPT, "Inpainting with parameters of NONE"},
    {"inpainting_with_anothers_numbers",
     [](Parts& p) {
       p = Parts(pack(*gray_painter()));
       p.model.postprocess->params.Set(fbs::DepthT());
     },
     FERRY_CORRUPT, "Inpainting with parameters of Depth, expected Inpainting"},
    {"inpainting_of_a_mask_that_says_nothing",
     [](Parts& p) {
       p = Parts(pack(*gray_painter()));
       p.model.postprocess->params.AsInpainting()->hole = 0.5f;
     },
     FERRY_CORRUPT, "a mask of 0.5 where the image is known and 0.5 in the hole"},
    {"inpainting_of_a_mask_that_is_no_number",
     [](Parts& p) {
       p = Parts(pack(*gray_painter()));
       p.model.postprocess->params.AsInpainting()->known = kNaN;
     },
     FERRY_CORRUPT, "where the image is known"},
    {"inpainting_with_a_mean_for_the_mask",
     [](Parts& p) {
       p = Parts(pack(*gray_painter()));
       p.model.preprocess->mean = p.model.preprocess->std = {1, 1, 1, 1};
     },
     FERRY_CORRUPT, "preprocess: 4 means and 4 deviations for 3 channels"},
    {"inpainting_with_a_mean_too_few",
     [](Parts& p) {
       p = Parts(pack(*gray_painter()));
       p.model.postprocess->mean = p.model.postprocess->std = {1, 1};
     },
     FERRY_CORRUPT, "postprocess: 2 means and 2 deviations for 3 channels"},
    {"image_rank", [](Parts& p) { p.model.postprocess->task = fbs::Task::ImageToImage; }, FERRY_CORRUPT,
     "expected two images"},
};

INSTANTIATE_TEST_SUITE_P(Blob, DamagedGraph, ::testing::ValuesIn(kGraphCases),
                         [](const auto& test) { return std::string(test.param.name); });

// Damages small_transformer(), which has two graphs, states and bounds.
class DamagedTransformer : public ::testing::TestWithParam<GraphCase> {};

const Bytes& transformer() {
  static const Bytes blob = pack(*small_transformer());
  return blob;
}

TEST_P(DamagedTransformer, IsRefusedWithAMessage) {
  Parts parts(transformer());
  ASSERT_EQ(parts.assemble(), transformer());
  GetParam().damage(parts);
  EXPECT_STATUS(open_bytes(parts.assemble()), GetParam().code, GetParam().message);
}

// The first operator with these parameters.
template <typename Params>
Params& first_of(fbs::GraphT& graph) {
  for (auto& o : graph.operators)
    if (o->params.type == fbs::OpParamsUnionTraits<Params>::enum_value) return *static_cast<Params*>(o->params.value);
  fail("no such operator");
}

const GraphCase kTransformerCases[] = {
    {"state_without_a_name", [](Parts& p) { p.model.states[1]->name.clear(); }, FERRY_CORRUPT, "state 1: has no name"},
    {"states_of_one_name", [](Parts& p) { p.model.states[1]->name = p.model.states[0]->name; }, FERRY_CORRUPT,
     "graph: two states have the name '0.keys'"},
    {"state_without_dimensions", [](Parts& p) { p.model.states[0]->shape.clear(); }, FERRY_CORRUPT,
     "state 0 '0.keys': has 0 dimensions, expected 1 to 6"},
    {"state_axis", [](Parts& p) { p.model.states[0]->axis = 3; }, FERRY_CORRUPT,
     "state 0 '0.keys': grows along dimension 3 of 3"},
    {"state_axis_below", [](Parts& p) { p.model.states[0]->axis = -2; }, FERRY_CORRUPT,
     "state 0 '0.keys': grows along dimension -2 of 3"},
    {"state_window_below", [](Parts& p) { p.model.states[0]->window = -1; }, FERRY_CORRUPT,
     "state 0 '0.keys': the window is -1, expected 0 or more, and 0 of one of fixed size"},
    {"attention_without_a_window", [](Parts& p) { p.model.states[1]->window = 4; }, FERRY_CORRUPT,
     "input 2 is a state with a window of 4, expected keys or values of causal attention that sees no more"},
    {"attention_beyond_the_window",
     [](Parts& p) {
       p.model.states[0]->window = 4;
       first_of<fbs::AttentionT>(p.model).window = 5;
     },
     FERRY_CORRUPT, "input 1 is a state with a window of 4"},
    {"window_read_by_another_operator",
     [](Parts& p) {
       p.model.states[0]->window = 4;
       first_of<fbs::AttentionT>(p.model).window = 4;
       auto& operators = p.model.operators;  // keys become queries, too
       for (auto& op : operators)
         if (op->params.AsAttention()) return void(op->inputs[0] = op->inputs[1]);
     },
     FERRY_CORRUPT, "input 0 is a state with a window of 4"},
    {"append_to_one_of_fixed_size", [](Parts& p) { p.model.states[0]->axis = -1; }, FERRY_CORRUPT,
     "append: state 0 is of fixed size, expected one that grows"},
    {"state_of_nothing", [](Parts& p) { p.model.states[0]->shape[1] = 0; }, FERRY_CORRUPT,
     "state 0 '0.keys': dimension 1 is 0, expected 1 or more"},
    {"state_too_large",
     [](Parts& p) {
       p.model.states[0]->shape = {1, 1 << 30, 1 << 30};
     },
     FERRY_CORRUPT, "at most " FERRY_MAX_ELEMENTS " elements"},
    {"state_of_several_samples", [](Parts& p) { p.model.states[0]->shape[0] = 2; }, FERRY_CORRUPT,
     "state 0 '0.keys': dimension 0, before the one that grows, is 2, expected 1"},
    {"state_type", [](Parts& p) { p.model.states[0]->dtype = fbs::DType::Float16; }, FERRY_UNSUPPORTED,
     "state 0 '0.keys': of type 1, expected Float32 or Int32"},
    {"append_of_another_type", [](Parts& p) { p.model.states[0]->dtype = fbs::DType::Int32; }, FERRY_CORRUPT,
     "append: the input is of type Float32, state 0 of Int32"},
    {"append_to_no_state", [](Parts& p) { first_of<fbs::AppendT>(p.model).state = 4; }, FERRY_CORRUPT,
     "append: state 4 of 4 does not exist"},
    {"append_of_another_shape", [](Parts& p) { p.model.states[0]->shape[2] = 9; }, FERRY_CORRUPT,
     "append: input [1,3,8] does not fit state 0, which grows to [1,24,9] along dimension 1"},
    {"append_twice", [](Parts& p) { first_of<fbs::AppendT>(p.model).state = 1; }, FERRY_CORRUPT,
     "changes state 1, which another operator has changed"},
    {"positions_of_no_state", [](Parts& p) { first_of<fbs::PositionsT>(p.model).state = 9; }, FERRY_CORRUPT,
     "positions: state 9 of 4 does not exist"},
    {"positions_axis", [](Parts& p) { first_of<fbs::PositionsT>(p.model).axis = -1; }, FERRY_CORRUPT,
     "positions: axis is -1, the input [1,3,16]"},
    {"window", [](Parts& p) { first_of<fbs::AttentionT>(p.model).window = -2; }, FERRY_CORRUPT,
     "attention: the window is -2"},
    {"bound_of_another_rank", [](Parts& p) { p.model.inputs[0]->bound = {16}; }, FERRY_CORRUPT,
     "input 0 'ids': a bound of 1 dimensions, the tensor has 2"},
    {"bound_below_the_shape",
     [](Parts& p) {
       p.model.inputs[0]->bound = {1, 2};
     },
     FERRY_CORRUPT, "input 0 'ids': dimension 1 is at most 2, but 3 by default"},
    {"bound_beyond_the_states",
     [](Parts& p) {
       p.model.inputs[0]->bound = {1, 25};
     },
     FERRY_CORRUPT, "at the inputs' bounds: positions: state 0 holds 0 of at most 24, there is no room for 25 more"},
    {"graph_without_a_name", [](Parts& p) { p.model.graphs[0]->name.clear(); }, FERRY_CORRUPT, "graph 1: has no name"},
    {"first_graph_without_a_name", [](Parts& p) { p.model.name.clear(); }, FERRY_CORRUPT, "graph 0: has no name"},
    {"graphs_of_one_name", [](Parts& p) { p.model.graphs[0]->name = p.model.name; }, FERRY_CORRUPT,
     "graph: two graphs have the name 'small_transformer'"},
    {"graph_in_a_graph", [](Parts& p) { p.model.graphs[0]->graphs.push_back(std::make_unique<fbs::GraphT>()); },
     FERRY_CORRUPT, "graph 1 'states': has graphs of its own, which only the first graph may"},
    {"graph_with_buffers", [](Parts& p) { p.model.graphs[0]->buffers.push_back(std::make_unique<fbs::BufferT>()); },
     FERRY_CORRUPT, "graph 1 'states': has buffers of its own"},
    {"graph_with_states", [](Parts& p) { p.model.graphs[0]->states.push_back(std::make_unique<fbs::StateT>()); },
     FERRY_CORRUPT, "graph 1 'states': has states of its own"},
    {"graph_with_a_provenance", [](Parts& p) { p.model.graphs[0]->provenance = std::make_unique<fbs::ProvenanceT>(); },
     FERRY_CORRUPT, "graph 1 'states': has a provenance of its own"},
    {"graph_without_operators", [](Parts& p) { p.model.graphs[0]->operators.clear(); }, FERRY_CORRUPT,
     "graph 1 'states': graph: no operators"},
    {"graph_reads_no_buffer",
     [](Parts& p) {
       for (auto& t : p.model.graphs[0]->tensors)
         if (t->buffer != 0) t->buffer = 1000;
     },
     FERRY_CORRUPT, "buffer 1000 of"},
    {"graph_with_a_wrong_shape", [](Parts& p) { p.model.graphs[0]->tensors.back()->shape[2] = 5; }, FERRY_CORRUPT,
     "declares [1,3,5]"},
    {"two_outputs",
     [](Parts& p) {
       auto& outputs = p.model.operators[0]->outputs;
       outputs.push_back(outputs[0]);
     },
     FERRY_CORRUPT, "2 outputs, expected 1"},
};

INSTANTIATE_TEST_SUITE_P(Blob, DamagedTransformer, ::testing::ValuesIn(kTransformerCases),
                         [](const auto& test) { return std::string(test.param.name); });

// Damages small_recurrent(), whose states have a fixed size.
class DamagedRecurrent : public ::testing::TestWithParam<GraphCase> {};

TEST_P(DamagedRecurrent, IsRefusedWithAMessage) {
  Parts parts(pack(*small_recurrent()));
  GetParam().damage(parts);
  EXPECT_STATUS(open_bytes(parts.assemble()), GetParam().code, GetParam().message);
}

const GraphCase kRecurrentCases[] = {
    {"fixed_state_with_a_window", [](Parts& p) { p.model.states[1]->window = 4; }, FERRY_CORRUPT,
     "state 1 'memory': the window is 4, expected 0 or more, and 0 of one of fixed size"},
    {"state_that_grows", [](Parts& p) { p.model.states[0]->axis = 1; }, FERRY_CORRUPT,
     "causal_conv1d: state 0 grows along dimension 1, expected one of fixed size"},
    {"state_of_another_shape", [](Parts& p) { p.model.states[0]->shape[1] = 4; }, FERRY_CORRUPT,
     "causal_conv1d: state 0 is [1,4,44], the inputs need [1,3,44]"},
    {"matrices_of_another_shape", [](Parts& p) { p.model.states[1]->shape[4] = 7; }, FERRY_CORRUPT,
     "gated_delta_rule: state 1 is [2,1,4,5,7], the inputs need [2,1,4,5,6]"},
    {"heads_of_another_size", [](Parts& p) { p.model.states[1]->shape[3] = 4; }, FERRY_CORRUPT,
     "do not fit heads of 4 channels"},
    {"matrices_without_heads",
     [](Parts& p) {
       p.model.states[1]->shape = {2, 4, 5, 6};
     },
     FERRY_CORRUPT, "gated_delta_rule: state [2,4,5,6] has rank 4, expected 5"},
    {"no_such_state", [](Parts& p) { first_of<fbs::GatedDeltaRuleT>(p.model).state = 2; }, FERRY_CORRUPT,
     "gated_delta_rule: state 2 of 2 does not exist"},
    {"state_of_integers", [](Parts& p) { p.model.states[1]->dtype = fbs::DType::Int32; }, FERRY_CORRUPT,
     "gated_delta_rule: the input is of type Float32, state 1 of Int32"},
    {"positions_of_no_state", [](Parts& p) { first_of<fbs::PositionsT>(p.model).state = 2; }, FERRY_CORRUPT,
     "positions: state 2 of 2 does not exist"},
};

INSTANTIATE_TEST_SUITE_P(Blob, DamagedRecurrent, ::testing::ValuesIn(kRecurrentCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ModelOpen, RefusesAnotherFlatbuffer) {
  Bytes blob = classifier();
  blob[64 + 4] = std::byte{'X'};
  EXPECT_STATUS(open_bytes(blob), FERRY_CORRUPT, "identifier FRRY");
}

TEST(ModelOpen, RefusesAnOperatorOfALaterVersion) {
  // The object types cannot express it, so the test increments the operator's type byte in the flatbuffer.
  Bytes blob = classifier();
  const auto* graph = fbs::GetGraph(blob.data() + sizeof(BlobHeader));
  const auto* op = graph->operators()->Get(0);
  const auto* field = reinterpret_cast<const flatbuffers::Table*>(op)->GetAddressOf(fbs::Operator::VT_PARAMS_TYPE);
  blob[static_cast<size_t>(reinterpret_cast<const std::byte*>(field) - blob.data())] = std::byte{200};
  EXPECT_STATUS(open_bytes(blob), FERRY_UNSUPPORTED, "operator type 200 is unknown");
}

TEST(ModelOpen, ReadsOptionalPartsThatAreAbsent) {
  Parts parts(classifier());
  parts.model.name.clear();
  parts.model.taps.clear();
  parts.model.labels.clear();
  parts.model.preprocess.reset();
  parts.model.postprocess.reset();
  parts.model.provenance.reset();
  for (auto& t : parts.model.tensors) t->name.clear();
  for (auto& o : parts.model.operators) o->name.clear();
  EXPECT_TRUE(open_bytes(parts.assemble()).ok());
}

TEST(ModelOpen, AllowsARecipeForManyChannels) {
  Graph graph;
  const Tensor input = graph.add_input("input", {1, 2, 2, 6}, fbs::Layout::NCHW);
  graph.add_output("output", graph.add_op("softmax", fbs::SoftmaxT(), {input}), fbs::Layout::NCHW);
  graph.table.preprocess = std::make_unique<fbs::PreprocessT>();
  graph.table.preprocess->mean = graph.table.preprocess->std = {1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(open_bytes(pack(graph)).ok());
}

TEST(ModelOpen, TheMasksChannelIsNotAnImageChannel) { EXPECT_TRUE(open_bytes(pack(*gray_painter())).ok()); }

TEST(ModelOpen, AllowsUnusedBuffersAndSharedOnes) {
  Parts parts(classifier());
  tensor(parts, "block.pointwise.bias").buffer = tensor(parts, "stem.bias").buffer;
  EXPECT_TRUE(open_bytes(parts.assemble()).ok());
}

// Operators may share one long list of inputs, so that a small file causes much work. The total is bounded.
TEST(ModelOpen, BoundsTheWorkOfASmallFile) {
  flatbuffers::FlatBufferBuilder b;
  const auto inputs = b.CreateVector(std::vector<TensorId>(kMaxOperatorInputs));
  const auto concat = fbs::CreateConcat(b, 0).Union();
  std::vector<flatbuffers::Offset<fbs::Tensor>> tensors{
      fbs::CreateTensor(b, 0, fbs::DType::Float32, b.CreateVector(std::vector<int32_t>{1}))};
  std::vector<flatbuffers::Offset<fbs::Operator>> operators;
  const auto joined = b.CreateVector(std::vector<int32_t>{kMaxOperatorInputs});
  const auto add_operators = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      const auto output = b.CreateVector(std::vector<TensorId>{tensor_at(tensors.size())});
      tensors.push_back(fbs::CreateTensor(b, 0, fbs::DType::Float32, joined));
      operators.push_back(fbs::CreateOperator(b, 0, inputs, output, fbs::OpParams::Concat, concat));
    }
  };
  add_operators(kMaxInputs / kMaxOperatorInputs + 1);
  const auto port = [&](const char* name, TensorId tensor) {
    return b.CreateVector(
        std::vector<flatbuffers::Offset<fbs::Port>>(1, fbs::CreatePort(b, b.CreateString(name), tensor)));
  };
  const auto in = port("in", tensor_at(0)), out = port("out", tensor_at(1));
  const auto buffers = b.CreateVector(std::vector<flatbuffers::Offset<fbs::Buffer>>(1, fbs::CreateBuffer(b)));
  const auto all_tensors = b.CreateVector(tensors);
  fbs::FinishGraphBuffer(b, fbs::CreateGraph(b, 0, all_tensors, buffers, b.CreateVector(operators), in, out));
  EXPECT_STATUS(open_bytes(assemble({b.GetBufferPointer(), b.GetSize()}, {})), FERRY_CORRUPT,
                "operator 1024 '': 1024 inputs, expected 1 to 1024, and at most 1048576 in all operators");
}

}  // namespace
}  // namespace ferry::testing

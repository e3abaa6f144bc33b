// Conventions of the C API: every wrong call returns a status and a message, output parameters are cleared, NULL never
// crashes.
#include <fcntl.h>
#include <ferry/ferry.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <thread>

#include "tests/runtime/networks.h"

namespace ferry::testing {
namespace {

#define EXPECT_SAYS(call, code, sentence)       \
  do {                                          \
    EXPECT_EQ(call, code);                      \
    EXPECT_STREQ(ferry_last_error(), sentence); \
  } while (false)

class Api : public ::testing::Test {
 protected:
  std::unique_ptr<Graph> graph_ = small_classifier();
  Opened opened_{*graph_};
  ferry_model* model_ = opened_.model;
  SessionPtr session_ = make_session(model_, 1);
  ferry_tensor tensor_{};
};

TEST_F(Api, VersionAndStatusNames) {
  EXPECT_STREQ(ferry_version(), "0.3.0");
  std::set<std::string> names;
  for (int code : {0, 100, 101, 102, 200, 201, 202, 203, 204, 300, 301, 400, 401, 402, 403}) {
    names.insert(ferry_status_name(static_cast<ferry_status>(code)));
  }
  EXPECT_EQ(names.size(), 15u) << "every status has a name of its own";
  EXPECT_EQ(names.count("unknown status"), 0u);
  EXPECT_STREQ(ferry_status_name(FERRY_OUT_OF_MEMORY), "out of memory");
  EXPECT_STREQ(ferry_status_name(static_cast<ferry_status>(77)), "unknown status");
}

TEST_F(Api, DescribesAModel) {
  EXPECT_STREQ(ferry_model_name(model_), "small_classifier");
  EXPECT_EQ(ferry_model_input_count(model_), 1u);
  EXPECT_EQ(ferry_model_output_count(model_), 1u);
  EXPECT_EQ(ferry_model_tap_count(model_), 3u);
  EXPECT_EQ(ferry_model_label_count(model_), 5u);
  EXPECT_STREQ(ferry_model_label(model_, 1), "ferry");
  EXPECT_EQ(ferry_model_label(model_, 5), nullptr);
  ASSERT_OK(ferry_model_input(model_, 0, &tensor_));
  EXPECT_STREQ(tensor_.name, "input");
  EXPECT_EQ(tensor_.data, nullptr);
  EXPECT_EQ(tensor_.bytes, 8u * 8 * 3 * sizeof(float));
  EXPECT_EQ(tensor_.dtype, FERRY_FLOAT32);
  EXPECT_EQ(tensor_.source_layout, FERRY_LAYOUT_NCHW);
  EXPECT_EQ(tensor_.rank, 4);
  EXPECT_EQ(tensor_.shape[3], 3);
  ASSERT_OK(ferry_model_output(model_, 0, &tensor_));
  EXPECT_STREQ(tensor_.name, "logits");
  EXPECT_EQ(tensor_.rank, 2);
  ASSERT_OK(ferry_model_tap(model_, 1, &tensor_));
  EXPECT_STREQ(tensor_.name, "features");
}

TEST_F(Api, IndicesOutOfRangeAreRefused) {
  EXPECT_SAYS(ferry_model_input(model_, 1, &tensor_), FERRY_INVALID_ARGUMENT,
              "input 1 does not exist: the model has 1");
  EXPECT_SAYS(ferry_model_output(model_, 7, &tensor_), FERRY_INVALID_ARGUMENT,
              "output 7 does not exist: the model has 1");
  EXPECT_SAYS(ferry_model_tap(model_, 3, &tensor_), FERRY_INVALID_ARGUMENT, "tap 3 does not exist: the model has 3");
  EXPECT_SAYS(ferry_session_input(session_.get(), 1, &tensor_), FERRY_INVALID_ARGUMENT,
              "input 1 does not exist: the model has 1");
  EXPECT_SAYS(ferry_session_output(session_.get(), SIZE_MAX, &tensor_), FERRY_INVALID_ARGUMENT,
              "output 18446744073709551615 does not exist: the model has 1");
  const int32_t shape[] = {1, 8, 8, 3, 1, 1, 1};
  EXPECT_SAYS(ferry_session_resize(session_.get(), 2, shape, 4), FERRY_INVALID_ARGUMENT,
              "input 2 does not exist: the model has 1");
  EXPECT_SAYS(ferry_session_resize(session_.get(), 0, shape, 7), FERRY_INVALID_ARGUMENT,
              "ferry_session_resize: rank is 7: it must be between 1 and 6");
  EXPECT_SAYS(ferry_session_resize(session_.get(), 0, shape, 0), FERRY_INVALID_ARGUMENT,
              "ferry_session_resize: rank is 0: it must be between 1 and 6");
  EXPECT_SAYS(ferry_session_resize_inputs(session_.get(), &tensor_, 2), FERRY_INVALID_ARGUMENT,
              "ferry_session_resize_inputs: count is 2: the model has 1 inputs");
  tensor_.rank = 9;
  EXPECT_SAYS(ferry_session_resize_inputs(session_.get(), &tensor_, 1), FERRY_INVALID_ARGUMENT,
              "ferry_session_resize_inputs: rank is 9: it must be between 0 and 6");
}

TEST_F(Api, FailureClearsOutParameters) {
  ferry_tensor tensor;
  std::memset(&tensor, 0xAB, sizeof(tensor));
  EXPECT_EQ(ferry_session_output(session_.get(), 9, &tensor), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(tensor.data, nullptr);
  EXPECT_EQ(tensor.name, nullptr);
  EXPECT_EQ(tensor.bytes, 0u);
  ferry_model* model = model_;
  EXPECT_EQ(ferry_model_open("absent.ferry", &model), FERRY_IO_ERROR);
  EXPECT_EQ(model, nullptr);
  ferry_session* session = session_.get();
  EXPECT_EQ(ferry_session_create(nullptr, nullptr, &session), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(session, nullptr);
}

TEST_F(Api, NullIsRefusedEverywhere) {
  ferry_model* model = nullptr;
  ferry_session* session = nullptr;
  const int32_t shape[] = {1, 8, 8, 3};
  float value = 0;
  EXPECT_SAYS(ferry_model_open(nullptr, &model), FERRY_INVALID_ARGUMENT, "ferry_model_open: path is NULL");
  EXPECT_SAYS(ferry_model_open("x", nullptr), FERRY_INVALID_ARGUMENT, "ferry_model_open: model is NULL");
  EXPECT_SAYS(ferry_model_open_fd(-1, 0, 1, &model), FERRY_INVALID_ARGUMENT, "ferry_model_open_fd: fd is -1");
  EXPECT_SAYS(ferry_model_open_fd(0, 0, 1, nullptr), FERRY_INVALID_ARGUMENT, "ferry_model_open_fd: model is NULL");
  EXPECT_SAYS(ferry_model_open_memory(nullptr, 64, &model), FERRY_INVALID_ARGUMENT,
              "ferry_model_open_memory: data is NULL");
  EXPECT_SAYS(ferry_model_open_memory(&value, 64, nullptr), FERRY_INVALID_ARGUMENT,
              "ferry_model_open_memory: model is NULL");
  EXPECT_SAYS(ferry_model_input(nullptr, 0, &tensor_), FERRY_INVALID_ARGUMENT, "ferry_model_input: model is NULL");
  EXPECT_SAYS(ferry_model_output(model_, 0, nullptr), FERRY_INVALID_ARGUMENT, "ferry_model_output: out is NULL");
  EXPECT_SAYS(ferry_model_tap(nullptr, 0, &tensor_), FERRY_INVALID_ARGUMENT, "ferry_model_tap: model is NULL");
  EXPECT_SAYS(ferry_session_create(nullptr, nullptr, &session), FERRY_INVALID_ARGUMENT,
              "ferry_session_create: model is NULL");
  EXPECT_SAYS(ferry_session_create(model_, nullptr, nullptr), FERRY_INVALID_ARGUMENT,
              "ferry_session_create: session is NULL");
  EXPECT_SAYS(ferry_session_resize(nullptr, 0, shape, 4), FERRY_INVALID_ARGUMENT,
              "ferry_session_resize: session is NULL");
  EXPECT_SAYS(ferry_session_resize(session_.get(), 0, nullptr, 4), FERRY_INVALID_ARGUMENT,
              "ferry_session_resize: shape is NULL");
  EXPECT_SAYS(ferry_session_resize_inputs(nullptr, &tensor_, 1), FERRY_INVALID_ARGUMENT,
              "ferry_session_resize_inputs: session is NULL");
  EXPECT_SAYS(ferry_session_resize_inputs(session_.get(), nullptr, 1), FERRY_INVALID_ARGUMENT,
              "ferry_session_resize_inputs: inputs is NULL");
  EXPECT_SAYS(ferry_session_input(nullptr, 0, &tensor_), FERRY_INVALID_ARGUMENT,
              "ferry_session_input: session is NULL");
  EXPECT_SAYS(ferry_session_output(session_.get(), 0, nullptr), FERRY_INVALID_ARGUMENT,
              "ferry_session_output: out is NULL");
  EXPECT_SAYS(ferry_session_tap(session_.get(), nullptr, &tensor_), FERRY_INVALID_ARGUMENT,
              "ferry_session_tap: name is NULL");
  EXPECT_SAYS(ferry_session_tap(session_.get(), "x", nullptr), FERRY_INVALID_ARGUMENT,
              "ferry_session_tap: out is NULL");
  EXPECT_SAYS(ferry_session_run(nullptr), FERRY_INVALID_ARGUMENT, "ferry_session_run: session is NULL");
  ferry_profile_entry entry;
  EXPECT_SAYS(ferry_session_profile(nullptr, 0, &entry), FERRY_INVALID_ARGUMENT,
              "ferry_session_profile: session is NULL");
  EXPECT_SAYS(ferry_session_profile(session_.get(), 0, nullptr), FERRY_INVALID_ARGUMENT,
              "ferry_session_profile: out is NULL");
  EXPECT_SAYS(ferry_tensor_write_source(nullptr, &value, 1), FERRY_INVALID_ARGUMENT,
              "ferry_tensor_write_source: tensor is NULL");
  EXPECT_SAYS(ferry_tensor_read_source(&tensor_, nullptr, 1), FERRY_INVALID_ARGUMENT,
              "ferry_tensor_read_source: destination is NULL");
  ferry_report report{};
  report.struct_size = sizeof(report);
  ferry_gpu_info gpu{};
  EXPECT_SAYS(ferry_session_report(nullptr, &report), FERRY_INVALID_ARGUMENT, "ferry_session_report: session is NULL");
  EXPECT_SAYS(ferry_session_report(session_.get(), nullptr), FERRY_INVALID_ARGUMENT,
              "ferry_session_report: report is NULL");
  EXPECT_SAYS(ferry_gpu_describe(0, nullptr), FERRY_INVALID_ARGUMENT, "ferry_gpu_describe: info is NULL");
  EXPECT_SAYS(ferry_gpu_describe(0, &gpu), FERRY_INVALID_ARGUMENT,
              "struct_size is 0: set it to sizeof(ferry_gpu_info)");
  // Functions without a status do nothing.
  ferry_model_close(nullptr);
  ferry_session_close(nullptr);
  ferry_session_cancel(nullptr);
  ferry_session_options_init(nullptr);
  EXPECT_STREQ(ferry_model_name(nullptr), "");
  EXPECT_EQ(ferry_model_input_count(nullptr) + ferry_model_output_count(nullptr) + ferry_model_tap_count(nullptr), 0u);
  EXPECT_EQ(ferry_model_label_count(nullptr), 0u);
  EXPECT_EQ(ferry_model_label(nullptr, 0), nullptr);
  EXPECT_EQ(ferry_session_arena_bytes(nullptr) + ferry_session_packed_bytes(nullptr), 0u);
  EXPECT_EQ(ferry_session_profile_count(nullptr), 0u);
  EXPECT_EQ(ferry_session_report_note(nullptr, 0), nullptr);
}

TEST_F(Api, OptionsOutOfRangeAreRefused) {
  ferry_session* session = nullptr;
  ferry_session_options options = default_options();
  options.num_threads = -1;
  EXPECT_SAYS(ferry_session_create(model_, &options, &session), FERRY_INVALID_ARGUMENT,
              "num_threads is -1: it must be between 0 (one a core) and 256");
  options.num_threads = 257;
  EXPECT_EQ(ferry_session_create(model_, &options, &session), FERRY_INVALID_ARGUMENT);

  options = default_options();
  options.tap_count = 2;
  EXPECT_SAYS(ferry_session_create(model_, &options, &session), FERRY_INVALID_ARGUMENT,
              "options.taps is NULL but options.tap_count is 2");
  const char* taps[] = {"block", nullptr};
  options.taps = taps;
  EXPECT_SAYS(ferry_session_create(model_, &options, &session), FERRY_INVALID_ARGUMENT, "options.taps[1] is NULL");
  taps[1] = "blok";
  EXPECT_SAYS(ferry_session_create(model_, &options, &session), FERRY_NOT_FOUND,
              "the model has no tap 'blok'; it has 3, the first is block");

  options = default_options();
  options.backend = 2;
  EXPECT_SAYS(ferry_session_create(model_, &options, &session), FERRY_INVALID_ARGUMENT,
              "options.backend is 2: it must be FERRY_BACKEND_CPU or FERRY_BACKEND_GPU");
  options = default_options();
  options.precision = -1;
  EXPECT_SAYS(ferry_session_create(model_, &options, &session), FERRY_INVALID_ARGUMENT,
              "options.precision is -1: it must be FERRY_PRECISION_FLOAT32 or FERRY_PRECISION_FLOAT16");
  for (const int cores : {-1, 4}) {
    options = default_options();
    options.cores = cores;
    EXPECT_EQ(ferry_session_create(model_, &options, &session), FERRY_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(ferry_last_error()),
              "options.cores is " + std::to_string(cores) + ": it must be a ferry_cores, 0 to 3");
  }
  options = default_options();
  options.cpu_mask_words = 1;
  EXPECT_SAYS(ferry_session_create(model_, &options, &session), FERRY_INVALID_ARGUMENT,
              "options.cpu_mask is NULL but options.cpu_mask_words is 1");
  // A mask of a CPU beyond the library's limit, and an empty one.
  std::vector<uint64_t> mask(100, 0);
  mask[15] = uint64_t{1} << 63;
  mask[99] = ~uint64_t{0};
  options.cpu_mask = mask.data();
  options.cpu_mask_words = mask.size();
  EXPECT_EQ(ferry_session_create(model_, &options, &session), FERRY_INVALID_ARGUMENT);
  const std::string none = "options.cpu_mask holds no CPU that may be used: it has '";
  EXPECT_EQ(std::string(ferry_last_error()).substr(0, none.size() + 6), none + "1023',");
  options.cpu_mask_words = 0;
  EXPECT_EQ(ferry_session_create(model_, &options, &session), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(ferry_last_error()).substr(0, none.size() + 2), none + "',");

  ferry_session_options forgotten{};
  EXPECT_SAYS(ferry_session_create(model_, &forgotten, &session), FERRY_INVALID_ARGUMENT,
              "options.struct_size is 0: call ferry_session_options_init() first");
}

TEST_F(Api, OptionsOfALaterHeaderAreRefusedOnlyIfNewFieldsAreSet) {
  struct {
    ferry_session_options known;
    uint64_t later;
  } options;
  std::memset(&options, 0, sizeof(options));
  ferry_session_options_init(&options.known);
  options.known.struct_size = sizeof(options);
  ferry_session* session = nullptr;
  EXPECT_OK(ferry_session_create(model_, &options.known, &session));
  ferry_session_close(session);
  options.later = 1;
  EXPECT_EQ(ferry_session_create(model_, &options.known, &session), FERRY_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ferry_last_error()).find("does not know"), std::string::npos);
}

TEST_F(Api, OptionsOfTheFirstHeaderGetTheDefaultsOfLaterFields) {
  ferry_session_options options = default_options();
  options.struct_size = offsetof(ferry_session_options, backend);
  std::memset(&options.backend, 0xFF,
              sizeof(options) - options.struct_size);  // beyond struct_size: the library must not
                                                       // read it
  SessionPtr session = make_session(model_, options);
  ferry_report report{};
  report.struct_size = sizeof(report);
  ASSERT_OK(ferry_session_report(session.get(), &report));
  EXPECT_EQ(report.backend, FERRY_BACKEND_CPU);
  options.struct_size -= 1;
  ferry_session* refused = nullptr;
  EXPECT_EQ(ferry_session_create(model_, &options, &refused), FERRY_INVALID_ARGUMENT);
}

TEST_F(Api, ReportsOfAnyHeader) {
  struct {
    ferry_report known;
    uint64_t later;
  } report;
  std::memset(&report, 0xFF, sizeof(report));
  report.known.struct_size = sizeof(report);
  ASSERT_OK(ferry_session_report(session_.get(), &report.known));
  EXPECT_EQ(report.known.struct_size, sizeof(report));
  EXPECT_EQ(report.later, 0u) << "what this library does not know is zero";
  EXPECT_EQ(report.known.cpu_operators, graph_->table.operators.size());
  EXPECT_EQ(report.known.gpu_operators + report.known.transfers + report.known.canary_count + report.known.note_count,
            0u);
  EXPECT_EQ(report.known.gpu_status, FERRY_OK);
  EXPECT_STREQ(report.known.message, "");
  EXPECT_STREQ(report.known.device, "");
  EXPECT_EQ(ferry_session_report_note(session_.get(), 0), nullptr);

  report.known.struct_size = offsetof(ferry_report, cpus);
  report.known.threads = 12345;
  EXPECT_OK(ferry_session_report(session_.get(), &report.known));
  EXPECT_EQ(report.known.threads, 12345u) << "a caller of the first header has no such field";
  report.known.struct_size -= 1;
  EXPECT_EQ(ferry_session_report(session_.get(), &report.known), FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(ferry_last_error()),
            "struct_size is " + std::to_string(report.known.struct_size) + ": set it to sizeof(ferry_report)");
}

TEST_F(Api, ProfileMustBeAskedFor) {
  ASSERT_OK(ferry_session_run(session_.get()));
  EXPECT_EQ(ferry_session_profile_count(session_.get()), 0u);
  ferry_profile_entry entry;
  EXPECT_SAYS(ferry_session_profile(session_.get(), 0, &entry), FERRY_INVALID_ARGUMENT,
              "no profile: create the session with options.profile");
}

TEST_F(Api, LastErrorBelongsToItsThread) {
  EXPECT_EQ(ferry_session_run(nullptr), FERRY_INVALID_ARGUMENT);
  std::thread([] {
    EXPECT_STREQ(ferry_last_error(), "");
    EXPECT_EQ(ferry_session_resize(nullptr, 0, nullptr, 0), FERRY_INVALID_ARGUMENT);
    EXPECT_STREQ(ferry_last_error(), "ferry_session_resize: session is NULL");
  }).join();
  EXPECT_STREQ(ferry_last_error(), "ferry_session_run: session is NULL");
}

TEST_F(Api, LongMessagesAreTruncated) {
  const std::string path(5000, 'x');
  ferry_model* model = nullptr;
  EXPECT_EQ(ferry_model_open(path.c_str(), &model), FERRY_IO_ERROR);
  EXPECT_LT(std::strlen(ferry_last_error()), 1024u);
}

TEST_F(Api, TensorsTravelInTheSourceLayoutAndBack) {
  ASSERT_OK(ferry_session_input(session_.get(), 0, &tensor_));
  const size_t count = tensor_.bytes / sizeof(float);
  std::vector<float> source(count);  // [1,3,8,8]
  for (size_t i = 0; i < count; ++i) source[i] = static_cast<float>(i);
  ASSERT_OK(ferry_tensor_write_source(&tensor_, source.data(), count));
  const float* here = static_cast<const float*>(tensor_.data);
  for (size_t y = 0; y < 8; ++y) {
    for (size_t x = 0; x < 8; ++x) {
      for (size_t c = 0; c < 3; ++c) ASSERT_EQ(here[(y * 8 + x) * 3 + c], source[(c * 8 + y) * 8 + x]);
    }
  }
  std::vector<float> back(count);
  ASSERT_OK(ferry_tensor_read_source(&tensor_, back.data(), count));
  EXPECT_EQ(back, source);
}

TEST_F(Api, TensorsWithoutALayoutAreCopiedUnchanged) {
  fill_inputs(model_, session_.get());
  ASSERT_OK(ferry_session_run(session_.get()));
  ASSERT_OK(ferry_session_output(session_.get(), 0, &tensor_));
  std::vector<float> logits(5);
  ASSERT_OK(ferry_tensor_read_source(&tensor_, logits.data(), logits.size()));
  EXPECT_EQ(logits, elements(tensor_));
}

TEST_F(Api, BatchesTravelInTheSourceLayout) {
  const int32_t shape[] = {2, 8, 12, 3};
  ASSERT_OK(ferry_session_resize(session_.get(), 0, shape, 4));
  ASSERT_OK(ferry_session_input(session_.get(), 0, &tensor_));
  std::vector<float> source(2 * 3 * 8 * 12);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i);
  ASSERT_OK(ferry_tensor_write_source(&tensor_, source.data(), source.size()));
  const float* here = static_cast<const float*>(tensor_.data);
  EXPECT_EQ(here[((1 * 8 + 5) * 12 + 7) * 3 + 2], source[((1 * 3 + 2) * 8 + 5) * 12 + 7]);
}

TEST_F(Api, CopiesMustFitTheTensor) {
  std::vector<float> values(300);
  ASSERT_OK(ferry_session_input(session_.get(), 0, &tensor_));
  EXPECT_SAYS(ferry_tensor_write_source(&tensor_, values.data(), 191), FERRY_INVALID_ARGUMENT,
              "ferry_tensor_write_source: tensor 'input' has 192 elements, not 191");
  ASSERT_OK(ferry_model_input(model_, 0, &tensor_));
  EXPECT_SAYS(ferry_tensor_read_source(&tensor_, values.data(), 192), FERRY_INVALID_ARGUMENT,
              "ferry_tensor_read_source: tensor 'input' is a description without data");
  tensor_.data = values.data();
  tensor_.dtype = FERRY_INT8;
  EXPECT_SAYS(ferry_tensor_read_source(&tensor_, values.data(), 192), FERRY_INVALID_ARGUMENT,
              "ferry_tensor_read_source: tensor 'input' is not float32");
}

TEST_F(Api, CopiesAreOfTheTensorsType) {
  int32_t values[192] = {};
  ASSERT_OK(ferry_session_input(session_.get(), 0, &tensor_));
  EXPECT_SAYS(ferry_tensor_write_source_int32(&tensor_, values, 192), FERRY_INVALID_ARGUMENT,
              "ferry_tensor_write_source_int32: tensor 'input' is not int32");
  EXPECT_SAYS(ferry_tensor_read_source_int32(&tensor_, nullptr, 192), FERRY_INVALID_ARGUMENT,
              "ferry_tensor_read_source_int32: destination is NULL");
  // A tensor without elements, as of a detector that finds nothing.
  ferry_tensor empty = tensor_;
  empty.shape[0] = 0;
  empty.bytes = 0;
  ASSERT_OK(ferry_tensor_read_source(&empty, nullptr, 0));
  ASSERT_OK(ferry_tensor_write_source(&empty, nullptr, 0));
}

// Positions 0 to 5 of a table [1,2,3,1] in the framework's order, and by an app's indices.
TEST(Integers, TravelThroughANetwork) {
  Graph graph;
  const Tensor table = graph.add_input("table", {1, 3, 1, 2}, fbs::Layout::NCHW, fbs::DType::Int64);
  const Tensor indices = graph.add_input("indices", {2}, fbs::Layout::Same, fbs::DType::Int64);
  fbs::GatherT gather;
  gather.axis = 3;
  graph.add_output("picked", graph.add_op("gather", gather, {table, indices}), fbs::Layout::NCHW, fbs::DType::Int64);
  const Opened opened(graph);
  const SessionPtr session = make_session(opened.model, 1);
  ferry_tensor t{};
  ASSERT_OK(ferry_session_input(session.get(), 0, &t));
  EXPECT_EQ(t.dtype, FERRY_INT32);
  const int32_t values[] = {1, 2, 3, -4, 1 << 30, -(1 << 30)};  // [1,2,3,1]
  ASSERT_OK(ferry_tensor_write_source_int32(&t, values, 6));
  ASSERT_OK(ferry_session_input(session.get(), 1, &t));
  const int32_t swap[] = {1, -2}, outside[] = {0, 2};
  ASSERT_OK(ferry_tensor_write_source_int32(&t, swap, 2));
  ASSERT_OK(ferry_session_run(session.get()));
  ASSERT_OK(ferry_session_output(session.get(), 0, &t));
  std::vector<int32_t> picked(6);
  ASSERT_OK(ferry_tensor_read_source_int32(&t, picked.data(), 6));
  EXPECT_EQ(picked, (std::vector<int32_t>{-4, 1 << 30, -(1 << 30), 1, 2, 3}));

  ASSERT_OK(ferry_session_input(session.get(), 1, &t));
  ASSERT_OK(ferry_tensor_write_source_int32(&t, outside, 2));
  EXPECT_SAYS(ferry_session_run(session.get()), FERRY_INVALID_ARGUMENT,
              "gather: index 2 is outside a dimension of 2, expected -2 to 1");
  ASSERT_OK(ferry_session_input(session.get(), 1, &t));
  ASSERT_OK(ferry_tensor_write_source_int32(&t, swap, 2));
  ASSERT_OK(ferry_session_run(session.get()));
}

TEST_F(Api, OpensAFileAndAPartOfAFile) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("ferry-api-" + std::to_string(::getpid()));
  std::vector<std::byte> blob = pack(*graph_);
  write_file(path, blob);
  ferry_model* model = nullptr;
  ASSERT_OK(ferry_model_open(path.c_str(), &model));
  EXPECT_STREQ(ferry_model_name(model), "small_classifier");
  fill_inputs(model, session_.get());
  ASSERT_OK(ferry_session_run(session_.get()));
  const auto expected = results(model, session_.get());
  ferry_model_close(model);

  std::vector<std::byte> archive(1237 + blob.size() + 99);  // an unaligned offset
  std::copy(blob.begin(), blob.end(), archive.begin() + 1237);
  write_file(path, archive);
  const int fd = ::open(path.c_str(), O_RDONLY);
  ASSERT_OK(ferry_model_open_fd(fd, 1237, blob.size(), &model));
  ::close(fd);
  SessionPtr session = make_session(model, 1);
  fill_inputs(model, session.get());
  ASSERT_OK(ferry_session_run(session.get()));
  EXPECT_EQ(results(model, session.get()), expected);
  ferry_model_close(model);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ferry::testing

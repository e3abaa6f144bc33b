// Lets every allocation fail in every function of the C API, one after the other. The function must return an error,
// change nothing and leak nothing, and work again when there is memory.
//
// By default some of the allocations fail; with FERRY_EVERY_ALLOCATION=1 each of them does.
#include <fcntl.h>
#include <ferry/ferry.h>
#include <ferry/image.h>
#include <ferry/task.h>
#include <ferry/text.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>

#include "tests/memory/failing.h"
#include "tests/runtime/networks.h"
#include "tests/support/gpus.h"
#include "tests/support/language_model.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/task_networks.h"

namespace ferry::testing {
namespace {

using Results = std::map<std::string, std::vector<float>>;

// A call of the C API and its reversal.
struct Step {
  const char* name;
  std::function<ferry_status()> call;
  std::function<void()> undo = [] {};   // after success
  std::function<void()> check = [] {};  // after failure: the state must be as before
  bool makes = false;                   // creates an object; after a failure nothing of it may remain
  long stride = 1;                      // by default, every `stride`-th allocation fails
};

// True if the message is about memory.
bool speaks_of_memory(const std::string& sentence) {
  return sentence.find("memory") != std::string::npos || sentence.find("allocate") != std::string::npos ||
         sentence.find("cannot start a pool") != std::string::npos;
}

void run_out_of_memory(const Step& step, Failure failure) {
  const char* every = std::getenv("FERRY_EVERY_ALLOCATION");
  const long stride = every != nullptr && *every == '1' ? 1 : step.stride;
  long statuses = 0, index = 0;
  for (bool failed = true; failed; index += stride) {
    SCOPED_TRACE(std::string(step.name) + ", allocation " + std::to_string(index) +
                 (failure == Failure::ForGood ? " and all after it" : ""));
    const long before = live_allocations();
    fail_allocation(index, failure);
    const ferry_status status = step.call();
    failed = stop_failing() > 0;
    if (status == FERRY_OK) {
      step.undo();
    } else {
      ++statuses;
      ASSERT_EQ(status, FERRY_OUT_OF_MEMORY) << ferry_last_error();
      ASSERT_TRUE(failed) << ferry_last_error();
      ASSERT_PRED1(speaks_of_memory, ferry_last_error());
      ASSERT_TRUE(!step.makes || live_allocations() <= before) << live_allocations() - before << " are left";
      step.check();
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
  if (every != nullptr)
    std::cout << step.name << ": " << index - stride << " allocations, " << statuses << " statuses\n";
}

class OutOfMemory : public ::testing::TestWithParam<Failure> {
 protected:
  void SetUp() override {
    SCOPED_TRACE("the test framework's own memory for traces");
    make_session(Opened(*small_mixture()).model);  // triggers one-time initialisation
    before_ = live_allocations();
  }
  // All objects of the test are closed.
  void TearDown() override {
    EXPECT_TRUE(HasFailure() || IsSkipped() || live_allocations() <= before_)
        << live_allocations() - before_ << " are left";
  }

  void exhaust(const Step& step) { ASSERT_NO_FATAL_FAILURE(run_out_of_memory(step, GetParam())); }

  // Opens `model` in one of the ways, and a session for it.
  void open(const std::function<ferry_status(ferry_model**)>& way, const char* name) {
    ferry_model* model = nullptr;
    exhaust({name, [&] { return way(&model); }, [&] { ferry_model_close(model); }, [&] { EXPECT_EQ(model, nullptr); },
             true});
  }
  void create(
      const char* name, ferry_model* model, const ferry_session_options& options, long stride = 1,
      const std::function<void()>& after = [] {}) {
    ferry_session* session = nullptr;
    exhaust({name, [&] { return ferry_session_create(model, &options, &session); },
             [&] {
               EXPECT_OK(ferry_session_run(session));
               ferry_session_close(session);
               after();
             },
             [&] { EXPECT_EQ(session, nullptr); }, false, stride});
  }

  // The session still runs and computes the same bits.
  static void still(ferry_model* model, ferry_session* session, const Results& expected) {
    EXPECT_OK(ferry_session_run(session));
    EXPECT_EQ(results(model, session), expected);
  }

  ScratchFolder folder_;
  long before_ = 0;
};

TEST_P(OutOfMemory, WhereAModelIsOpened) {
  const std::vector<std::byte> bytes = pack(*small_transformer());
  AlignedBytes blob(bytes);
  const std::string path = folder_.write("model.ferry", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  open([&](ferry_model** model) { return ferry_model_open_memory(blob.data(), blob.size(), model); }, "open_memory");
  open([&](ferry_model** model) { return ferry_model_open(path.c_str(), model); }, "open");
  const std::string unaligned = folder_.write("asset", "12345678" + read_text(path));
  const int fd = ::open(unaligned.c_str(), O_RDONLY);
  open([&](ferry_model** model) { return ferry_model_open_fd(fd, 8, bytes.size(), model); }, "open_fd");
  ::close(fd);
  ferry_model* first = nullptr;
  ASSERT_OK(ferry_model_open(path.c_str(), &first));
  open([&](ferry_model** model) { return ferry_model_open_graph(first, "states", model); }, "open_graph");
  ferry_model_close(first);
  // If there is memory for the message, the blob's fault is reported.
  ferry_model* none = nullptr;
  for (const Failure failure : {Failure::Single, Failure::ForGood}) {
    fail_allocation(0, failure);
    const ferry_status status = ferry_model_open("/nonexistent", &none);
    stop_failing();
    EXPECT_TRUE(status == FERRY_OUT_OF_MEMORY || status == FERRY_IO_ERROR) << status;
  }
}

TEST_P(OutOfMemory, WhereASessionIsMade) {
  for (const auto& graph : {small_classifier(), small_mixture(), small_transformer(), small_integers()}) {
    const Opened opened(*graph);
    ferry_session_options options = default_options();
    options.num_threads = graph->table.name == "small_integers" ? 2 : 1;
    options.all_taps = options.profile = true;
    create(graph->table.name.c_str(), opened.model, options);
  }
}

TEST_P(OutOfMemory, WhereAFolderKeepsPackedWeights) {
  const Opened opened(*small_classifier());
  ferry_session_options options = default_options();
  options.num_threads = 1;
  const std::filesystem::path cache = folder_.path() / "packed";
  const std::string name = cache.string();
  options.cache_dir = name.c_str();
  const auto nothing_unfinished = [&] {
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator(cache, ignored))
      EXPECT_EQ(file.path().extension(), ".packed") << file.path();
  };
  create("a session that writes packed weights", opened.model, options, 1, [&] {
    nothing_unfinished();
    std::filesystem::remove_all(cache);
  });
  SessionPtr writes = make_session(opened.model, options);
  create("a session that maps packed weights", opened.model, options);
}

TEST_P(OutOfMemory, WhereASessionChangesAndRuns) {
  const Opened opened(*small_classifier());
  ferry_session_options options = default_options();
  options.num_threads = 2;
  options.all_taps = true;
  const SessionPtr owned = make_session(opened.model, options);
  ferry_session* session = owned.get();
  fill_inputs(opened.model, session);
  ASSERT_OK(ferry_session_run(session));
  const Results before = results(opened.model, session);
  const auto check = [&] { still(opened.model, session, before); };

  ferry_tensor input;
  ASSERT_OK(ferry_session_input(session, 0, &input));
  const std::vector<float> values = elements(input);
  const int32_t small[] = {1, 8, 8, 3}, large[] = {1, 20, 24, 3};
  const auto back = [&] {
    ASSERT_OK(ferry_session_resize(session, 0, small, 4));
    ASSERT_OK(ferry_session_input(session, 0, &input));
    std::memcpy(input.data, values.data(), input.bytes);
    check();
  };
  exhaust({"resize", [&] { return ferry_session_resize(session, 0, large, 4); }, back, check});
  ferry_tensor wanted = input;
  std::copy_n(large, 4, wanted.shape);
  exhaust({"resize_inputs", [&] { return ferry_session_resize_inputs(session, &wanted, 1); }, back, check});
  std::vector<uint8_t> pixels(3 * 40 * 30, 99);
  const ferry_image image = {pixels.data(), 40, 30, 3 * 40, false};
  exhaust({"set_image", [&] { return ferry_session_set_image(session, &image); }, back,
           [&] {
             ASSERT_OK(ferry_session_input(session, 0, &input));
             std::memcpy(input.data, values.data(), input.bytes);
             check();
           }});
  exhaust({"run", [&] { return ferry_session_run(session); }, check, check});
  exhaust({"run_async", [&] { return ferry_session_run_async(session, nullptr, nullptr); },
           [&] { EXPECT_OK(ferry_session_wait(session)); }, check});
  ferry_class classes[3];
  size_t count = 3;
  exhaust({"top_classes", [&] { return ferry_session_top_classes(session, classes, &count); }});
  exhaust({"no such output", [&] {
             const ferry_status status = ferry_session_output(session, 7, &wanted);
             return status == FERRY_INVALID_ARGUMENT ? FERRY_OK : status;
           }});
  exhaust({"reserve", [&] { return ferry_session_reserve(session, &input, 1); }, check, check});
}

TEST_P(OutOfMemory, WhereStatesGrow) {
  const Opened opened(*small_transformer());
  ferry_session_options options = default_options();
  options.num_threads = 1;
  const SessionPtr owned = make_session(opened.model, options);
  ferry_session* session = owned.get();
  ferry_states* states = nullptr;
  exhaust({"states_create", [&] { return ferry_states_create(opened.model, &states); },
           [&] { ferry_states_close(states); }});
  exhaust(
      {"session_states", [&] { return ferry_session_states(session, &states); }, [&] { ferry_states_close(states); }});
  ASSERT_OK(ferry_session_states(session, &states));
  ASSERT_OK(ferry_session_run(session));
  const Results expected = results(opened.model, session);
  const std::string path = folder_.path() / "states", saved = folder_.path() / "saved";
  const int32_t length = ferry_states_length(states);
  ASSERT_OK(ferry_states_save(states, saved.c_str()));

  // A new session for each run, because states grow only once.
  struct Fresh {
    SessionPtr session;
    ferry_states* states = nullptr;
  } fresh;
  const auto renew = [&] {
    ferry_states_close(fresh.states);
    fresh.session = make_session(opened.model, options);
    EXPECT_OK(ferry_session_states(fresh.session.get(), &fresh.states));
  };
  renew();
  const auto appended = [&] {
    EXPECT_EQ(results(opened.model, fresh.session.get()), expected);
    renew();
  };
  const auto empty = [&] { EXPECT_EQ(ferry_states_length(fresh.states), 0); };
  exhaust({"a run that appends", [&] { return ferry_session_run(fresh.session.get()); }, appended, empty});
  exhaust({"a run that appends on the session's thread",
           [&] {
             const ferry_status begun = ferry_session_run_async(fresh.session.get(), nullptr, nullptr);
             return begun == FERRY_OK ? ferry_session_wait(fresh.session.get()) : begun;
           },
           appended, empty});
  exhaust({"states_reserve", [&] { return ferry_states_reserve(fresh.states, 24); }, renew,
           [&] { EXPECT_EQ(ferry_states_length(fresh.states), 0); }});
  ferry_states_close(fresh.states);
  exhaust({"states_save", [&] { return ferry_states_save(states, path.c_str()); },
           [&] { EXPECT_OK(ferry_states_load(states, path.c_str())); },
           [&] { EXPECT_EQ(ferry_states_length(states), length); }});
  ASSERT_OK(ferry_states_truncate(states, 0));
  exhaust({"states_load", [&] { return ferry_states_load(states, saved.c_str()); },
           [&] {
             EXPECT_EQ(ferry_states_length(states), length);
             ASSERT_OK(ferry_states_truncate(states, 0));
           },
           [&] { EXPECT_EQ(ferry_states_length(states), 0); }});
  ferry_states_close(states);
}

size_t length_of(const ferry_generator* generator) {
  size_t count = 0;
  static_cast<void>(ferry_generator_tokens(generator, &count));
  return count;
}

TEST_P(OutOfMemory, WhereTextIsMade) {
  AlignedBytes blob(pack(*small_language_model()));
  ferry_model* model = nullptr;
  ASSERT_OK(ferry_model_open_memory(blob.data(), blob.size(), &model));
  const std::string text = "the na\xC3\xAFve theory";
  std::vector<int32_t> ids(64);
  size_t count = 0;
  ferry_text* tokenizer = nullptr;
  exhaust({"text_open", [&] { return ferry_text_open(model, &tokenizer); }, [&] { ferry_text_close(tokenizer); },
           [&] { EXPECT_EQ(tokenizer, nullptr); }});
  ASSERT_OK(ferry_text_open(model, &tokenizer));
  exhaust({"encode", [&] {
             count = ids.size();
             return ferry_text_encode(tokenizer, text.data(), text.size(), true, ids.data(), &count);
           }});
  std::string decoded(64, ' ');
  size_t bytes = 0;
  exhaust({"decode", [&] {
             bytes = decoded.size();
             return ferry_text_decode(tokenizer, ids.data(), count, decoded.data(), &bytes);
           }});
  ferry_text_close(tokenizer);
  EXPECT_EQ(decoded.substr(0, bytes), text);
  ferry_session_options options = default_options();
  options.num_threads = 1;
  ferry_generator* generator = nullptr;
  const auto close = [&] { ferry_generator_close(generator); };
  exhaust({"generator_create", [&] { return ferry_generator_create(model, &options, &generator); }, close,
           [&] { EXPECT_EQ(generator, nullptr); }});

  const auto make = [&] {
    ASSERT_OK(ferry_generator_create(model, &options, &generator));
    ASSERT_OK(ferry_generator_append_text(generator, text.data(), text.size()));
  };
  int32_t expected[2], token = 0;
  make();
  for (int32_t& id : expected) ASSERT_OK(ferry_generator_next(generator, &id));
  close();
  const auto goes_on = [&] {
    for (const int32_t id : expected) {
      EXPECT_OK(ferry_generator_next(generator, &token));
      EXPECT_EQ(token, id);
    }
    close();
  };
  const auto fresh = [&] { ASSERT_OK(ferry_generator_create(model, &options, &generator)); };
  const auto again = [&](const std::function<void()>& begin) {
    return [&, begin] {
      goes_on();
      begin();
    };
  };
  fresh();
  exhaust({"append_text", [&] { return ferry_generator_append_text(generator, text.data(), text.size()); },
           again(fresh), [&] { EXPECT_EQ(length_of(generator), 0u); }});
  close();
  fresh();
  exhaust({"append", [&] { return ferry_generator_append(generator, ids.data(), count); }, again(fresh),
           [&] { EXPECT_EQ(length_of(generator), 0u); }});
  close();
  make();
  exhaust({"next", [&] { return ferry_generator_next(generator, &token); },
           [&] {
             EXPECT_EQ(token, expected[0]);
             close();
             make();
           },
           [&] { EXPECT_EQ(length_of(generator), count); }});
  exhaust({"reset", [&] { return ferry_generator_reset(generator); }});
  close();
  ferry_model_close(model);
}

TEST_P(OutOfMemory, WhereAnImageIsRead) {
  std::vector<uint8_t> pixels(3 * 20 * 10);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i);
  const ferry_image image = {pixels.data(), 20, 10, 3 * 20, false};
  const std::string path = folder_.path() / "a.png";
  exhaust({"save_png", [&] { return ferry_image_save_png(&image, path.c_str()); },
           [&] { std::filesystem::remove(path); }, [&] { EXPECT_FALSE(std::filesystem::exists(path)); }});
  ASSERT_OK(ferry_image_save_png(&image, path.c_str()));
  const std::string bytes = read_text(path);
  ferry_image view{};
  const auto same = [&] {
    EXPECT_EQ(std::memcmp(view.pixels, pixels.data(), pixels.size()), 0);
    ferry_image_free(&view);
  };
  const auto none = [&] { EXPECT_EQ(view.pixels, nullptr); };
  exhaust({"image_load", [&] { return ferry_image_load(path.c_str(), &view); }, same, none});
  exhaust({"image_decode", [&] { return ferry_image_decode(bytes.data(), bytes.size(), &view); }, same, none});
}

TEST_P(OutOfMemory, WhereAnImageIsUpscaled) {
  const Opened opened(*small_upscaler());
  ferry_session_options options = default_options();
  options.num_threads = 1;
  const SessionPtr session = make_session(opened.model, options);
  std::vector<uint8_t> pixels(3 * 20 * 10, 200);
  const ferry_image image = {pixels.data(), 20, 10, 3 * 20, false};
  ferry_image expected{}, view{};
  if (ferry_session_enhance(session.get(), &image, 0, &expected) != FERRY_OK) GTEST_SKIP() << ferry_last_error();
  exhaust({"enhance", [&] { return ferry_session_enhance(session.get(), &image, 0, &view); },
           [&] {
             EXPECT_EQ(std::memcmp(view.pixels, expected.pixels, static_cast<size_t>(view.stride * image.height)), 0);
             ferry_image_free(&view);
           },
           [&] { EXPECT_EQ(view.pixels, nullptr); }});
  ferry_image_free(&expected);
}

TEST_P(OutOfMemory, WhereAFrameIsTaken) {
  const Opened opened(*small_classifier());
  ferry_session_options options = default_options();
  options.num_threads = 1;
  const SessionPtr session = make_session(opened.model, options);
  std::vector<uint8_t> levels(40 * 30 * 2, 100);
  ferry_frame frame{};
  frame.struct_size = sizeof(frame);
  frame.format = FERRY_FRAME_YUY2;
  frame.height = 30;
  frame.width = 40;
  frame.planes[0] = {levels.data(), levels.size(), 0, 0};
  ferry_tensor input;
  ASSERT_OK(ferry_session_input(session.get(), 0, &input));
  exhaust({"set_frame", [&] { return ferry_session_set_frame(session.get(), &frame); }});
  ASSERT_OK(ferry_session_set_frame(session.get(), &frame));
  const std::vector<std::byte> expected(static_cast<const std::byte*>(input.data),
                                        static_cast<const std::byte*>(input.data) + input.bytes);
  frame.rotation = 180;  // a single colour, so that rotation does not matter
  exhaust({"set_frame, turned", [&] { return ferry_session_set_frame(session.get(), &frame); },
           [&] { EXPECT_EQ(std::memcmp(input.data, expected.data(), input.bytes), 0); }});
}

TEST_P(OutOfMemory, InTasks) {
  const auto prompted = colour_masks(), labels = brightest_colour(), painter = gray_painter(), front = red_in_front();
  const auto reader = colour_reader(32, 32, fbs::PreprocessT());
  fbs::PreprocessT exact;
  exact.resize_mode = fbs::ResizeMode::Exact;
  exact.resize_h = exact.resize_w = 8;
  const auto detector = one_box(8, 8, exact, {0.1f, 0.2f, 0.6f, 0.9f});
  std::vector<uint8_t> pixels(3 * 20 * 10, 200), holes(3 * 20 * 10);
  holes[3 * 50] = 255;
  const ferry_image image = {pixels.data(), 20, 10, 3 * 20, false}, mask = {holes.data(), 20, 10, 3 * 20, false};
  const ferry_point point = {3, 4, false};
  ferry_session_options options = default_options();
  options.num_threads = 1;
  for (const Graph* graph : {prompted.get(), labels.get(), painter.get(), front.get(), reader.get(), detector.get()}) {
    const Opened opened(*graph);
    ferry_task* task = nullptr;
    const auto close = [&] { ferry_task_close(std::exchange(task, nullptr)); };
    exhaust({.name = "task_open",
             .call = [&] { return ferry_task_open(opened.model, &options, &task); },
             .undo = close,
             .check = [&] { EXPECT_EQ(task, nullptr); },
             .stride = 7});
    ASSERT_OK(ferry_task_open(opened.model, &options, &task));
    ferry_request request{};
    request.struct_size = sizeof(request);
    request.image = &image;
    request.mask = &mask;
    request.points = &point;
    request.point_count = 1;
    ferry_answer answer{};
    answer.struct_size = sizeof(answer);
    exhaust({"task_run", [&] { return ferry_task_run(task, &request, &answer); },
             [&] { EXPECT_NE(answer.kind, FERRY_ANSWER_NONE); }, [&] { EXPECT_EQ(answer.kind, FERRY_ANSWER_NONE); }});
    ASSERT_OK(ferry_task_run(task, &request, &answer));
    if (answer.kind == FERRY_ANSWER_LINES || answer.kind == FERRY_ANSWER_BOXES) {
      EXPECT_EQ(answer.line_count + answer.box_count, 1u);
      ferry_image out{};
      exhaust({"answer_draw", [&] { return ferry_answer_draw(&answer, &image, &out); }, [&] { ferry_image_free(&out); },
               [&] { EXPECT_EQ(out.pixels, nullptr); }});
      close();
      continue;
    }
    const ScratchFolder folder;
    const std::string path = folder.path() / "answer.png";
    exhaust({"answer_save", [&] { return ferry_answer_save(&answer, path.c_str(), FERRY_SAVE_PLAIN); },
             [&] { std::filesystem::remove(path); }, [&] { EXPECT_FALSE(std::filesystem::exists(path)); }});
    if (answer.kind == FERRY_ANSWER_MASK) {
      ferry_image out{};
      exhaust({"answer_composite", [&] { return ferry_answer_composite(&answer, &image, &mask, &out); },
               [&] { ferry_image_free(&out); }, [&] { EXPECT_EQ(out.pixels, nullptr); }});
    }
    close();
  }
}

TEST_P(OutOfMemory, WhereACertificateIsTried) {
  const auto graph = small_classifier();
  graph->table.certificate = std::make_unique<fbs::CertificateT>();
  auto input = std::make_unique<fbs::CertificateInputT>();
  input->shape = {1, 16, 16, 3};
  graph->table.certificate->inputs.push_back(std::move(input));
  auto stage = std::make_unique<fbs::CertificateStageT>();
  stage->name = graph->table.outputs[0]->name;
  stage->samples = {0, 0, 0};
  stage->bound = 1e6f;
  graph->table.certificate->stages.push_back(std::move(stage));
  const Opened opened(*graph);
  ferry_session_options options = default_options();
  options.num_threads = 1;
  ferry_verification verification{};
  verification.struct_size = sizeof verification;
  exhaust({"verify", [&] { return ferry_model_verify(opened.model, &options, &verification); },
           [&] { EXPECT_TRUE(verification.passed); }});
}

// Only the library's own allocations, not the driver's.
TEST_P(OutOfMemory, WhereAGpuIsUsed) {
  if (test_gpus().empty()) GTEST_SKIP() << "no GPU";
  const std::string gpu = test_gpus()[0];
  const auto graph = residual_network(1, 4, 8);
  const std::string cache = folder_.path() / "gpu";
  ferry_session_options options = default_options();
  options.num_threads = 1;
  options.backend = FERRY_BACKEND_GPU;
  options.gpu_required = true;
  options.gpu_device = gpu.c_str();
  options.gpu_cache_dir = cache.c_str();
  make_session(Opened(*graph).model, options);  // opens devices and drivers, once per process
  before_ = live_allocations();
  Results expected;
  const int32_t small[] = {1, 4, 4, 8}, large[] = {1, 8, 8, 8};
  {
    const Opened opened(*graph);
    const SessionPtr session = make_session(opened.model, options);
    ASSERT_NE(session, nullptr);
    fill_inputs(opened.model, session.get());
    EXPECT_OK(ferry_session_run(session.get()));
    expected = results(opened.model, session.get());
    exhaust({"gpu_count", [&] { return ferry_gpu_count() > 0 ? FERRY_OK : FERRY_OUT_OF_MEMORY; }});
    ferry_gpu_info info{};
    info.struct_size = sizeof info;
    exhaust({"gpu_describe", [&] { return ferry_gpu_describe(0, &info); }});
    const auto check = [&] { still(opened.model, session.get(), expected); };
    exhaust({"a resize on the GPU", [&] { return ferry_session_resize(session.get(), 0, large, 4); },
             [&] {
               ASSERT_OK(ferry_session_resize(session.get(), 0, small, 4));
               fill_inputs(opened.model, session.get());
             },
             check, false, 7});
    exhaust({"a run on the GPU", [&] { return ferry_session_run(session.get()); }, check, check});
  }
  const Opened opened(*graph);
  create("a session on the GPU", opened.model, options, 11);
  create("a device's first session", opened.model, options, 97, [&] { std::filesystem::remove_all(cache); });
}

INSTANTIATE_TEST_SUITE_P(Allocations, OutOfMemory, ::testing::Values(Failure::Single, Failure::ForGood),
                         [](const auto& failure) { return failure.param == Failure::Single ? "Single" : "ForGood"; });

}  // namespace
}  // namespace ferry::testing

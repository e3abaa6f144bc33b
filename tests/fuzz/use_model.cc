#include "tests/fuzz/use_model.h"

#include <ferry/image.h>
#include <ferry/task.h>
#include <ferry/text.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace ferry::fuzz {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kTimeLimit = std::chrono::milliseconds(300);

struct Watched {
  std::mutex mutex;
  ferry_session* session = nullptr;
  Clock::time_point since;
};

Watched& watched() {
  static auto& it = *new Watched;  // its watching thread never ends
  return it;
}

void touch_name(const char* name) {
  require(name != nullptr && std::strlen(name) < size_t{1} << 20, "a name that is none");
}

void touch_tensor(const ferry_tensor& tensor) {
  touch_name(tensor.name);
  if (tensor.data != nullptr) touch(std::span(static_cast<const std::byte*>(tensor.data), tensor.bytes));
}

void use_states(ferry_session* session) {
  ferry_states* states = nullptr;
  if (ferry_session_states(session, &states) != FERRY_OK) return;
  while (ferry_session_run(session) == FERRY_OK && ferry_states_length(states) < 3) {
  }
  for (size_t i = 0; i < ferry_states_count(states); ++i) {
    ferry_tensor tensor;
    require(ferry_states_describe(states, i, &tensor) == FERRY_OK, "a state cannot be described");
    touch_tensor(tensor);
  }
  const ferry_status cut = ferry_states_truncate(states, 1);
  require(cut == FERRY_OK || cut == FERRY_UNSUPPORTED, "states cannot be cut");  // those of a fixed size never can
  if (ferry_session_run(session) == FERRY_OK) require(ferry_states_reset(states) == FERRY_OK, "states stay");
  ferry_states_close(states);
}

// Sets images through the blob's preprocessing, which may be hostile too.
void use_image(ferry_session* session) {
  uint8_t pixels[5 * 6 * 3];
  for (size_t i = 0; i < sizeof pixels; ++i) pixels[i] = static_cast<uint8_t>(i * 7);
  const ferry_image image{.pixels = pixels, .width = 6, .height = 5, .stride = 18, .owned = false};
  if (ferry_session_set_image(session, &image) == FERRY_OK && ferry_session_run(session) == FERRY_OK) {
    ferry_class classes[3];
    size_t count = 3;
    if (ferry_session_top_classes(session, classes, &count) == FERRY_OK)
      for (size_t i = 0; i < count; ++i) touch_name(classes[i].label);
  }
  float embedding[64];
  size_t width = 64;
  static_cast<void>(ferry_session_embedding(session, embedding, &width) == FERRY_OK);
  ferry_image result{};
  if (ferry_session_enhance(session, &image, 4, &result) == FERRY_OK) ferry_image_free(&result);
}

// Runs the blob's task with every prompt.
void use_task(ferry_model* model) {
  ferry_task_info info{};
  info.struct_size = sizeof(info);
  require(ferry_model_task(model, &info) == FERRY_OK, "a model does not say what it is for");
  touch_name(info.name);
  const ferry_session_options options = small_options();
  ferry_task* task = nullptr;
  if (ferry_task_open(model, &options, &task) != FERRY_OK) return;
  uint8_t pixels[5 * 6 * 3];
  for (size_t i = 0; i < sizeof pixels; ++i) pixels[i] = static_cast<uint8_t>(i * 7);
  const ferry_image image{.pixels = pixels, .width = 6, .height = 5, .stride = 18, .owned = false};
  const ferry_point point{2, 3, false};
  ferry_request request{};
  request.struct_size = sizeof(request);
  request.image = request.mask = &image;
  request.points = &point;
  request.point_count = 1;
  ferry_answer answer{};
  answer.struct_size = sizeof(answer);
  ferry_status ran = FERRY_OK;
  {
    const Deadline deadline(ferry_task_session(task));
    ran = ferry_task_run(task, &request, &answer);
  }
  if (ran == FERRY_OK) {
    for (size_t i = 0; i < answer.class_count; ++i) touch_name(answer.classes[i].label);
    if (answer.kind == FERRY_ANSWER_MAP)
      require(answer.width * answer.height == 30, "a map is not of the image's size");
  }
  ferry_task_close(task);
}

void use_text(ferry_model* model) {
  constexpr std::string_view kText = "the \xC3\xA9\xFF he";
  ferry_text* text = nullptr;
  if (ferry_text_open(model, &text) != FERRY_OK) return;
  int32_t tokens[64];
  size_t count = 64;
  if (ferry_text_encode(text, kText.data(), kText.size(), true, tokens, &count) == FERRY_OK) {
    char words[256];
    size_t bytes = sizeof words;
    static_cast<void>(ferry_text_decode(text, tokens, count, words, &bytes) == FERRY_OK);
  }
  ferry_text_close(text);
}

// Generates a few tokens after a text, and after an image if the model accepts one.
void use_generator(ferry_model* model) {
  const ferry_session_options options = small_options();
  ferry_generator* generator = nullptr;
  if (ferry_generator_create(model, &options, &generator) != FERRY_OK) return;
  const int32_t tokens[] = {1, 2, 0};
  uint8_t pixels[8 * 8 * 3] = {};
  const ferry_image image{.pixels = pixels, .width = 8, .height = 8, .stride = 24, .owned = false};
  {
    const Deadline deadline(ferry_generator_session(generator));
    static_cast<void>(ferry_generator_append(generator, tokens, 2) == FERRY_OK);
    static_cast<void>(ferry_generator_append_image(generator, &image) == FERRY_OK);
    static_cast<void>(ferry_generator_append_text(generator, "he", 2) == FERRY_OK);
    int32_t token = 0;
    for (int i = 0; i < 3 && ferry_generator_next(generator, &token) == FERRY_OK; ++i)
      touch_name(ferry_generator_text(generator, nullptr));
  }
  ferry_generator_close(generator);
}

// Resizes, and back.
void resize(ferry_session* session) {
  ferry_tensor input;
  if (ferry_session_input(session, 0, &input) != FERRY_OK) return;
  int32_t shape[FERRY_MAX_RANK];
  std::copy(input.shape, input.shape + FERRY_MAX_RANK, shape);
  for (int32_t d = 0; d < input.rank; ++d) shape[d] = shape[d] < 64 ? shape[d] + 1 : shape[d] / 2;
  if (ferry_session_resize(session, 0, shape, input.rank) == FERRY_OK)
    static_cast<void>(ferry_session_run(session) == FERRY_OK);
  require(ferry_session_input(session, 0, &input) == FERRY_OK, "an input went lost");
}

}  // namespace

Deadline::Deadline(ferry_session* session) {
  static const bool started = [] {
    std::thread([] {
      for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        const std::lock_guard lock(watched().mutex);
        if (watched().session != nullptr && Clock::now() - watched().since > kTimeLimit)
          ferry_session_cancel(watched().session);
      }
    }).detach();
    return true;
  }();
  static_cast<void>(started);
  const std::lock_guard lock(watched().mutex);
  watched().session = session;
  watched().since = Clock::now();
}

Deadline::~Deadline() {
  const std::lock_guard lock(watched().mutex);
  watched().session = nullptr;
}

void describe_model(ferry_model* model) {
  touch_name(ferry_model_name(model));
  ferry_tensor tensor;
  for (size_t i = 0; i < ferry_model_input_count(model); ++i) {
    require(ferry_model_input(model, i, &tensor) == FERRY_OK, "an input cannot be described");
    touch_tensor(tensor);
  }
  for (size_t i = 0; i < ferry_model_output_count(model); ++i) {
    require(ferry_model_output(model, i, &tensor) == FERRY_OK, "an output cannot be described");
    touch_tensor(tensor);
  }
  for (size_t i = 0; i < ferry_model_tap_count(model); ++i) {
    require(ferry_model_tap(model, i, &tensor) == FERRY_OK, "a tap cannot be described");
    touch_tensor(tensor);
  }
  for (size_t i = 0; i < ferry_model_label_count(model); ++i) touch_name(ferry_model_label(model, i));
  for (size_t i = 0; i < ferry_model_graph_count(model); ++i) touch_name(ferry_model_graph_name(model, i));
}

ferry_session_options small_options() {
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = 1;
  options.memory_limit = uint64_t{8} << 20;
  options.skip_weight_check = true;  // so that damaged weights run
  return options;
}

void use_model(ferry_model* model) {
  describe_model(model);
  use_text(model);
  use_generator(model);
  use_task(model);
  ferry_session_options options = small_options();
  options.all_taps = true;
  options.profile = true;
  ferry_session* session = nullptr;
  if (ferry_session_create(model, &options, &session) != FERRY_OK) {
    require(session == nullptr && *ferry_last_error() != 0, "a failure without a sentence, or with a session");
    return;
  }
  {
    const Deadline deadline(session);
    ferry_tensor tensor;
    for (size_t i = 0; i < ferry_model_input_count(model); ++i) {
      require(ferry_session_input(session, i, &tensor) == FERRY_OK, "an input has no memory");
      // 0.01, or an index that is probably valid.
      std::memset(tensor.data, tensor.dtype == FERRY_INT32 ? 0 : 0x3c, tensor.bytes);
    }
    static_cast<void>(ferry_session_run(session) == FERRY_OK);
    for (size_t i = 0; i < ferry_model_output_count(model); ++i) {
      require(ferry_session_output(session, i, &tensor) == FERRY_OK, "an output has no memory");
      touch_tensor(tensor);
    }
    use_states(session);
    for (size_t i = 0; i < ferry_session_profile_count(session); ++i) {
      ferry_profile_entry entry;
      require(ferry_session_profile(session, i, &entry) == FERRY_OK, "a profile's row went lost");
      touch_name(entry.name);
      touch_name(entry.op);
    }
    use_image(session);
    resize(session);
  }
  ferry_session_close(session);
}

}  // namespace ferry::fuzz

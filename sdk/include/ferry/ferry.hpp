// SPDX-License-Identifier: Apache-2.0
// ferry.hpp - ferry.h, image.h and task.h for C++17 and later: RAII handles, errors as values. text.hpp does the same
// for text.h.
//
//   ferry::Result<ferry::Model> model = ferry::Model::open("squeezenet.ferry");
//   if (!model) return fail(model.error());
//   ferry::Result<ferry::Session> session = model->session();
//   if (!session) return fail(session.error());
//   ferry::Result<ferry::Image> photo = ferry::Image::load("photo.png");
//   if (!photo) return fail(photo.error());
//   if (ferry::Status set = session->set_image(*photo); !set) return fail(set.error());
//   if (ferry::Status run = session->run(); !run) return fail(run.error());
//   for (float logit : session->output(0)) use(logit);
//   for (const ferry_class& c : session->top_classes(5).value()) use(c.probability);
//
// Header only, on top of the C API. Works with -fno-exceptions -fno-rtti, and throws nothing itself.
//
// Errors. Calls that can fail return a Status or a Result<T>. Both are true on success; otherwise error() is the
// sentence of ferry_last_error(). The value of a failed Result is empty. Calls on an empty Model or Session fail and do
// not crash.
//
// Ownership. Model, Session, Task and Image are handles that can be moved but not copied; destructors close them.
// Sessions and Tasks keep their model alive. A Tensor is a view: it stays valid until its session is resized or closed.
//
// Threads. As in ferry.h: many threads may use a Model at once; one thread at a time may use a Session, except for
// cancel().
#ifndef FERRY_FERRY_HPP_
#define FERRY_FERRY_HPP_

#include <ferry/ferry.h>
#include <ferry/image.h>
#include <ferry/task.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace ferry {
// An inline namespace: apps write ferry::Model, but symbols differ from those inside the static library.
inline namespace app {

// FERRY_OK, or a status code and an error sentence.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // From the result of a C function; a failure copies ferry_last_error().
  Status(ferry_status code) : code_(code) {
    if (code != FERRY_OK) error_ = ferry_last_error();
  }

  explicit operator bool() const { return code_ == FERRY_OK; }
  ferry_status code() const { return code_; }
  const std::string& error() const { return error_; }

 private:
  ferry_status code_ = FERRY_OK;
  std::string error_;
};

// A value, or the Status that explains why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status failure) : status_(std::move(failure)) {}

  explicit operator bool() const { return static_cast<bool>(status_); }
  const Status& status() const { return status_; }
  ferry_status code() const { return status_.code(); }
  const std::string& error() const { return status_.error(); }

  T& value() & { return value_; }
  T value() && { return std::move(value_); }  // a copy, safe in a range-for over a call
  T& operator*() & { return value_; }
  T* operator->() { return &value_; }

 private:
  T value_{};
  Status status_;
};

// A view of a tensor: ferry_tensor with its elements as a range, which is empty unless they are float32.
struct Tensor : ferry_tensor {
  Tensor() : ferry_tensor{} {}

  float* begin() const { return static_cast<float*>(data); }
  float* end() const { return begin() + size(); }
  size_t size() const { return data != nullptr && dtype == FERRY_FLOAT32 ? bytes / sizeof(float) : 0; }
  float& operator[](size_t i) const { return begin()[i]; }

  // Elements in the source framework's layout (ferry_tensor_write_source, ferry_tensor_read_source).
  Status write_source(const std::vector<float>& source) const {
    return ferry_tensor_write_source(this, source.data(), source.size());
  }
  Result<std::vector<float>> read_source() const {
    std::vector<float> destination(size());
    Status status = ferry_tensor_read_source(this, destination.data(), destination.size());
    if (!status) return status;
    return destination;
  }
  // The same for int32 tensors.
  Status write_source_int32(const std::vector<int32_t>& source) const {
    return ferry_tensor_write_source_int32(this, source.data(), source.size());
  }
  Result<std::vector<int32_t>> read_source_int32() const {
    std::vector<int32_t> destination(data != nullptr ? bytes / sizeof(int32_t) : 0);
    Status status = ferry_tensor_read_source_int32(this, destination.data(), destination.size());
    if (!status) return status;
    return destination;
  }
};

// An 8-bit RGB image that owns its pixels.
class Image {
 public:
  Image() = default;
  explicit Image(const ferry_image& image) : image_(image) {}
  ~Image() { ferry_image_free(&image_); }
  Image(Image&& other) noexcept : image_(std::exchange(other.image_, ferry_image{})) {}
  Image& operator=(Image&& other) noexcept {
    std::swap(image_, other.image_);
    return *this;
  }

  static Result<Image> load(const char* path) {
    ferry_image image;
    Status status = ferry_image_load(path, &image);
    if (!status) return status;
    return Image(image);
  }
  static Result<Image> decode(const void* data, size_t size) {
    ferry_image image;
    Status status = ferry_image_decode(data, size, &image);
    if (!status) return status;
    return Image(image);
  }
  Status save_png(const char* path) const { return ferry_image_save_png(&image_, path); }

  int32_t width() const { return image_.width; }
  int32_t height() const { return image_.height; }
  int32_t stride() const { return image_.stride; }
  uint8_t* row(int32_t y) { return image_.pixels + static_cast<ptrdiff_t>(y) * image_.stride; }
  const uint8_t* row(int32_t y) const { return image_.pixels + static_cast<ptrdiff_t>(y) * image_.stride; }
  const ferry_image& get() const { return image_; }

 private:
  ferry_image image_{};
};

// An initialised ferry_frame: an image in memory that a camera owns.
struct Frame : ferry_frame {
  Frame() : ferry_frame{} { struct_size = sizeof(ferry_frame); }
  Frame(ferry_frame_format of, int32_t wide, int32_t high) : Frame() {
    format = of;
    width = wide;
    height = high;
  }
  // A stride of 0 means no gaps.
  void set_plane(size_t index, const uint8_t* data, size_t size, int32_t row_stride = 0, int32_t pixel_stride = 0) {
    planes[index] = {data, size, row_stride, pixel_stride};
  }
};

// Memory that a GPU reads frames from without a copy, from Session::import_memory(). For Frame::gpu_memory.
class GpuMemory {
 public:
  GpuMemory() = default;
  // Takes ownership of a handle of the C API.
  explicit GpuMemory(ferry_gpu_memory* memory) : memory_(memory) {}
  ~GpuMemory() { ferry_gpu_memory_close(memory_); }
  GpuMemory(GpuMemory&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  GpuMemory& operator=(GpuMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }

  ferry_gpu_memory* get() const { return memory_; }

 private:
  ferry_gpu_memory* memory_ = nullptr;
};

// ferry_session_options with the defaults.
struct SessionOptions : ferry_session_options {
  SessionOptions() : ferry_session_options{} { ferry_session_options_init(this); }
};

// What a blob's graphs keep between runs: see "states" in ferry.h.
class States {
 public:
  States() = default;
  // Takes ownership of a handle of the C API.
  explicit States(ferry_states* states) : states_(states) {}
  ~States() { ferry_states_close(states_); }
  States(States&& other) noexcept : states_(std::exchange(other.states_, nullptr)) {}
  States& operator=(States&& other) noexcept {
    std::swap(states_, other.states_);
    return *this;
  }

  int32_t length() const { return ferry_states_length(states_); }
  Status reserve(int32_t length) { return ferry_states_reserve(states_, length); }
  Status reset() { return ferry_states_reset(states_); }
  Status truncate(int32_t length) { return ferry_states_truncate(states_, length); }
  Status save(const char* path) const { return ferry_states_save(states_, path); }
  Status load(const char* path) { return ferry_states_load(states_, path); }

  ferry_states* get() const { return states_; }

 private:
  ferry_states* states_ = nullptr;
};

class Session {
 public:
  Session() = default;
  // Takes ownership of a handle of the C API.
  explicit Session(ferry_session* session) : session_(session) {}
  ~Session() { ferry_session_close(session_); }
  Session(Session&& other) noexcept : session_(std::exchange(other.session_, nullptr)) {}
  Session& operator=(Session&& other) noexcept {
    std::swap(session_, other.session_);
    return *this;
  }

  Status resize(size_t index, std::initializer_list<int32_t> shape) {
    return ferry_session_resize(session_, index, shape.begin(), static_cast<int32_t>(shape.size()));
  }
  // Resizes all inputs at once. Only shape and rank of each tensor are read, in the inputs' order.
  Status resize(const std::vector<Tensor>& inputs) {
    const std::vector<ferry_tensor> shapes(inputs.begin(), inputs.end());
    return ferry_session_resize_inputs(session_, shapes.data(), shapes.size());
  }
  // An empty Tensor if there is no such input or output; ferry_last_error() says why.
  Tensor input(size_t index) const { return find(ferry_session_input, index); }
  Tensor output(size_t index) const { return find(ferry_session_output, index); }
  Result<Tensor> tap(const char* name) const {
    Tensor tensor;
    Status status = ferry_session_tap(session_, name, &tensor);
    if (!status) return status;
    return tensor;
  }

  Result<States> states() const {
    ferry_states* states = nullptr;
    Status status = ferry_session_states(session_, &states);
    if (!status) return status;
    return States(states);
  }

  Status run() { return ferry_session_run(session_); }
  // Begins a run and returns. `callback` (null: none) is called at its end, see ferry_run_callback in ferry.h.
  Status run_async(ferry_run_callback callback = nullptr, void* user = nullptr) {
    return ferry_session_run_async(session_, callback, user);
  }
  // Waits for the end of the run and returns its status.
  Status wait() { return ferry_session_wait(session_); }
  void cancel() { ferry_session_cancel(session_); }

  Status set_image(const Image& image) { return ferry_session_set_image(session_, &image.get()); }
  // Image `index` of a batch, and its results in the last run: ferry_session_set_image_at().
  Status set_image_at(size_t index, const Image& image) {
    return ferry_session_set_image_at(session_, index, &image.get());
  }
  Status set_frame(const Frame& frame) { return ferry_session_set_frame(session_, &frame); }
  Result<GpuMemory> import_memory(const ferry_memory_source& source) {
    ferry_gpu_memory* memory = nullptr;
    Status status = ferry_gpu_memory_import(session_, &source, &memory);
    if (!status) return status;
    return GpuMemory(memory);
  }
  // At most `count` classes, most probable first.
  Result<std::vector<ferry_class>> top_classes(size_t count) const {
    std::vector<ferry_class> classes(count);
    Status status = ferry_session_top_classes(session_, classes.data(), &count);
    if (!status) return status;
    classes.resize(count);
    return classes;
  }
  Result<std::vector<ferry_class>> top_classes_at(size_t index, size_t count) const {
    std::vector<ferry_class> classes(count);
    Status status = ferry_session_top_classes_at(session_, index, classes.data(), &count);
    if (!status) return status;
    classes.resize(count);
    return classes;
  }
  // The image embedding of the last run: ferry_session_embedding().
  Result<std::vector<float>> embedding() const {
    size_t count = 0;
    Status status = ferry_session_embedding(session_, nullptr, &count);
    if (!status) return status;
    std::vector<float> values(count);
    status = ferry_session_embedding(session_, values.data(), &count);
    if (!status) return status;
    return values;
  }
  Result<std::vector<float>> embedding_at(size_t index) const {
    size_t count = 0;
    Status status = ferry_session_embedding_at(session_, index, nullptr, &count);
    if (!status) return status;
    std::vector<float> values(count);
    status = ferry_session_embedding_at(session_, index, values.data(), &count);
    if (!status) return status;
    return values;
  }
  // ferry_session_enhance(). Tile 0: automatic.
  Result<Image> enhance(const Image& image, int32_t tile = 0) {
    ferry_image out;
    Status status = ferry_session_enhance(session_, &image.get(), tile, &out);
    if (!status) return status;
    return Image(out);
  }

  uint64_t arena_bytes() const { return ferry_session_arena_bytes(session_); }
  uint64_t packed_bytes() const { return ferry_session_packed_bytes(session_); }
  // The last run by operator; empty unless SessionOptions.profile is set.
  std::vector<ferry_profile_entry> profile() const {
    std::vector<ferry_profile_entry> entries(ferry_session_profile_count(session_));
    for (size_t i = 0; i < entries.size(); ++i) {
      if (ferry_session_profile(session_, i, &entries[i]) != FERRY_OK) return {};
    }
    return entries;
  }
  // Where the session runs, and why; zeros for an empty Session.
  ferry_report report() const {
    ferry_report report{};
    report.struct_size = sizeof(report);
    if (ferry_session_report(session_, &report) != FERRY_OK) return {};
    return report;
  }
  // Deviations from the plan on the GPU, one sentence each.
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    while (const char* note = ferry_session_report_note(session_, notes.size())) notes.push_back(note);
    return notes;
  }
  ferry_session* get() const { return session_; }

 private:
  using Getter = ferry_status (*)(ferry_session*, size_t, ferry_tensor*);
  Tensor find(Getter getter, size_t index) const {
    Tensor tensor;
    if (getter(session_, index, &tensor) != FERRY_OK) return Tensor();
    return tensor;
  }

  ferry_session* session_ = nullptr;
};

// An initialised ferry_request.
struct Request : ferry_request {
  Request() : ferry_request{} { struct_size = sizeof(ferry_request); }
  explicit Request(const Image& given) : Request() { image = &given.get(); }
  explicit Request(const Frame& given) : Request() { frame = &given; }
};

// A range of elements owned by another object.
template <typename T>
class View {
 public:
  View(const T* data, size_t size) : data_(data), size_(size) {}
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t i) const { return data_[i]; }

 private:
  const T* data_;
  size_t size_;
};

// ferry_answer with ranges, which are empty if the kind has no such field. Valid until the task's next run.
struct Answer : ferry_answer {
  Answer() : ferry_answer{} { struct_size = sizeof(ferry_answer); }

  View<ferry_class> all_classes() const { return {classes, class_count}; }
  View<float> all_vector() const { return {vector, vector_size}; }
  View<float> all_map() const { return {map, map != nullptr ? pixels() : 0}; }
  View<uint16_t> all_labels() const { return {labels, labels != nullptr ? pixels() : 0}; }
  View<ferry_detection> all_boxes() const { return {boxes, box_count}; }
  View<ferry_line> all_lines() const { return {lines, line_count}; }
  View<uint8_t> all_mask() const { return {mask, mask != nullptr ? pixels() : 0}; }
  Status save(const char* path, ferry_save_style style = FERRY_SAVE_PLAIN) const {
    return ferry_answer_save(this, path, style);
  }
  // The foreground of `seen`, which a mask selects: as a PNG with alpha, or over another image.
  Status save_foreground(const Image& seen, const char* path) const {
    return ferry_answer_save_foreground(this, &seen.get(), path);
  }
  Result<Image> composite(const Image& seen, const Image& background) const {
    ferry_image out;
    Status status = ferry_answer_composite(this, &seen.get(), &background.get(), &out);
    if (!status) return status;
    return Image(out);
  }

  // `seen` with the boxes or lines drawn on it.
  Result<Image> draw(const Image& seen) const {
    ferry_image out;
    Status status = ferry_answer_draw(this, &seen.get(), &out);
    if (!status) return status;
    return Image(out);
  }

 private:
  size_t pixels() const { return static_cast<size_t>(width) * static_cast<size_t>(height); }
};

// The task of a model: see task.h.
class Task {
 public:
  Task() = default;
  // Takes ownership of a handle of the C API.
  explicit Task(ferry_task* task) : task_(task) {}
  ~Task() { ferry_task_close(task_); }
  Task(Task&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(task_, other.task_);
    return *this;
  }

  Result<Answer> run(const ferry_request& request) {
    Answer answer;
    Status status = ferry_task_run(task_, &request, &answer);
    if (!status) return status;
    return answer;
  }
  Result<Answer> run(const Image& image) { return run(Request(image)); }
  Result<Answer> run(const Frame& frame) { return run(Request(frame)); }
  // Makes another thread's run() fail with FERRY_CANCELLED.
  void cancel() { ferry_task_cancel(task_); }
  ferry_task* get() const { return task_; }

 private:
  ferry_task* task_ = nullptr;
};

class Model {
 public:
  Model() = default;
  // Takes ownership of a handle of the C API.
  explicit Model(ferry_model* model) : model_(model) {}
  ~Model() { ferry_model_close(model_); }
  Model(Model&& other) noexcept : model_(std::exchange(other.model_, nullptr)) {}
  Model& operator=(Model&& other) noexcept {
    std::swap(model_, other.model_);
    return *this;
  }

  static Result<Model> open(const char* path) {
    ferry_model* model;
    Status status = ferry_model_open(path, &model);
    if (!status) return status;
    return Model(model);
  }
  static Result<Model> open_fd(int fd, uint64_t offset, uint64_t length) {
    ferry_model* model;
    Status status = ferry_model_open_fd(fd, offset, length, &model);
    if (!status) return status;
    return Model(model);
  }
  // `data` is aligned to 64 bytes and not copied; it must outlive the model and its sessions.
  static Result<Model> open_memory(const void* data, size_t size) {
    ferry_model* model;
    Status status = ferry_model_open_memory(data, size, &model);
    if (!status) return status;
    return Model(model);
  }

  Result<Session> session(const SessionOptions& options = SessionOptions()) const {
    ferry_session* session;
    Status status = ferry_session_create(model_, &options, &session);
    if (!status) return status;
    return Session(session);
  }

  // Describes the model's task.
  ferry_task_info task_info() const {
    ferry_task_info info{};
    info.struct_size = sizeof(info);
    if (ferry_model_task(model_, &info) != FERRY_OK) return {};
    return info;
  }
  Result<Task> task(const SessionOptions& options = SessionOptions()) const {
    ferry_task* task;
    Status status = ferry_task_open(model_, &options, &task);
    if (!status) return status;
    return Task(task);
  }

  // Reads the whole file and compares the weights with the converter's checksum.
  Status check() const { return ferry_model_check(model_); }
  // Checks the model against its certificate, on the backend of `options`.
  Result<ferry_verification> verify(const SessionOptions& options = SessionOptions()) const {
    ferry_verification verification{};
    verification.struct_size = sizeof(verification);
    Status status = ferry_model_verify(model_, &options, &verification);
    if (!status) return status;
    return verification;
  }

  const char* name() const { return ferry_model_name(model_); }
  // Descriptions at the default input size, without data.
  std::vector<Tensor> inputs() const { return list(ferry_model_input_count(model_), ferry_model_input); }
  std::vector<Tensor> outputs() const { return list(ferry_model_output_count(model_), ferry_model_output); }
  std::vector<Tensor> taps() const { return list(ferry_model_tap_count(model_), ferry_model_tap); }
  size_t label_count() const { return ferry_model_label_count(model_); }
  const char* label(size_t index) const { return ferry_model_label(model_, index); }
  ferry_model* get() const { return model_; }

 private:
  using Getter = ferry_status (*)(const ferry_model*, size_t, ferry_tensor*);
  std::vector<Tensor> list(size_t count, Getter getter) const {
    std::vector<Tensor> tensors(count);
    for (size_t i = 0; i < count; ++i) {
      if (getter(model_, i, &tensors[i]) != FERRY_OK) return {};
    }
    return tensors;
  }

  ferry_model* model_ = nullptr;
};

// The Vulkan devices, in the order of the indices for SessionOptions.gpu_device.
inline std::vector<ferry_gpu_info> gpus() {
  std::vector<ferry_gpu_info> infos(ferry_gpu_count());
  for (size_t i = 0; i < infos.size(); ++i) {
    infos[i].struct_size = sizeof(ferry_gpu_info);
    if (ferry_gpu_describe(i, &infos[i]) != FERRY_OK) return {};
  }
  return infos;
}

}  // namespace app
}  // namespace ferry
#endif  // FERRY_FERRY_HPP_

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/progress.h"
#include "cli/run.h"
#include "cli/text.h"
#include "sdk/api/handles.h"
#include "sdk/image/codec.h"
#include "sdk/image/enhance.h"

namespace ferry::cli {
namespace {

void print_classes(const RunOptions& o, const SessionHandle& session) {
  std::vector<ferry_class> top(
      static_cast<size_t>(o.top > 0 ? o.top : session->session->model().graph().postprocess()->top()));
  size_t count = top.size();
  check(ferry_session_top_classes(session.get(), top.data(), &count));
  for (size_t i = 0; i < count; ++i) {
    const char* label = *top[i].label ? top[i].label : "(no label)";
    std::printf("%7.4f  %4d  %s\n", static_cast<double>(top[i].probability), top[i].index, label);
  }
}

// A vector's length and first numbers; the whole of it is for --save.
void print_embedding(const RunOptions& o, const SessionHandle& session) {
  const std::vector<float> values = embedding_of(session);
  const size_t count = values.size();
  double squares = 0;
  for (const float v : values) squares += double{v} * v;
  std::printf("embedding of %zu numbers, length %.4g:", count, std::sqrt(squares));
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min(count, kShown); ++i) std::printf(" %.4f", static_cast<double>(values[i]));
  std::printf("%s%s\n", count > kShown ? " ..." : "", o.save.empty() ? " (--save FILE keeps it)" : "");
}

std::string default_output(const std::string& picture, int scale) {
  return std::filesystem::path(picture).stem().string() + "_x" + std::to_string(scale) + ".png";
}

void enlarge(const RunOptions& o, const SessionHandle& session, const image::View& picture) {
  const fbs::Graph& graph = session->session->model().graph();
  const std::string path = o.output.empty() ? default_output(o.picture, graph.postprocess()->upscale()) : o.output;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    fail("cannot write %s: there is no folder %s", path.c_str(), folder.c_str());
  }
  image::Pixels result;
  {
    ProgressLine line("tile");
    const image::Progress progress = {
        [](void* user, int done, int total) { static_cast<ProgressLine*>(user)->update(done, total); }, &line};
    check(image::enhance(session->idle(), picture, o.tile, progress, &result));
  }
  check(image::save_png(result.view(), path.c_str()));
  std::printf("%s: %dx%d, from %dx%d\n", path.c_str(), result.view().width, result.view().height, picture.width,
              picture.height);
}

// What a network without a task of its own gives.
void print_outputs(const ModelHandle& model, const SessionHandle& session) {
  for (size_t i = 0; i < ferry_model_output_count(model.get()); ++i) {
    ferry_tensor t;
    check(ferry_session_output(session.get(), i, &t));
    std::printf("%s %s %s (--save FILE keeps it)\n", t.name, dtype_name(t.dtype), shape_text(source_shape(t)).c_str());
  }
}

}  // namespace

bool is_embedder(const SessionHandle& session) {
  const fbs::Postprocess* post = session->session->model().graph().postprocess();
  return post && post->task() == fbs::Task::Embedding;
}

std::vector<float> embedding_of(const SessionHandle& session) {
  size_t count = 0;
  check(ferry_session_embedding(session.get(), nullptr, &count));
  std::vector<float> values(count);
  check(ferry_session_embedding(session.get(), values.data(), &count));
  return values;
}

int run_picture(const RunOptions& o, const ModelHandle& model, const SessionHandle& session) {
  const fbs::Graph& graph = session->session->model().graph();
  const fbs::Task task = graph.postprocess() ? graph.postprocess()->task() : fbs::Task::Tensors;
  if (task != fbs::Task::ImageToImage && !o.output.empty())
    fail("-o: this model gives no picture; use --save for tensors");
  image::Pixels pixels;
  check(image::load(o.picture.c_str(), &pixels));
  if (task == fbs::Task::ImageToImage && o.save.empty()) {
    enlarge(o, session, pixels.view());
    return kDone;
  }
  const image::View view = pixels.view();
  const ferry_image picture = {const_cast<uint8_t*>(view.data), view.width, view.height,
                               static_cast<int32_t>(view.stride), false};
  check(ferry_session_set_image(session.get(), &picture));
  check(ferry_session_run(session.get()));
  if (!o.save.empty()) save_results(o, model, session);
  if (task == fbs::Task::Classification || task == fbs::Task::MultiLabel) {
    print_classes(o, session);
  } else if (task == fbs::Task::Embedding) {
    print_embedding(o, session);
  } else if (o.save.empty()) {
    print_outputs(model, session);
  }
  return kDone;
}

}  // namespace ferry::cli

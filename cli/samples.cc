#include "cli/samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include "cli/progress.h"
#include "cli/run.h"
#include "cli/text.h"
#include "converter/checkpoint/mapped_file.h"
#include "converter/checkpoint/safetensors.h"
#include "converter/checkpoint/sha256.h"
#include "sdk/api/handles.h"
#include "sdk/image/codec.h"
#include "sdk/task/task.h"

namespace ferry::cli {
namespace {

namespace fs = std::filesystem;

std::string hash_of(const std::string& path) { return sha256_hex(MappedFile::open(path)->bytes()); }

int8::Sample::Input input_of(const ferry_tensor& tensor) {
  int8::Sample::Input out;
  for (int i = 0; i < tensor.rank; ++i) out.shape[out.shape.rank++] = tensor.shape[i];
  out.bytes.resize(tensor.bytes);
  std::memcpy(out.bytes.data(), tensor.data, tensor.bytes);
  return out;
}

bool has_one_colour(const image::View& view) {
  for (int y = 0; y < view.height; ++y) {
    const uint8_t* row = view.data + static_cast<size_t>(y) * static_cast<size_t>(view.stride);
    for (int i = 0; i < 3 * view.width; ++i)
      if (row[i] != view.data[i % 3]) return false;
  }
  return true;
}

int8::Sample image_sample(const std::string& path, const SessionHandle& session, std::vector<std::string>* notes) {
  image::Pixels pixels;
  check(image::load(path.c_str(), &pixels));
  const image::View view = pixels.view();
  if (has_one_colour(view)) notes->push_back(path + " has one colour: it says little about the network's values");
  const ferry_image image = {const_cast<uint8_t*>(view.data), view.width, view.height,
                             static_cast<int32_t>(view.stride), false};
  check(ferry_session_set_image(session.get(), &image));
  ferry_tensor input;
  check(ferry_session_input(session.get(), 0, &input));
  return {path, hash_of(path), {input_of(input)}};
}

int8::Sample tensor_sample(const std::string& path, const ModelHandle& model) {
  const std::shared_ptr<const Checkpoint> file = open_checkpoint(path);
  int8::Sample out{path, hash_of(path), {}};
  const size_t inputs = ferry_model_input_count(model.get());
  for (size_t i = 0; i < inputs; ++i) {
    ferry_tensor port;
    check(ferry_model_input(model.get(), i, &port));
    auto found = file->tensors().find(port.name);
    if (inputs == 1 && file->tensors().size() == 1) found = file->tensors().begin();
    if (found == file->tensors().end()) fail("%s has no tensor '%s', which is an input", path.c_str(), port.name);
    const std::vector<int64_t> wanted = source_shape(port);
    if (found->second.shape != wanted)
      fail("%s: '%s' is %s, the model takes %s", path.c_str(), port.name, shape_text(found->second.shape).c_str(),
           shape_text(wanted).c_str());
    const std::vector<float> values = found->second.to_floats();
    if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); }))
      fail("%s: '%s' has values that are not finite", path.c_str(), port.name);
    std::vector<std::byte> memory(port.bytes);
    port.data = memory.data();
    if (port.dtype == FERRY_INT32) {
      const std::vector<int32_t> integers(values.begin(), values.end());
      check(ferry_tensor_write_source_int32(&port, integers.data(), integers.size()));
    } else {
      check(ferry_tensor_write_source(&port, values.data(), values.size()));
    }
    out.inputs.push_back(input_of(port));
  }
  return out;
}

std::vector<std::string> tensors_in(const std::vector<std::string>& given) {
  std::vector<std::string> out;
  for (const std::string& name : given) {
    if (!fs::is_directory(name)) {
      out.push_back(name);
      continue;
    }
    const size_t before = out.size();
    for (const fs::directory_entry& entry : fs::directory_iterator(name))
      if (entry.is_regular_file() && entry.path().extension() == ".safetensors") out.push_back(entry.path().string());
    if (out.size() == before)
      fail(
          "the folder %s has no tensors: the blob has no preprocessing for images, so expected .safetensors files, or "
          "a blob converted with --like NAME, or with --mean, --std and --resize",
          name.c_str());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<int8::Sample> load_samples(const ModelHandle& model, const std::vector<std::string>& paths,
                                       std::vector<std::string>* notes) {
  for (const std::string& path : paths)
    if (!fs::exists(path)) fail("--images %s: there is no such file or folder", path.c_str());
  const bool images = model->model->graph().preprocess() != nullptr;
  if (images && ferry_model_input_count(model.get()) != 1)
    fail("--images: the blob has %zu inputs, an image is one", ferry_model_input_count(model.get()));
  const SessionHandle session = create_session(model, session_options(1));
  std::vector<int8::Sample> out;
  const std::vector<std::string> files = images ? images_in(paths) : tensors_in(paths);
  ProgressLine line("reading");
  for (const std::string& file : files) {
    line.update(static_cast<int>(&file - files.data()), static_cast<int>(files.size()));
    try {
      out.push_back(images ? image_sample(file, session, notes) : tensor_sample(file, model));
    } catch (const Error& error) {
      notes->push_back(std::string(error.what()) + ": left out");
    }
  }
  return out;
}

std::vector<int8::Sample> crops_of(const ModelHandle& model, const int8::Samples& images, size_t limit,
                                   const ThreadOptions& threads) {
  const fbs::Graph& graph = model->model->graph();
  const task::Entry& entry = task::entry(task::task_of(graph));
  const char* name = task::second_graph(graph);
  if (name == nullptr || (entry.prompts & FERRY_PROMPT_POINTS)) return {};
  ferry_session_options options = session_options(threads);
  const SessionHandle first = create_session(model, options);
  options.graph = name;
  const SessionHandle second = create_session(model, options);
  task::Networks networks{*first->session, second->session.get()};

  struct Capture {
    ferry_session* session;
    size_t limit;
    std::string image;
    std::vector<int8::Sample> crops;
    std::set<std::string> seen;

    void add(bool keep) {
      ferry_tensor input;
      check(ferry_session_input(session, 0, &input));
      int8::Sample crop{image, "", {input_of(input)}};
      crop.sha256 = sha256_hex(crop.inputs.front().bytes);
      if (seen.insert(crop.sha256).second && keep && crops.size() < limit) crops.push_back(std::move(crop));
    }
  } capture{second.get(), limit, "", {}, {}};

  task::TaskRequest request;
  request.progress.user = &capture;
  // Called once before the first crop, and after each one; without a run the input is the former one.
  request.progress.report = [](void* user, int done, int) { static_cast<Capture*>(user)->add(done > 1); };
  for (const int8::Sample* image : images) {
    if (capture.crops.size() == limit) break;
    image::Pixels pixels;
    check(image::load(image->name.c_str(), &pixels));
    request.image = pixels.view();
    request.frame = image::frame_of(request.image);
    capture.image = image->name;
    task::Answer answer;
    check(entry.run(networks, request, &answer));
  }
  return std::move(capture.crops);
}

}  // namespace ferry::cli

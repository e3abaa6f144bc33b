#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/answers.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "sdk/api/handles.h"
#include "sdk/image/codec.h"

namespace ferry::cli {
namespace {

namespace fs = std::filesystem;

// `count` numbers, separated by commas.
std::vector<float> numbers(const char* option, const std::string& text, const char* expected, size_t count) {
  std::vector<float> values;
  const char* at = text.c_str();
  while (true) {
    char* end = nullptr;
    values.push_back(std::strtof(at, &end));
    if (end == at || values.size() > count) break;
    at = end;
    if (*at != ',') break;
    ++at;
  }
  if (*at != '\0' || values.size() != count) fail("%s %s: expected %s", option, text.c_str(), expected);
  return values;
}

ferry_point point_of(const std::string& text) {
  const bool outside = text.starts_with('-');
  const std::vector<float> xy =
      numbers("--point", text.substr(outside ? 1 : 0), "X,Y or, for what is not meant, -X,Y", 2);
  return {xy[0], xy[1], outside};
}

image::Pixels load(const std::string& path) {
  image::Pixels pixels;
  check(image::load(path.c_str(), &pixels));
  return pixels;
}

ferry_image image_of(const image::Pixels& pixels) {
  const image::View view = pixels.view();
  return {const_cast<uint8_t*>(view.data), view.width, view.height, static_cast<int32_t>(view.stride), false};
}

// An image file, or a colour #rrggbb as an image of one pixel.
image::Pixels background_of(const std::string& text) {
  if (!text.starts_with('#')) return load(text);
  unsigned rgb = 0;
  char rest = 0;
  if (text.size() != 7 || std::sscanf(text.c_str() + 1, "%6x%c", &rgb, &rest) != 1)
    fail("--background %s: expected an image or a colour, #rrggbb", text.c_str());
  image::Pixels pixels;
  check(pixels.allocate(1, 1, 3));
  for (int c = 0; c < 3; ++c) pixels.row(0)[c] = static_cast<uint8_t>(rgb >> (16 - 8 * c));
  return pixels;
}

void check_folder(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder))
    fail("cannot write %s: there is no folder %s", path.c_str(), folder.c_str());
}

bool is_image(const fs::path& file) {
  std::string end = file.extension().string();
  std::transform(end.begin(), end.end(), end.begin(), [](unsigned char c) { return std::tolower(c); });
  return end == ".jpg" || end == ".jpeg" || end == ".png" || end == ".bmp";
}

// Throws Error if an option does not fit the task of the blob.
void check_options(const RunOptions& o, const ferry_task_info& info) {
  const AnswerEntry& entry = answer_entry(info.answer);
  const bool whole_image = info.answer == FERRY_ANSWER_IMAGE && !o.save.empty();
  if (!o.output.empty() && (entry.suffix == nullptr || whole_image))
    fail("-o: this model returns no image; use --save for tensors");
  const auto require = [&](bool given, uint32_t prompt, const char* option, const char* meaning) {
    if (given && !(info.prompts & prompt)) fail("%s %s; this model is for %s", option, meaning, info.name);
  };
  require(!o.mask.empty(), FERRY_PROMPT_MASK, "--mask", "is for inpainting models");
  const bool prompts = !o.points.empty() || !o.box.empty() || o.mask_index != 0;
  require(prompts, FERRY_PROMPT_POINTS, "--point, --box and --mask-index", "are for segmentation by prompts");
  if (o.tile > 0 && !(info.prompts & FERRY_PROMPT_TILE)) fail("--tile: this model runs on whole images, without tiles");
  if (o.sixteen_bits && info.answer != FERRY_ANSWER_MAP) fail("--16bit: this model returns no depth");
  if (o.colours && info.answer != FERRY_ANSWER_MAP && info.answer != FERRY_ANSWER_LABELS)
    fail("--colours: this model returns neither depth nor a segmentation");
  for (const auto& [given, option] : {std::pair(&o.composite, "--composite"), {&o.background, "--background"}})
    if (!given->empty() && info.answer != FERRY_ANSWER_MASK) fail("%s: this model returns no mask", option);
  if (o.colours && o.sixteen_bits) fail("--colours and --16bit are two ways to write depth: choose one");
  if (o.mask.empty() && (info.prompts & FERRY_PROMPT_MASK))
    fail("no area to inpaint: give --mask FILE, an image of the same size that is white there");
  if (o.points.empty() && o.box.empty() && (info.prompts & FERRY_PROMPT_POINTS))
    fail("no prompt: give --point X,Y or --box LEFT,TOP,RIGHT,BOTTOM");
  if (o.images.size() > 1 && (!o.mask.empty() || !o.composite.empty()))
    fail("%s goes with one image, %zu are given", o.mask.empty() ? "--composite" : "--mask", o.images.size());
}

// The output: a folder, or one file.
class Files {
 public:
  explicit Files(const RunOptions& o) : options_(o) {
    const std::string& output = o.output;
    folder_ = o.images.size() > 1 || output.ends_with('/') || (!output.empty() && fs::is_directory(output));
    if (output.empty()) return;
    if (!folder_) {
      check_folder(output);
      if (!output.ends_with(".pfm")) check(image::check_suffix(output.c_str()));  // before the work, not after it
    } else {
      std::error_code failure;
      fs::create_directories(output, failure);
      if (failure) fail("cannot make the folder %s: %s", output.c_str(), failure.message().c_str());
    }
  }

  // In the given folder, or the current one.
  std::string name(const std::string& image, const std::string& suffix) const {
    if (!options_.output.empty() && !folder_) return options_.output;
    const std::string stem = fs::path(image).stem().string();
    if (options_.output.empty()) return stem + suffix + ".png";
    return (fs::path(options_.output) / (stem + ".png")).string();
  }

  // Throws Error if two images would be written to one file.
  void check_names() const {
    std::map<std::string, std::string> taken;
    for (const std::string& image : options_.images) {
      const auto [other, added] = taken.emplace(name(image, ""), image);
      if (!added)
        fail("%s and %s would both be written to %s", other->second.c_str(), image.c_str(), other->first.c_str());
    }
  }

 private:
  const RunOptions& options_;
  bool folder_ = false;
};

// The outputs of a network without a task.
void print_outputs(const ModelHandle& model, ferry_session* session) {
  for (size_t i = 0; i < ferry_model_output_count(model.get()); ++i) {
    ferry_tensor t;
    check(ferry_session_output(session, i, &t));
    print("%s %s %s (--save FILE keeps it)\n", t.name, dtype_name(t.dtype), shape_text(source_shape(t)).c_str());
  }
}

void check_preprocessing(const RunOptions& o, const ModelHandle& model) {
  if (!model->model->graph().preprocess())
    fail(
        "%s has no preprocessing for images: pass tensors (--tensors), or convert it again with --like NAME, with "
        "--mean, --std and --resize, or with a preprocessor_config.json in the file's folder",
        o.model.c_str());
}

// Prints or saves the output tensors for each image.
int run_whole(const RunOptions& o, const ModelHandle& model, const ferry_session_options& options,
              const PackedCache& cache) {
  if (o.json) fail("--json: this model has no task; use --save for tensors");
  check_preprocessing(o, model);
  const SessionHandle session = create_session(model, options);
  BackendNotes notes;
  notes.print(session.get());
  for (const std::string& path : o.images) {
    const image::Pixels image = load(path);
    const ferry_image view = image_of(image);
    check(ferry_session_set_image(session.get(), &view));
    check(ferry_session_run(session.get()));
    cache.finish_check(model);
    if (o.save.empty()) print_outputs(model, session.get());
  }
  if (!o.save.empty()) save_results(o, model, session.get());
  notes.print(session.get());
  return kDone;
}

class Runner {
 public:
  Runner(const RunOptions& o, const ModelHandle& model, const ferry_task_info& info,
         const ferry_session_options& options, const PackedCache& cache)
      : o_(o), model_(model), cache_(cache), entry_(answer_entry(info.answer)), files_(o) {
    if (writes()) files_.check_names();
    if (!o.composite.empty()) {
      check_folder(o.composite);
      check(image::check_suffix(o.composite.c_str()));
    }
    for (const std::string& text : o.points) points_.push_back(point_of(text));
    if (!o.box.empty()) {
      const std::vector<float> sides = numbers("--box", o.box, "LEFT,TOP,RIGHT,BOTTOM", 4);
      box_ = {sides[0], sides[1], sides[2], sides[3]};
    }
    if (!o.mask.empty()) mask_ = load(o.mask);
    if (!o.background.empty()) background_ = background_of(o.background);
    ferry_task* task = nullptr;
    check(ferry_task_open(model.get(), &options, &task));
    task_.reset(task);
  }

  ferry_session* session() const { return ferry_task_session(task_.get()); }

  void run(const std::string& path) {
    const image::Pixels image = load(path);
    const ferry_image view = image_of(image), mask = image_of(mask_);
    ferry_request request{};
    request.struct_size = sizeof(request);
    request.image = &view;
    request.top = o_.top;
    request.tile = o_.tile;
    request.points = points_.data();
    request.point_count = points_.size();
    request.mask_index = o_.mask_index;
    if (!o_.box.empty()) request.box = &box_;
    if (!o_.mask.empty()) request.mask = &mask;
    ferry_answer answer{};
    answer.struct_size = sizeof(answer);
    {
      ProgressLine line("part");
      request.progress = [](void* user, int done, int total) { static_cast<ProgressLine*>(user)->update(done, total); };
      request.user = &line;
      check(ferry_task_run(task_.get(), &request, &answer));
    }
    cache_.finish_check(model_);
    give(path, view, image.view(), answer);
  }

  // At least one of several images failed.
  void refuse(const std::string& path, const char* why) const {
    print_error("ferry run: %s\n", why);
    if (!o_.json) return;
    const nlohmann::ordered_json line = {{"image", path}, {"error", why}};
    print_document(line, -1);
    std::fflush(stdout);
  }

 private:
  // Written instead of the mask.
  bool gives_composite() const { return !o_.background.empty() && o_.composite.empty(); }
  bool writes() const { return entry_.suffix != nullptr && (!entry_.drawn || !o_.output.empty()); }

  void give(const std::string& path, const ferry_image& view, const image::View& image, const ferry_answer& answer) {
    std::string file;
    if (writes()) {
      file = files_.name(path, gives_composite() ? "_composite" : answer_suffix(entry_, answer, image));
    }
    if (entry_.drawn && !file.empty()) {
      ferry_image drawn{};
      check(ferry_answer_draw(&answer, &view, &drawn));
      save(&drawn, file);
    } else if (gives_composite()) {
      composite(answer, view, file);
    } else if (!file.empty()) {
      const ferry_save_style style = o_.colours        ? FERRY_SAVE_COLOURS
                                     : o_.sixteen_bits ? FERRY_SAVE_16_BIT
                                                       : FERRY_SAVE_PLAIN;
      check(ferry_answer_save(&answer, file.c_str(), style));
    }
    if (!o_.composite.empty()) composite(answer, view, o_.composite);
    if (!o_.save.empty()) {
      const bool vector = answer.kind == FERRY_ANSWER_VECTOR;
      save_results(
          o_, model_, session(),
          vector ? std::vector<float>(answer.vector, answer.vector + answer.vector_size) : std::vector<float>());
    }
    if (o_.json) {
      nlohmann::ordered_json line = {{"image", path}};
      if (!file.empty()) line["file"] = file;
      entry_.describe(answer, &line);
      print_document(line, -1);
    } else {
      if (o_.images.size() > 1 && file.empty()) print("%s\n", path.c_str());
      entry_.print(o_, answer, file, image);
    }
    std::fflush(stdout);
  }

  // Over the background, or as a PNG with alpha.
  void composite(const ferry_answer& answer, const ferry_image& image, const std::string& file) const {
    if (background_.view().data == nullptr) return check(ferry_answer_save_foreground(&answer, &image, file.c_str()));
    const ferry_image behind = image_of(background_);
    ferry_image made{};
    check(ferry_answer_composite(&answer, &image, &behind, &made));
    save(&made, file);
  }

  // Frees the image.
  static void save(ferry_image* image, const std::string& file) {
    image::Pixels pixels;
    pixels.adopt(image->pixels, image->width, image->height, 3);
    check(image::save(pixels.view(), file.c_str()));
  }

  const RunOptions& o_;
  const ModelHandle& model_;
  const PackedCache& cache_;
  const AnswerEntry& entry_;
  Files files_;
  std::vector<ferry_point> points_;
  ferry_box box_{};
  image::Pixels mask_, background_;
  TaskHandle task_;
};

}  // namespace

std::vector<std::string> images_in(const std::vector<std::string>& given) {
  std::vector<std::string> images;
  for (const std::string& name : given) {
    if (!fs::is_directory(name)) {
      images.push_back(name);
      continue;
    }
    std::vector<std::string> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(name))
      if (entry.is_regular_file() && is_image(entry.path())) inside.push_back(entry.path().string());
    if (inside.empty())
      fail("the folder %s has no images: expected files named .jpg, .jpeg, .png or .bmp", name.c_str());
    std::sort(inside.begin(), inside.end());
    images.insert(images.end(), inside.begin(), inside.end());
  }
  return images;
}

int run_images(const RunOptions& o, const ModelHandle& model, const ferry_session_options& options,
               const PackedCache& cache) {
  ferry_task_info info{};
  info.struct_size = sizeof(info);
  check(ferry_model_task(model.get(), &info));
  check_options(o, info);
  // With tiles there are no tensors of the whole image.
  if (info.answer == FERRY_ANSWER_NONE || (info.kind == FERRY_TASK_ENHANCEMENT && !o.save.empty()))
    return run_whole(o, model, options, cache);
  check_preprocessing(o, model);
  Runner runner(o, model, info, options, cache);
  BackendNotes notes;
  notes.print(runner.session());
  ProgressLine line("image");
  int exit_code = kDone;
  for (size_t i = 0; i < o.images.size(); ++i) {
    if (o.images.size() > 1 && !isatty(STDOUT_FILENO))
      line.update(static_cast<int>(i), static_cast<int>(o.images.size()));
    try {
      runner.run(o.images[i]);
    } catch (const Error& error) {  // the other images are still run
      if (o.images.size() == 1) throw;
      runner.refuse(o.images[i], error.what());
      exit_code = kBadInput;
    }
  }
  notes.print(runner.session());
  return exit_code;
}

}  // namespace ferry::cli

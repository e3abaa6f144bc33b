// SPDX-License-Identifier: Apache-2.0
#include "recogniser.h"

namespace camera {

ferry::Result<std::unique_ptr<Recogniser>> Recogniser::open(const std::string& blob,
                                                            const ferry::SessionOptions& options,
                                                            const Prompts& prompts) {
  ferry::Result<ferry::Model> model = ferry::Model::open(blob.c_str());
  if (!model) return model.status();
  const ferry_task_info info = model->task_info();
  if (info.answer == FERRY_ANSWER_NONE)
    return failure(FERRY_UNSUPPORTED, "%s: has no image task: it is for %s", blob.c_str(),
                   info.kind == FERRY_TASK_TENSORS ? "tensors" : info.name);
  if ((info.prompts & FERRY_PROMPT_MASK) && prompts.mask.empty())
    return failure(FERRY_INVALID_ARGUMENT, "%s: is for %s: select the area to inpaint with --mask FILE", blob.c_str(),
                   info.name);
  if (!prompts.mask.empty() && !(info.prompts & FERRY_PROMPT_MASK))
    return failure(FERRY_INVALID_ARGUMENT, "%s: --mask is for inpainting models; this one is for %s", blob.c_str(),
                   info.name);
  if (prompts.point && !(info.prompts & FERRY_PROMPT_POINTS))
    return failure(FERRY_INVALID_ARGUMENT, "%s: --point is for models with prompts; this one is for %s", blob.c_str(),
                   info.name);
  ferry::Result<ferry::Task> task = model->task(options);
  if (!task) return task.status();
  std::unique_ptr<Recogniser> recogniser(new Recogniser(std::move(*model), std::move(*task), prompts));
  if (!prompts.mask.empty()) {
    ferry::Result<ferry::Image> mask = ferry::Image::load(prompts.mask.c_str());
    if (!mask) return mask.status();
    recogniser->mask_ = std::move(*mask);
  }
  return recogniser;
}

Recogniser::Recogniser(ferry::Model model, ferry::Task task, const Prompts& prompts)
    : model_(std::move(model)), task_(std::move(task)), info_(model_.task_info()), prompts_(prompts) {}

std::string Recogniser::name() const { return text_of("%s: %s", model_.name(), info_.name); }

std::string Recogniser::note() const {
  ferry_report report{};
  report.struct_size = sizeof(report);
  if (ferry_session_report(ferry_task_session(task_.get()), &report) != FERRY_OK || report.gpu_status == FERRY_OK)
    return "";
  return text_of("on the CPU instead of the GPU: %s", report.message);
}

ferry::Status Recogniser::unpack(const Shot& shot) {
  frame_ = shot.frame;
  if (!shot.file.empty()) {
    ferry::Result<ferry::Image> loaded = ferry::Image::load(shot.file.c_str());
    if (!loaded) return loaded.status();
    loaded_ = std::move(*loaded);
    width_ = loaded_.width();
    height_ = loaded_.height();
    return {};
  }
  if (!shot.jpeg.empty()) {
    ferry::Result<Pixels> pixels = decode_jpeg(shot.jpeg);
    if (!pixels) return pixels.status();
    unpacked_ = std::move(*pixels);
    frame_.format = FERRY_FRAME_RGB;
    frame_.width = unpacked_.width;
    frame_.height = unpacked_.height;
    frame_.set_plane(0, unpacked_.bytes.data(), unpacked_.bytes.size(), 3 * unpacked_.width);
  }
  return ferry_frame_size(&frame_, &width_, &height_);
}

ferry::Status Recogniser::see(const Shot& shot) {
  answer_ = ferry::Answer();
  loaded_ = ferry::Image();
  if (ferry::Status unpacked = unpack(shot); !unpacked) return unpacked;

  ferry::Request request;
  ferry_image image{};
  if (loaded_.width() > 0) {
    request.image = &loaded_.get();
  } else if (needs_pixels()) {
    ferry::Result<Pixels> pixels = rgb_of(frame_);
    if (!pixels) return pixels.status();
    upright_ = std::move(*pixels);
    image = upright_.image();
    request.image = &image;
  } else {
    request.frame = &frame_;
  }
  request.top = prompts_.top;
  if (info_.prompts & FERRY_PROMPT_MASK) request.mask = &mask_.get();
  const ferry_point middle = {static_cast<float>(width_) / 2, static_cast<float>(height_) / 2, false};
  const ferry_point point = prompts_.point.value_or(middle);
  if (info_.prompts & FERRY_PROMPT_POINTS) {
    request.points = &point;
    request.point_count = 1;
  }
  ferry::Result<ferry::Answer> answer = task_.run(request);
  if (!answer) return answer.status();
  answer_ = *answer;
  return {};
}

ferry::Result<Pixels> Recogniser::image() const {
  if (answer_.kind == FERRY_ANSWER_IMAGE) return copy_of(answer_.image);
  if (loaded_.width() > 0) return draw(answer_, copy_of(loaded_.get()));
  if (needs_pixels()) return draw(answer_, upright_);
  ferry::Result<Pixels> pixels = rgb_of(frame_);
  if (!pixels) return pixels.status();
  return draw(answer_, std::move(*pixels));
}

}  // namespace camera

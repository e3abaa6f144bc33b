// SPDX-License-Identifier: Apache-2.0
// cutout - cuts the foreground out of an image:
//
//     cutout matting.ferry portrait.jpg cut.png               a PNG with alpha
//     cutout matting.ferry portrait.jpg new.png beach.jpg     on another background
//
// Works with any model that returns a mask and needs no prompt.
#include <cstdio>
#include <ferry/ferry.hpp>

namespace {

// Stops at the first failing step; its Status has the message.
ferry::Status cut(const char* blob, const char* source, const char* destination, const char* background) {
  ferry::Result<ferry::Model> model = ferry::Model::open(blob);
  if (!model) return model.status();
  ferry::Result<ferry::Task> task = model->task();
  if (!task) return task.status();
  ferry::Result<ferry::Image> image = ferry::Image::load(source);
  if (!image) return image.status();

  ferry::Result<ferry::Answer> answer = task->run(*image);
  if (!answer) return answer.status();
  if (background == nullptr) return answer->save_foreground(*image, destination);
  ferry::Result<ferry::Image> behind = ferry::Image::load(background);
  if (!behind) return behind.status();
  ferry::Result<ferry::Image> both = answer->composite(*image, *behind);
  if (!both) return both.status();
  return both->save_png(destination);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: cutout MODEL.ferry IMAGE OUTPUT.png [BACKGROUND]\n");
    return 2;
  }
  const ferry::Status status = cut(argv[1], argv[2], argv[3], argc == 5 ? argv[4] : nullptr);
  if (!status) std::fprintf(stderr, "cutout: %s\n", status.error().c_str());
  return status ? 0 : 2;
}

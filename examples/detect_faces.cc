// SPDX-License-Identifier: Apache-2.0
// detect_faces - finds faces and draws a box around each:
//
//     ferry convert version-RFB-320.onnx --detect ultraface -o faces.ferry
//     detect_faces faces.ferry photo.jpg boxes.png
//
// Works with any blob whose task is detection. The blob describes how the network's outputs become boxes in the image's
// pixels.
#include <cstdio>
#include <ferry/ferry.hpp>

namespace {

ferry::Status detect(const char* blob, const char* source, const char* destination) {
  ferry::Result<ferry::Model> model = ferry::Model::open(blob);
  if (!model) return model.status();
  ferry::Result<ferry::Task> task = model->task();
  if (!task) return task.status();
  ferry::Result<ferry::Image> image = ferry::Image::load(source);
  if (!image) return image.status();

  ferry::Result<ferry::Answer> answer = task->run(*image);
  if (!answer) return answer.status();
  for (const ferry_detection& face : answer->all_boxes())
    std::printf("%5.1f%%  %.0f,%.0f to %.0f,%.0f\n", 100 * static_cast<double>(face.score),
                static_cast<double>(face.box.left), static_cast<double>(face.box.top),
                static_cast<double>(face.box.right), static_cast<double>(face.box.bottom));

  ferry::Result<ferry::Image> drawn = answer->draw(*image);
  if (!drawn) return drawn.status();
  return drawn->save_png(destination);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: detect_faces MODEL.ferry IMAGE OUTPUT.png\n");
    return 2;
  }
  const ferry::Status status = detect(argv[1], argv[2], argv[3]);
  if (!status) std::fprintf(stderr, "detect_faces: %s\n", status.error().c_str());
  return status ? 0 : 2;
}

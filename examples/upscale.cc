// SPDX-License-Identifier: Apache-2.0
// upscale - upscales an image with a super-resolution network:
//
//     upscale esrgan-x4.ferry small.png large.png
//
// enhance() splits a large image into tiles that overlap by the network's receptive field, so that memory stays bounded
// and no seam shows.
#include <cstdio>
#include <ferry/ferry.hpp>

namespace {

// Stops at the first failing step; its Status has the message.
ferry::Status upscale(const char* blob, const char* source, const char* destination) {
  ferry::Result<ferry::Model> model = ferry::Model::open(blob);
  if (!model) return model.status();
  ferry::Result<ferry::Session> session = model->session();
  if (!session) return session.status();
  ferry::Result<ferry::Image> image = ferry::Image::load(source);
  if (!image) return image.status();

  ferry::Result<ferry::Image> large = session->enhance(*image);
  if (!large) return large.status();
  char name[256];
  ferry_printable(model->name(), false, name, sizeof name);
  std::printf("%s: %dx%d -> %dx%d, %.1f MB of activations\n", name, static_cast<int>(image->width()),
              static_cast<int>(image->height()), static_cast<int>(large->width()), static_cast<int>(large->height()),
              static_cast<double>(session->arena_bytes()) * 1e-6);
  return large->save_png(destination);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: upscale MODEL.ferry IMAGE OUTPUT.png\n");
    return 2;
  }
  const ferry::Status status = upscale(argv[1], argv[2], argv[3]);
  if (!status) std::fprintf(stderr, "upscale: %s\n", status.error().c_str());
  return status ? 0 : 2;
}

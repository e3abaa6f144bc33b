// Times ferry_session_set_frame() and libyuv in turn: a frame of 1920x1080 in NV21 to what a network reads.
//
//     compare_frames PHOTO [ROUNDS]
//
// The frame is the photo, stretched. libyuv cuts the recipe's crop out of the frame before it begins, scales by
// kFilterBox, and a loop subtracts means and divides. Its filter is not the same: a box over whole pixels, where
// Pillow's bilinear filter is twice as wide and weighs by distance. And only planes of single samples get it: pairs of
// chroma (NV12Scale) and colours (ARGBScale) are interpolated between 2x2 pixels, whatever lies around them. Three ways
// are timed: colours, then scaled; luma and pairs scaled; three planes scaled, of which each pixel counts as it does
// here. Levels apart: the mean difference from the last. Prints a table.
#include <ferry/image.h>
#include <libyuv.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "converter/pack/pack.h"
#include "tests/support/open_task.h"
#include "tests/support/task_networks.h"

namespace {

constexpr int kWidth = 1920, kHeight = 1080, kSide = 224;
constexpr float kMean[] = {0.485f, 0.456f, 0.406f}, kDeviation[] = {0.229f, 0.224f, 0.225f};

using Bytes = std::vector<uint8_t>;

struct Nv21 {
  Bytes luma = Bytes(kWidth * kHeight), chroma = Bytes(kWidth * kHeight / 2);

  explicit Nv21(const ferry_image& photo) {
    Bytes argb(4 * kWidth * kHeight);
    for (int y = 0; y < kHeight; ++y) {
      const uint8_t* row = photo.pixels + int64_t{y} * photo.height / kHeight * photo.stride;
      for (int x = 0; x < kWidth; ++x) {
        const uint8_t* pixel = row + 3 * (x * photo.width / kWidth);
        uint8_t* to = argb.data() + 4 * (y * kWidth + x);
        to[0] = pixel[2], to[1] = pixel[1], to[2] = pixel[0], to[3] = 255;
      }
    }
    libyuv::ARGBToNV21(argb.data(), 4 * kWidth, luma.data(), kWidth, chroma.data(), kWidth, kWidth, kHeight);
  }
};

// The part that the recipe leaves, in the frame's pixels.
struct Part {
  int left, top, width, height;
};

class Peer {
 public:
  Peer(const Nv21& frame, const Part& part, int rotation)
      : frame_(frame), part_(part), rotation_(rotation), full_(static_cast<size_t>(4 * part.width * part.height)) {}

  void colours_first(float* out) {
    libyuv::NV21ToARGB(luma(), kWidth, chroma(), kWidth, full_.data(), 4 * part_.width, part_.width, part_.height);
    libyuv::ARGBScale(full_.data(), 4 * part_.width, part_.width, part_.height, small_.data(), 4 * kSide, kSide, kSide,
                      libyuv::kFilterBox);
    finish(out);
  }
  void luma_and_pairs(float* out) {
    libyuv::NV12Scale(luma(), kWidth, chroma(), kWidth, part_.width, part_.height, small_luma_.data(), kSide,
                      small_chroma_.data(), kSide, kSide, kSide, libyuv::kFilterBox);
    libyuv::NV21ToARGB(small_luma_.data(), kSide, small_chroma_.data(), kSide, small_.data(), 4 * kSide, kSide, kSide);
    finish(out);
  }
  void three_planes(float* out) {
    const int half = (part_.width + 1) / 2;
    libyuv::SplitUVPlane(chroma(), kWidth, v_.data(), half, u_.data(), half, half, (part_.height + 1) / 2);
    libyuv::I420Scale(luma(), kWidth, u_.data(), half, v_.data(), half, part_.width, part_.height, small_luma_.data(),
                      kSide, small_u_.data(), kSide / 2, small_v_.data(), kSide / 2, kSide, kSide, libyuv::kFilterBox);
    libyuv::I420ToARGB(small_luma_.data(), kSide, small_u_.data(), kSide / 2, small_v_.data(), kSide / 2, small_.data(),
                       4 * kSide, kSide, kSide);
    finish(out);
  }

 private:
  const uint8_t* luma() const { return frame_.luma.data() + part_.top * kWidth + part_.left; }
  const uint8_t* chroma() const { return frame_.chroma.data() + part_.top / 2 * kWidth + part_.left; }
  void finish(float* out) {
    const uint8_t* pixel = small_.data();
    if (rotation_ != 0) {
      libyuv::ARGBRotate(small_.data(), 4 * kSide, turned_.data(), 4 * kSide, kSide, kSide,
                         static_cast<libyuv::RotationMode>(rotation_));
      pixel = turned_.data();
    }
    float scale[3], shift[3];
    for (int c = 0; c < 3; ++c) scale[c] = 1 / (255 * kDeviation[c]), shift[c] = -kMean[c] / kDeviation[c];
    for (int i = 0; i < kSide * kSide; ++i, pixel += 4, out += 3) {
      for (int c = 0; c < 3; ++c) out[c] = static_cast<float>(pixel[2 - c]) * scale[c] + shift[c];
    }
  }

  const Nv21& frame_;
  Part part_;
  int rotation_;
  Bytes full_, small_ = Bytes(4 * kSide * kSide), turned_ = small_, small_luma_ = Bytes(kSide * kSide),
               small_chroma_ = Bytes(kSide * kSide / 2), u_ = Bytes(kWidth * kHeight / 4), v_ = u_,
               small_u_ = Bytes(kSide * kSide / 4), small_v_ = small_u_;
};

// Of the processor: both sides use one thread, and neighbours do not count.
double milliseconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  };
  const double begin = now();
  work();
  return now() - begin;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

struct Case {
  const char* name;
  ferry::fbs::ResizeMode mode;
  int resize;
  ferry::fbs::Filter filter;
  int rotation;
};

int fail(const std::string& why) {
  std::fprintf(stderr, "compare_frames: %s\n", why.c_str());
  return 1;
}

int compare(const Case& c, const Nv21& nv21, int rounds) {
  ferry::fbs::PreprocessT recipe;
  recipe.resize_mode = c.mode;
  recipe.resize_h = recipe.resize_w = c.resize;
  recipe.crop_h = recipe.crop_w = kSide;
  recipe.filter = c.filter;
  recipe.mean.assign(kMean, kMean + 3);
  recipe.std.assign(kDeviation, kDeviation + 3);
  const ferry::testing::OpenTask task(ferry::pack(*ferry::testing::colour_as_depth(kSide, kSide, 0, recipe)));
  ferry_session* session = ferry_task_session(task.get());
  ferry_frame frame{};
  frame.struct_size = sizeof(frame);
  frame.format = FERRY_FRAME_NV21;
  frame.width = kWidth;
  frame.height = kHeight;
  frame.planes[0] = {nv21.luma.data(), nv21.luma.size(), 0, 0};
  frame.planes[1] = {nv21.chroma.data(), nv21.chroma.size(), 0, 0};
  frame.range = FERRY_RANGE_LIMITED;  // as libyuv's NV21
  frame.rotation = c.rotation;

  Part part = {0, 0, kWidth, kHeight};
  if (c.mode == ferry::fbs::ResizeMode::ShortestEdge) {
    const int side = kHeight * kSide / c.resize / 2 * 2;
    part = {(kWidth - side) / 4 * 2, (kHeight - side) / 4 * 2, side, side};
  }
  Peer peer(nv21, part, c.rotation);
  std::vector<float> out(3 * kSide * kSide);
  std::vector<double> ours, colours, pairs, planes;
  for (int i = 0; i < rounds + 3; ++i) {
    bool set = true;
    const double a = milliseconds([&] { set = ferry_session_set_frame(session, &frame) == FERRY_OK; });
    if (!set) return fail(ferry_last_error());
    const double b = milliseconds([&] { peer.colours_first(out.data()); });
    const double d = milliseconds([&] { peer.luma_and_pairs(out.data()); });
    const double e = milliseconds([&] { peer.three_planes(out.data()); });
    if (i < 3) continue;  // caches, and memory that is kept
    ours.push_back(a), colours.push_back(b), pairs.push_back(d), planes.push_back(e);
  }
  ferry_tensor input;
  if (ferry_session_input(session, 0, &input) != FERRY_OK) return fail(ferry_last_error());
  const auto* levels = static_cast<const float*>(input.data);
  double difference = 0;
  for (size_t i = 0; i < out.size(); ++i) difference += std::fabs(levels[i] - out[i]) * kDeviation[i % 3] * 255;
  const double best = std::min({median(colours), median(pairs), median(planes)});
  std::printf("| %s | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f | %.1f |\n", c.name, median(ours), median(colours),
              median(pairs), median(planes), best / median(ours), median(planes) / median(ours),
              difference / static_cast<double>(out.size()));
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return fail("usage: compare_frames PHOTO [ROUNDS]");
  ferry_image photo;
  if (ferry_image_load(arguments[1], &photo) != FERRY_OK) return fail(ferry_last_error());
  const int rounds = count > 2 ? std::max(std::atoi(arguments[2]), 1) : 200;
  const Nv21 nv21(photo);
  ferry_image_free(&photo);
  using Mode = ferry::fbs::ResizeMode;
  using Filter = ferry::fbs::Filter;
  std::printf(
      "| 1920x1080 NV21 to 224x224 | ferry, ms | libyuv, colours | libyuv, luma and pairs | libyuv, three planes "
      "| ratio to the fastest | ratio to three planes | levels apart |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Case& c :
       {Case{"torchvision's MobileNetV2: to 256, bilinear, cut", Mode::ShortestEdge, 256, Filter::Bilinear, 0},
        {"the same, turned by 90 degrees", Mode::ShortestEdge, 256, Filter::Bilinear, 90},
        {"the whole frame, stretched, bilinear", Mode::Exact, kSide, Filter::Bilinear, 0},
        {"the same, turned by 90 degrees", Mode::Exact, kSide, Filter::Bilinear, 90},
        {"the whole frame, stretched, by boxes as libyuv does", Mode::Exact, kSide, Filter::Box, 0},
        {"timm's MobileNetV2: to 256, bicubic, cut", Mode::ShortestEdge, 256, Filter::Bicubic, 0},
        {"the same, turned by 90 degrees", Mode::ShortestEdge, 256, Filter::Bicubic, 90}}) {
    if (const int status = compare(c, nv21, rounds)) return status;
  }
  return 0;
}

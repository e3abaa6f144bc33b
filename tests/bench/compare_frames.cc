// Times ferry_session_set_frame() and libyuv, interleaved: from a frame of 1920x1080 in NV21 to a network's input.
//
//     compare_frames PHOTO [ROUNDS]
//     compare_frames PHOTO --write FOLDER
//
// The frame is the photo, stretched. Four pipelines with libyuv are timed (libyuv_frames.h): RGB, then ferry's resize,
// which computes the same; RGB, then scaled; luma and chroma pairs scaled; three planes scaled, in which each pixel
// counts as in ferry. Levels apart: the mean difference from the first and the last. Prints a table. --write: writes
// the frame and the parameters of each row for arm_frames, without timing.
#include <ferry/image.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "converter/pack/pack.h"
#include "tests/bench/libyuv_frames.h"
#include "tests/support/open_task.h"
#include "tests/support/task_networks.h"

namespace {

using namespace ferry::bench;

Bytes to_nv21(const ferry_image& photo) {
  Bytes argb(4 * kWidth * kHeight), nv21(kWidth * kHeight * 3 / 2);
  for (int y = 0; y < kHeight; ++y) {
    const uint8_t* row = photo.pixels + int64_t{y} * photo.height / kHeight * photo.stride;
    for (int x = 0; x < kWidth; ++x) {
      const uint8_t* pixel = row + 3 * (x * photo.width / kWidth);
      uint8_t* to = argb.data() + 4 * (y * kWidth + x);
      to[0] = pixel[2], to[1] = pixel[1], to[2] = pixel[0], to[3] = 255;
    }
  }
  libyuv::ARGBToNV21(argb.data(), 4 * kWidth, nv21.data(), kWidth, nv21.data() + kWidth * kHeight, kWidth, kWidth,
                     kHeight);
  return nv21;
}

// CPU time: both sides use one thread, and other processes do not count.
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

using Mode = ferry::fbs::ResizeMode;
using Filter = ferry::fbs::Filter;
const Case kCases[] = {
    {"torchvision's MobileNetV2: to 256, bilinear, cut", Mode::ShortestEdge, 256, Filter::Bilinear, 0},
    {"the same, turned by 90 degrees", Mode::ShortestEdge, 256, Filter::Bilinear, 90},
    {"the whole frame, stretched, bilinear", Mode::Exact, kSide, Filter::Bilinear, 0},
    {"the same, turned by 90 degrees", Mode::Exact, kSide, Filter::Bilinear, 90},
    {"the whole frame, stretched, by boxes as libyuv does", Mode::Exact, kSide, Filter::Box, 0},
    {"timm's MobileNetV2: to 256, bicubic, cut", Mode::ShortestEdge, 256, Filter::Bicubic, 0},
    {"the same, turned by 90 degrees", Mode::ShortestEdge, 256, Filter::Bicubic, 90}};

int fail(const std::string& why) {
  std::fprintf(stderr, "compare_frames: %s\n", why.c_str());
  return 1;
}

std::vector<std::byte> blob_of(const Case& c) {
  ferry::fbs::PreprocessT recipe;
  recipe.resize_mode = c.mode;
  recipe.resize_h = recipe.resize_w = c.resize;
  recipe.crop_h = recipe.crop_w = kSide;
  recipe.filter = c.filter;
  recipe.mean.assign(kMean, kMean + 3);
  recipe.std.assign(kDeviation, kDeviation + 3);
  return ferry::pack(*ferry::testing::colour_as_depth(kSide, kSide, 0, recipe));
}

CropRegion part_of(const Case& c) {
  if (c.mode != ferry::fbs::ResizeMode::ShortestEdge) return {0, 0, kWidth, kHeight};
  const int side = kHeight * kSide / c.resize / 2 * 2;
  return {(kWidth - side) / 4 * 2, (kHeight - side) / 4 * 2, side, side};
}

template <typename Byte>
bool write_file(const std::string& path, const std::vector<Byte>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return static_cast<bool>(file.flush());
}

// A line of cases.txt for run_frames: rotation, part, blob, name.
int write(const Bytes& nv21, const std::string& folder) {
  std::ofstream cases(folder + "/cases.txt");
  int number = 0;
  bool written = write_file(folder + "/frame.nv21", nv21);
  for (const Case& c : kCases) {
    const std::string blob = std::to_string(number++) + ".ferry";
    const CropRegion part = part_of(c);
    written &= write_file(folder + "/" + blob, blob_of(c));
    cases << c.rotation << ' ' << part.left << ' ' << part.top << ' ' << part.width << ' ' << part.height << ' ' << blob
          << ' ' << c.name << '\n';
  }
  return written && cases.flush() ? 0 : fail("cannot write to " + folder);
}

int compare(const Case& c, const Bytes& nv21, int rounds) {
  const ferry::testing::OpenTask task(blob_of(c));
  ferry_session* session = ferry_task_session(task.get());
  const ferry_frame frame = nv21_frame(nv21.data(), c.rotation);
  LibyuvFrames peer(nv21.data(), part_of(c), c.rotation);
  std::vector<float> out(3 * kSide * kSide);
  std::vector<double> ours, same, colours, pairs, planes;
  const auto set_frame = [&](const ferry_frame& given) { return ferry_session_set_frame(session, &given) == FERRY_OK; };
  const auto apart = [&](const std::vector<float>& others) {
    ferry_tensor input;
    if (ferry_session_input(session, 0, &input) != FERRY_OK) return 0.0;
    const auto* levels = static_cast<const float*>(input.data);
    double difference = 0;
    for (size_t i = 0; i < others.size(); ++i) difference += std::fabs(levels[i] - others[i]) * kDeviation[i % 3] * 255;
    return difference / static_cast<double>(others.size());
  };
  for (int i = 0; i < rounds + 3; ++i) {
    bool set = true;
    const double f = milliseconds([&] { set = peer.same_resize(set_frame); });
    if (!set) return fail(ferry_last_error());
    const double a = milliseconds([&] { set = set_frame(frame); });
    if (!set) return fail(ferry_last_error());
    const double b = milliseconds([&] { peer.colours_first(out.data()); });
    const double d = milliseconds([&] { peer.luma_and_pairs(out.data()); });
    const double e = milliseconds([&] { peer.three_planes(out.data()); });
    if (i < 3) continue;  // warm-up
    ours.push_back(a), same.push_back(f), colours.push_back(b), pairs.push_back(d), planes.push_back(e);
  }
  const double from_planes = apart(out);
  ferry_tensor input;
  if (ferry_session_input(session, 0, &input) != FERRY_OK) return fail(ferry_last_error());
  const auto* numbers = static_cast<const float*>(input.data);
  const std::vector<float> set(numbers, numbers + out.size());
  if (!peer.same_resize(set_frame)) return fail(ferry_last_error());
  const double from_same = apart(set);
  const double best = std::min({median(colours), median(pairs), median(planes)});
  std::printf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f | %.2f | %.1f, %.1f |\n", c.name, median(ours),
              median(same), median(colours), median(pairs), median(planes), median(same) / median(ours),
              median(colours) / median(ours), best / median(ours), from_same, from_planes);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return fail("usage: compare_frames PHOTO [ROUNDS | --write FOLDER]");
  ferry_image photo;
  if (ferry_image_load(arguments[1], &photo) != FERRY_OK) return fail(ferry_last_error());
  const Bytes nv21 = to_nv21(photo);
  ferry_image_free(&photo);
  if (count == 4 && std::string(arguments[2]) == "--write") return write(nv21, arguments[3]);
  const int rounds = count > 2 ? std::max(std::atoi(arguments[2]), 1) : 200;
  std::printf(
      "| 1920x1080 NV21 to 224x224 | ferry, ms | libyuv, then the same resize | libyuv, colours | libyuv, luma and "
      "pairs "
      "| libyuv, three planes | the same / ferry | colours / ferry | fastest / ferry | levels apart |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Case& c : kCases) {
    if (const int status = compare(c, nv21, rounds)) return status;
  }
  return 0;
}

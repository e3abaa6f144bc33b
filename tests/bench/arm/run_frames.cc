// run_frames ENGINE FRAME ROTATION LEFT TOP WIDTH HEIGHT [BLOB]: a frame to warm up and one that is counted, from
// 1920x1080 in NV21 to what a network reads. ENGINE: ferry (with BLOB, that has the recipe), or libyuv's colours, pairs
// or planes (of the part that is given).
#ifdef RUN_FERRY
#include <ferry/ferry.h>
#include <ferry/image.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/bench/arm/region.h"
#ifndef RUN_FERRY
#include "tests/bench/libyuv_frames.h"
#endif

namespace {

int fail(const char* why) {
  std::fprintf(stderr, "run_frames: %s\n", why);
  return 2;
}

#ifdef RUN_FERRY
int run(const std::vector<char>& nv21, char** arguments) {
  constexpr int kWidth = 1920, kHeight = 1080;
  ferry_model* model;
  ferry_session* session;
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = 1;
  if (ferry_model_open(arguments[8], &model) != FERRY_OK || ferry_session_create(model, &options, &session) != FERRY_OK)
    return fail(ferry_last_error());
  ferry_frame frame{};
  frame.struct_size = sizeof(frame);
  frame.format = FERRY_FRAME_NV21;
  frame.width = kWidth;
  frame.height = kHeight;
  const auto* samples = reinterpret_cast<const uint8_t*>(nv21.data());
  frame.planes[0] = {samples, size_t{kWidth} * kHeight, 0, 0};
  frame.planes[1] = {samples + kWidth * kHeight, size_t{kWidth} * kHeight / 2, 0, 0};
  frame.range = FERRY_RANGE_LIMITED;
  frame.rotation = std::atoi(arguments[3]);
  if (ferry_session_set_frame(session, &frame) != FERRY_OK) return fail(ferry_last_error());
  begin_region();
  const ferry_status status = ferry_session_set_frame(session, &frame);
  end_region();
  return status == FERRY_OK ? 0 : fail(ferry_last_error());
}
#else
int run(const std::vector<char>& nv21, char** arguments) {
  using ferry::bench::LibyuvFrames;
  const auto number = [&](int i) { return std::atoi(arguments[i]); };
  LibyuvFrames frames(reinterpret_cast<const uint8_t*>(nv21.data()), {number(4), number(5), number(6), number(7)},
                      number(3));
  const auto way = std::strcmp(arguments[1], "colours") == 0 ? &LibyuvFrames::colours_first
                   : std::strcmp(arguments[1], "pairs") == 0 ? &LibyuvFrames::luma_and_pairs
                                                             : &LibyuvFrames::three_planes;
  std::vector<float> out(kInputs);
  (frames.*way)(out.data());
  begin_region();
  (frames.*way)(out.data());
  end_region();
  return 0;
}
#endif

}  // namespace

int main(int count, char** arguments) {
  if (count < 8) return fail("usage: run_frames ENGINE FRAME ROTATION LEFT TOP WIDTH HEIGHT [BLOB]");
  std::ifstream file(arguments[2], std::ios::binary);
  const std::vector<char> nv21((std::istreambuf_iterator<char>(file)), {});
  if (nv21.size() != size_t{1920} * 1080 * 3 / 2) return fail("not a frame of 1920x1080 in NV21");
  return run(nv21, arguments);
}

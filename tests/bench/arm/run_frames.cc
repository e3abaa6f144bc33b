// run_frames ENGINE FRAME ROTATION LEFT TOP WIDTH HEIGHT [BLOB]: a warm-up frame and one that is counted, from
// 1920x1080 in NV21 to a network's input. ENGINE: ferry, or same (libyuv's RGB through ferry's resize), both with the
// preprocessing of BLOB; or libyuv's colours, pairs or planes, of the given crop.
#ifdef RUN_FERRY
#include <ferry/ferry.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/bench/arm/region.h"
#include "tests/bench/libyuv_frames.h"

namespace {

using ferry::bench::LibyuvFrames;

int fail(const char* why) {
  std::fprintf(stderr, "run_frames: %s\n", why);
  return 2;
}

LibyuvFrames frames_of(const std::vector<char>& nv21, char** arguments) {
  const auto number = [&](int i) { return std::atoi(arguments[i]); };
  return {reinterpret_cast<const uint8_t*>(nv21.data()), {number(4), number(5), number(6), number(7)}, number(3)};
}

#ifdef RUN_FERRY
int run(const std::vector<char>& nv21, char** arguments) {
  ferry_model* model;
  ferry_session* session;
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.num_threads = 1;
  if (ferry_model_open(arguments[8], &model) != FERRY_OK || ferry_session_create(model, &options, &session) != FERRY_OK)
    return fail(ferry_last_error());
  const ferry_frame frame =
      ferry::bench::nv21_frame(reinterpret_cast<const uint8_t*>(nv21.data()), std::atoi(arguments[3]));
  LibyuvFrames frames = frames_of(nv21, arguments);
  const auto set = [&](const ferry_frame& given) { return ferry_session_set_frame(session, &given) == FERRY_OK; };
  const bool same = std::strcmp(arguments[1], "same") == 0;
  const auto run_once = [&] { return same ? frames.same_resize(set) : set(frame); };
  if (!run_once()) return fail(ferry_last_error());
  begin_region();
  const bool well = run_once();
  end_region();
  return well ? 0 : fail(ferry_last_error());
}
#else
int run(const std::vector<char>& nv21, char** arguments) {
  LibyuvFrames frames = frames_of(nv21, arguments);
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

// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <getopt.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace camera {
namespace {

constexpr char kHelp[] =
    R"(camera-linux MODEL.ferry [--device PATH | --raw FILE | --images FOLDER] [options]

Runs a blob on what a camera sees, whatever its task: one line of JSON for each frame that is
answered, and a page with the stream and what is drawn on it. A network that is slower than the
camera answers the newest frame and drops those between. Ends with Ctrl-C.

Source of frames
  --device PATH       a V4L2 camera; without any of the three: /dev/video0
  --raw FILE          frames as `ffmpeg -f rawvideo` writes them; with --size and --format
  --images FOLDER     its JPEG, PNG and BMP files, by name
  --size WxH          of a raw file's frames; requested of a camera (640x480)
  --format NAME       nv12, nv21, yu12, yv12, yuyv, p010, rgb24, bgra, rgba, grey; for cameras also mjpg
  --fps N             frames a second, requested of a camera (30). With it, files are played like a
                      camera, and late frames are dropped; without it, each frame of a file waits
  --loop              restart a file at its end
  --rotate N          0, 90, 180 or 270: clockwise degrees that make frames upright
  --mirror            flip left and right
  --range NAME        YUV range of a raw file: limited or full (limited)
  --matrix NAME       YUV matrix of a raw file: bt601, bt709 or bt2020 (bt601)

Answers
  --frames N          end after so many answers
  --top N             number of classes (the blob's default)
  --point X,Y         prompt of segmentation models (the middle)
  --mask FILE         for inpainting models: an image that is white in the area to inpaint
  --threads N         including this one (one per core)
  --cores NAME        performance, balanced, efficient or all
  --gpu               compute on the GPU

The page
  --port N            its port; 0: any free port (8080)
  --bind ADDRESS      0.0.0.0 opens it to the whole network (127.0.0.1: this machine only)
  --no-page
)";

// Parses the arguments and keeps the first error.
class Words {
 public:
  ferry::Status status;

  void refuse(const char* option, const char* word, const char* expected) {
    if (status) status = failure(FERRY_INVALID_ARGUMENT, "--%s %s: expected %s", option, word, expected);
  }

  int integer(const char* option, const char* word, int least, int most, const char* expected) {
    char* end = nullptr;
    const long value = std::strtol(word, &end, 10);
    if (end == word || *end != '\0' || value < least || value > most) {
      refuse(option, word, expected);
      return least;
    }
    return static_cast<int>(value);
  }

  double number(const char* option, const char* word, double least, double most, const char* expected) {
    char* end = nullptr;
    const double value = std::strtod(word, &end);
    if (end == word || *end != '\0' || !(value >= least && value <= most)) {
      refuse(option, word, expected);
      return least;
    }
    return value;
  }

  // Two numbers, separated by `between`.
  std::array<double, 2> pair(const char* option, const char* word, char between, double least, double most,
                             const char* expected) {
    const char* middle = std::strchr(word, between);
    if (middle == nullptr) {
      refuse(option, word, expected);
      return {};
    }
    const std::string first(word, middle);
    const ferry::Status before = status;
    std::array<double, 2> values = {number(option, first.c_str(), least, most, expected),
                                    number(option, middle + 1, least, most, expected)};
    if (before && !status) {  // the message quotes the whole word
      status = {};
      refuse(option, word, expected);
    }
    return values;
  }

  template <typename Value, size_t N>
  Value one_of(const char* option, const char* word, const std::pair<const char*, Value> (&values)[N],
               const char* expected) {
    for (const auto& [name, value] : values)
      if (std::strcmp(word, name) == 0) return value;
    refuse(option, word, expected);
    return values[0].second;
  }
};

enum Word {
  kDevice = 256,
  kRaw,
  kImages,
  kOldImages,
  kSize,
  kFormat,
  kFps,
  kLoop,
  kRotate,
  kMirror,
  kRange,
  kMatrix,
  kFrames,
  kTop,
  kPoint,
  kMask,
  kThreads,
  kCores,
  kGpu,
  kPort,
  kBind,
  kNoPage,
  kHelpWord
};

constexpr option kWords[] = {{"device", required_argument, nullptr, kDevice},
                             {"raw", required_argument, nullptr, kRaw},
                             {"images", required_argument, nullptr, kImages},
                             {"pictures", required_argument, nullptr, kOldImages},  // words: ok
                             {"size", required_argument, nullptr, kSize},
                             {"format", required_argument, nullptr, kFormat},
                             {"fps", required_argument, nullptr, kFps},
                             {"loop", no_argument, nullptr, kLoop},
                             {"rotate", required_argument, nullptr, kRotate},
                             {"mirror", no_argument, nullptr, kMirror},
                             {"range", required_argument, nullptr, kRange},
                             {"matrix", required_argument, nullptr, kMatrix},
                             {"frames", required_argument, nullptr, kFrames},
                             {"top", required_argument, nullptr, kTop},
                             {"point", required_argument, nullptr, kPoint},
                             {"mask", required_argument, nullptr, kMask},
                             {"threads", required_argument, nullptr, kThreads},
                             {"cores", required_argument, nullptr, kCores},
                             {"gpu", no_argument, nullptr, kGpu},
                             {"port", required_argument, nullptr, kPort},
                             {"bind", required_argument, nullptr, kBind},
                             {"no-page", no_argument, nullptr, kNoPage},
                             {"help", no_argument, nullptr, kHelpWord},
                             {nullptr, 0, nullptr, 0}};

constexpr std::pair<const char*, ferry_cores> kCoreSets[] = {{"performance", FERRY_CORES_PERFORMANCE},
                                                             {"balanced", FERRY_CORES_BALANCED},
                                                             {"efficient", FERRY_CORES_EFFICIENT},
                                                             {"all", FERRY_CORES_ALL}};
constexpr std::pair<const char*, ferry_yuv_range> kRanges[] = {{"limited", FERRY_RANGE_LIMITED},
                                                               {"full", FERRY_RANGE_FULL}};
constexpr std::pair<const char*, ferry_yuv_matrix> kMatrices[] = {
    {"bt601", FERRY_MATRIX_BT601}, {"bt709", FERRY_MATRIX_BT709}, {"bt2020", FERRY_MATRIX_BT2020}};

void read_size(const char* word, Words* words, Wanted* wanted) {
  constexpr char kExpected[] = "WIDTHxHEIGHT, each 1 to 16384";
  const auto [width, height] = words->pair("size", word, 'x', 1, kMaxSide, kExpected);
  if (width != std::floor(width) || height != std::floor(height)) words->refuse("size", word, kExpected);
  wanted->width = static_cast<int>(width);
  wanted->height = static_cast<int>(height);
}

}  // namespace

const char* help_text() { return kHelp; }

ferry::Result<Options> read_options(int argc, char** argv) {
  Options o;
  Words words;
  int sources = 0;
  const auto source = [&](Options::From from) {
    o.from = from;
    o.path = optarg;
    ++sources;
  };
  opterr = 0;
  optind = 0;
  for (int word; words.status && (word = getopt_long(argc, argv, ":", kWords, nullptr)) != -1;) {
    switch (word) {
      case kDevice: source(Options::From::Device); break;
      case kRaw: source(Options::From::RawFile); break;
      case kOldImages:                                                                  // the name of 0.2
        std::fputs("camera-linux: --pictures is called --images since 0.3\n", stderr);  // words: ok
        source(Options::From::Folder);
        break;
      case kImages: source(Options::From::Folder); break;
      case kSize: read_size(optarg, &words, &o.wanted); break;
      case kFormat:
        o.wanted.format = find_format(std::string(optarg));
        if (o.wanted.format == nullptr) words.refuse("format", optarg, ("one of " + format_names(true)).c_str());
        break;
      case kFps: o.wanted.rate = words.number("fps", optarg, 0.001, 100000, "frames a second"); break;
      case kLoop: o.wanted.loop = true; break;
      case kRotate:
        o.wanted.rotation = words.integer("rotate", optarg, 0, 270, "0, 90, 180 or 270");
        if (o.wanted.rotation % 90 != 0) words.refuse("rotate", optarg, "0, 90, 180 or 270");
        break;
      case kMirror: o.wanted.mirror = true; break;
      case kRange: o.wanted.range = words.one_of("range", optarg, kRanges, "limited or full"); break;
      case kMatrix: o.wanted.matrix = words.one_of("matrix", optarg, kMatrices, "bt601, bt709 or bt2020"); break;
      case kFrames: o.frames = words.integer("frames", optarg, 1, 1 << 30, "a number from 1 on"); break;
      case kTop: o.prompts.top = words.integer("top", optarg, 1, 1 << 20, "a number from 1 on"); break;
      case kPoint: {
        const auto [x, y] = words.pair("point", optarg, ',', 0, kMaxSide, "X,Y in pixels");
        o.prompts.point = ferry_point{static_cast<float>(x), static_cast<float>(y), false};
        break;
      }
      case kMask: o.prompts.mask = optarg; break;
      case kThreads: o.session.num_threads = words.integer("threads", optarg, 1, 1024, "1 to 1024"); break;
      case kCores:
        o.session.cores = words.one_of("cores", optarg, kCoreSets, "performance, balanced, efficient or all");
        break;
      case kGpu: o.session.backend = FERRY_BACKEND_GPU; break;
      case kPort: o.port = words.integer("port", optarg, 0, 65535, "0 to 65535"); break;
      case kBind: o.address = optarg; break;
      case kNoPage: o.page = false; break;
      case kHelpWord: o.help = true; return o;
      case ':': return failure(FERRY_INVALID_ARGUMENT, "%s: a value is missing", argv[optind - 1]);
      default:
        if (optopt > 0 && optopt < kDevice)
          return failure(FERRY_INVALID_ARGUMENT, "-%c: no such option (--help lists them)", optopt);
        return failure(FERRY_INVALID_ARGUMENT, "%s: no such option (--help lists them)", argv[optind - 1]);
    }
  }
  if (!words.status) return words.status;
  if (sources > 1)
    return failure(FERRY_INVALID_ARGUMENT, "--device, --raw and --images are three sources: give one of them");
  if (optind == argc)
    return failure(FERRY_INVALID_ARGUMENT, "which model? camera-linux MODEL.ferry (--help tells more)");
  if (argc - optind > 1) return failure(FERRY_INVALID_ARGUMENT, "%s: one model is enough", argv[optind + 1]);
  o.model = argv[optind];
  return o;
}

}  // namespace camera

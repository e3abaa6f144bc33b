#include "sdk/api/frame.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "sdk/api/handles.h"

namespace ferry {
namespace {

// One plane of a format: a unit of `bytes` for each block of `columns` x `rows` pixels.
struct Layout {
  uint8_t bytes = 0;
  uint8_t columns = 1, rows = 1;
};

// Location of one channel (red, green, blue or Y, U, V): a plane, and a byte offset in its units.
struct SampleLocation {
  uint8_t plane = 0, byte = 0;
};

struct Format {
  char name[7];
  image::Frame::Samples samples;
  std::array<Layout, 3> planes;
  std::array<SampleLocation, 3> locations;
  bool wide = false;
};

using Samples = image::Frame::Samples;

// In the order of ferry_frame_format.
constexpr std::array<Format, FERRY_FRAME_GRAY> kFormats = {{
    {"YUV420", Samples::Yuv, {{{1}, {1, 2, 2}, {1, 2, 2}}}, {{{0, 0}, {1, 0}, {2, 0}}}},
    {"NV12", Samples::Yuv, {{{1}, {2, 2, 2}}}, {{{0, 0}, {1, 0}, {1, 1}}}},
    {"NV21", Samples::Yuv, {{{1}, {2, 2, 2}}}, {{{0, 0}, {1, 1}, {1, 0}}}},
    {"P010", Samples::Yuv, {{{2}, {4, 2, 2}}}, {{{0, 0}, {1, 0}, {1, 2}}}, true},
    {"YUY2", Samples::Yuv, {{{4, 2, 1}}}, {{{0, 0}, {0, 1}, {0, 3}}}},
    {"RGBA", Samples::Rgb, {{{4}}}, {{{0, 0}, {0, 1}, {0, 2}}}},
    {"BGRA", Samples::Rgb, {{{4}}}, {{{0, 2}, {0, 1}, {0, 0}}}},
    {"RGB", Samples::Rgb, {{{3}}}, {{{0, 0}, {0, 1}, {0, 2}}}},
    {"GRAY", Samples::Gray, {{{1}}}, {{{0, 0}, {0, 0}, {0, 0}}}},
}};

// An enumeration as an integer, since memory of the caller may hold any value.
template <typename Enum>
int number_of(const Enum& value) {
  int number = 0;
  static_assert(sizeof(value) == sizeof(number));
  std::memcpy(&number, &value, sizeof(number));
  return number;
}

Status check_size(const ferry_frame& f) {
  if (f.width < 1 || f.height < 1 || f.width > image::kMaxSide || f.height > image::kMaxSide ||
      int64_t{f.width} * f.height > image::kMaxPixels) {
    return error(FERRY_INVALID_ARGUMENT, "a frame of %dx%d pixels: sides must be 1 to %d, and %lld pixels at most",
                 f.width, f.height, image::kMaxSide, static_cast<long long>(image::kMaxPixels));
  }
  return {};
}

#if FERRY_GPU

// Checks a plane in GPU memory.
Status check_part(const ferry_frame& f, const Format& format, int index) {
  const ferry_plane& plane = f.planes[index];
  const uint64_t bytes = f.gpu_memory->memory->bytes(), offset = f.gpu_offsets[index];
  if (plane.data != nullptr)
    return error(FERRY_INVALID_ARGUMENT, "%s frame: planes[%d].data is given, and gpu_memory, too", format.name, index);
  if (offset > bytes || plane.size > bytes - offset) {
    return error(FERRY_INVALID_ARGUMENT, "%s frame: planes[%d] has %zu bytes from %llu on, gpu_memory has %llu",
                 format.name, index, plane.size, static_cast<unsigned long long>(offset),
                 static_cast<unsigned long long>(bytes));
  }
  return {};
}

const DeviceMemory* memory_of(const ferry_frame& f) {
  return f.gpu_memory != nullptr ? f.gpu_memory->memory.get() : nullptr;
}

#else  // built without the GPU backend

Status check_part(const ferry_frame&, const Format&, int) { return {}; }
const DeviceMemory* memory_of(const ferry_frame&) { return nullptr; }

#endif

// Reads plane `index`; strides of 0 get their defaults.
Status read_plane(const ferry_frame& f, const Format& format, int index, image::Plane* out) {
  const ferry_plane& plane = f.planes[index];
  const Layout& layout = format.planes[static_cast<size_t>(index)];
  const int units = (f.width + layout.columns - 1) / layout.columns, rows = (f.height + layout.rows - 1) / layout.rows;
  const int pixel = plane.pixel_stride != 0 ? plane.pixel_stride : layout.bytes;
  const int64_t width = int64_t{units - 1} * pixel + layout.bytes;
  const int64_t row = plane.row_stride != 0 ? plane.row_stride : width;
  if (memory_of(f) != nullptr) {
    FERRY_TRY(check_part(f, format, index));
  } else if (plane.data == nullptr) {
    return error(FERRY_INVALID_ARGUMENT, "%s frame: planes[%d].data is NULL", format.name, index);
  }
  const bool pairs = f.format == FERRY_FRAME_YUY2;  // only this way are its pixels equally spaced
  if (pixel < layout.bytes || (pairs && pixel != layout.bytes)) {
    return error(FERRY_INVALID_ARGUMENT, "%s frame: planes[%d].pixel_stride is %d: must be 0 or %s%d", format.name,
                 index, plane.pixel_stride, pairs ? "" : "at least ", layout.bytes);
  }
  if (row < width) {
    return error(FERRY_INVALID_ARGUMENT,
                 "%s frame: planes[%d].row_stride is %d, but a row for %d pixels takes %lld bytes", format.name, index,
                 plane.row_stride, f.width, static_cast<long long>(width));
  }
  const int64_t needed = (rows - 1) * row + width;
  if (static_cast<uint64_t>(needed) > plane.size) {
    return error(FERRY_INVALID_ARGUMENT,
                 "%s frame: planes[%d] has %zu bytes, but %d rows, %lld bytes apart, for %dx%d pixels take %lld",
                 format.name, index, plane.size, rows, static_cast<long long>(row), f.width, f.height,
                 static_cast<long long>(needed));
  }
  *out = {plane.data, static_cast<int64_t>(f.gpu_offsets[index]), row, pixel};
  return {};
}

Status read_crop(const ferry_frame& f, image::Frame* out) {
  out->width = f.width;
  out->height = f.height;
  if (f.crop_width == 0 && f.crop_height == 0 && f.crop_left == 0 && f.crop_top == 0) return {};
  // Differences, because sums may overflow.
  if (f.crop_left < 0 || f.crop_top < 0 || f.crop_width < 1 || f.crop_height < 1 ||
      f.crop_width > f.width - f.crop_left || f.crop_height > f.height - f.crop_top) {
    return error(FERRY_INVALID_ARGUMENT, "a crop of %dx%d pixels at %d,%d lies outside the frame, which has %dx%d",
                 f.crop_width, f.crop_height, f.crop_left, f.crop_top, f.width, f.height);
  }
  out->left = f.crop_left;
  out->top = f.crop_top;
  out->width = f.crop_width;
  out->height = f.crop_height;
  return {};
}

Status read_colours(const ferry_frame& f, image::Frame* out) {
  const int range = number_of(f.range), matrix = number_of(f.matrix);
  if (range != FERRY_RANGE_FULL && range != FERRY_RANGE_LIMITED) {
    return error(FERRY_INVALID_ARGUMENT, "frame.range is %d: must be full (%d) or limited (%d)", range,
                 FERRY_RANGE_FULL, FERRY_RANGE_LIMITED);
  }
  // Luma coefficients of red and blue: Rec. ITU-R BT.601, BT.709, BT.2020.
  constexpr double kShares[][2] = {{0.299, 0.114}, {0.2126, 0.0722}, {0.2627, 0.0593}};
  if (matrix < FERRY_MATRIX_BT601 || matrix > FERRY_MATRIX_BT2020) {
    return error(FERRY_INVALID_ARGUMENT, "frame.matrix is %d: must be %d (BT.601) to %d (BT.2020)", matrix,
                 FERRY_MATRIX_BT601, FERRY_MATRIX_BT2020);
  }
  const double* shares = kShares[matrix];
  out->matrix = image::matrix_of(shares[0], shares[1], range == FERRY_RANGE_LIMITED, out->wide);
  out->fixed_matrix = image::fixed_of(out->matrix);
  return {};
}

Status read_orientation(const ferry_frame& f, image::Frame* out) {
  if (f.rotation < 0 || f.rotation > 270 || f.rotation % 90 != 0) {
    return error(FERRY_INVALID_ARGUMENT, "frame.rotation is %d: must be 0, 90, 180 or 270 degrees clockwise",
                 f.rotation);
  }
  out->transposed = f.rotation % 180 != 0;
  out->from_right = (f.rotation == 90 || f.rotation == 180) != f.mirror;
  out->from_bottom = f.rotation >= 180;
  return {};
}

}  // namespace

Status read_frame(const ferry_frame& given, image::Frame* out) {
  ferry_frame f;
  FERRY_TRY(read_versioned(given, offsetof(ferry_frame, crop_height) + sizeof(int32_t), "ferry_frame", &f));
  const int number = number_of(f.format);
  if (number < 1 || number > static_cast<int>(kFormats.size())) {
    return error(FERRY_INVALID_ARGUMENT, "frame.format is %d: must be 1 to %zu, a ferry_frame_format", number,
                 kFormats.size());
  }
  const Format& format = kFormats[static_cast<size_t>(number) - 1];
  FERRY_TRY(check_size(f));
  image::Frame frame;
  if (f.gpu_memory != nullptr && !usable(f.gpu_memory)) return closed_argument("ferry_frame", "gpu_memory");
  frame.memory = memory_of(f);
  frame.samples = format.samples;
  frame.wide = format.wide;
  frame.half_rows = format.planes[1].rows == 2;
  image::Plane planes[3];
  for (int i = 0; i < 3; ++i)
    if (format.planes[static_cast<size_t>(i)].bytes > 0) FERRY_TRY(read_plane(f, format, i, &planes[i]));
  for (size_t i = 0; i < 3; ++i) {
    const SampleLocation& location = format.locations[i];
    frame.planes[i] = planes[location.plane];
    if (frame.planes[i].data != nullptr) frame.planes[i].data += location.byte;
    frame.planes[i].offset += location.byte;
  }
  if (f.format == FERRY_FRAME_YUY2) frame.planes[0].pixel /= 2;
  FERRY_TRY(read_colours(f, &frame));
  FERRY_TRY(read_orientation(f, &frame));
  FERRY_TRY(read_crop(f, &frame));
  *out = frame;
  return {};
}

}  // namespace ferry

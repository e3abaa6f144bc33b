// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include <linux/videodev2.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

namespace camera {
namespace {

// One is processed, one is the newest, one is with the driver while the next is fetched, and one is spare.
constexpr uint32_t kBuffers = 4, kLeastBuffers = 3;

// A format in both APIs, single-planar and multi-planar.
struct Size {
  uint32_t width, height, fourcc, row_bytes, planes, colorspace, encoding, quantization;
};

Size size_of(const v4l2_format& f, bool several) {
  if (several) {
    const v4l2_pix_format_mplane& p = f.fmt.pix_mp;
    return {p.width,      p.height,     p.pixelformat, p.plane_fmt[0].bytesperline,
            p.num_planes, p.colorspace, p.ycbcr_enc,   p.quantization};
  }
  const v4l2_pix_format& p = f.fmt.pix;
  return {p.width, p.height, p.pixelformat, p.bytesperline, 1, p.colorspace, p.ycbcr_enc, p.quantization};
}

uint32_t type_of(bool several) { return several ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE; }

v4l2_format request_for(uint32_t fourcc, uint32_t width, uint32_t height, bool several) {
  v4l2_format f{};
  f.type = type_of(several);
  if (several) {
    f.fmt.pix_mp.width = width;
    f.fmt.pix_mp.height = height;
    f.fmt.pix_mp.pixelformat = fourcc;
    f.fmt.pix_mp.field = V4L2_FIELD_NONE;
    f.fmt.pix_mp.num_planes = 1;
  } else {
    f.fmt.pix.width = width;
    f.fmt.pix.height = height;
    f.fmt.pix.pixelformat = fourcc;
    f.fmt.pix.field = V4L2_FIELD_NONE;
  }
  return f;
}

// Resolves fields that a driver leaves unset as linux/videodev2.h specifies.
void read_colours(const Size& size, bool rgb, ferry::Frame* frame) {
  uint32_t space = size.colorspace, encoding = size.encoding, quantization = size.quantization;
  if (space == V4L2_COLORSPACE_DEFAULT) space = V4L2_COLORSPACE_SRGB;
  if (encoding == V4L2_YCBCR_ENC_DEFAULT) encoding = V4L2_MAP_YCBCR_ENC_DEFAULT(space);
  if (quantization == V4L2_QUANTIZATION_DEFAULT) quantization = V4L2_MAP_QUANTIZATION_DEFAULT(rgb, space, encoding);
  frame->range = quantization == V4L2_QUANTIZATION_FULL_RANGE ? FERRY_RANGE_FULL : FERRY_RANGE_LIMITED;
  frame->matrix = encoding == V4L2_YCBCR_ENC_709 || encoding == V4L2_YCBCR_ENC_XV709 ? FERRY_MATRIX_BT709
                  : encoding == V4L2_YCBCR_ENC_BT2020                                ? FERRY_MATRIX_BT2020
                                                                                     : FERRY_MATRIX_BT601;
}

// A buffer's description; multi-planar drivers write its only plane.
struct Description {
  Description(uint32_t index, bool several) {
    buffer.type = type_of(several);
    buffer.memory = V4L2_MEMORY_MMAP;
    buffer.index = index;
    if (several) {
      buffer.m.planes = planes;
      buffer.length = VIDEO_MAX_PLANES;
    }
  }
  v4l2_buffer buffer{};
  v4l2_plane planes[VIDEO_MAX_PLANES]{};
};

// The time of the first or last byte, if the driver's clock is ours.
Clock::time_point captured_at(const v4l2_buffer& buffer) {
  const Clock::time_point now = Clock::now();
  if ((buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) != V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC) return now;
  const Clock::time_point stamp(std::chrono::seconds(buffer.timestamp.tv_sec) +
                                std::chrono::microseconds(buffer.timestamp.tv_usec));
  return stamp <= now && stamp > now - std::chrono::seconds(10) ? stamp : now;  // some drivers only claim it
}

}  // namespace

ferry::Status Capture::refused(const char* what) const {
  const int error = errno;
  if (error == EBUSY) return failure(FERRY_IO_ERROR, "%s: is in use by another program", path_.c_str());
  return failure(FERRY_IO_ERROR, "%s: %s: %s", path_.c_str(), what, std::strerror(error));
}

ferry::Status Capture::check_device() {
  v4l2_capability can{};
  if (system_.ioctl(fd_, VIDIOC_QUERYCAP, &can) != 0) {
    if (errno != ENOTTY && errno != EINVAL) return refused("does not say what it is");
    return failure(FERRY_UNSUPPORTED, "%s: is no camera: it knows nothing of V4L2", path_.c_str());
  }
  const uint32_t does = can.capabilities & V4L2_CAP_DEVICE_CAPS ? can.device_caps : can.capabilities;
  several_planes_ = !(does & V4L2_CAP_VIDEO_CAPTURE);
  if (!(does & (V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_VIDEO_CAPTURE_MPLANE)) || !(does & V4L2_CAP_STREAMING))
    return failure(FERRY_UNSUPPORTED, "%s: is no camera: %.32s does not stream images by this device", path_.c_str(),
                   reinterpret_cast<const char*>(can.card));
  return {};
}

// The maximum frame rate; 0 if the driver does not report it.
double Capture::fastest(uint32_t fourcc, uint32_t width, uint32_t height) {
  double best = 0;
  v4l2_frmivalenum at{};
  at.pixel_format = fourcc;
  at.width = width;
  at.height = height;
  for (; system_.ioctl(fd_, VIDIOC_ENUM_FRAMEINTERVALS, &at) == 0; ++at.index) {
    const v4l2_fract& interval = at.type == V4L2_FRMIVAL_TYPE_DISCRETE ? at.discrete : at.stepwise.min;
    if (interval.numerator > 0) best = std::max(best, double{1.0} * interval.denominator / interval.numerator);
    if (at.type != V4L2_FRMIVAL_TYPE_DISCRETE) break;
  }
  return best;
}

// Among the formats that both sides know, prefers the wanted size, then the wanted rate, then the format that is read
// fastest. So a USB camera delivers YUYV if that is fast enough, and otherwise JPEGs.
ferry::Status Capture::choose_format() {
  const auto width = static_cast<uint32_t>(wanted_.width), height = static_cast<uint32_t>(wanted_.height);
  std::string offered;
  using Rank = std::tuple<bool, bool, ptrdiff_t>;
  Rank best_rank;
  v4l2_format best{};
  format_ = nullptr;
  v4l2_fmtdesc each{};
  each.type = type_of(several_planes_);
  for (; system_.ioctl(fd_, VIDIOC_ENUM_FMT, &each) == 0; ++each.index) {
    offered += (offered.empty() ? "" : ", ") + fourcc_text(each.pixelformat);
    const Format* format = find_format(each.pixelformat);
    if (format == nullptr || (wanted_.format != nullptr && std::strcmp(format->name, wanted_.format->name) != 0))
      continue;
    v4l2_format tried = request_for(each.pixelformat, width, height, several_planes_);
    if (system_.ioctl(fd_, VIDIOC_TRY_FMT, &tried) != 0) continue;
    const Size size = size_of(tried, several_planes_);
    if (size.fourcc != each.pixelformat || size.planes != 1) continue;
    const double rate = fastest(size.fourcc, size.width, size.height);
    const Rank rank = {size.width != width || size.height != height, rate > 0 && rate < 0.9 * wanted_.rate,
                       format - formats().data()};
    if (format_ != nullptr && rank >= best_rank) continue;
    best_rank = rank;
    best = tried;
    format_ = format;
  }
  if (format_ == nullptr)
    return failure(FERRY_UNSUPPORTED, "%s: has %s; frames may be %s", path_.c_str(),
                   offered.empty() ? "no formats" : offered.c_str(),
                   wanted_.format != nullptr ? wanted_.format->name : format_names(true).c_str());
  if (system_.ioctl(fd_, VIDIOC_S_FMT, &best) != 0) return refused("does not take the format that it offers");
  const Size size = size_of(best, several_planes_);
  constexpr uint32_t kMost = kMaxSide;
  if (size.fourcc != format_->fourcc || size.width < 1 || size.height < 1 || size.width > kMost || size.height > kMost)
    return failure(FERRY_IO_ERROR, "%s: answered with %ux%u in %s when it was asked for %s", path_.c_str(), size.width,
                   size.height, fourcc_text(size.fourcc).c_str(), format_->name);
  frame_ = ferry::Frame(format_->format, static_cast<int32_t>(size.width), static_cast<int32_t>(size.height));
  frame_.rotation = wanted_.rotation;
  frame_.mirror = wanted_.mirror;
  read_colours(size, format_->format >= FERRY_FRAME_RGBA && format_->format <= FERRY_FRAME_RGB, &frame_);
  row_bytes_ = size.row_bytes;

  // A request: drivers choose the nearest supported rate, or ignore it.
  v4l2_streamparm rate{};
  rate.type = type_of(several_planes_);
  rate.parm.capture.timeperframe = {1000, static_cast<uint32_t>(wanted_.rate * 1000)};
  const bool accepted = system_.ioctl(fd_, VIDIOC_S_PARM, &rate) == 0 && rate.parm.capture.timeperframe.numerator > 0;
  const v4l2_fract interval = rate.parm.capture.timeperframe;
  description_ = text_of("%ux%u %s", size.width, size.height, fourcc_text(size.fourcc).c_str());
  if (accepted)
    description_ += text_of(", %.4g frames a second", double{1.0} * interval.denominator / interval.numerator);
  if (size.width != width || size.height != height) description_ += text_of(" (%ux%u was asked for)", width, height);
  return {};
}

ferry::Status Capture::map_buffers() {
  v4l2_requestbuffers request{};
  request.count = kBuffers;
  request.type = type_of(several_planes_);
  request.memory = V4L2_MEMORY_MMAP;
  if (system_.ioctl(fd_, VIDIOC_REQBUFS, &request) != 0) return refused("gives no buffers");
  if (request.count < kLeastBuffers)
    return failure(FERRY_IO_ERROR, "%s: gives %u buffers, at least %u are needed", path_.c_str(), request.count,
                   kLeastBuffers);
  for (uint32_t i = 0; i < request.count; ++i) {
    Description d(i, several_planes_);
    if (system_.ioctl(fd_, VIDIOC_QUERYBUF, &d.buffer) != 0) return refused("does not describe its buffers");
    const size_t size = several_planes_ ? d.planes[0].length : d.buffer.length;
    const uint32_t offset = several_planes_ ? d.planes[0].m.mem_offset : d.buffer.m.offset;
    void* memory = system_.map(fd_, size, offset);
    if (memory == nullptr) return refused("its buffers cannot be mapped");
    buffers_.push_back({static_cast<uint8_t*>(memory), size});
    ferry::Frame frame = frame_;
    const size_t needed = format_->jpeg ? 1 : lay_out(*format_, nullptr, row_bytes_, &frame);
    if (size < needed)
      return failure(FERRY_IO_ERROR, "%s: its buffers have %zu bytes, a frame of %s has %zu", path_.c_str(), size,
                     description_.c_str(), needed);
    if (!give_back(i)) return refused("does not take its buffers");
  }
  return {};
}

ferry::Status Capture::start() {
  fd_ = system_.open(path_.c_str());
  if (fd_ < 0) return refused("cannot be opened");
  if (ferry::Status status = check_device(); !status) return status;
  if (ferry::Status status = choose_format(); !status) return status;
  if (ferry::Status status = map_buffers(); !status) return status;
  uint32_t type = type_of(several_planes_);
  if (system_.ioctl(fd_, VIDIOC_STREAMON, &type) != 0) return refused("does not start");
  streaming_ = true;
  return {};
}

ferry::Result<std::shared_ptr<Capture>> Capture::open(System& system, const std::string& path, const Wanted& wanted) {
  std::shared_ptr<Capture> capture(new Capture(system, path, wanted));
  if (ferry::Status started = capture->start(); !started) return started;
  return capture;
}

Capture::~Capture() {
  uint32_t type = type_of(several_planes_);
  if (streaming_) system_.ioctl(fd_, VIDIOC_STREAMOFF, &type);
  for (const Buffer& buffer : buffers_) system_.unmap(buffer.data, buffer.size);
  if (fd_ >= 0) system_.close(fd_);
}

// Called by any thread. Does nothing if the camera is gone.
bool Capture::give_back(uint32_t index) {
  Description d(index, several_planes_);
  return system_.ioctl(fd_, VIDIOC_QBUF, &d.buffer) == 0;
}

Capture::Outcome Capture::take(int milliseconds, int64_t* last, Shot* shot, std::string* why) {
  const auto broken = [&](const char* what) {
    *why = errno == ENODEV ? "was unplugged" : text_of("%s: %s", what, std::strerror(errno));
    return Outcome::Broken;
  };
  const int ready = system_.wait(fd_, milliseconds);
  if (ready < 0) return broken("cannot be waited for");
  if (ready == 0) return Outcome::Nothing;
  Description d(0, several_planes_);
  if (system_.ioctl(fd_, VIDIOC_DQBUF, &d.buffer) != 0)
    return errno == EAGAIN ? Outcome::Nothing : broken("gives no more frames");
  const v4l2_buffer& buffer = d.buffer;
  if (buffer.index >= buffers_.size()) {
    errno = EINVAL;
    return broken("gives buffers that it does not have");
  }

  // The driver's sequence numbers show lost frames; some drivers do not count.
  const uint32_t lost = counted_ ? buffer.sequence - last_sequence_ - 1 : 0;
  counted_ = true;
  last_sequence_ = buffer.sequence;
  constexpr uint32_t kMostLost = 10000;  // more is no valid count
  *last += 1 + (lost < kMostLost ? lost : 0);

  const size_t used = several_planes_ ? d.planes[0].bytesused : buffer.bytesused;
  const Buffer& memory = buffers_[buffer.index];
  shot->number = *last;
  shot->frame = frame_;
  shot->jpeg = {};
  const size_t needed = format_->jpeg ? 1 : lay_out(*format_, memory.data, row_bytes_, &shot->frame);
  if ((buffer.flags & V4L2_BUF_FLAG_ERROR) || used < needed || used > memory.size) {
    give_back(buffer.index);
    return Outcome::Damaged;
  }
  if (format_->jpeg) shot->jpeg = {memory.data, used};
  shot->captured = captured_at(buffer);
  shot->memory = std::shared_ptr<const void>(
      memory.data, [self = shared_from_this(), index = buffer.index](const void*) { self->give_back(index); });
  return Outcome::Frame;
}

}  // namespace camera

// A simulated V4L2 driver that follows a test's script and rejects what a real one would reject.
#pragma once

#include <gtest/gtest.h>
#include <linux/videodev2.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "examples/camera-linux/system.h"

namespace camera {

class FakeCamera final : public System {
 public:
  struct Mode {
    std::string fourcc;
    uint32_t width, height;
    double rate = 30;
  };
  // The result of the next wait(). After the last event there are no more frames.
  enum class Event { Frame, Damaged, Short, Nothing, Unplug, Fault, WrongIndex };

  // Capabilities and behaviour.
  uint32_t capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
  std::vector<Mode> modes = {{"YUYV", 8, 4}};
  uint32_t row_bytes = 0, colorspace = 0, encoding = 0, quantization = 0;
  uint32_t buffers = 4, buffer_bytes = 4096;
  bool counts = true;  // frames have sequence numbers
  int open_error = 0;  // errno of every open()
  int opens_to_fail = 0;
  std::deque<Event> script;
  bool endless = false;           // good frames after the last event
  uint32_t lost = 0;              // before the next frame
  std::vector<uint8_t> contents;  // of every frame; if empty, the first byte counts up

  // Observed state.
  int opens = 0, open_now = 0, mapped_now = 0, frames = 0;
  double asked_rate = 0;
  v4l2_format format{};

  bool several() const { return !(capabilities & V4L2_CAP_VIDEO_CAPTURE); }

  // Thread-safe.
  int delivered() {
    const std::lock_guard lock(mutex_);
    return frames;
  }

  int open(const char*) override {
    const std::lock_guard lock(mutex_);
    ++opens;
    if (open_error != 0) return fail(open_error);
    if (opens_to_fail > 0) {
      --opens_to_fail;
      return fail(ENOENT);
    }
    ++open_now;
    handles_[++last_fd_] = {};
    return last_fd_;
  }

  void close(int fd) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(handles_.erase(fd), 1u);
    --open_now;
  }

  int wait(int fd, int milliseconds) override {
    const std::lock_guard lock(mutex_);
    EXPECT_GT(milliseconds, 0);
    if (at(fd).gone) return 1;
    if (script.empty() && endless) script.push_back(Event::Frame);
    if (script.empty()) return 0;
    if (script.front() != Event::Nothing) return 1;
    script.pop_front();
    return 0;
  }

  void* map(int fd, size_t bytes, off_t offset) override {
    const std::lock_guard lock(mutex_);
    Handle& handle = at(fd);
    const auto index = static_cast<size_t>(offset / 65536);
    EXPECT_LT(index, handle.memory.size());
    EXPECT_LE(bytes, handle.memory[index]->size());
    ++mapped_now;
    kept_.push_back(handle.memory[index]);
    return handle.memory[index]->data();
  }
  void unmap(void*, size_t) override {
    const std::lock_guard lock(mutex_);
    --mapped_now;
  }

  int ioctl(int fd, unsigned long request, void* argument) override {
    const std::lock_guard lock(mutex_);
    Handle& handle = at(fd);
    if (handle.gone) return fail(ENODEV);
    switch (request) {
      case VIDIOC_QUERYCAP: return query(static_cast<v4l2_capability*>(argument));
      case VIDIOC_ENUM_FMT: return enumerate(static_cast<v4l2_fmtdesc*>(argument));
      case VIDIOC_ENUM_FRAMEINTERVALS: return enumerate(static_cast<v4l2_frmivalenum*>(argument));
      case VIDIOC_TRY_FMT: return answer(static_cast<v4l2_format*>(argument));
      case VIDIOC_S_FMT: {
        const int result = answer(static_cast<v4l2_format*>(argument));
        format = *static_cast<v4l2_format*>(argument);
        return result;
      }
      case VIDIOC_S_PARM: {
        const v4l2_fract& interval = static_cast<v4l2_streamparm*>(argument)->parm.capture.timeperframe;
        asked_rate = double{1.0} * interval.denominator / interval.numerator;
        return 0;
      }
      case VIDIOC_REQBUFS: {
        auto* r = static_cast<v4l2_requestbuffers*>(argument);
        r->count = std::min(r->count, buffers);
        handle.memory.resize(r->count);
        for (auto& memory : handle.memory) memory = std::make_shared<std::vector<uint8_t>>(buffer_bytes);
        return 0;
      }
      case VIDIOC_QUERYBUF: return describe(static_cast<v4l2_buffer*>(argument));
      case VIDIOC_QBUF: return queue(handle, static_cast<v4l2_buffer*>(argument));
      case VIDIOC_DQBUF: return dequeue(handle, static_cast<v4l2_buffer*>(argument));
      case VIDIOC_STREAMON: return handle.streaming = true, 0;
      case VIDIOC_STREAMOFF: return handle.streaming = false, 0;
      default: return fail(ENOTTY);
    }
  }

 private:
  struct Handle {
    bool gone = false, streaming = false;
    uint32_t sequence = 0;
    std::vector<std::shared_ptr<std::vector<uint8_t>>> memory;
    std::deque<uint32_t> queued;
  };

  static int fail(int error) {
    errno = error;
    return -1;
  }
  Handle& at(int fd) {
    EXPECT_TRUE(handles_.contains(fd)) << "descriptor " << fd << " is not open";
    return handles_[fd];
  }
  static uint32_t code_of(const std::string& name) {
    uint32_t code;
    std::memcpy(&code, name.data(), sizeof(code));
    return code;
  }

  int query(v4l2_capability* out) const {
    if (capabilities == 0) return fail(ENOTTY);
    *out = {};
    std::memcpy(out->card, "Toy camera", 10);
    out->capabilities = V4L2_CAP_DEVICE_CAPS | 0xff;  // of the whole board, which may exceed this device's
    out->device_caps = capabilities;
    return 0;
  }

  int enumerate(v4l2_fmtdesc* out) const {
    std::vector<std::string> names;
    for (const Mode& mode : modes)
      if (std::find(names.begin(), names.end(), mode.fourcc) == names.end()) names.push_back(mode.fourcc);
    if (out->index >= names.size()) return fail(EINVAL);
    out->pixelformat = code_of(names[out->index]);
    return 0;
  }

  int enumerate(v4l2_frmivalenum* out) const {
    for (const Mode& mode : modes) {
      if (code_of(mode.fourcc) != out->pixel_format || mode.width != out->width || mode.height != out->height) continue;
      if (out->index > 0 || mode.rate == 0) return fail(EINVAL);
      out->type = V4L2_FRMIVAL_TYPE_DISCRETE;
      out->discrete = {1000, static_cast<uint32_t>(1000 * mode.rate)};
      return 0;
    }
    return fail(EINVAL);
  }

  // The mode of that format with the nearest size, like drivers choose.
  int answer(v4l2_format* f) const {
    EXPECT_EQ(f->type, several() ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE);
    const uint32_t code = several() ? f->fmt.pix_mp.pixelformat : f->fmt.pix.pixelformat;
    const auto width = static_cast<int64_t>(several() ? f->fmt.pix_mp.width : f->fmt.pix.width);
    const Mode* best = nullptr;
    for (const Mode& mode : modes) {
      if (code_of(mode.fourcc) != code) continue;
      if (best == nullptr || std::abs(mode.width - width) < std::abs(best->width - width)) best = &mode;
    }
    if (best == nullptr) return fail(EINVAL);
    const auto fill = [&](auto& p) {
      p.width = best->width;
      p.height = best->height;
      p.colorspace = colorspace;
      p.ycbcr_enc = static_cast<uint8_t>(encoding);
      p.quantization = static_cast<uint8_t>(quantization);
    };
    if (several()) {
      fill(f->fmt.pix_mp);
      f->fmt.pix_mp.num_planes = 1;
      f->fmt.pix_mp.plane_fmt[0].bytesperline = row_bytes;
    } else {
      fill(f->fmt.pix);
      f->fmt.pix.bytesperline = row_bytes;
    }
    return 0;
  }

  int describe(v4l2_buffer* b) const {
    if (several()) {
      b->m.planes[0].length = buffer_bytes;
      b->m.planes[0].m.mem_offset = b->index * 65536;
    } else {
      b->length = buffer_bytes;
      b->m.offset = b->index * 65536;
    }
    return 0;
  }

  static int queue(Handle& handle, const v4l2_buffer* b) {
    EXPECT_LT(b->index, handle.memory.size());
    EXPECT_EQ(std::count(handle.queued.begin(), handle.queued.end(), b->index), 0) << "queued twice";
    handle.queued.push_back(b->index);
    return 0;
  }

  int dequeue(Handle& handle, v4l2_buffer* b) {
    EXPECT_TRUE(handle.streaming);
    if (script.empty()) return fail(EAGAIN);
    const Event event = script.front();
    script.pop_front();
    if (event == Event::Unplug) {
      handle.gone = true;
      return fail(ENODEV);
    }
    if (event == Event::Fault) return fail(EIO);
    if (handle.queued.empty()) {
      ADD_FAILURE() << "no buffer is left to write to";
      return fail(EAGAIN);
    }
    b->index = handle.queued.front();
    handle.queued.pop_front();
    std::vector<uint8_t>& memory = *handle.memory[b->index];
    memory[0] = static_cast<uint8_t>(frames++);
    std::copy(contents.begin(), contents.end(), memory.begin());
    const auto used = static_cast<uint32_t>(event == Event::Short ? 3
                                            : contents.empty()    ? memory.size()
                                                                  : contents.size());
    (several() ? b->m.planes[0].bytesused : b->bytesused) = used;
    b->flags = event == Event::Damaged ? V4L2_BUF_FLAG_ERROR : 0;
    handle.sequence += lost;
    lost = 0;
    b->sequence = counts ? handle.sequence++ : 0;
    if (event == Event::WrongIndex) b->index = 77;
    return 0;
  }

  std::mutex mutex_;  // consumers return frames from other threads
  std::map<int, Handle> handles_;
  std::vector<std::shared_ptr<std::vector<uint8_t>>> kept_;  // mapped memory outlives the device
  int last_fd_ = 100;
};

}  // namespace camera

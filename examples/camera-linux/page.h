// SPDX-License-Identifier: Apache-2.0
// The web page: the images as a stream of JPEGs, and the answers.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "pixels.h"
#include "shot.h"

namespace httplib {
class Server;
struct Response;
}  // namespace httplib

namespace camera {

// /            the page
// /stream      multipart/x-mixed-replace: a JPEG for each image
// /events      text/event-stream: "answer" and "note", JSON each
// /frame.jpg   the next image
//
// A slow viewer misses images. If bound to the loopback interface, it answers only requests to local host names, so
// that no web site can read it through a local browser.
class Page {
 public:
  // `patience`: a connection from which no byte of a request came for that long is closed. Others do not wait for it.
  static ferry::Result<std::unique_ptr<Page>> open(const std::string& address, int port,
                                                   std::chrono::seconds patience = std::chrono::seconds(5));
  ~Page();

  std::string url() const;
  // True if an image would be shown now: there is a viewer, and the last image is old enough.
  bool wants_image() const;
  void show(Pixels image);
  // JSON. The newest of each kind is shown.
  void tell_answer(std::string json);
  void tell_note(std::string json);

 private:
  struct Event {
    std::string json;
    uint64_t number = 0;
  };

  Page();
  void serve_stream(httplib::Response& response);
  void serve_events(httplib::Response& response);
  void serve_frame(httplib::Response& response);
  // Accepts another persistent connection, or answers 503.
  bool admit(httplib::Response& response, bool watches);
  void leave(bool watches);
  void tell(Event* event, std::string json);
  // Waits for a limited time for an image after number `last`; returns its JPEG, or an empty string.
  std::string image_after(uint64_t* last);

  std::unique_ptr<httplib::Server> server_;
  std::string address_;
  int port_ = 0;
  std::atomic<bool> ended_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  Event answer_, note_;
  std::optional<Pixels> image_;  // the newest, until it is encoded
  bool encoding_ = false;
  std::string jpeg_;
  uint64_t shown_ = 0, encoded_ = 0;  // the number of images shown, and the one that jpeg_ encodes
  Clock::time_point last_shown_{};
  int viewers_ = 0, watchers_ = 0;  // persistent connections, and those of them for images
  std::jthread listener_;           // the last member: it ends before what its connections use
};

}  // namespace camera

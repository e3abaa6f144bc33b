// SPDX-License-Identifier: Apache-2.0
#include "page.h"

#include <httplib.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <vector>

#include "page_html.h"

namespace camera {
namespace {

constexpr int kMostViewers = 16;                   // persistent connections; a page has two
constexpr size_t kMostConnections = 256;           // at a time, including those that send nothing; others wait
constexpr size_t kMostBytes = 1024;                // of a request's body: no page needs one
constexpr std::chrono::milliseconds kBetween{40};  // between two images: encoding takes time that answers need
constexpr std::chrono::milliseconds kQuiet{2000};  // then something is sent, so that a closed connection is noticed

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

// "localhost:8080" without its port.
std::string host_of(const std::string& header) {
  const size_t colon = header.rfind(':');
  if (colon == std::string::npos || header.find(']', colon) != std::string::npos) return header;
  return header.substr(0, colon);
}

// A thread for each connection, started when no other is idle: connections that send slowly, or nothing, delay nobody.
class Connections : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> serve) override {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(serve));
    if (idle_ < waiting_.size() && threads_.size() < kMostConnections) threads_.emplace_back([this] { work(); });
    changed_.notify_one();
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      --idle_;
      if (waiting_.empty()) return;
      const std::function<void()> serve = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      serve();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool ending_ = false;
};

}  // namespace

Page::Page() : server_(std::make_unique<httplib::Server>()) {}

ferry::Result<std::unique_ptr<Page>> Page::open(const std::string& address, int port, std::chrono::seconds patience) {
  std::unique_ptr<Page> page(new Page);
  page->address_ = address;
  httplib::Server& server = *page->server_;
  server.new_task_queue = [] { return new Connections; };
  server.set_read_timeout(patience);
  server.set_keep_alive_timeout(patience.count());
  server.set_payload_max_length(kMostBytes);
  // The library's default would let two programs share one port.
  socket_t listening = INVALID_SOCKET;
  server.set_socket_options([&listening](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    listening = socket;
  });
  server.set_default_headers({{"Cache-Control", "no-store"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"X-Content-Type-Options", "nosniff"},
                              {"X-Frame-Options", "DENY"}});
  server.set_pre_routing_handler([local = is_loopback(address), address](const auto& request, auto& response) {
    const std::string host = host_of(request.get_header_value("Host"));
    if (!local || host == address || host == "[" + address + "]" || host == "localhost" || host == "127.0.0.1")
      return httplib::Server::HandlerResponse::Unhandled;
    response.status = 403;
    response.set_content("this page is for this machine alone\n", "text/plain");
    return httplib::Server::HandlerResponse::Handled;
  });
  server.Get("/", [](const auto&, auto& response) { response.set_content(kPageHtml, "text/html; charset=utf-8"); });
  server.Get("/stream", [page = page.get()](const auto&, auto& response) { page->serve_stream(response); });
  server.Get("/events", [page = page.get()](const auto&, auto& response) { page->serve_events(response); });
  server.Get("/frame.jpg", [page = page.get()](const auto&, auto& response) { page->serve_frame(response); });

  errno = 0;
  if (port == 0) {
    page->port_ = server.bind_to_any_port(address);
  } else {
    page->port_ = server.bind_to_port(address, port) ? port : -1;
  }
  if (page->port_ <= 0) {
    const char* why = errno == EADDRINUSE ? "the port is in use (--port chooses another, 0 any that is free)"
                      : errno != 0        ? std::strerror(errno)
                                          : "there is no such address here";
    return failure(FERRY_IO_ERROR, "the page cannot be served at %s:%d: %s", address.c_str(), port, why);
  }
  server.set_socket_options(nullptr);                                          // it refers to this call's variable
  static_cast<void>(::listen(listening, static_cast<int>(kMostConnections)));  // the library lets five wait
  page->listener_ = std::jthread([&server, page = page.get()] {
    server.listen_after_bind();
    page->ended_ = true;
  });
  // stop() has no effect before the server runs.
  while (!server.is_running() && !page->ended_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (page->ended_) return failure(FERRY_IO_ERROR, "the page cannot be served at %s:%d", address.c_str(), port);
  return page;
}

Page::~Page() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  server_->stop();
}

std::string Page::url() const {
  const bool bare6 = address_.find(':') != std::string::npos;
  return text_of(bare6 ? "http://[%s]:%d/" : "http://%s:%d/", address_.c_str(), port_);
}

bool Page::wants_image() const {
  const std::lock_guard lock(mutex_);
  return watchers_ > 0 && Clock::now() - last_shown_ >= kBetween;
}

void Page::show(Pixels image) {
  {
    const std::lock_guard lock(mutex_);
    image_ = std::move(image);
    ++shown_;
    last_shown_ = Clock::now();
  }
  changed_.notify_all();
}

void Page::tell_answer(std::string json) { tell(&answer_, std::move(json)); }
void Page::tell_note(std::string json) { tell(&note_, std::move(json)); }

void Page::tell(Event* event, std::string json) {
  {
    const std::lock_guard lock(mutex_);
    event->json = std::move(json);
    ++event->number;
  }
  changed_.notify_all();
}

bool Page::admit(httplib::Response& response, bool watches) {
  const std::lock_guard lock(mutex_);
  if (viewers_ == kMostViewers || closing_) {
    response.status = 503;
    response.set_content("too many viewers\n", "text/plain");
    return false;
  }
  ++viewers_;
  watchers_ += watches;
  return true;
}

void Page::leave(bool watches) {
  const std::lock_guard lock(mutex_);
  --viewers_;
  watchers_ -= watches;
}

// Of those that wait for an image, the first encodes the JPEG, and all get it.
std::string Page::image_after(uint64_t* last) {
  const Clock::time_point end = Clock::now() + kQuiet;
  std::unique_lock lock(mutex_);
  while (true) {
    const auto ready = [&] { return closing_ || encoded_ > *last || (image_ && !encoding_); };
    if (!changed_.wait_until(lock, end, ready) || closing_) return "";
    if (image_ && !encoding_) {
      const Pixels image = std::move(*image_);
      const uint64_t number = shown_;
      image_.reset();
      encoding_ = true;
      lock.unlock();
      ferry::Result<std::string> jpeg = encode_jpeg(image);
      lock.lock();
      encoding_ = false;
      if (jpeg) jpeg_ = std::move(*jpeg), encoded_ = number;
      changed_.notify_all();
    }
    if (encoded_ > *last) {
      *last = encoded_;
      return jpeg_;
    }
  }
}

void Page::serve_stream(httplib::Response& response) {
  if (!admit(response, true)) return;
  // Each image is followed by the start of the next part, because Chromium shows an image only then. For this reason
  // parts have no Content-Length.
  static constexpr char kBegin[] = "--image\r\nContent-Type: image/jpeg\r\n\r\n";
  response.set_content_provider(
      "multipart/x-mixed-replace; boundary=image",
      [this, last = uint64_t{0}, shown = std::string()](size_t offset, httplib::DataSink& sink) mutable {
        if (offset == 0 && !sink.write(kBegin, sizeof(kBegin) - 1)) return false;
        if (std::string jpeg = image_after(&last); !jpeg.empty()) shown = std::move(jpeg) + "\r\n" + kBegin;
        {
          const std::lock_guard lock(mutex_);
          if (closing_) return false;
        }
        return shown.empty() ? sink.is_writable() : sink.write(shown.data(), shown.size());
      },
      [this](bool) { leave(true); });
}

void Page::serve_events(httplib::Response& response) {
  if (!admit(response, false)) return;
  response.set_content_provider(
      "text/event-stream",
      [this, answer = uint64_t{0}, note = uint64_t{0}](size_t, httplib::DataSink& sink) mutable {
        std::string text;
        {
          std::unique_lock lock(mutex_);
          changed_.wait_for(lock, kQuiet, [&] { return closing_ || answer_.number > answer || note_.number > note; });
          if (closing_) return false;
          if (note_.number > note) text += "event: note\ndata: " + note_.json + "\n\n";
          if (answer_.number > answer) text += "event: answer\ndata: " + answer_.json + "\n\n";
          answer = answer_.number;
          note = note_.number;
        }
        if (text.empty()) text = ": nothing new\n\n";
        return sink.write(text.data(), text.size());
      },
      [this](bool) { leave(false); });
}

void Page::serve_frame(httplib::Response& response) {
  if (!admit(response, true)) return;
  uint64_t last;
  {
    const std::lock_guard lock(mutex_);
    last = shown_;
  }
  const std::string jpeg = image_after(&last);
  leave(true);
  response.status = jpeg.empty() ? 503 : 200;
  response.set_content(jpeg.empty() ? "no image came\n" : jpeg, jpeg.empty() ? "text/plain" : "image/jpeg");
}

}  // namespace camera

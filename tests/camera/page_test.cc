// The page, requested like a browser does.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "examples/camera-linux/page.h"
#include "tests/camera/blobs.h"
#include "tests/camera/running.h"

namespace camera {
namespace {

using Json = nlohmann::json;

class WithPage : public ::testing::Test {
 protected:
  void SetUp() override {
    ferry::Result<std::unique_ptr<Page>> opened = Page::open("127.0.0.1", 0);
    ASSERT_TRUE(opened) << opened.error();
    page = std::move(*opened);
  }
  httplib::Client client() const {
    httplib::Client client(page->url().substr(0, page->url().size() - 1));
    client.set_read_timeout(10);
    return client;
  }
  int port() const { return std::stoi(page->url().substr(page->url().rfind(':') + 1)); }
  static Pixels image(int width, int level) {
    Pixels pixels(width, 8);
    std::fill(pixels.bytes.begin(), pixels.bytes.end(), static_cast<uint8_t>(level));
    return pixels;
  }
  static ferry::Result<Pixels> decoded(const std::string& jpeg) {
    return decode_jpeg(std::span(reinterpret_cast<const uint8_t*>(jpeg.data()), jpeg.size()));
  }
  // Waits for a viewer.
  void wait_for_watcher() const {
    while (!page->wants_image()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  std::unique_ptr<Page> page;
};

TEST_F(WithPage, ServesThePage) {
  const auto response = client().Get("/");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_NE(response->body.find("<!doctype html>"), std::string::npos);
  EXPECT_EQ(client().Get("/absent")->status, 404);
}

TEST_F(WithPage, RequestsNoImageWithoutAViewer) {
  EXPECT_FALSE(page->wants_image());
  std::jthread viewer([this] { client().Get("/frame.jpg"); });
  wait_for_watcher();
  page->show(image(16, 9));
  EXPECT_FALSE(page->wants_image());  // too soon
}

TEST_F(WithPage, ServesTheNextImage) {
  page->show(image(8, 1));
  std::jthread camera([this] {
    wait_for_watcher();
    page->show(image(24, 200));
  });
  const auto response = client().Get("/frame.jpg");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->get_header_value("Content-Type"), "image/jpeg");
  ferry::Result<Pixels> seen = decoded(response->body);
  ASSERT_TRUE(seen) << seen.error();
  EXPECT_EQ(seen->width, 24);
  EXPECT_NEAR(seen->bytes[0], 200, 3);
}

TEST_F(WithPage, ReportsAMissingImage) {
  const auto response = client().Get("/frame.jpg");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 503);
}

TEST_F(WithPage, StreamsImagesToEveryViewer) {
  const std::string begin = "--image\r\nContent-Type: image/jpeg\r\n\r\n";
  std::vector<std::jthread> viewers;
  std::atomic<int> done = 0;
  for (int v = 0; v < 3; ++v) {
    viewers.emplace_back([&] {
      std::string stream;
      client().Get("/stream", [&](const char* data, size_t size) {
        stream.append(data, size);
        return stream.find(begin, 1) == std::string::npos;
      });
      ASSERT_TRUE(stream.starts_with(begin)) << stream.substr(0, 80);
      // With the start of the next part, without which Chromium does not show the image.
      const size_t end = stream.find("\r\n" + begin, begin.size());
      ASSERT_NE(end, std::string::npos);
      EXPECT_TRUE(decoded(stream.substr(begin.size(), end - begin.size())));
      ++done;
    });
  }
  for (int i = 0; done < 3; ++i) {
    if (page->wants_image()) page->show(image(32, i % 256));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST_F(WithPage, SendsTheNewestNoteAndAnswer) {
  page->tell_note(R"({"note":"old"})");
  page->tell_note(R"({"note":"a camera"})");
  page->tell_answer(R"({"answer":1})");
  std::string text;
  client().Get("/events", [&](const char* data, size_t size) {
    text.append(data, size);
    return text.find("answer\":1") == std::string::npos;
  });
  EXPECT_EQ(text, "event: note\ndata: {\"note\":\"a camera\"}\n\nevent: answer\ndata: {\"answer\":1}\n\n");
}

TEST_F(WithPage, IsClosedToOtherSites) {
  for (const auto& [host, status] : {std::pair("127.0.0.1:8080", 200),
                                     {"localhost", 200},
                                     {"localhost:1", 200},
                                     {"evil.example", 403},
                                     {"evil.example:8080", 403},
                                     {"127.0.0.1.evil.example", 403}}) {
    const auto response = client().Get("/", {{"Host", host}});
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, status) << host;
    EXPECT_EQ(response->get_header_value("Cross-Origin-Resource-Policy"), "same-origin");
  }
}

TEST_F(WithPage, LimitsViewersAndClosesWhileTheyWatch) {
  std::vector<std::jthread> viewers;
  std::atomic<int> refused = 0;
  for (int v = 0; v < 18; ++v) {
    viewers.emplace_back([&] {
      const auto response = client().Get("/events", [](const char*, size_t) { return true; });
      if (response && response->status == 503) ++refused;
    });
  }
  while (refused < 2) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(client().Get("/")->status, 200);  // a thread is left for the page itself
  page = nullptr;
  viewers.clear();
  EXPECT_EQ(refused, 2);
}

// A connection that was sent `text`.
class Raw {
 public:
  Raw(int port, const std::string& text) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    static_cast<void>(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL));
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  ~Raw() { ::close(socket_); }

  // Neither answered nor closed.
  bool waits() const {
    char byte;
    return ::recv(socket_, &byte, 1, MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
  // All that comes until the page closes the connection.
  std::string answer() const {
    ::shutdown(socket_, SHUT_WR);
    std::string text;
    char part[4096];
    for (ssize_t n; (n = ::recv(socket_, part, sizeof part, 0)) > 0;) text.append(part, static_cast<size_t>(n));
    return text;
  }

 private:
  int socket_;
};

TEST_F(WithPage, AnswersWhileOthersSendNothing) {
  page = nullptr;
  ferry::Result<std::unique_ptr<Page>> patient = Page::open("127.0.0.1", 0, std::chrono::minutes(2));
  ASSERT_TRUE(patient) << patient.error();
  page = std::move(*patient);
  std::vector<std::unique_ptr<Raw>> stalled;
  for (const char* begun :
       {"", "G", "GET / HT", "GET / HTTP/1.1\r\nHost: 127.0", "POST / HTTP/1.1\r\nContent-Length: 9\r\n"})
    for (int i = 0; i < 5; ++i) stalled.push_back(std::make_unique<Raw>(port(), begun));
  const auto response = client().Get("/");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  for (const auto& connection : stalled) EXPECT_TRUE(connection->waits());
}

TEST_F(WithPage, OutlivesMalformedRequests) {
  const std::string host = "Host: localhost\r\n", get = "GET / HTTP/1.1\r\n";
  const std::string requests[] = {
      "\r\n\r\n",
      std::string(64, '\0'),
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "HACK / HTTP/1.1\r\n" + host + "\r\n",
      "GET " + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n",
      "GET /%00%ff%zz/../../etc/passwd HTTP/1.1\r\n" + host + "\r\n",
      "GET ../../../etc/passwd HTTP/1.1\r\n" + host + "\r\n",
      get + std::string(100'000, 'b') + "\r\n\r\n",
      get + ": :\r\n:\r\n\r\n",
      get + "Host:\r\n\r\n",
      get + "Host: [\r\n\r\n",
      get + host + "Range: bytes=9-1,-,99999999999999999999-\r\n\r\n",
      get + host + "Content-Length: -1\r\n\r\n",
      "POST / HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\nx",
      "POST / HTTP/1.1\r\n" + host + "Content-Length: 1000000\r\n\r\n" + std::string(4096, 'x'),
      "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
      "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
      "POST / HTTP/1.1\r\n" + host + "Content-Type: multipart/form-data; boundary=\r\nContent-Length: 4\r\n\r\n----",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  };
  for (const std::string& request : requests) {
    const std::string answer = Raw(port(), request).answer();
    EXPECT_EQ(answer.find("root:"), std::string::npos) << request.substr(0, 60);
    const auto response = client().Get("/");
    ASSERT_TRUE(response) << request.substr(0, 60);
    EXPECT_EQ(response->status, 200) << request.substr(0, 60);
  }
}

TEST_F(WithPage, OnAPortThatIsInUseIsRefused) {
  ferry::Result<std::unique_ptr<Page>> second = Page::open("127.0.0.1", port());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(), "the page cannot be served at 127.0.0.1:" + std::to_string(port()) +
                                ": the port is in use (--port chooses another, 0 any that is free)");
}

// The whole program: boxes are drawn on the stream and reported as printed.
TEST(ProgramsPage, ShowsWhatIsAnswered) {
  const ferry::ScratchFolder folder;
  folder.write("frames.rgb", std::string(size_t{3} * 64 * 48, '\x64'));
  const std::string blob = write_detector(folder.path());
  Running program({blob, "--raw", folder.path() / "frames.rgb", "--size", "64x48", "--format", "rgb24", "--fps", "100",
                   "--loop", "--port", "0"});
  const std::string url = program.url();
  ASSERT_FALSE(url.empty());
  httplib::Client client(url.substr(0, url.size() - 1));
  client.set_read_timeout(10);

  const auto jpeg = client.Get("/frame.jpg");
  ASSERT_TRUE(jpeg);
  ASSERT_EQ(jpeg->status, 200);
  ferry::Result<Pixels> seen =
      decode_jpeg(std::span(reinterpret_cast<const uint8_t*>(jpeg->body.data()), jpeg->body.size()));
  ASSERT_TRUE(seen) << seen.error();
  ASSERT_EQ(seen->width, 64);
  // The box of the blob is 16,12 to 48,24: a colour on its left edge, grey elsewhere.
  const auto spread = [&](int x, int y) {
    const uint8_t* p = seen->at(x, y);
    return std::max({p[0], p[1], p[2]}) - std::min({p[0], p[1], p[2]});
  };
  EXPECT_GT(spread(16, 18), 60);
  EXPECT_LT(spread(4, 40), 10);

  std::string text;
  client.Get("/events", [&](const char* data, size_t size) {
    text.append(data, size);
    const size_t at = text.find("event: answer");
    return at == std::string::npos || text.find("\n\n", at) == std::string::npos;
  });
  const size_t begin = text.find("data: ", text.find("event: answer")) + 6;
  const Json event = Json::parse(text.substr(begin, text.find('\n', begin) - begin), nullptr, false);
  ASSERT_FALSE(event.is_discarded()) << text;
  EXPECT_EQ(event["answer"]["boxes"][0]["label"], "<i>thing</i>");
  EXPECT_GT(event["figures"]["p99_ms"].get<double>(), 0);
  EXPECT_GE(event["figures"]["p99_ms"].get<double>(), event["figures"]["p50_ms"].get<double>());
  EXPECT_EQ(event["figures"]["answered"].get<int64_t>() + event["figures"]["dropped"].get<int64_t>(),
            event["answer"]["frame"].get<int64_t>() + 1);

  Running second({blob, "--raw", folder.path() / "frames.rgb", "--size", "64x48", "--format", "rgb24", "--port",
                  url.substr(url.rfind(':') + 1, url.size() - url.rfind(':') - 2)});
  EXPECT_EQ(second.wait(), 2);
  EXPECT_NE(second.err().find("the port is in use"), std::string::npos) << second.err();
  EXPECT_EQ(second.out(), "");
  EXPECT_EQ(program.end(SIGTERM), 0) << program.err();
}

}  // namespace
}  // namespace camera

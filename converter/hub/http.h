// HTTP as far as the hub needs it, by libcurl.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace ferry {

struct HttpRequest {
  std::string url;
  bool head = false;              // headers only
  bool follow = false;            // of a HEAD: redirects to whole addresses, too
  uint64_t from = 0;              // ask for the bytes from here on
  uint64_t max_body = 64u << 20;  // of a body that is kept; a larger one is a failure
  // Takes the body of a 200 or 206 in pieces, instead of keeping it; false ends the transfer.
  std::function<bool(bool partial, std::span<const std::byte>)> receive;
};

struct HttpResponse {
  int status = 0;                              // 0: there was no answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string failure;  // why there is none, or not all of it; empty: all is well

  // Empty where it is missing.
  std::string header(const std::string& name) const;
};

// Requests to one site with one token, which goes there and nowhere else, wherever a redirect leads.
class Http {
 public:
  // `site`: "https://huggingface.co"
  Http(std::string site, std::string token);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  // A GET follows redirects. A HEAD follows those by a path alone, as the hub sends them for what was renamed; one by a
  // whole address leads to a file's storage, and it is the hub's own headers that tell about the file. Of a file at a
  // plain address the storage tells (`follow`).
  HttpResponse send(const HttpRequest& request);

 private:
  HttpResponse send_once(const HttpRequest& request, std::string* redirect);

  void* curl_;
  std::string origin_, token_;
};

}  // namespace ferry

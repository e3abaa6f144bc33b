// HTTP by libcurl, as far as the hub needs it.
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
  bool follow = false;            // HEAD: follow redirects to other hosts, too
  uint64_t from = 0;              // first byte of a range request
  uint64_t max_body = 64u << 20;  // maximum size of a body in memory; a larger one is a failure
  // Receives the body of a 200 or 206 in pieces instead of storing it; returning false ends the transfer.
  std::function<bool(bool partial, std::span<const std::byte>)> receive;
};

struct HttpResponse {
  int status = 0;                              // 0: no response
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string failure;  // why the response is missing or incomplete; empty: success

  // Empty if missing.
  std::string header(const std::string& name) const;
};

// Requests to one site. The token is sent to this site only, independent of redirects.
class Http {
 public:
  // `site`: "https://huggingface.co"
  Http(std::string site, std::string token);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  // GET follows redirects. HEAD follows redirects to a path, which the hub sends for renamed repositories. It does not
  // follow those to another host, a file's storage, because the hub's own headers describe the file; with `follow` it
  // does, for files outside of the hub.
  HttpResponse send(const HttpRequest& request);

 private:
  HttpResponse send_once(const HttpRequest& request, std::string* redirect);

  void* curl_;
  std::string origin_, token_;
};

}  // namespace ferry

#include "converter/hub/http.h"

#include <algorithm>
#include <memory>

#include "converter/error.h"
#include "converter/hub/curl.h"

namespace ferry {
namespace {

constexpr int kMaxRedirects = 10;
// A transfer ends if it is slower than this for that long. A response that is kept in memory has a time as a whole.
constexpr long kConnectSeconds = 15, kStalledSeconds = 30, kSlowestBytes = 1000, kAnswerSeconds = 300;
constexpr size_t kMaxHeaderBytes = size_t{1} << 18;

struct FreeList {
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
};

struct FreeUrl {
  void operator()(CURLU* url) const { curl().url_cleanup(url); }
};

// "https://host:443"; empty if it is not an address.
std::string origin_of(const std::string& address) {
  const std::unique_ptr<CURLU, FreeUrl> url(curl().url());
  if (!url || curl().url_set(url.get(), CURLUPART_URL, address.c_str(), 0) != CURLUE_OK) return "";
  std::string origin;
  for (const CURLUPart part : {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
    char* text = nullptr;
    if (curl().url_get(url.get(), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return "";
    origin += (origin.empty() ? "" : part == CURLUPART_HOST ? "://" : ":") + std::string(text);
    curl().free(text);
  }
  return origin;
}

struct Transfer {
  const HttpRequest& request;
  HttpResponse response;
  CURL* curl;
  size_t header_bytes = 0;
};

size_t on_header(char* data, size_t one, size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if ((transfer.header_bytes += one * size) > kMaxHeaderBytes) return 0;
  std::string line(data, one * size);
  if (line.starts_with("HTTP/")) transfer.response.headers.clear();  // after a 100 Continue or a proxy's response
  const size_t colon = line.find(':');
  if (colon == line.npos) return size;
  std::string name = line.substr(0, colon);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const size_t first = line.find_first_not_of(" \t", colon + 1), last = line.find_last_not_of(" \t\r\n");
  transfer.response.headers[name] = first < last + 1 ? line.substr(first, last + 1 - first) : "";
  return size;
}

size_t on_body(char* data, size_t one, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const size_t size = one * count;
  long status = 0;
  curl().easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &status);
  if (transfer.request.receive && (status == 200 || status == 206))
    return transfer.request.receive(status == 206, std::as_bytes(std::span(data, size))) ? size : 0;
  if (transfer.response.body.size() + size > transfer.request.max_body) return 0;
  transfer.response.body.append(data, size);
  return size;
}

}  // namespace

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

Http::Http(std::string site, std::string token) : origin_(origin_of(site)), token_(std::move(token)) {
  curl_ = curl().easy_init();
  if (!curl_) fail("libcurl cannot be started");
}

Http::~Http() { curl().easy_cleanup(curl_); }

HttpResponse Http::send_once(const HttpRequest& request, std::string* redirect) {
  Transfer transfer{request, {}, curl_};
  std::unique_ptr<curl_slist, FreeList> headers(curl().slist_append(nullptr, "Accept-Encoding: identity"));
  if (!token_.empty() && origin_of(request.url) == origin_)
    curl().slist_append(headers.get(), ("Authorization: Bearer " + token_).c_str());
  char detail[CURL_ERROR_SIZE] = "";
  curl().easy_reset(curl_);
  curl().easy_setopt(curl_, CURLOPT_URL, request.url.c_str());
  curl().easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl().easy_setopt(curl_, CURLOPT_USERAGENT, "ferry");
  curl().easy_setopt(curl_, CURLOPT_HTTPHEADER, headers.get());
  curl().easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
  curl().easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl().easy_setopt(curl_, CURLOPT_LOW_SPEED_LIMIT, kSlowestBytes);
  curl().easy_setopt(curl_, CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
  curl().easy_setopt(curl_, CURLOPT_ERRORBUFFER, detail);
  curl().easy_setopt(curl_, CURLOPT_HEADERFUNCTION, on_header);
  curl().easy_setopt(curl_, CURLOPT_HEADERDATA, &transfer);
  curl().easy_setopt(curl_, CURLOPT_WRITEFUNCTION, on_body);
  curl().easy_setopt(curl_, CURLOPT_WRITEDATA, &transfer);
  if (!request.receive) curl().easy_setopt(curl_, CURLOPT_TIMEOUT, kAnswerSeconds);
  if (request.head) curl().easy_setopt(curl_, CURLOPT_NOBODY, 1L);
  const std::string range = std::to_string(request.from) + "-";
  if (request.from > 0) curl().easy_setopt(curl_, CURLOPT_RANGE, range.c_str());

  const CURLcode code = curl().easy_perform(curl_);
  long status = 0;
  char* location = nullptr;
  curl().easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  curl().easy_getinfo(curl_, CURLINFO_REDIRECT_URL, &location);
  transfer.response.status = static_cast<int>(status);
  if (code != CURLE_OK) transfer.response.failure = *detail ? detail : curl().easy_strerror(code);
  *redirect = location ? location : "";
  return std::move(transfer.response);
}

HttpResponse Http::send(const HttpRequest& request) {
  HttpRequest next = request;
  std::string redirect;
  for (int hops = 0; hops <= kMaxRedirects; ++hops) {
    HttpResponse response = send_once(next, &redirect);
    const bool moved = response.header("location").starts_with('/') && origin_of(redirect) == origin_;
    if (redirect.empty() || (request.head && !request.follow && !moved)) return response;
    if (next.url.starts_with("https://") && !redirect.starts_with("https://")) {
      response.failure = "a redirect leads from https to " + redirect.substr(0, redirect.find(':'));
      return response;
    }
    next.url = redirect;
  }
  HttpResponse response;
  response.failure = "more than " + std::to_string(kMaxRedirects) + " redirects";
  return response;
}

}  // namespace ferry

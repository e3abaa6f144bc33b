// Answers of a hub, which may be hostile. The input is the server's answers one after the other: a status, one header
// per line, an empty line and a body, up to the byte 0x1E.
// This file replaces the implementation of converter/hub/http.h: no network, and no libcurl.
#include "converter/hub/hub.h"

#include <charconv>

#include "converter/hub/cache.h"
#include "converter/hub/http.h"
#include "tests/fuzz/harness.h"

namespace ferry {
namespace {

std::string_view answers;  // not yet used

std::string_view until(std::string_view* text, char end) {
  const size_t at = std::min(text->find(end), text->size());
  const std::string_view part = text->substr(0, at);
  text->remove_prefix(std::min(at + 1, text->size()));
  return part;
}

}  // namespace

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

Http::Http(std::string site, std::string token) : curl_(nullptr), origin_(std::move(site)), token_(std::move(token)) {}
Http::~Http() = default;

HttpResponse Http::send(const HttpRequest& request) {
  fuzz::require(request.url.starts_with(origin_ + "/"), "a request to another site");
  HttpResponse response;
  if (answers.empty()) {
    response.failure = "the line is dead";
    if (request.receive) fail("%s", response.failure.c_str());  // the caller would retry
    return response;
  }
  std::string_view answer = until(&answers, '\x1e');
  const std::string_view status = until(&answer, '\n');
  std::from_chars(status.data(), status.data() + status.size(), response.status);
  for (std::string_view line = until(&answer, '\n'); !line.empty(); line = until(&answer, '\n')) {
    const std::string name(until(&line, ':'));
    response.headers[name] = line;
  }
  if (request.head) return response;
  if (!request.receive) {
    response.body = answer.substr(0, request.max_body);
    return response;
  }
  if (answer.empty()) fail("an answer of nothing is waited for again");
  if (response.status == 200 || response.status == 206)
    if (!request.receive(response.status == 206, std::as_bytes(std::span(answer.data(), answer.size()))))
      response.failure = "ended by the receiver";
  return response;
}

}  // namespace ferry

FERRY_FUZZ(hub) {
  namespace fs = std::filesystem;
  const fs::path& folder = Folder::get().path();
  answers = text;
  const HubSettings settings{.endpoint = "http://hub", .token = "", .cache = folder / "cache", .offline = false};
  expect_error_only([&] {
    const HubFile file = fetch_from_hub({.repository = "org/name", .revision = "main", .file = ""}, settings);
    require(fs::weakly_canonical(file.path).string().starts_with((folder / "cache").string() + "/"),
            "a file outside the cache");
  });
  int beside = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++beside;
  require(beside <= 1, "something was written beside the cache");
  if (beside > 0)
    for (const auto& entry : fs::recursive_directory_iterator(folder / "cache"))
      if (entry.is_symlink()) {
        const fs::path to = fs::weakly_canonical(entry.path());
        require(to.string().starts_with((folder / "cache").string() + "/"), "a link out of the cache");
      }
  Folder::get().clear();
}

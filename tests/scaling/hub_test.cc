// A hub's lists of files take work in proportion to their length. This file replaces the implementation of
// converter/hub/http.h, as tests/fuzz/hub.cc does: no network.
#include "converter/hub/hub.h"

#include <gtest/gtest.h>

#include <functional>

#include "converter/hub/http.h"
#include "tests/scaling/counted.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

std::string listing;  // the hub's answer about a repository

constexpr const char* kCommit = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

std::string numbered(const char* name, size_t i) { return name + std::to_string(i) + ".safetensors"; }

}  // namespace

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

Http::Http(std::string site, std::string token) : curl_(nullptr), origin_(std::move(site)), token_(std::move(token)) {}
Http::~Http() = default;

HttpResponse Http::send(const HttpRequest& request) {
  HttpResponse response;
  response.status = 200;
  if (request.url.find("/api/models/") != std::string::npos) {
    response.body = listing;
  } else {
    response.headers = {{"etag", "\"e\""}, {"content-length", "2"}};
    if (request.receive) request.receive(false, std::as_bytes(std::span("{}", 2)));
  }
  return response;
}

namespace {

TEST(HubScaling, ListOfARepository) {
  expect_linear_work("siblings", 200, [](size_t n) -> std::function<void()> {
    listing = std::string("{\"sha\":\"") + kCommit + R"(","siblings":[{"rfilename":"model.safetensors"})";
    for (size_t i = 0; i < n; ++i) listing += R"(,{"rfilename":"folder/)" + numbered("f", i) + "\"}";
    listing += "]}";
    const auto folder = std::make_shared<ScratchFolder>();
    return [folder] {
      fetch_from_hub({.repository = "org/name", .revision = "main", .file = ""},
                     {.endpoint = "http://hub", .token = "", .cache = folder->path(), .offline = false});
    };
  });
}

// Every shard of the index is looked for among all files.
TEST(HubScaling, ShardsInTheCache) {
  expect_linear_work("shards", 100, [](size_t n) -> std::function<void()> {
    const auto folder = std::make_shared<ScratchFolder>();
    const std::string snapshot = std::string("models--org--name/snapshots/") + kCommit;
    std::filesystem::create_directories(folder->path() / snapshot);
    std::string index = R"({"weight_map":{"a":"s0.safetensors")";
    for (size_t i = 0; i < n; ++i) {
      folder->write(snapshot + "/" + numbered("s", i), "");
      index += ",\"" + std::to_string(i) + "\":\"" + numbered("s", i) + "\"";
    }
    folder->write(snapshot + "/model.safetensors.index.json", index + "}}");
    return [folder] {
      fetch_from_hub({.repository = "org/name", .revision = kCommit, .file = ""},
                     {.endpoint = "http://hub", .token = "", .cache = folder->path(), .offline = true});
    };
  });
}

}  // namespace
}  // namespace ferry

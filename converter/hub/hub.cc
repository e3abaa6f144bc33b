#include "converter/hub/hub.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/companions.h"
#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/hub/cache.h"
#include "converter/hub/download.h"
#include "converter/hub/http.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

// Percent-encodes all bytes but letters, digits, -._~ and `keep`.
std::string escaped(const std::string& text, char keep) {
  std::string out;
  for (const unsigned char c : text) {
    char hex[4];
    std::snprintf(hex, sizeof(hex), "%%%02X", c);
    const bool plain = std::isalnum(c) || std::string_view("-._~").find(static_cast<char>(c)) != std::string_view::npos;
    out += plain || c == keep ? std::string(1, static_cast<char>(c)) : hex;
  }
  return out;
}

// Shards listed by an index, relative to the repository.
std::vector<std::string> shards_of(const fs::path& index, const std::string& folder) {
  const std::string where = index.string();
  const auto file = MappedFile::open(index);
  const nlohmann::json root = parse_json(text_of(*file), where);
  std::set<std::string> shards;
  for (const char* list : {"weight_map", "weightsManifest"})
    if (const auto found = root.find(list); found != root.end())
      for (const auto& item : *found) {
        if (item.is_string()) shards.insert(item.get<std::string>());
        if (item.is_object() && item.contains("paths"))
          for (const auto& path : item["paths"])
            if (path.is_string()) shards.insert(path.get<std::string>());
      }
  std::vector<std::string> names;
  for (const std::string& shard : shards) names.push_back(folder + shard);
  return names;
}

std::string folder_of(const std::string& file) {
  const size_t slash = file.rfind('/');
  return slash == file.npos ? "" : file.substr(0, slash + 1);
}

class Repository {
 public:
  Repository(const HubReference& reference, const HubSettings& settings, const HubProgress& progress)
      : reference_(reference),
        settings_(settings),
        progress_(progress),
        cache_(settings.cache, reference.repository),
        http_(settings.endpoint, settings.token) {}

  HubFile fetch();

 private:
  std::optional<HubFile> from_cache() const;
  HubFile found(const std::string& commit, const std::string& file) const;
  HttpResponse ask_for_list();
  void read_list(const HttpResponse& response);
  void fetch_file(const std::string& file);
  [[noreturn]] void refuse(const HttpResponse& response, const std::string& file) const;

  const HubReference& reference_;
  const HubSettings& settings_;
  const HubProgress& progress_;
  HubCache cache_;
  Http http_;
  std::string commit_;
  std::set<std::string> files_;
};

HubFile Repository::found(const std::string& commit, const std::string& file) const {
  return {cache_.snapshot(commit) / file, "hf:" + reference_.repository + "@" + commit + "/" + file, {}};
}

// Nothing if the cache lacks the revision, its checkpoint or a shard.
std::optional<HubFile> Repository::from_cache() const {
  const std::string commit = cache_.commit_of(reference_.revision);
  if (commit.empty()) return {};
  const std::vector<std::string> files = cache_.files(commit);
  const auto has = [&](const std::string& file) { return std::binary_search(files.begin(), files.end(), file); };
  std::string file = reference_.file;
  if (file.empty()) {
    try {
      file = choose_checkpoint(files, reference_.name());
    } catch (const Error&) {
      return {};
    }
  }
  if (!has(file)) return {};
  if (file.ends_with(".json"))
    for (const std::string& shard : shards_of(cache_.snapshot(commit) / file, folder_of(file)))
      if (!has(shard)) return {};
  return found(commit, file);
}

void Repository::refuse(const HttpResponse& response, const std::string& file) const {
  const std::string name = reference_.name(), code = response.header("x-error-code");
  const char* site = settings_.endpoint.c_str();
  if (response.status == 0)
    fail("%s: %s cannot be reached (%s), and the cache does not have it", name.c_str(), site, response.failure.c_str());
  if (!response.failure.empty()) fail("%s: %s: %s", name.c_str(), site, response.failure.c_str());
  if (code == "GatedRepo" || response.status == 403)
    fail("%s: may only be downloaded by those who accepted its terms at %s/%s: do so and set HF_TOKEN to your token",
         name.c_str(), site, reference_.repository.c_str());
  if (response.status == 404 && code == "RevisionNotFound")
    fail("%s: %s/%s has no revision '%s'", name.c_str(), site, reference_.repository.c_str(),
         reference_.revision.c_str());
  if (response.status == 404 && !file.empty()) fail("%s: has no file %s", name.c_str(), file.c_str());
  if (response.status == 404 || code == "RepoNotFound" || response.status == 401)
    fail("%s: %s has no such model, or %s", name.c_str(), site,
         settings_.token.empty() ? "it is private: set HF_TOKEN to a token that may read it"
                                 : "the token given does not allow reading it");
  fail("%s: %s answered %d%s", name.c_str(), site, response.status,
       response.status == 429 ? " (too many requests): try again later" : "");
}

// Requests the revision's current commit and its list of files.
HttpResponse Repository::ask_for_list() {
  return http_.send({.url = settings_.endpoint + "/api/models/" + reference_.repository + "/revision/" +
                            escaped(reference_.revision, '\0')});
}

void Repository::read_list(const HttpResponse& response) {
  if (response.status != 200 || !response.failure.empty()) refuse(response, "");
  const std::string where = reference_.name() + ": the answer of " + settings_.endpoint;
  const nlohmann::json root = parse_json(response.body, where);
  const auto malformed = [&] { fail("%s: is not a response of a hub: no \"sha\" and \"siblings\"", where.c_str()); };
  if (!root.is_object() || !root.contains("sha") || !root["sha"].is_string() || !root.contains("siblings") ||
      !root["siblings"].is_array())
    malformed();
  commit_ = root["sha"].get<std::string>();
  if (!is_commit(commit_)) malformed();
  for (const auto& sibling : root["siblings"]) {
    if (!sibling.is_object() || !sibling.contains("rfilename") || !sibling["rfilename"].is_string()) malformed();
    files_.insert(sibling["rfilename"].get<std::string>());
  }
}

void Repository::fetch_file(const std::string& file) {
  const std::string where = reference_.name() + ": " + file;
  if (!files_.contains(file)) fail("%s: has no file %s", reference_.name().c_str(), file.c_str());
  if (!is_safe_path(file)) fail("%s: is not a path inside the repository", where.c_str());
  std::error_code error;
  if (fs::exists(cache_.snapshot(commit_) / file, error)) return;
  RemoteFile remote;
  remote.name = where;
  remote.url = settings_.endpoint + "/" + reference_.repository + "/resolve/" + commit_ + "/" + escaped(file, '/');
  const HttpResponse response = http_.send({.url = remote.url, .head = true});
  if (!response.failure.empty() || response.status < 200 || response.status >= 400) refuse(response, file);
  remote.etag = etag_of(response, where);
  std::string size = response.header("x-linked-size");
  if (size.empty()) size = response.header("content-length");
  const auto [end, bad] = std::from_chars(size.data(), size.data() + size.size(), remote.size);
  if (bad != std::errc() || end != size.data() + size.size())
    fail("%s: the server does not say how large it is", where.c_str());

  const HubCache::Lock lock(cache_, remote.etag);
  const fs::path blob = cache_.blob(remote.etag);
  if (!fs::exists(blob, error))
    download(http_, remote, fs::path(blob) += ".incomplete", blob, [&](uint64_t done) {
      if (progress_) progress_(file, done, remote.size);
    });
  cache_.link(commit_, file, remote.etag);
}

HubFile Repository::fetch() {
  const auto cached = from_cache();
  if (settings_.offline) {
    if (!cached)
      fail("%s: HF_HUB_OFFLINE is set, and the cache %s does not have it", reference_.name().c_str(),
           settings_.cache.c_str());
    return *cached;
  }
  // A commit is immutable; only the hub knows which other files are beside the checkpoint.
  if (cached && is_commit(reference_.revision) && fs::exists(cached->path.parent_path() / "config.json"))
    return *cached;
  const HttpResponse listing = ask_for_list();
  if (listing.status == 0 && cached) return *cached;
  read_list(listing);
  std::vector<std::string> notes;
  const std::string file = reference_.file.empty()
                               ? choose_checkpoint({files_.begin(), files_.end()}, reference_.name(), &notes)
                               : reference_.file;
  const std::string folder = folder_of(file);
  for (const std::string companion : kCheckpointCompanions)
    if (files_.contains(folder + companion)) fetch_file(folder + companion);
  fetch_file(file);
  if (file.ends_with(".json"))
    for (const std::string& shard : shards_of(cache_.snapshot(commit_) / file, folder)) fetch_file(shard);
  cache_.remember(reference_.revision, commit_);
  HubFile fetched = found(commit_, file);
  fetched.notes = std::move(notes);
  return fetched;
}

}  // namespace

HubFile fetch_from_hub(const HubReference& reference, const HubSettings& settings, const HubProgress& progress) {
  return Repository(reference, settings, progress).fetch();
}

}  // namespace ferry

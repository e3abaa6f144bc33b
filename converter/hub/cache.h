// The Hugging Face cache of one repository, in the layout of the Python packages:
//
//     HF_HUB_CACHE/models--ORG--NAME/blobs/ETAG                  the files; ETAG.incomplete during a download
//                                   /refs/REVISION               the last known commit of a branch or tag
//                                   /snapshots/COMMIT/FILE       relative links to blobs
//     HF_HUB_CACHE/.locks/models--ORG--NAME/ETAG.lock            held while a blob is written
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ferry {

bool is_commit(const std::string& revision);

class HubCache {
 public:
  HubCache(const std::filesystem::path& cache, const std::string& repository);

  // The last known commit of a revision; empty if unknown.
  std::string commit_of(const std::string& revision) const;
  void remember(const std::string& revision, const std::string& commit) const;

  std::filesystem::path snapshot(const std::string& commit) const { return folder_ / "snapshots" / commit; }
  // Paths of a snapshot's files, relative to it.
  std::vector<std::string> files(const std::string& commit) const;

  std::filesystem::path blob(const std::string& etag) const { return folder_ / "blobs" / etag; }
  // Creates the link snapshots/COMMIT/FILE to a blob.
  void link(const std::string& commit, const std::string& file, const std::string& etag) const;

  // Held by one process at a time; the Python packages use the same lock.
  class Lock {
   public:
    Lock(const HubCache& cache, const std::string& etag);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int fd_;
  };

 private:
  std::filesystem::path folder_, locks_;
};

}  // namespace ferry

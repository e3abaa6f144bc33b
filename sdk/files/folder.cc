#include "sdk/files/folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ferry {

Status make_folder(const std::string& folder) {
  for (size_t end = folder.find('/', 1); end != std::string::npos; end = folder.find('/', end + 1))
    mkdir(folder.substr(0, end).c_str(), 0755);
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
    return error(FERRY_IO_ERROR, "'%s' cannot be made: %s", folder.c_str(), std::strerror(errno));
  return {};
}

Status check_folder_is_own(const std::string& folder) {
  struct stat info;
  if (stat(folder.c_str(), &info) != 0) return {};
  if (info.st_uid != geteuid() && info.st_uid != 0)
    return error(FERRY_INVALID_ARGUMENT, "the folder '%s' belongs to another user, who can replace the files in it",
                 folder.c_str());
  const bool group = (info.st_mode & S_IWGRP) != 0 && info.st_gid != getegid();  // this user's own group is usual
  if (!group && (info.st_mode & S_IWOTH) == 0) return {};
  return error(FERRY_INVALID_ARGUMENT, "the folder '%s' is writable by other users (mode %04o)", folder.c_str(),
               static_cast<unsigned>(info.st_mode & 07777));
}

Status check_file_is_own(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return error(FERRY_IO_ERROR, "it cannot be read: %s", std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return error(FERRY_UNSUPPORTED, "it is no regular file");
  if (info.st_uid != geteuid() && info.st_uid != 0)
    return error(FERRY_UNSUPPORTED, "it belongs to another user (%u, this process is %u)",
                 static_cast<unsigned>(info.st_uid), static_cast<unsigned>(geteuid()));
  if ((info.st_mode & S_IWOTH) != 0)
    return error(FERRY_UNSUPPORTED, "everybody may write it (mode %04o)", static_cast<unsigned>(info.st_mode & 07777));
  return {};
}

}  // namespace ferry

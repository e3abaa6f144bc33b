// Files appear whole or not at all, where cp would write them.
#include "sdk/files/new_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <thread>

#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::vector<std::string> names_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string sentence(const fs::path& path) {
  const Status status = replace_file(path.string(), bytes_of("new"));
  EXPECT_EQ(status.code(), FERRY_IO_ERROR);
  return std::string(status.message());
}

// Runs in a process in which files without a name, or links to them, are refused, as in some sandboxes. False: this
// system has no such filter.
bool in_sandbox(bool unnamed, const std::function<bool()>& run) {
  const pid_t child = fork();
  if (child == 0) {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, unnamed ? 0u : static_cast<unsigned>(O_TMPFILE & ~O_DIRECTORY), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {std::size(filter), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
      _exit(3);
    _exit(run() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3)) << status;
  return WIFEXITED(status) && WEXITSTATUS(status) != 3;
}

TEST(NewFile, HasNoNameUntilItIsKept) {
  const ScratchFolder folder;
  const std::string path = folder.path() / "file";
  {
    NewFile file;
    ASSERT_TRUE(file.open(path).ok());
    ASSERT_TRUE(file.write(bytes_of("abandoned")).ok());
    if (fs::path(file.path()).parent_path() == folder.path())
      GTEST_SKIP() << "the file system has no files without names";
    EXPECT_TRUE(fs::is_empty(folder.path())) << "a process that is killed here leaves nothing";
    EXPECT_EQ(read_text(file.path()), "abandoned");
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
  for (const char* text : {"first", "second"}) {  // the second replaces the first
    NewFile file;
    ASSERT_TRUE(file.open(path, {.rewritten = true}).ok());
    EXPECT_TRUE(file.write(bytes_of("?????")).ok());
    EXPECT_TRUE(file.write(bytes_of(text + 5)).ok());
    EXPECT_TRUE(file.write_at(0, bytes_of(text).first(5)).ok());
    EXPECT_TRUE(file.keep().ok());
    EXPECT_EQ(read_text(path), text);
    EXPECT_EQ(names_below(folder.path()), std::vector<std::string>{"file"});
  }
}

TEST(NewFile, NeedsNoUnnamedFilesAndNoLinks) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / std::string(255, 'n');  // the longest name
  for (const bool unnamed : {true, false}) {
    const bool tried = in_sandbox(unnamed, [&] {
      for (const char* text : {"one", "two"})
        if (!replace_file(path.string(), bytes_of(text)).ok() || read_text(path) != text) return false;
      NewFile abandoned;
      return abandoned.open(path.string()).ok() && abandoned.write(bytes_of("three")).ok();
    });
    if (!tried) GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(read_text(path), "two");
    for (const std::string& name : names_below(folder.path()))
      EXPECT_TRUE(name == path.filename() || !unnamed) << "_exit() leaves the named file of `abandoned`: " << name;
    for (const auto& entry : fs::directory_iterator(folder.path())) fs::remove(entry);
  }
}

TEST(NewFile, KeepsTheModeOfTheFormerFile) {
  const ScratchFolder folder;
  const auto mode = [](const fs::path& path) { return static_cast<unsigned>(fs::status(path).permissions()); };
  std::ofstream(folder.path() / "usual") << "b";
  ASSERT_TRUE(replace_file(folder.path() / "new", bytes_of("a")).ok());
  EXPECT_EQ(mode(folder.path() / "new"), mode(folder.path() / "usual"));
  ASSERT_TRUE(replace_file(folder.path() / "own", bytes_of("a"), {.mode = 0600}).ok());
  EXPECT_EQ(mode(folder.path() / "own"), 0600u);
  ::chmod((folder.path() / "new").c_str(), 0640);
  ASSERT_TRUE(replace_file(folder.path() / "new", bytes_of("c")).ok());
  EXPECT_EQ(mode(folder.path() / "new"), 0640u);
  ASSERT_TRUE(replace_file(folder.path() / "own", bytes_of("a")).ok());
  EXPECT_EQ(mode(folder.path() / "own"), 0600u);
  if (geteuid() == 0 && ::chown((folder.path() / "new").c_str(), 1234, 4321) == 0) {
    ASSERT_TRUE(replace_file(folder.path() / "new", bytes_of("d")).ok());
    struct stat info;
    ASSERT_EQ(::stat((folder.path() / "new").c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, 1234u);
    EXPECT_EQ(info.st_gid, 4321u);
  }
}

TEST(NewFile, FollowsLinks) {
  const ScratchFolder folder;
  const fs::path real = folder.write("below/real", "old"), link = folder.path() / "link";
  fs::create_symlink("middle", link);
  fs::create_symlink("below/real", folder.path() / "middle");
  ASSERT_TRUE(replace_file(link.string(), bytes_of("new")).ok());
  EXPECT_EQ(read_text(real), "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(names_below(folder.path() / "below"), std::vector<std::string>{"real"});
}

TEST(NewFile, RefusesWhatIsNoPlaceForAFile) {
  const ScratchFolder folder;
  fs::create_symlink("nowhere", folder.path() / "dangling");
  fs::create_symlink("round", folder.path() / "round");
  fs::create_symlink(".", folder.path() / "here");
  const auto says = [&](const std::string& name, const char* what) {
    const std::string path = folder.path() / name;
    EXPECT_EQ(sentence(path), "'" + path + "': cannot be written: " + what);
  };
  says("", "it is a folder: name a file in it");
  says("here", "it is a folder: name a file in it");
  says("new/", "it is the name of a folder");
  says("no/file", "No such file or directory");
  says("dangling", ("it is a link to '" + (folder.path() / "nowhere").string() + "', which does not exist").c_str());
  says("round", "Too many levels of symbolic links");
  EXPECT_EQ(sentence(""), "'': cannot be written: a file needs a name");
}

TEST(NewFile, RefusesALinkThatAnotherUserMadeInAFolderForEverybody) {
  const ScratchFolder folder;
  const fs::path victim = folder.write("victim", "precious"), open = folder.path() / "open";
  fs::create_directory(open);
  fs::create_symlink(victim, open / "link");
  if (geteuid() != 0 || ::lchown((open / "link").c_str(), 1234, 1234) != 0) GTEST_SKIP() << "only root can make one";
  ::chmod(open.c_str(), 01777);
  EXPECT_NE(sentence(open / "link").find("is a link that another user made"), std::string::npos);
  EXPECT_EQ(read_text(victim), "precious");
}

// As root, `-o /dev/null` once replaced the device by a file.
TEST(NewFile, WritesThroughDevicesAndPipes) {
  const ScratchFolder folder;
  const fs::path device = folder.path() / "null", pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const bool rewritten : {false, true}) {
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_TRUE(replace_file(pipe.string(), bytes_of("through"), {.rewritten = rewritten}).ok());
    char text[16];
    EXPECT_EQ(std::string(text, static_cast<size_t>(::read(reader, text, sizeof text))), "through");
    ::close(reader);
  }
  EXPECT_EQ(names_below(folder.path()), std::vector<std::string>{"pipe"});
  ASSERT_TRUE(replace_file("/dev/null", bytes_of("lost")).ok());
  if (::mknod(device.c_str(), S_IFCHR | 0666, 0x103) != 0) GTEST_SKIP() << "only root can make a device";
  const bool usable = ::access(device.c_str(), W_OK) == 0;
  EXPECT_EQ(replace_file(device.string(), bytes_of("lost")).ok(), usable);
  EXPECT_EQ(fs::status(device).type(), fs::file_type::character);
}

// What is written to /dev/stdout follows what was printed, also into a file.
TEST(NewFile, WritesThroughDescriptors) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "out";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(fd, "printed ", 8), 8);
  if (!fs::exists("/proc/self/fd")) GTEST_SKIP();
  ASSERT_TRUE(replace_file("/proc/self/fd/" + std::to_string(fd), bytes_of("written")).ok());
  ASSERT_EQ(::write(fd, " printed", 8), 8);
  ::close(fd);
  EXPECT_EQ(read_text(path), "printed written printed");
  EXPECT_EQ(names_below(folder.path()), std::vector<std::string>{"out"});
}

TEST(NewFile, TwoWritersDoNotMix) {
  const ScratchFolder folder;
  const std::string path = folder.path() / "shared";
  ASSERT_TRUE(replace_file(path, bytes_of(std::string(50'000, 'a'))).ok());
  const auto write = [&](char letter) {
    for (int i = 0; i < 100; ++i)
      EXPECT_TRUE(replace_file(path, bytes_of(std::string(50'000, letter)), {.durable = false}).ok());
  };
  std::thread a(write, 'a'), b(write, 'b');
  for (int i = 0; i < 200; ++i) {
    const std::string text = read_text(path);
    EXPECT_EQ(text, std::string(50'000, text.empty() ? '?' : text[0]));
  }
  a.join();
  b.join();
  EXPECT_EQ(names_below(folder.path()), std::vector<std::string>{"shared"});
}

// What a signal handler calls.
TEST(Temporaries, AreRemoved) {
  const ScratchFolder folder;
  const fs::path file = folder.write("file", "x"), kept = folder.write("kept", "x");
  folder.write("tree/a/b/c", "x");
  folder.write("tree/d", "x");
  fs::create_symlink(kept, folder.path() / "tree/link");
  TemporaryName a, b, c;
  a.remember(file);
  b.remember(folder.path() / "tree", TemporaryName::Kind::Folder);
  c.remember(kept);
  c.forget();
  if (const pid_t child = fork(); child == 0) {
    remove_temporaries();  // the parent's are none of its own
    _exit(fs::exists(file) ? 0 : 1);
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  remove_temporaries();
  EXPECT_EQ(names_below(folder.path()), std::vector<std::string>{"kept"});
}

// Writing through a FIFO waits for a reader, and a link leads to another file.
TEST(NewFile, OfACacheReplacesWhatHasItsName) {
  const ScratchFolder folder;
  const fs::path other = folder.write("other", "kept");
  const std::string pipe = folder.path() / "pipe", link = folder.path() / "link";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(other, link);
  for (const std::string& path : {pipe, link}) {
    ASSERT_TRUE(replace_file(path, bytes_of("new"), {.durable = false, .like_former = false}).ok());
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path))) << path;
    EXPECT_EQ(fs::file_size(path), 3u);
  }
  EXPECT_EQ(fs::file_size(other), 4u);
}

}  // namespace
}  // namespace ferry

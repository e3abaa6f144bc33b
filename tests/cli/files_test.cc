// Files that the commands write: whole, where cp would write them, without leftovers.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cli/signals.h"
#include "converter/pack/pack.h"
#include "sdk/files/temporaries.h"
#include "sdk/image/codec.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"

namespace ferry::cli_test {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::byte> bytes = pack(*testing::small_upscaler());
    folder_.write("m.ferry", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    std::vector<uint8_t> pixels(7 * 6 * 3, 90);
    ASSERT_TRUE(image::save_png({pixels.data(), 7, 6, 3, 21}, path("in.png").c_str()).ok());
  }
  std::string path(const std::string& name) const { return folder_.path() / name; }
  Result run(const std::string& output) { return ferry(folder_.path(), {"run", "m.ferry", "in.png", "-o", output}); }

  ScratchFolder folder_;
};

TEST_F(OutputFiles, DevicesAndLinksStay) {
  fs::create_symlink(folder_.write("real.png", "former"), path("link.png"));
  ASSERT_EQ(run("link.png").exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(path("link.png")));
  EXPECT_TRUE(read_text(path("real.png")).starts_with("\x89PNG"));
  if (::mknod(path("null").c_str(), S_IFCHR | 0666, 0x103) != 0 || ::access(path("null").c_str(), W_OK) != 0)
    GTEST_SKIP() << "only root can make a device";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "m.ferry", "in.png", "-o", "null"},
                                                {"pack", "m.ferry", "-o", "null"},
                                                {"pack", "m.ferry", "--embed", "-o", "null"},
                                                {"inspect", "m.ferry", "--graph", "null"},
                                                {"build", "--for", "m.ferry", "-o", "null"}}) {
    const Result result = ferry(folder_.path(), words);
    EXPECT_EQ(fs::status(path("null")).type(), fs::file_type::character) << words[0] << result.err;
  }
}

TEST_F(OutputFiles, TheSuffixOfAnImageIsItsFormat) {
  const Result refused = run("out.webp");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.err, "ferry run: 'out.webp': cannot be written: images are written as .png, not as .webp\n");
  EXPECT_FALSE(fs::exists(path("out.webp")));
}

// SIGTERM in a conversion once left NAME.XXXXXX.
TEST_F(OutputFiles, SignalsThatEndTheProgramLeaveNothing) {
  for (const int number : {SIGTERM, SIGHUP, SIGINT, SIGSEGV}) {
    const std::string file = folder_.write("unfinished", "x");
    folder_.write("folder/unfinished", "x");
    const pid_t child = fork();
    if (child == 0) {
      for (const int all : {SIGTERM, SIGHUP, SIGINT, SIGSEGV}) ::signal(all, SIG_DFL);  // a sanitizer has its own
      cli::remove_temporaries_on_signals();
      TemporaryName name, whole;
      name.remember(file);
      whole.remember(path("folder"), TemporaryName::Kind::Folder);
      ::raise(number);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    EXPECT_FALSE(fs::exists(file)) << number;
    EXPECT_FALSE(fs::exists(path("folder"))) << number;
  }
}

TEST_F(OutputFiles, IgnoredSignalsStayIgnored) {
  const pid_t child = fork();
  if (child == 0) {
    ::signal(SIGHUP, SIG_IGN);  // nohup
    cli::remove_temporaries_on_signals();
    ::raise(SIGHUP);
    _exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

}  // namespace
}  // namespace ferry::cli_test

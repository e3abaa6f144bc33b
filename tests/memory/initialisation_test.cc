// XNNPACK's one-time initialisation runs out of memory; the next session initialises it nonetheless.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/memory/failing.h"
#include "tests/runtime/networks.h"

namespace ferry::testing {
namespace {

// Runs in a new process, which has not initialised anything. FERRY_FAIL says which allocations fail: "3" or "3+".
TEST(Initialisation, Child) {
  const char* which = std::getenv("FERRY_FAIL");
  if (which == nullptr) GTEST_SKIP() << "started by the next test";
  const Opened opened(*small_mixture());
  ferry_session* session = nullptr;
  const bool for_good = std::string(which).ends_with('+');
  fail_allocation(std::atol(which), for_good ? Failure::ForGood : Failure::Single);
  const ferry_status status = ferry_session_create(opened.model, nullptr, &session);
  EXPECT_EQ(stop_failing() > 0, true);
  EXPECT_TRUE(status == FERRY_OUT_OF_MEMORY || (status == FERRY_OK && !for_good)) << ferry_last_error();
  ferry_session_close(session);
  EXPECT_NE(make_session(opened.model), nullptr);
}

TEST(Initialisation, IsRetriedAfterAFailure) {
  for (const char* suffix : {"", "+"}) {
    for (int index = 0; index < 30; index += 1) {
      const std::string fail = "FERRY_FAIL=" + std::to_string(index) + suffix;
      const char* arguments[] = {"memory_tests", "--gtest_filter=Initialisation.Child", "--gtest_brief=1", nullptr};
      const char* environment[] = {fail.c_str(), nullptr};
      pid_t child = 0;
      ASSERT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(arguments),
                            const_cast<char**>(environment)),
                0);
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0) << fail;
    }
  }
}

}  // namespace
}  // namespace ferry::testing

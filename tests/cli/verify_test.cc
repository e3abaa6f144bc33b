// ferry verify --weights: detects damaged files.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"
#include "tests/support/blobs.h"

namespace ferry::cli_test {
namespace {

TEST(VerifyWeights, DetectsADamagedFile) {
  const ScratchFolder folder;
  const std::vector<std::byte> blob = testing::small_blobs()[0].blob;
  std::string bytes(reinterpret_cast<const char*>(blob.data()), blob.size());
  folder.write("m.ferry", bytes);
  const Result whole = ferry(folder.path(), {"verify", "m.ferry", "--weights"});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(whole.out, "m.ferry: the weights are those that were written\n");
  bytes[bytes.size() - 40] ^= 1;
  folder.write("m.ferry", bytes);
  const Result damaged = ferry(folder.path(), {"verify", "m.ferry", "--weights"});
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_NE(damaged.out.find("m.ferry: the weights are damaged: their SHA-256 is "), std::string::npos) << damaged.out;
  const Result as_json = ferry(folder.path(), {"verify", "m.ferry", "--weights", "--json"});
  EXPECT_EQ(as_json.exit_code, 1);
  EXPECT_EQ(nlohmann::json::parse(as_json.out)["passed"], false);
  EXPECT_REFUSED(ferry(folder.path(), {"verify", "gone.ferry", "--weights"}), "gone.ferry");
}

}  // namespace
}  // namespace ferry::cli_test

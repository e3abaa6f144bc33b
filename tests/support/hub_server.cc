#include "tests/support/hub_server.h"
#include "tests/support/paths.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

namespace ferry {

HubServer::HubServer(const std::string& model) {
  const auto file = folder_.write("model", model), log = folder_.write("log", "");
  const std::string script = (source_folder() / "tests/support/hub_server.py").string();
  int input[2], output[2];
  EXPECT_EQ(pipe2(input, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(output, O_CLOEXEC), 0);
  process_ = fork();
  if (process_ == 0) {
    dup2(input[0], 0);
    dup2(output[1], 1);
    execlp("python3", "python3", script.c_str(), file.c_str(), log.c_str(), nullptr);
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  input_ = input[1];
  std::string port;
  for (char c; read(output[0], &c, 1) == 1 && c != '\n';) port += c;
  close(output[0]);
  EXPECT_FALSE(port.empty()) << "python3 " << script << " did not start";
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, std::string>>{{"HF_ENDPOINT", "http://127.0.0.1:" + port},
                                                                  {"HF_HOME", home_},
                                                                  {"HF_HUB_CACHE", ""},
                                                                  {"HF_TOKEN", ""},
                                                                  {"HF_TOKEN_PATH", ""},
                                                                  {"HF_HUB_OFFLINE", ""},
                                                                  {"no_proxy", "*"}})
    environment_.push_back(std::make_unique<Environment>(name, value));
}

HubServer::~HubServer() {
  close(input_);
  waitpid(process_, nullptr, 0);
}

std::vector<std::string> HubServer::requests(const std::string& words) const {
  std::vector<std::string> lines;
  std::istringstream log(read_text(folder_.path() / "log"));
  for (std::string line; std::getline(log, line);)
    if (line.find(words) != line.npos) lines.push_back(line);
  return lines;
}

}  // namespace ferry

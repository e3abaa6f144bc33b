#include "converter/hub/settings.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "converter/error.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScheme = "hf:";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_set(const char* name) {
  std::string value = variable(name);
  std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return std::toupper(c); });
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

fs::path home() {
  if (const std::string named = variable("HF_HOME"); !named.empty()) return named;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "huggingface";
  if (const std::string home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache" / "huggingface";
  const passwd* user = getpwuid(getuid());  // services may have no HOME
  if (user == nullptr || user->pw_dir == nullptr || *user->pw_dir != '/')
    fail("the hub's cache has no location: set HF_HOME or HOME");
  return fs::path(user->pw_dir) / ".cache" / "huggingface";
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

std::string find_token() {
  if (const std::string token = trimmed(variable("HF_TOKEN")); !token.empty()) return token;
  if (is_set("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return "";
  const std::string named = variable("HF_TOKEN_PATH");
  std::ifstream file(named.empty() ? home() / "token" : fs::path(named));
  std::string line;
  std::getline(file, line);
  return trimmed(line);
}

// The hub's rule for names; such names are safe in paths and addresses.
bool is_name(std::string_view text) {
  return !text.empty() && text.front() != '.' && text.front() != '-' && text.find("..") == text.npos &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-' || c == '_'; });
}

}  // namespace

std::string HubReference::name() const {
  return std::string(kScheme) + repository + (revision == "main" ? "" : "@" + revision);
}

bool is_safe_path(const std::string& text) {
  const fs::path path(text);
  return path.is_relative() && path.lexically_normal() == path && *path.begin() != ".." && *path.begin() != "." &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 32 || c == 127 || c == '\\'; });
}

bool is_hub_reference(std::string_view text) { return text.starts_with(kScheme); }

HubReference parse_hub_reference(const std::string& text, const std::string& revision) {
  const auto malformed = [&] {
    fail("%s: expected hf:ORG/NAME, hf:ORG/NAME@REVISION or either followed by /FILE", text.c_str());
  };
  const std::string rest = text.substr(kScheme.size());
  const size_t slash = rest.find('/');
  if (slash == rest.npos) malformed();
  const size_t end = std::min(rest.find_first_of("@/", slash + 1), rest.size());
  HubReference reference;
  reference.repository = rest.substr(0, end);
  if (!is_name(rest.substr(0, slash)) || !is_name(rest.substr(slash + 1, end - slash - 1))) malformed();
  const size_t file = std::min(rest.find('/', end), rest.size());
  if (end < file) {
    reference.revision = rest.substr(end + 1, file - end - 1);
    if (!revision.empty()) fail("%s: names a revision, and so does --revision: use one of them", text.c_str());
  }
  if (!revision.empty()) reference.revision = revision;
  if (reference.revision.empty() || !is_safe_path(reference.revision))
    fail("'%s' is not a revision: expected a branch, a tag or a commit", reference.revision.c_str());
  if (file < rest.size()) {
    reference.file = rest.substr(file + 1);
    if (reference.file.empty() || !is_safe_path(reference.file)) malformed();
  }
  return reference;
}

HubSettings HubSettings::from_environment() {
  HubSettings settings;
  settings.endpoint = variable("HF_ENDPOINT");
  if (settings.endpoint.empty()) settings.endpoint = "https://huggingface.co";
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  if (!settings.endpoint.starts_with("https://") && !settings.endpoint.starts_with("http://"))
    fail("HF_ENDPOINT is '%s': expected an http or https address", settings.endpoint.c_str());
  settings.token = find_token();
  if (std::any_of(settings.token.begin(), settings.token.end(), [](unsigned char c) { return c <= 32 || c >= 127; }))
    fail("HF_TOKEN, or the file it is read from, contains characters that no token has");
  settings.cache = variable("HF_HUB_CACHE");
  if (settings.cache.empty()) settings.cache = home() / "hub";
  settings.offline = is_set("HF_HUB_OFFLINE");
  return settings;
}

}  // namespace ferry

#include "converter/checkpoint/companions.h"

#include <fstream>
#include <iterator>

#include "converter/checkpoint/inside.h"
#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry {

Companions::Companions(std::filesystem::path folder) : path_(std::move(folder)) {}

Companions::Companions(std::filesystem::path file, std::shared_ptr<const Texts> made)
    : path_(std::move(file)), made_(std::move(made)) {}

bool Companions::has(const std::string& name) const {
  return made_ ? made_->contains(name) : std::filesystem::exists(path_ / name);
}

std::string Companions::read(const std::string& name) const {
  if (!has(name)) return {};
  if (made_) return made_->at(name);
  check_inside(path_, path_ / name);
  std::ifstream file(path_ / name, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad()) fail("%s: cannot be read", where(name).c_str());
  return bytes;
}

nlohmann::json Companions::read_json(const std::string& name) const {
  return has(name) ? parse_json(read(name), where(name)) : nlohmann::json();
}

std::string Companions::where(const std::string& name) const {
  return made_ ? path_.string() + ": " + name : (path_ / name).string();
}

}  // namespace ferry

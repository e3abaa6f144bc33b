#include "converter/export/export.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "converter/checkpoint/sha256.h"
#include "converter/error.h"
#include "converter/export/deflate.h"
#include "converter/export/restore.h"
#include "converter/write_file.h"
#include "sdk/model/model.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxGrowth = 64;  // maximum total size of the files, in sizes of the blob
constexpr size_t kMaxFiles = 1 << 16;

// A folder that is created atomically: filled beside its destination and renamed.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& place) : place_(place) {
    if (!place_.has_filename()) place_ = place_.parent_path();  // "folder/"
    std::error_code error;
    if (fs::exists(place_, error) && !(fs::is_directory(place_, error) && fs::is_empty(place_, error)))
      fail("'%s': exists and is not an empty folder", place_.c_str());
    name_ = place_.string() + "." + random_letters() + ".part";
    remembered_.remember(name_, TemporaryName::Kind::Folder);
    if (::mkdir(name_.c_str(), 0777) != 0) {
      const int why = errno;
      name_.clear();
      remembered_.forget();
      fail("'%s': cannot be made: %s", place_.c_str(), std::strerror(why));
    }
  }
  ~NewFolder() {
    std::error_code ignored;
    if (!name_.empty()) fs::remove_all(name_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  fs::path path() const { return name_; }
  void keep() {
    if (::rename(name_.c_str(), place_.c_str()) != 0)
      fail("'%s': cannot be made: %s", place_.c_str(), std::strerror(errno));
    name_.clear();
  }

 private:
  fs::path place_;
  std::string name_;
  TemporaryName remembered_;
};

// A blob's checkpoint and the sources of its parts.
class Export {
 public:
  explicit Export(const fs::path& blob);

  uint64_t bytes() const { return bytes_; }
  const flatbuffers::Vector<flatbuffers::Offset<fbs::File>>& files() const { return *table_->files(); }
  void write(const fbs::File& file, const fs::path& folder) const;

 private:
  void read_table(std::span<const std::byte> buffer);
  void check_files();
  [[noreturn]] void refuse_without_table() const;

  std::string where_;
  std::shared_ptr<Model> model_;
  const fbs::Checkpoint* table_ = nullptr;
  Stored stored_;
  uint64_t bytes_ = 0;
};

Export::Export(const fs::path& blob) : where_(blob.string()) {
  if (Status status = Model::open(blob.c_str(), &model_); !status.ok())
    fail("%s: %s", where_.c_str(), status.message().data());
  const auto& buffers = *model_->root().buffers();
  const uint32_t index = model_->root().checkpoint();
  if (index == 0) refuse_without_table();
  if (index >= buffers.size()) fail("%s: refers to a checkpoint buffer that does not exist", where_.c_str());
  const std::span<const std::byte> own = model_->segment(index);
  stored_ = {.kept = own,
             .segment = [model = model_.get()](uint32_t buffer) { return model->segment(buffer); },
             .buffers = buffers.size(),
             .bytes = 0,
             .where = where_.c_str()};
  for (const fbs::Buffer* buffer : buffers) stored_.bytes = std::max(stored_.bytes, buffer->offset() + buffer->size());
  read_table(own);
  if (table_->lost())
    fail(
        "%s: does not hold '%.200s' as its checkpoint has it (%llu bytes are lost in all): `ferry convert "
        "--exportable` keeps what is stored otherwise",
        where_.c_str(), table_->lost()->c_str(), static_cast<unsigned long long>(table_->lost_bytes()));
  check_files();
}

// Throws Error that says why there is no table.
void Export::refuse_without_table() const {
  const fbs::Provenance* provenance = model_->root().provenance();
  if (provenance && provenance->options())
    for (const flatbuffers::String* option : *provenance->options())
      if (option->str() == "--weights i8" || option->str() == "--weights i4")
        fail("%s: its weights are integers (%s): only a blob of unquantized weights can restore its checkpoint",
             where_.c_str(), option->c_str());
  if (provenance && text(provenance->family()) == std::string_view("onnx"))
    fail("%s: was made from an ONNX file: only blobs made from a checkpoint can restore it", where_.c_str());
  fail("%s: does not contain its checkpoint's files: convert them again", where_.c_str());
}

void Export::read_table(std::span<const std::byte> buffer) {
  uint64_t size = 0;
  const auto damaged = [this] { fail("%s: its table of the checkpoint's files is damaged", where_.c_str()); };
  if (buffer.size() < sizeof size) damaged();
  std::memcpy(&size, buffer.last(sizeof size).data(), sizeof size);
  if (size > buffer.size() - sizeof size || size >= FLATBUFFERS_MAX_BUFFER_SIZE) damaged();
  const std::span<const std::byte> table = buffer.subspan(buffer.size() - sizeof size - size, size);
  const auto* bytes = reinterpret_cast<const uint8_t*>(table.data());
  flatbuffers::Verifier verifier(bytes, table.size(), /*max_depth=*/8, /*max_tables=*/1 << 24);
  if (reinterpret_cast<uintptr_t>(bytes) % sizeof size != 0 || table.size() < 8 ||
      !fbs::VerifyCheckpointBuffer(verifier))
    damaged();
  table_ = fbs::GetCheckpoint(bytes);
}

// Checks that names stay in the folder and sizes equal those of the parts.
void Export::check_files() {
  if (!table_->files() || table_->files()->size() == 0 || table_->files()->size() > kMaxFiles)
    fail("%s: its table of the checkpoint's files has none, or too many", where_.c_str());
  const uint64_t most = kMaxGrowth * stored_.bytes;
  std::set<std::string> names;
  for (const fbs::File* file : files()) {
    const std::string name = file->name() ? file->name()->str() : "";
    const fs::path path = fs::path(name).lexically_normal();
    const bool inside = !path.empty() && path.is_relative() && path.has_filename() && path != "." &&
                        *path.begin() != ".." && name.find('\0') == name.npos && path.generic_string() == name;
    if (!inside || name.size() > 4096 || !names.insert(name).second)
      fail("%s: a file of its checkpoint has no name inside a folder, or one twice", where_.c_str());
    uint64_t size = 0;
    for (size_t i = 0; file->parts() && i < file->parts()->size(); ++i) {
      const fbs::Part& part = *file->parts()->Get(static_cast<unsigned>(i));
      if ((part.kept() != nullptr) == (part.numbers() != nullptr))
        fail("%s: a part of its checkpoint's file '%s' is neither stored nor derived", where_.c_str(), name.c_str());
      if (part.kept()) kept_bytes(*part.kept(), stored_);
      const uint64_t more = part.kept() ? part.kept()->size() : restored_size(*part.numbers(), stored_);
      if (more > most || size + more > most)
        fail("%s: its checkpoint's file '%s' would be more than %llu times as large as the blob", where_.c_str(),
             name.c_str(), static_cast<unsigned long long>(kMaxGrowth));
      size += more;
    }
    if (size != file->size() || !file->sha256())
      fail("%s: the parts of its checkpoint's file '%s' are not as long as it is", where_.c_str(), name.c_str());
    bytes_ += size;
    if (bytes_ > most)
      fail("%s: its checkpoint's files would be more than %llu times as large as the blob", where_.c_str(),
           static_cast<unsigned long long>(kMaxGrowth));
  }
}

void Export::write(const fbs::File& file, const fs::path& folder) const {
  const fs::path path = folder / file.name()->str();
  std::error_code error;
  fs::create_directories(path.parent_path(), error);  // writing reports the error
  NewFile out;
  or_fail(out.open(path.string()));
  Sha256 hash;
  const Sink sink = [&](std::span<const std::byte> bytes) {
    hash.update(bytes);
    or_fail(out.write(bytes));
  };
  for (size_t i = 0; file.parts() && i < file.parts()->size(); ++i) {
    const fbs::Part& part = *file.parts()->Get(static_cast<unsigned>(i));
    if (part.numbers()) {
      restore(*part.numbers(), stored_, sink);
      continue;
    }
    const std::span<const std::byte> bytes = kept_bytes(*part.kept(), stored_);
    if (part.kept()->deflated())
      inflate_to(bytes, part.kept()->size(), where_.c_str(), sink);
    else
      sink(bytes);
  }
  if (hash.hex() != file.sha256()->str())
    fail("%s: cannot restore the checkpoint's '%s': SHA-256 differs (a damaged blob?)", where_.c_str(),
         file.name()->c_str());
  or_fail(out.keep());
}

}  // namespace

Exported export_checkpoint(const fs::path& blob, const fs::path& folder,
                           const std::function<void(std::string_view file, double fraction)>& progress) {
  const Export checkpoint(blob);
  NewFolder out(folder);
  Exported done;
  for (const fbs::File* file : checkpoint.files()) {
    if (progress)
      progress(file->name()->string_view(),
               static_cast<double>(done.bytes) / static_cast<double>(std::max<uint64_t>(checkpoint.bytes(), 1)));
    checkpoint.write(*file, out.path());
    ++done.files;
    done.bytes += file->size();
  }
  out.keep();
  return done;
}

}  // namespace ferry

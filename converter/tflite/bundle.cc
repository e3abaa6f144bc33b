#include "converter/tflite/bundle.h"

#include "converter/checkpoint/zip.h"
#include "converter/error.h"

namespace ferry::tflite {
namespace {

constexpr const char *kPoints = "_landmarks_detector.tflite", *kDetector = "_detector.tflite";

}  // namespace

bool looks_like_bundle(const MappedFile& file) {
  if (looks_like_tflite(file.bytes())) return false;  // whose metadata may be an archive at its end
  try {
    for (const auto& [name, entry] : zip_entries(file))
      if (name.ends_with(".tflite") || name.ends_with(".task")) return true;
  } catch (const Error&) {
  }
  return false;
}

Bundle open_bundle(const std::shared_ptr<const MappedFile>& file) {
  const std::filesystem::path& path = file->path();
  const ZipEntry *detector = nullptr, *points = nullptr;
  const ZipEntries entries = zip_entries(*file);
  std::string names;
  for (const auto& [name, entry] : entries) {
    names += (names.empty() ? "" : ", ") + name;
    if (name.ends_with(kPoints))
      points = &entry;
    else if (name.ends_with(kDetector))
      detector = &entry;
  }
  if (!detector || !points)
    fail("%s has %s: expected a network that ends in %s and one in %s; unpack it to convert others", path.c_str(),
         names.c_str(), kDetector, kPoints);
  if (!detector->stored || !points->stored)
    fail("%s: its networks are compressed: pack them with zip -0", path.c_str());
  return {open_part(file, detector->bytes), open_part(file, points->bytes)};
}

}  // namespace ferry::tflite

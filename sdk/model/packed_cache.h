// Packed weights in the blob and in the app's cache folder.
#pragma once

#include <string>
#include <vector>

#include "sdk/model/packed_file.h"

namespace ferry {

// Attaches the first packed file in the blob that matches `target`. FERRY_UNSUPPORTED, FERRY_CORRUPT: none matches; the
// message describes the last one.
Status attach_embedded(const Model& model, const PackedTarget& target, PackedStore& store);

// Attaches the file for `target` in that folder, after a look at its owner, its mode and the checksum of all of its
// bytes. FERRY_NOT_FOUND: there is none. FERRY_IO_ERROR, FERRY_CORRUPT, FERRY_UNSUPPORTED: it cannot be used; the
// message says why.
Status attach_cached(PackedStore& store, const char* folder, const PackedTarget& target);

// Writes all entries of the store to the file for `target` in that folder, creates the folder if missing, and attaches
// the file. Heap entries that no operator holds are then freed. Entries that another process wrote meanwhile are kept.
// FERRY_IO_ERROR: the folder is unchanged.
Status save_cached(PackedStore& store, const char* folder, const PackedTarget& target);

// Writes the entries to a file of that name. FERRY_IO_ERROR.
Status write_packed(const PackedStore& store, const PackedTarget& target, const std::string& path);

// A short text that belongs to a packed file at `path` and lies beside it as `path` + `suffix`: valid for the same
// target only, with a checksum. FERRY_NOT_FOUND: there is none. FERRY_CORRUPT, FERRY_UNSUPPORTED: damaged, or of
// another target.
Status read_beside(const std::string& path, const char* suffix, const PackedTarget& target, std::string* text);
// Creates the folder if missing. FERRY_IO_ERROR.
Status write_beside(const std::string& path, const char* suffix, const PackedTarget& target, const std::string& text);

}  // namespace ferry

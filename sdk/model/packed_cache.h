// Packed files in the blob and in a cache folder of the app's.
#pragma once

#include <string>
#include <vector>

#include "sdk/model/packed_file.h"

namespace ferry {

// Attaches the first of the blob's own packed files that is for `target`. FERRY_UNSUPPORTED, FERRY_CORRUPT: none is,
// and why the last one is not.
Status attach_embedded(const Model& model, const PackedTarget& target, PackedStore& store);

// Attaches the file for `target` in that folder. FERRY_NOT_FOUND: there is none. FERRY_IO_ERROR, FERRY_CORRUPT,
// FERRY_UNSUPPORTED: it cannot be used, and why.
Status attach_cached(PackedStore& store, const char* folder, const PackedTarget& target);

// Writes all entries of the store to the file for `target` in that folder, which is made where it is missing, and
// attaches it: then nothing of the store is left on the heap but what operators hold. Entries that another process has
// put there meanwhile are kept. FERRY_IO_ERROR says what is in the way; the folder is as it was then.
Status save_cached(PackedStore& store, const char* folder, const PackedTarget& target);

// Writes the entries to `path`: beside it, then renamed. FERRY_IO_ERROR.
Status write_packed(const PackedStore& store, const PackedTarget& target, const std::string& path);

}  // namespace ferry

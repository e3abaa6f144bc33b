#include "sdk/model/verify_shared.h"

#include "sdk/model/model.h"
#include "sdk/model/verify_meaning.h"
#include "sdk/model/verify_ports.h"

namespace ferry {
namespace {

using ull = unsigned long long;

Status check_buffers(const fbs::Graph& root, uint64_t data_bytes) {
  if (count(root.buffers()) == 0) return error(FERRY_CORRUPT, "graph: no buffers, expected at least the empty one");
  const fbs::Buffer& none = *root.buffers()->Get(0);
  if (none.offset() != 0 || none.size() != 0)
    return error(FERRY_CORRUPT, "buffer 0: %llu bytes at %llu, expected the empty buffer",
                 static_cast<ull>(none.size()), static_cast<ull>(none.offset()));
  uint64_t end = 0;  // end of the segments so far, including kExtraBytes
  for (uint32_t i = 1; i < count(root.buffers()); ++i) {
    const uint64_t offset = root.buffers()->Get(i)->offset(), size = root.buffers()->Get(i)->size();
    if (offset % kAlignment != 0)
      return error(FERRY_CORRUPT, "buffer %u: begins at %llu of the data section, expected a multiple of %zu", i,
                   static_cast<ull>(offset), kAlignment);
    if (offset > data_bytes || size > data_bytes - offset || kExtraBytes > data_bytes - offset - size)
      return error(FERRY_CORRUPT,
                   "buffer %u: %llu bytes at %llu and %zu of padding reach past the data section's end at %llu", i,
                   static_cast<ull>(size), static_cast<ull>(offset), kExtraBytes, static_cast<ull>(data_bytes));
    if (offset < end)
      return error(FERRY_CORRUPT, "buffer %u: begins at %llu, before the padded buffer %u ends at %llu", i,
                   static_cast<ull>(offset), i - 1, static_cast<ull>(end));
    end = offset + size + kExtraBytes;
  }
  return {};
}

// With several graphs, each has a unique name.
Status check_graph_names(const fbs::Graph& root) {
  const uint32_t n = count(root.graphs());
  if (n >= kMaxGraphs)
    return error(FERRY_CORRUPT, "graph: %u graphs beside this one, at most %u are allowed", n, kMaxGraphs - 1);
  if (n == 0) return {};
  const auto name = [&](uint32_t i) { return i == 0 ? root.name() : root.graphs()->Get(i - 1)->name(); };
  for (uint32_t i = 0; i <= n; ++i) FERRY_TRY(verify_name("graph", i, name(i)));
  return verify_unique_names("graph", n + 1, name);
}

// Checks only the locations of packed files. Their contents are verified when they are opened.
Status check_packed(const fbs::Graph& root) {
  for (uint32_t i = 0; i < count(root.packed()); ++i) {
    const uint32_t buffer = root.packed()->Get(i)->buffer();
    if (buffer == 0 || buffer >= count(root.buffers()))
      return error(FERRY_CORRUPT, "packed weights %u: buffer %u of %u does not exist", i, buffer,
                   count(root.buffers()));
  }
  return {};
}

}  // namespace

Status verify_shared(const fbs::Graph& root, uint64_t data_bytes) {
  FERRY_TRY(check_buffers(root, data_bytes));
  FERRY_TRY(check_packed(root));
  return check_graph_names(root);
}

Status verify_nested(const fbs::Graph& graph) {
  const char* what = count(graph.graphs()) > 0    ? "graphs"
                     : count(graph.buffers()) > 0 ? "buffers"
                     : count(graph.states()) > 0  ? "states"
                     : count(graph.packed()) > 0  ? "packed weights"
                     : graph.text() != nullptr    ? "a text"
                     : graph.provenance()         ? "a provenance"
                                                  : nullptr;
  if (what == nullptr) return {};
  return error(FERRY_CORRUPT, "has %s of its own, which only the first graph may", what);
}

}  // namespace ferry

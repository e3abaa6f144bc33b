// Attention of few queries, those of a token that is generated: keys and values are read once, in the order in which
// they lie, for all queries and heads of a task.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ferry::cpu {

// What the queries of all heads that share keys may be at most.
inline constexpr size_t kFewQueries = 8;

// Causal: query i of `queries` is at place keys - queries + i.
struct FewQueries {
  const float* q;      // [queries, kv_heads * group, key_size]
  const float* k;      // [keys, kv_heads, key_size]
  const float* v;      // [keys, kv_heads, value_size]
  const float* sinks;  // [kv_heads * group], or null
  float* y;            // [queries, kv_heads * group, value_size]
  size_t queries, keys, kv_heads, group, key_size, value_size;
  size_t window;  // keys that a query sees, itself included; 0: all
  float scale;

  // Numbers of scratch for a task of `heads` of the kv_heads.
  uint64_t scratch(size_t heads) const;
};

// softmax(scale * q k^T) v of the queries that share the keys of `heads` heads from `first_head` on.
void attend_in_place(const FewQueries& a, size_t first_head, size_t heads, float* scratch);

}  // namespace ferry::cpu

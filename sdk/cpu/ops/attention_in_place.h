// Attention of few queries, as when a token is generated. Keys and values are read once, in memory order, for all
// queries and heads of a task.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sdk/cpu/elementwise/state_elements.h"

namespace ferry::cpu {

// Maximum number of query rows that share one key/value head.
inline constexpr size_t kFewQueries = 8;

// Causal: query i of `queries` is at position keys - queries + i.
struct FewQueries {
  const float* q;    // [queries, kv_heads * group, key_size]
  const void* k;     // [first_key + keys, kv_heads, key_size]
  const void* v;     // [first_key + keys, kv_heads, value_size]
  size_t first_key;  // the first of the keys and values
  StateElements keys_stored, values_stored;
  const float* sinks;  // [kv_heads * group], or null
  float* y;            // [queries, kv_heads * group, value_size]
  size_t queries, keys, kv_heads, group, key_size, value_size;
  size_t window;  // keys that a query attends to, itself included; 0: all
  float scale, softcap;

  // Scratch elements for a task of `heads` key/value heads.
  uint64_t scratch(size_t heads) const;
};

// scores = softcap * tanh(scores / softcap)
void cap(float* scores, size_t count, float softcap);

// Computes softmax(scale * q k^T) v, its scores capped if softcap is above 0, for the queries of `heads` key/value
// heads from `first_head`.
void attend_in_place(const FewQueries& a, size_t first_head, size_t heads, float* scratch);

}  // namespace ferry::cpu

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <iterator>

#include "sdk/gpu/lowerings.h"

namespace ferry::gpu {
namespace {

struct Entry {
  fbs::OpParams type;
  int alternatives;
  bool epilogue;
  Status (*lower)(const Problem& problem, int alternative, Lowering* out);
};

constexpr Entry kEntries[] = {
    {fbs::OpParams::Conv2d, kConv2dAlternatives, true, lower_conv2d},
    {fbs::OpParams::Linear, kLinearAlternatives, true, lower_linear},
    {fbs::OpParams::Pool2d, 1, true, lower_pool2d},
    {fbs::OpParams::Unary, 1, true, lower_unary},
    {fbs::OpParams::Binary, 2, true, lower_binary},
    {fbs::OpParams::Reduce, 2, true, lower_reduce},
    {fbs::OpParams::Concat, 1, false, lower_concat},
    {fbs::OpParams::PixelShuffle, 1, false, lower_pixel_shuffle},
    {fbs::OpParams::Resize2d, 1, true, lower_resize2d},
    {fbs::OpParams::Pad, 1, false, lower_pad},
    {fbs::OpParams::Reshape, 1, false, lower_reshape},
    {fbs::OpParams::Transpose, 1, false, lower_transpose},
    {fbs::OpParams::Slice, 1, false, lower_slice},
    {fbs::OpParams::Softmax, 2, false, lower_softmax},
    {fbs::OpParams::ConvTranspose2d, kConvTranspose2dAlternatives, true, lower_conv_transpose2d},
    {fbs::OpParams::LayerNorm, 1, true, lower_layer_norm},
    {fbs::OpParams::GroupNorm, 1, true, lower_group_norm},
    {fbs::OpParams::Grn, 1, true, lower_grn},
    {fbs::OpParams::Attention, 1, false, lower_attention},
    {fbs::OpParams::RotaryEmbedding, 1, false, lower_rotary_embedding},
    {fbs::OpParams::WindowPartition, 1, true, lower_window_partition},
    {fbs::OpParams::WindowReverse, 1, true, lower_window_reverse},
};

#define FERRY_TYPE(Type, ...) fbs::OpParams::Type,
constexpr fbs::OpParams kListed[] = {FERRY_OPERATORS_ON_GPU(FERRY_TYPE)};
#undef FERRY_TYPE
static_assert(std::equal(std::begin(kEntries), std::end(kEntries), std::begin(kListed), std::end(kListed),
                         [](const Entry& entry, fbs::OpParams type) { return entry.type == type; }),
              "the operators are not those of FERRY_OPERATORS_ON_GPU, in its order");

constexpr const Entry* find(fbs::OpParams type) {
  for (const Entry& entry : kEntries)
    if (entry.type == type) return &entry;
  return nullptr;
}

}  // namespace

bool has_epilogue(fbs::OpParams type) {
  const Entry* entry = find(type);
  return entry != nullptr && entry->epilogue;
}

int alternatives(fbs::OpParams type) {
  const Entry* entry = find(type);
  return entry != nullptr ? entry->alternatives : 0;
}

Status lower(const Problem& problem, int alternative, Lowering* out) {
  return find(problem.op.params_type())->lower(problem, alternative, out);
}

Status unsupported(const char* format, ...) {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return Status(FERRY_UNSUPPORTED, message);
}

}  // namespace ferry::gpu

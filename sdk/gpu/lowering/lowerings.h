// One function per operator: lower_conv2d() and so on lower the schema's parameter table.
#pragma once

#include "sdk/gpu/lowering/op.h"
#include "sdk/operators/operators.h"

namespace ferry::gpu {

#define FERRY_LOWERING(Type, name, ...) Status lower_##name(const Problem& problem, int alternative, Lowering* out);
FERRY_OPERATORS_ON_GPU(FERRY_LOWERING)
FERRY_OPERATORS_WITH_STATE_ON_GPU(FERRY_LOWERING)
#undef FERRY_LOWERING

// Copies `rows` of `input` to `output`, after `first` rows of the same length, with the concat kernel.
void add_rows(const Rows& rows, uint32_t first, const Operand& input, const Operand& output, Lowering* out);

inline constexpr int kLinearAlternatives = 16, kConv2dAlternatives = 28, kConvTranspose2dAlternatives = 6,
                     kAttentionAlternatives = 2, kMatMulAlternatives = 4, kDeformConv2dAlternatives = 3;

}  // namespace ferry::gpu

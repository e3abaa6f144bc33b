#include "sdk/cpu/gemm/linear_blocks.h"

#include <algorithm>
#include <cstring>

#include "sdk/cpu/backend/parallel.h"
#include "sdk/model/elements.h"

#define FERRY_BLOCKS_VECTORS
#include "sdk/cpu/gemm/linear_blocks_kernels.h"

namespace ferry::cpu {
namespace {

constexpr size_t kBlockTasks = 64;
constexpr int kNibbleZero = 8;

#if defined(__aarch64__)

// Without dot products. Eight products of a nibble fit 16 bits.
struct BlocksNeon : NeonBlocks {
  static constexpr size_t kPowers = 1;

  static int8x16_t inputs(const int8_t* x) { return vreinterpretq_s8_s32(vdupq_n_s32(four(x))); }
  template <unsigned kBits>
  static Ints dot(const uint8_t* codes, const int8_t* x, int32_t first) {
    if constexpr (kBits == 4) {
      int16x8_t low = vdupq_n_s16(0), high = low;
      for (size_t g = 0; g < 8; ++g) {
        const uint8x16_t both = vld1q_u8(codes + g % 4 * kGroupBytes);
        const int8x16_t w = vreinterpretq_s8_u8(g < 4 ? vandq_u8(both, vdupq_n_u8(15)) : vshrq_n_u8(both, 4));
        const int8x16_t four_inputs = inputs(x + 4 * g);
        low = vmlal_s8(low, vget_low_s8(w), vget_low_s8(four_inputs));
        high = vmlal_high_s8(high, w, four_inputs);
      }
      return vaddq_s32(vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)), vdupq_n_s32(first));
    } else {
      int32x4_t low = vdupq_n_s32(0), high = low;
      for (size_t g = 0; g < 8; ++g) {
        const int8x16_t w = vreinterpretq_s8_u8(vld1q_u8(codes + g * kGroupBytes)), four_inputs = inputs(x + 4 * g);
        low = vpadalq_s16(low, vmull_s8(vget_low_s8(w), vget_low_s8(four_inputs)));
        high = vpadalq_s16(high, vmull_high_s8(w, four_inputs));
      }
      return vaddq_s32(vpaddq_s32(low, high), vdupq_n_s32(first));
    }
  }
};
constexpr BlockKernels kBaseBlocks = kernels_of<BlocksNeon>("neon");

#else

struct BlocksPlain {
  static constexpr size_t kLanes = 4, kPowers = 1;
  static constexpr int kByteZero = 0;
  using Ints [[gnu::vector_size(16)]] = int32_t;
  using Floats [[gnu::vector_size(16)]] = float;

  template <unsigned kBits>
  static Ints dot(const uint8_t* codes, const int8_t* x, int32_t first) {
    Ints sum = {first, first, first, first};
    for (size_t k = 0; k < kLinearBlock; ++k)
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const uint8_t byte = codes[k / 4 % kBits * kGroupBytes + 4 * lane + k % 4];
        const int code = kBits == 8 ? static_cast<int8_t>(byte) : k < kLinearBlock / 2 ? byte & 15 : byte >> 4;
        sum[lane] += code * x[k];
      }
    return sum;
  }
  static Floats scales(const uint16_t* from, bool float16) {
    Floats out = {};
    for (size_t lane = 0; lane < kLanes; ++lane)
      out[lane] = float16 ? from_float16(from[lane]) : from_bfloat16(from[lane]);
    return out;
  }
  static Floats multiply_add(Floats scale, Ints sum, Floats total) {
    return total + scale * __builtin_convertvector(sum, Floats);
  }
  static void store(float* to, Floats value) { std::memcpy(to, &value, sizeof value); }
};
constexpr BlockKernels kBaseBlocks = kernels_of<BlocksPlain>("plain");

#endif

}  // namespace

const BlockKernels* block_kernels([[maybe_unused]] const CpuFeatures& cpu) {
#if defined(__x86_64__)
  if (cpu.avx512_vnni) return block_kernels_dot();
  if (cpu.avx2 && cpu.float16) return block_kernels_avx2();
#elif defined(__aarch64__)
  if (cpu.dot_products) return block_kernels_dot();
#endif
  return &kBaseBlocks;
}

// XNNPACK has kernels for nibbles with BFloat16 scales.
bool LinearBlocks::pays(const CpuFeatures& cpu, const StoredConstant& weight) {
  if (weight.type.block == 0 || weight.type.block % kLinearBlock != 0) return false;
#if defined(__aarch64__)
  if (!cpu.byte_matrices) return true;  // XNNPACK's kernels for such cores are left out: cmake/xnnpack_kernels.cmake
#endif
  return cpu.avx512_vnni || weight.type.dtype == fbs::DType::Int8 || weight.scale_dtype == fbs::DType::Float16;
}

size_t LinearBlocks::panels() const { return (outputs_ + kPanelOutputs - 1) / kPanelOutputs; }

size_t LinearBlocks::panel_bytes() const {
  const size_t blocks = inputs_ / kLinearBlock, block = kPanelOutputs * (nibbles_ ? 16 : 32);
  const size_t bytes = blocks * (block + kPanelOutputs * sizeof(uint16_t)) + 2 * kPanelOutputs * sizeof(float);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Status LinearBlocks::create(const StoredConstant& weight, WeightSource& source) {
  nibbles_ = weight.type.dtype == fbs::DType::Int4;
  float16_ = weight.scale_dtype == fbs::DType::Float16;
  const auto* scales = reinterpret_cast<const uint16_t*>(weight.scales.data());
  constexpr uint16_t kSmallestNormal = 0x80, kInfinity = 0x7f80;
  const auto has_kernel = [](uint16_t bits) { return bits >= kSmallestNormal && bits < kInfinity; };
  if (nibbles_ && !float16_ &&  // XNNPACK's kernels require this, too
      !std::all_of(scales, scales + outputs_ * (inputs_ / static_cast<size_t>(weight.type.block)), has_kernel))
    return error(FERRY_UNSUPPORTED, "scales must be positive and normal");
  const auto fill = [&](std::byte* to) -> Status {
    const void* codes = nullptr;
    const float* bias = nullptr;
    FERRY_TRY(source.load(&codes, &bias));
    for (size_t panel = 0; panel < panels(); ++panel, to += panel_bytes())
      pack(static_cast<const uint8_t*>(codes), weight, bias, panel, to);
    return {};
  };
  const PackingId id = PackingId("linear_blocks", 1).add(static_cast<uint64_t>(kernels_.byte_zero)).add(float16_);
  return source.packed(id, 0, panels() * panel_bytes(), fill, &packed_);
}

void LinearBlocks::pack(const uint8_t* codes, const StoredConstant& weight, const float* bias, size_t panel,
                        std::byte* to) const {
  std::memset(to, 0, panel_bytes());
  const size_t blocks = inputs_ / kLinearBlock, block_bytes = kPanelOutputs * (nibbles_ ? 16 : 32);
  const auto* scales = reinterpret_cast<const uint16_t*>(weight.scales.data());
  const size_t wide = static_cast<size_t>(weight.type.block) / kLinearBlock;  // blocks with one scale
  auto* bytes = reinterpret_cast<uint8_t*>(to);
  auto* to_scales = reinterpret_cast<uint16_t*>(bytes + blocks * block_bytes);
  auto* to_bias = reinterpret_cast<float*>(to_scales + blocks * kPanelOutputs);
  for (size_t lane = 0; lane < std::min(kPanelOutputs, outputs_ - panel * kPanelOutputs); ++lane) {
    const size_t output = panel * kPanelOutputs + lane;
    double all = 0;
    for (size_t b = 0; b < blocks; ++b) {
      const uint16_t scale = scales[output * (blocks / wide) + b / wide];
      int sum = 0;
      for (size_t k = 0; k < kLinearBlock; ++k) {
        const size_t at = output * inputs_ + b * kLinearBlock + k;
        const size_t group = k / 4 % (nibbles_ ? 4 : 8);
        uint8_t& byte = bytes[b * block_bytes + group * kGroupBytes + lane * 4 + k % 4];
        if (nibbles_) {
          const int nibble = codes[at / 2] >> (at % 2 * 4) & 15;
          byte |= static_cast<uint8_t>(k < kLinearBlock / 2 ? nibble : nibble << 4);
          sum += nibble - kNibbleZero;
        } else {
          const int value = static_cast<int8_t>(codes[at]);
          byte = static_cast<uint8_t>(value + kernels_.byte_zero);
          sum += value;
        }
      }
      to_scales[b * kPanelOutputs + lane] = scale;
      all += sum * static_cast<double>(float16_ ? from_float16(scale) : from_bfloat16(scale));
    }
    to_bias[lane] = bias != nullptr ? bias[output] : 0.0f;
    to_bias[kPanelOutputs + lane] = static_cast<float>(all);
  }
}

void LinearBlocks::run(const BlockRows& rows, float* y, Pool* pool) const {
  const size_t blocks = inputs_ / kLinearBlock;
  const int zero = nibbles_ ? kNibbleZero : kernels_.byte_zero;
  parallel_rows(pool, rows.count, inputs_, [&](size_t begin, size_t end) {
    for (size_t i = begin * blocks; i < end * blocks; ++i) {
      int32_t sum = 0;
      for (size_t k = 0; k < kLinearBlock; ++k) sum += rows.values[i * kLinearBlock + k];
      rows.sums[i] = -zero * sum;
    }
  });
  const BlockWeights weights{packed_.get(), inputs_, outputs_, panel_bytes(), min_, max_, float16_};
  const auto& compute = kernels_.compute[nibbles_ ? 0 : 1];
  parallel_for(pool, panels(), (panels() + kBlockTasks - 1) / kBlockTasks, [&](size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; ++panel)
      for (size_t row = 0; row < rows.count;) {
        size_t power = BlockKernels::kPowers - 1;
        while (compute[power] == nullptr || (size_t{1} << power) > rows.count - row) --power;
        compute[power](weights, rows, row, panel, y);
        row += size_t{1} << power;
      }
  });
}

}  // namespace ferry::cpu

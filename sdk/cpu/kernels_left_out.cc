// XNNPACK's tables name kernels of operators that Ferry never creates: convolutions of 8-bit activations, functions of
// half precision and of integers. And it has the same matrix product for many cores, where nearly all are ours
// (gemm.h): one of each size does for what is left, small products, grouped and transposed convolutions. Exynos M1 and
// M2, of 2016 and 2017, do with what others run (sdk/threads/core_kinds.cc). Defined here, where the linker looks
// first, the rest stays out of the library: 80 KB of the arm64 one.
#if defined(__aarch64__)

extern "C" {
// XNNPACK's words for its operators, which it writes to a log that its release builds do not have.
const char* xnn_operator_type_to_string(int) { return ""; }

static void kernel_left_out() { __builtin_trap(); }

#define FERRY_LEAVE_OUT(kernel) void kernel() __attribute__((alias("kernel_left_out")));
FERRY_LEAVE_OUT(xnn_f32_gemm_minmax_ukernel_1x8s4__neonfma)
FERRY_LEAVE_OUT(xnn_f32_gemm_minmax_ukernel_4x8s4__neonfma)
FERRY_LEAVE_OUT(xnn_f32_gemm_minmax_ukernel_6x8s4__neonfma)
FERRY_LEAVE_OUT(xnn_f32_igemm_minmax_ukernel_1x8s4__neonfma)
FERRY_LEAVE_OUT(xnn_f32_igemm_minmax_ukernel_4x8s4__neonfma)
FERRY_LEAVE_OUT(xnn_f32_igemm_minmax_ukernel_6x8s4__neonfma)
FERRY_LEAVE_OUT(xnn_qd8_f32_qc8w_igemm_minmax_ukernel_1x16c4__neondot)
FERRY_LEAVE_OUT(xnn_qd8_f32_qc8w_igemm_minmax_ukernel_1x16c8__neoni8mm)
FERRY_LEAVE_OUT(xnn_qd8_f32_qc8w_igemm_minmax_ukernel_1x8c2s4__neon_mlal)
FERRY_LEAVE_OUT(xnn_qd8_f32_qc8w_igemm_minmax_ukernel_2x8c2s4__neon_mlal)
FERRY_LEAVE_OUT(xnn_qd8_f32_qc8w_igemm_minmax_ukernel_4x16c4__asm_aarch64_neondot_cortex_a55)
FERRY_LEAVE_OUT(xnn_qd8_f32_qc8w_igemm_minmax_ukernel_4x16c4__asm_aarch64_neondot_ld128)
FERRY_LEAVE_OUT(xnn_qd8_f32_qc8w_igemm_minmax_ukernel_4x16c8__neoni8mm)
FERRY_LEAVE_OUT(xnn_x32_packw_gemm_goi_ukernel_x8s4__neon_ld4lane_u4_prfm)
#if FERRY_COMMON_DEPTHWISE  // of built_in.h's features: other depthwise convolutions are refused (conv2d.cc)
FERRY_LEAVE_OUT(xnn_f32_dwconv_minmax_ukernel_3p8c__neonfma)
FERRY_LEAVE_OUT(xnn_f32_dwconv_minmax_ukernel_4p8c__neonfma)
FERRY_LEAVE_OUT(xnn_f32_dwconv_minmax_ukernel_5f5m5l8c4s4r__neonfma_acc2)
FERRY_LEAVE_OUT(xnn_f32_dwconv_minmax_ukernel_9p4c__asm_aarch64_neonfma_cortex_a55)
FERRY_LEAVE_OUT(xnn_f32_dwconv_minmax_ukernel_9p8c__neonfma)
#endif
#undef FERRY_LEAVE_OUT

// What packs weights of other layouts and types than Ferry gives: weights are [outputs,...,inputs] and floats. These
// are of one object with those that it needs, so the linker is told to take ours in their place (cmake/sdk.cmake reads
// the names here).
#define FERRY_LEAVE_OUT_PACKING(kernel) void __wrap_##kernel() __attribute__((alias("kernel_left_out")));
FERRY_LEAVE_OUT_PACKING(xnn_pack_f32_conv_kgo_w)
FERRY_LEAVE_OUT_PACKING(xnn_pack_f32_dwconv_hwg_w)
FERRY_LEAVE_OUT_PACKING(xnn_pack_f32_gemm_gio_w)
FERRY_LEAVE_OUT_PACKING(xnn_pack_qs8_gemm_gio_w)
#undef FERRY_LEAVE_OUT_PACKING
#if FERRY_COMMON_DEPTHWISE
#define FERRY_LEAVE_OUT_DEPTHWISE(kernel) void __wrap_##kernel() __attribute__((alias("kernel_left_out")));
FERRY_LEAVE_OUT_DEPTHWISE(xnn_pack_f32_dwconv_ghw_w)
FERRY_LEAVE_OUT_DEPTHWISE(xnn_pack_f32_vmulcaddc_w)
#undef FERRY_LEAVE_OUT_DEPTHWISE
#endif
}

// A kernel in the place of another of the same tile and layout.
#define FERRY_FUNCTION_INSTEAD_OF(name, other) \
  asm(".text\n.globl " name "\n.hidden " name "\n.type " name ", %function\n" name ": b " other);
#define FERRY_INSTEAD_OF(name, kernel, other) FERRY_FUNCTION_INSTEAD_OF("xnn_f32_" name kernel, "xnn_f32_" name other)
#define FERRY_INSTEAD_OF_BOTH(kernel, other)              \
  FERRY_INSTEAD_OF("gemm_minmax_ukernel_", kernel, other) \
  FERRY_INSTEAD_OF("igemm_minmax_ukernel_", kernel, other)
FERRY_INSTEAD_OF("gemm_minmax_ukernel_", "1x8__asm_aarch64_neonfma_cortex_a75",
                 "1x8__asm_aarch64_neonfma_cortex_a75_prfm")
FERRY_INSTEAD_OF("igemm_minmax_ukernel_", "1x8__asm_aarch64_neonfma_cortex_a75", "1x8__asm_aarch64_neonfma_ld64")
FERRY_INSTEAD_OF("igemm_minmax_ukernel_", "1x8__asm_aarch64_neonfma_cortex_a75_prfm", "1x8__asm_aarch64_neonfma_ld64")
FERRY_INSTEAD_OF("gemm_minmax_ukernel_", "1x8__asm_aarch64_neonfma_cortex_a53",
                 "1x8__asm_aarch64_neonfma_cortex_a53_prfm")
FERRY_INSTEAD_OF("igemm_minmax_ukernel_", "1x8__asm_aarch64_neonfma_cortex_a53", "1x8__asm_aarch64_neonfma_ld64")
FERRY_INSTEAD_OF("igemm_minmax_ukernel_", "1x8__asm_aarch64_neonfma_cortex_a53_prfm", "1x8__asm_aarch64_neonfma_ld64")
FERRY_INSTEAD_OF_BOTH("4x8__asm_aarch64_neonfma_cortex_a53", "4x8__asm_aarch64_neonfma_ld128")
FERRY_INSTEAD_OF_BOTH("4x8__asm_aarch64_neonfma_cortex_a53_prfm", "4x8__asm_aarch64_neonfma_ld128")
FERRY_INSTEAD_OF_BOTH("4x8__asm_aarch64_neonfma_cortex_a55", "4x8__asm_aarch64_neonfma_ld128")
FERRY_INSTEAD_OF_BOTH("4x8__asm_aarch64_neonfma_cortex_a75", "4x8__asm_aarch64_neonfma_ld128")
FERRY_INSTEAD_OF_BOTH("4x8__asm_aarch64_neonfma_cortex_a75_prfm", "4x8__asm_aarch64_neonfma_ld128")
FERRY_INSTEAD_OF_BOTH("6x8__aarch64_neonfma_lane_ld128", "6x8__asm_aarch64_neonfma_ld128")
FERRY_INSTEAD_OF_BOTH("6x8__asm_aarch64_neonfma_cortex_a53", "6x8__asm_aarch64_neonfma_ld128")
FERRY_INSTEAD_OF_BOTH("6x8__asm_aarch64_neonfma_cortex_a53_prfm", "6x8__asm_aarch64_neonfma_ld128")
FERRY_INSTEAD_OF_BOTH("6x8__asm_aarch64_neonfma_cortex_a55", "6x8__asm_aarch64_neonfma_ld128")
FERRY_INSTEAD_OF_BOTH("6x8__asm_aarch64_neonfma_cortex_a73", "6x8__asm_aarch64_neonfma_ld128")
FERRY_INSTEAD_OF_BOTH("6x8__asm_aarch64_neonfma_cortex_a75_prfm", "6x8__asm_aarch64_neonfma_ld128")
// Weights are packed once, and most of them by ours.
FERRY_FUNCTION_INSTEAD_OF("xnn_x32_packw_gemm_goi_ukernel_x2__neon_ld2lane_u2_prfm", "xnn_pack_f32_gemm_goi_w")
FERRY_FUNCTION_INSTEAD_OF("xnn_x32_packw_gemm_goi_ukernel_x8__neon_ld4lane_u4_prfm", "xnn_pack_f32_gemm_goi_w")
#undef FERRY_INSTEAD_OF_BOTH
#undef FERRY_INSTEAD_OF
#undef FERRY_FUNCTION_INSTEAD_OF

#endif

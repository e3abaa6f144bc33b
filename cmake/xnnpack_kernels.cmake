# Runs inside XNNPACK's own configure (CMAKE_PROJECT_XNNPACK_INCLUDE), so that its pinned sources stay unchanged.
#
# gcc spills an accumulator of the 5x16 FMA3 kernels, and the inner loop then waits for that store, which more than
# halves the speed. Register-pressure-aware scheduling avoids the spill.
file(GLOB kernels "${CMAKE_CURRENT_SOURCE_DIR}/src/f32-gemm/gen/*-fma3-broadcast*.c"
     "${CMAKE_CURRENT_SOURCE_DIR}/src/f32-igemm/gen/*-fma3-broadcast*.c")
set_property(SOURCE ${kernels} APPEND_STRING PROPERTY COMPILE_FLAGS " ${FERRY_FMA3_GEMM_FLAGS}")

# A product of one row and an integer matrix (a language model's token) is bound by memory bandwidth. The hardware
# prefetcher detects the sequential reads by itself; explicit prefetches of each line slow it down.
file(GLOB kernels "${CMAKE_CURRENT_SOURCE_DIR}/src/qd8-f32-q*w-gemm/gen/*-1x16c8-minmax-avx512*-prfm.c")
set_property(SOURCE ${kernels} APPEND PROPERTY COMPILE_OPTIONS ${FERRY_NO_PREFETCH})

# Small targets: compile operator creation and kernel selection for size, which cost microseconds per session. Execution
# (operator-run, indirection) and weight packing stay optimised for speed.
if(FERRY_SMALL_OPERATORS)
  file(GLOB planning "${CMAKE_CURRENT_SOURCE_DIR}/src/operators/*.c" "${CMAKE_CURRENT_SOURCE_DIR}/src/configs/*.c"
       "${CMAKE_CURRENT_SOURCE_DIR}/src/*.c")
  list(FILTER planning EXCLUDE REGEX "/(operator-run|indirection|packing)\\.c$")
  set_property(SOURCE ${planning} APPEND_STRING PROPERTY COMPILE_FLAGS " -Os")
endif()

# arm64: XNNPACK has a float32 product for each of seven cores. Ferry's own tile computes all but small ones, so two of
# them serve: one for cores that execute in order, and one for the others. They add in the same order, and read the same
# layout. Kernels that differ by prefetches alone, or by the order for one core, are one, too. This saves 40 KB.
if(FERRY_SMALL_OPERATORS AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(substitutes)
  foreach(product gemm igemm)
    foreach(tile 4x8 6x8)
      set(kernel "xnn_f32_${product}_minmax_ukernel_${tile}__")
      foreach(core a53 a55)
        list(APPEND substitutes "${kernel}asm_aarch64_neonfma_cortex_${core}=${kernel}asm_aarch64_neonfma_cortex_a53_prfm")
      endforeach()
      foreach(core asm_aarch64_neonfma_cortex_a73 asm_aarch64_neonfma_cortex_a75 asm_aarch64_neonfma_cortex_a75_prfm
                   aarch64_neonfma_lane_ld128)
        list(APPEND substitutes "${kernel}${core}=${kernel}asm_aarch64_neonfma_ld128")
      endforeach()
    endforeach()
    foreach(core a53 a75)
      set(kernel "xnn_f32_${product}_minmax_ukernel_1x8__asm_aarch64_neonfma_cortex_${core}")
      list(APPEND substitutes "${kernel}=${kernel}_prfm")
    endforeach()
    foreach(tile 1x8c8 2x8c8)
      set(kernel "xnn_qs8_qc8w_${product}_minmax_fp32_ukernel_${tile}__asm_aarch64_neon_mlal")
      list(APPEND substitutes "${kernel}=${kernel}_prfm" "${kernel}_cortex_a53_prfm=${kernel}_prfm")
    endforeach()
    set(kernel "xnn_qs8_qc8w_${product}_minmax_fp32_ukernel_4x16__asm_aarch64_neon_mlal_lane_")
    list(APPEND substitutes "${kernel}ld64=${kernel}cortex_a53")
  endforeach()
  # Never called, so one stands for all: convolutions of rows that a run rounds; and products of Int4 in blocks on cores
  # without I8MM, which LinearBlocks computes. This saves 16 KB.
  set(kernel "xnn_qd8_f32_qc8w_igemm_minmax_ukernel_")
  foreach(unused 1x16c8__neoni8mm 1x8c2s4__neon_mlal 2x8c2s4__neon_mlal 4x16c4__asm_aarch64_neondot_cortex_a55
                 4x16c4__asm_aarch64_neondot_ld128 4x16c4__neondot 4x16c8__neoni8mm)
    list(APPEND substitutes "${kernel}${unused}=${kernel}1x16c4__neondot")
  endforeach()
  set(kernel "xnn_qd8_f32_qb4w_gemm_minmax_ukernel_")
  foreach(unused 1x16__neon_mlal_lane 6x16__neon_mlal_lane 1x16c4__neondot 4x16c4__neondot)
    list(APPEND substitutes "${kernel}${unused}=${kernel}1x16c8__neoni8mm")
  endforeach()
  set_property(SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/src/configs/gemm-config.c" APPEND PROPERTY COMPILE_DEFINITIONS ${substitutes})
endif()

# A kernel is a short file that includes thousands of lines. Sixteen kernels with the same flags are compiled together
# to save time, scalar ones apart: on ARM they have the flags of NEON kernels, but define the same names.
function(ferry_kernels_together)
  get_target_property(sources microkernels-prod SOURCES)
  list(REMOVE_DUPLICATES sources)
  set(together)
  set(keys)
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "\\.c$")
      list(APPEND together "${source}")
      continue()
    endif()
    get_source_file_property(flags "${source}" COMPILE_FLAGS)
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    string(REGEX MATCH "scalar" scalar "${source}")
    string(MD5 key "${flags}|${options}|${scalar}")
    if(NOT key IN_LIST keys)
      list(APPEND keys ${key})
      set(flags_${key} "${flags}")
      set(options_${key} "${options}")
    endif()
    list(APPEND sources_${key} "${source}")
  endforeach()
  foreach(key IN LISTS keys)
    set(count 0)
    set(text)
    list(LENGTH sources_${key} length)
    foreach(source IN LISTS sources_${key})
      string(APPEND text "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${source}\"\n")
      math(EXPR count "${count} + 1")
      math(EXPR rest "${count} % 16")
      if(rest EQUAL 0 OR count EQUAL length)
        set(file "${CMAKE_CURRENT_BINARY_DIR}/together/${key}_${count}.c")
        file(WRITE "${file}" "${text}")
        foreach(property flags options)
          if(${property}_${key})
            string(TOUPPER "COMPILE_${property}" name)
            set_source_files_properties("${file}" PROPERTIES ${name} "${${property}_${key}}")
          endif()
        endforeach()
        list(APPEND together "${file}")
        set(text)
      endif()
    endforeach()
  endforeach()
  set_target_properties(microkernels-prod PROPERTIES SOURCES "${together}")
endfunction()
cmake_language(DEFER CALL ferry_kernels_together)

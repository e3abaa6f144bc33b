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
# layout. Kernels that differ by prefetches alone are one, too, with them. This saves 32 KB.
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
      list(APPEND substitutes "${kernel}=${kernel}_prfm")
    endforeach()
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

# Runs inside XNNPACK's own configure (CMAKE_PROJECT_XNNPACK_INCLUDE), so that its pinned sources stay as they are.
#
# gcc keeps one accumulator of the 5x16 FMA3 kernels in memory, and its inner loop then waits for that store: 38 instead
# of 95 GFLOP/s on a Zen 3 core whose peak is 104. Scheduling with an eye on register pressure avoids the spill.
file(GLOB kernels "${CMAKE_CURRENT_SOURCE_DIR}/src/f32-gemm/gen/*-fma3-broadcast*.c"
     "${CMAKE_CURRENT_SOURCE_DIR}/src/f32-igemm/gen/*-fma3-broadcast*.c")
set_property(SOURCE ${kernels} APPEND_STRING PROPERTY COMPILE_FLAGS " ${FERRY_FMA3_GEMM_FLAGS}")

# Where the library must stay small: what plans operators and chooses kernels, which takes microseconds a session. What
# runs while a network does (operator-run, indirection) and what packs weights stays as fast as it was.
if(FERRY_SMALL_OPERATORS)
  file(GLOB planning "${CMAKE_CURRENT_SOURCE_DIR}/src/operators/*.c" "${CMAKE_CURRENT_SOURCE_DIR}/src/configs/*.c"
       "${CMAKE_CURRENT_SOURCE_DIR}/src/*.c")
  list(FILTER planning EXCLUDE REGEX "/(operator-run|indirection|packing)\\.c$")
  set_property(SOURCE ${planning} APPEND_STRING PROPERTY COMPILE_FLAGS " -Os")
endif()

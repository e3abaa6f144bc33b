# Runs inside XNNPACK's own configure (CMAKE_PROJECT_XNNPACK_INCLUDE), so that its pinned sources stay as they are.
#
# gcc keeps one accumulator of the 5x16 FMA3 kernels in memory, and its inner loop then waits for that store: 38 instead
# of 95 GFLOP/s on a Zen 3 core whose peak is 104. Scheduling with an eye on register pressure avoids the spill.
file(GLOB kernels "${CMAKE_CURRENT_SOURCE_DIR}/src/f32-gemm/gen/*-fma3-broadcast*.c"
     "${CMAKE_CURRENT_SOURCE_DIR}/src/f32-igemm/gen/*-fma3-broadcast*.c")
set_property(SOURCE ${kernels} APPEND_STRING PROPERTY COMPILE_FLAGS " ${FERRY_FMA3_GEMM_FLAGS}")

# One row by a matrix of integers, a token by a language model's weights, is as fast as memory gives them. The hardware
# sees that they are read one after another; with a prefetch of each line as well, a Zen 4 core reads 13 to 16 GB/s
# of the 22 to 25 that it reads without.
file(GLOB kernels "${CMAKE_CURRENT_SOURCE_DIR}/src/qd8-f32-q*w-gemm/gen/*-1x16c8-minmax-avx512*-prfm.c")
set_property(SOURCE ${kernels} APPEND PROPERTY COMPILE_OPTIONS ${FERRY_NO_PREFETCH})

# Where the library must stay small: what plans operators and chooses kernels, which takes microseconds a session. What
# runs while a network does (operator-run, indirection) and what packs weights stays as fast as it was.
if(FERRY_SMALL_OPERATORS)
  file(GLOB planning "${CMAKE_CURRENT_SOURCE_DIR}/src/operators/*.c" "${CMAKE_CURRENT_SOURCE_DIR}/src/configs/*.c"
       "${CMAKE_CURRENT_SOURCE_DIR}/src/*.c")
  list(FILTER planning EXCLUDE REGEX "/(operator-run|indirection|packing)\\.c$")
  set_property(SOURCE ${planning} APPEND_STRING PROPERTY COMPILE_FLAGS " -Os")
endif()

# A kernel is a file of a few lines that reads thousands of them from headers: sixteen that have the same flags are compiled
# at once, in a third of the time. On ARM scalar and NEON kernels have the same flags and define the same names.
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
    string(MD5 key "${flags}|${options}")
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
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  cmake_language(DEFER CALL ferry_kernels_together)
endif()

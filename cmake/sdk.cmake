# The libraries that apps link: libferry.so and libferry.a; for text also libferry_text.so and libferry_text.a (sdk/text),
# which use the first only through the C API. They have no RTTI, export only ferry_*, and let no exception escape
# (sdk/attempt.h).
#
# The libraries are compiled for size. A file's suffix selects other flags:
#
#     *.kernel.cc       hot loops: optimised for speed, vectorised; FERRY_KERNEL (sdk/kernel.h) is available
#     *.exact.cc        the same, and every operation is rounded as written: nothing is contracted to FMA
#     *_avx2.cc         the same, with AVX2 vectors (sdk/cpu/elementwise/vector.h)
#     *_neon_fp16.cc    the same, with ARMv8.2's float16 instructions on arm64

set(optimised $<NOT:$<CONFIG:Debug>>)

# Compile options of everything that ships.
function(ferry_ships target)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
  if(NOT FERRY_SANITIZE)
    target_compile_options(${target} PRIVATE $<${optimised}:${FERRY_SHIP_LEVEL}>)
    # On phones and boards, tables for unwinding only of functions through which an exception can pass. gcc leaves out
    # the others if it writes the tables itself; the assembler writes one for each function.
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm|riscv")
      target_compile_options(${target} PRIVATE -fno-asynchronous-unwind-tables
                             $<$<C_COMPILER_ID:GNU>:-fno-dwarf2-cfi-asm> $<$<C_COMPILER_ID:GNU>:-fomit-frame-pointer>)
    endif()
  endif()
  if(NOT FERRY_EXCEPTIONS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
  endif()
endfunction()

# Hot loops. gcc turns a comparison in a loop into a select only if floating-point traps may be ignored, and vectorises
# square roots only if they need not set errno; values do not change. With AVX-512, gcc would use only half of each
# register by default.
function(ferry_is_hot target)
  target_compile_definitions(${target} PRIVATE FERRY_HOT=1)
  if(FERRY_SANITIZE)
    return() # the preset's options: -O3 takes minutes with instrumentation
  endif()
  target_compile_options(${target} PRIVATE $<${optimised}:-O3> -fno-trapping-math -fno-math-errno)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fno-peel-loops)
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
      target_compile_options(${target} PRIVATE -mprefer-vector-width=512)
    elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64") # accumulators fill all registers: rescheduling would spill them
      target_compile_options(${target} PRIVATE -fno-schedule-insns)
    endif()
  endif()
endfunction()

# Folds identical functions; no code compares function addresses. gcc looks for lld next to its own ld.
find_program(FERRY_LLD ld.lld)
if(CMAKE_SYSTEM_NAME STREQUAL "Android") # the NDK's linker
  set(FERRY_LINK_SMALL -Wl,--icf=all -Wl,-O2 -Wl,--pack-dyn-relocs=android) # packed relocations: API 23
elseif(FERRY_LLD AND NOT FERRY_SANITIZE AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64|arm.*)$")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/lld")
  file(CREATE_LINK "${FERRY_LLD}" "${PROJECT_BINARY_DIR}/lld/ld.lld" SYMBOLIC)
  set(FERRY_LINK_SMALL "-B${PROJECT_BINARY_DIR}/lld" -fuse-ld=lld -Wl,--icf=all -Wl,-O2)
endif()

# A shared library of these objects. The version script lists the exported symbols; tests/package compares them with
# sdk/abi.txt.
function(ferry_shared_library target name)
  add_library(${target} SHARED ${ARGN})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${FERRY_ABI_VERSION}
    LINK_DEPENDS "${PROJECT_SOURCE_DIR}/sdk/ferry.map" LINKER_LANGUAGE CXX)
  target_include_directories(${target} INTERFACE "${PROJECT_SOURCE_DIR}/sdk/include")
  target_link_options(${target} PRIVATE "-Wl,--version-script=${PROJECT_SOURCE_DIR}/sdk/ferry.map" ${FERRY_LINK_SMALL}
                      "-Wl,-Map=${PROJECT_BINARY_DIR}/lib${name}.map") # for scripts/component-sizes
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64") # supports 4 and 16 KB pages; 64 KB would add up to 48 KB of padding
    target_link_options(${target} PRIVATE -Wl,-z,max-page-size=16384)
  endif()
  if(NOT FERRY_SANITIZE) # the sanitizers' runtime is found in the program, not in the library
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

ferry_sources(sdk_sources sdk/*.cc sdk/files/*.cc sdk/operators/*.cc sdk/operators/shape_rules/*.cc sdk/model/*.cc sdk/threads/*.cc
  sdk/graph/*.cc sdk/cpu/*/*.cc sdk/image/*.cc sdk/task/*.cc sdk/api/*.cc)
if(FERRY_GPU)
  include(cmake/shaders.cmake)
  ferry_sources(gpu_sources sdk/gpu/*/*.cc)
  if(FERRY_GPU_CHECKS)
    list(FILTER gpu_sources EXCLUDE REGEX "checks_left_out\\.cc$")
  else()
    list(FILTER gpu_sources EXCLUDE REGEX "/(replay|recomputation|verdicts|watch|audit|sensors)\\.cc$")
  endif()
  list(APPEND sdk_sources ${gpu_sources})
  # volk loads Vulkan's functions at run time. Its single C file is compiled unchanged.
  set(volk "${FERRY_HEADERS}/volk.c")
  set_source_files_properties("${volk}" PROPERTIES COMPILE_OPTIONS -w)
  list(APPEND sdk_sources "${volk}")
endif()
foreach(suffix kernel exact avx2 neon_fp16)
  set(${suffix}_sources ${sdk_sources})
  list(FILTER ${suffix}_sources INCLUDE REGEX "[._]${suffix}\\.cc$")
  list(REMOVE_ITEM sdk_sources ${${suffix}_sources})
endforeach()

# Our objects only. Tests and the command line link this and may include internal headers.
add_library(ferry_core STATIC ${sdk_sources})
target_include_directories(ferry_core PUBLIC "${PROJECT_SOURCE_DIR}/sdk/include")
target_link_libraries(ferry_core PUBLIC ferry_headers XNNPACK::XNNPACK PRIVATE ferry_schema ferry_options)
if(NOT (FERRY_GPU AND FERRY_GPU_CHECKS))
  target_compile_definitions(ferry_core PUBLIC FERRY_GPU_CHECKS_LEFT_OUT)
endif()
if(FERRY_GPU)
  target_compile_definitions(ferry_core PUBLIC FERRY_GPU=1)
  add_dependencies(ferry_core ferry_shaders)
endif()
ferry_ships(ferry_core)
if(FERRY_SANITIZE) # its hot loops are apart, below
  target_compile_options(ferry_core PRIVATE -O0)
endif()

foreach(suffix kernel exact avx2 neon_fp16)
  add_library(ferry_${suffix} OBJECT ${${suffix}_sources})
  target_include_directories(ferry_${suffix} PRIVATE "${PROJECT_SOURCE_DIR}/sdk/include")
  target_link_libraries(ferry_${suffix} PRIVATE ferry_schema XNNPACK::XNNPACK ferry_options)
  ferry_ships(ferry_${suffix})
  ferry_is_hot(ferry_${suffix})
  set_target_properties(ferry_${suffix} PROPERTIES ${FERRY_APART}) # short names that clash, and instructions that other
                                                                   # files may not use
  target_sources(ferry_core PRIVATE $<TARGET_OBJECTS:ferry_${suffix}>)
endforeach()
target_compile_options(ferry_exact PRIVATE -ffp-contract=off)
# The reference rounds every operation as written, on every host: the converter folds weights with it, and blobs must have
# the same bytes.
ferry_sources(reference_sources sdk/reference/*.cc)
add_library(ferry_reference_operators OBJECT ${reference_sources})
target_include_directories(ferry_reference_operators PRIVATE "${PROJECT_SOURCE_DIR}/sdk/include")
target_link_libraries(ferry_reference_operators PRIVATE ferry_schema ferry_options)
ferry_ships(ferry_reference_operators)
target_compile_options(ferry_reference_operators PRIVATE -ffp-contract=off)
target_sources(ferry_core PRIVATE $<TARGET_OBJECTS:ferry_reference_operators>)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  target_compile_options(ferry_neon_fp16 PRIVATE -march=armv8.2-a+fp16)
  # It enables float16 vector types in system headers, which other files of a unity must not see.
  set_source_files_properties("${PROJECT_SOURCE_DIR}/sdk/cpu/depthwise/depthwise_fp16.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endif()

if(FERRY_SANITIZE)
  # With sanitizers and optimisation these templates take minutes each to compile.
  set_source_files_properties("${PROJECT_SOURCE_DIR}/sdk/cpu/depthwise/depthwise.kernel.cc" "${PROJECT_SOURCE_DIR}/sdk/cpu/depthwise/depthwise_avx2.cc"
                              "${PROJECT_SOURCE_DIR}/sdk/cpu/int8/depthwise.kernel.cc" "${PROJECT_SOURCE_DIR}/sdk/cpu/int8/depthwise_avx2.cc"
                              PROPERTIES COMPILE_OPTIONS -O0)
  # for a PNG with an empty chunk, stb calls memcpy(NULL, NULL, 0)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/sdk/image/codec.cc" PROPERTIES COMPILE_OPTIONS "-O2;-fno-sanitize=nonnull-attribute")
else() # stb's decoders, and the loops that hand out work
  ferry_sources(threads sdk/threads/*.cc)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/sdk/image/codec.cc" ${threads} PROPERTIES COMPILE_OPTIONS "$<${optimised}:-O2>")
endif()

ferry_shared_library(ferry_shared ferry $<TARGET_OBJECTS:ferry_core> $<TARGET_OBJECTS:ferry_kernel> $<TARGET_OBJECTS:ferry_exact>
                     $<TARGET_OBJECTS:ferry_avx2> $<TARGET_OBJECTS:ferry_neon_fp16> $<TARGET_OBJECTS:ferry_reference_operators>)
target_link_libraries(ferry_shared PRIVATE XNNPACK::XNNPACK)
add_library(Ferry::ferry ALIAS ferry_shared)

# The static library contains XNNPACK, so that an app links one archive.
set(FERRY_STATIC_ARCHIVE "${PROJECT_BINARY_DIR}/lib/libferry.a")
file(WRITE "${PROJECT_BINARY_DIR}/libferry.mri.in"
     "CREATE ${FERRY_STATIC_ARCHIVE}\nADDLIB $<TARGET_FILE:ferry_core>\nADDLIB ${FERRY_XNNPACK_ARCHIVE}\nSAVE\nEND\n")
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/libferry.mri" INPUT "${PROJECT_BINARY_DIR}/libferry.mri.in")
add_custom_command(
  OUTPUT "${FERRY_STATIC_ARCHIVE}"
  COMMAND "${CMAKE_COMMAND}" -E rm -f "${FERRY_STATIC_ARCHIVE}"
  COMMAND "${CMAKE_AR}" -M < "${PROJECT_BINARY_DIR}/libferry.mri"
  COMMAND "${CMAKE_RANLIB}" "${FERRY_STATIC_ARCHIVE}"
  DEPENDS ferry_core "${FERRY_XNNPACK_ARCHIVE}" "${PROJECT_BINARY_DIR}/libferry.mri"
  COMMENT "Merging libferry.a" VERBATIM)
add_custom_target(ferry_static_archive ALL DEPENDS "${FERRY_STATIC_ARCHIVE}")

# The text library. It has its own copy of Status.
ferry_sources(text_sources sdk/text/*.cc sdk/text/*/*.cc)
add_library(ferry_text STATIC ${text_sources})
ferry_ships(ferry_text)
target_link_libraries(ferry_text PUBLIC ferry_core PRIVATE ferry_schema ferry_options)
set(status_sources "${PROJECT_SOURCE_DIR}/sdk/status.cc" "${PROJECT_SOURCE_DIR}/sdk/attempt.cc" "${PROJECT_SOURCE_DIR}/sdk/printable.cc")
ferry_shared_library(ferry_text_shared ferry_text $<TARGET_OBJECTS:ferry_text> ${status_sources})
ferry_ships(ferry_text_shared)
target_link_libraries(ferry_text_shared PRIVATE ferry_options PUBLIC ferry_shared)
add_library(Ferry::text ALIAS ferry_text_shared)

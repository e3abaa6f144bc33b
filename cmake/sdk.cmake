# What ships inside an app: libferry.so, libferry.a; and for apps that work with text libferry_text.so, libferry_text.a
# (sdk/text), which know of the first the C API alone. No RTTI; only ferry_* is exported, and no exception leaves them
# (sdk/attempt.h).

# How everything that ships is compiled. What works once an image or a session counts by its size; options of a file's own,
# below, come after these.
set(optimised $<NOT:$<CONFIG:Debug>>)
function(ferry_ships target)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
  if(NOT FERRY_SANITIZE)
    target_compile_options(${target} PRIVATE $<${optimised}:-Os>)
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Kernels, too. No elimination of common subexpressions between blocks: 1 % smaller. No chain of frame pointers: 2 %.
      # Registers are saved where a function begins, all at once, which tables for unwinding say in fewer bytes: 2 %.
      target_compile_options(${target} PRIVATE
        $<$<AND:${optimised},$<COMPILE_LANGUAGE:CXX>>:-fno-gcse;-fomit-frame-pointer;-fno-shrink-wrap>)
    endif()
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64") # tables for unwinding need no entry for each push
      target_compile_options(${target} PRIVATE $<${optimised}:-fno-omit-frame-pointer>)
    endif()
  endif()
  # Tables for unwinding where an exception may pass, and nowhere else.
  target_compile_options(${target} PRIVATE -fno-asynchronous-unwind-tables -fno-unwind-tables)
  if(FERRY_EXCEPTIONS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc leaves functions out that nothing throws through only where it writes the tables itself; clang always does.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-dwarf2-cfi-asm>)
    # As DWARF 2, for then the assembler shortens them by a quarter; it takes tables for DWARF 3 as they are. The option asks for
    # debug information, too: what there was is said again.
    if(NOT FERRY_SANITIZE)
      target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-gdwarf-2>
        $<$<COMPILE_LANGUAGE:CXX>:$<$<CONFIG:Release,MinSizeRel>:-g0>$<$<CONFIG:RelWithDebInfo>:-g1>>)
    endif()
  endif()
  if(NOT FERRY_EXCEPTIONS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
  endif()
endfunction()

# lld keeps functions of the same code once, which ld does not: 1.5 % less on arm64; nobody here compares functions by their
# addresses. And it grows files by what there is, not by pages. gcc looks for it beside its own ld.
find_program(FERRY_LLD ld.lld)
if(CMAKE_SYSTEM_NAME STREQUAL "Android") # the NDK's linker
  set(FERRY_LINK_SMALL -Wl,--icf=all -Wl,-O2)
elseif(FERRY_LLD AND NOT FERRY_SANITIZE AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64|arm.*)$")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/lld")
  file(CREATE_LINK "${FERRY_LLD}" "${PROJECT_BINARY_DIR}/lld/ld.lld" SYMBOLIC)
  set(FERRY_LINK_SMALL "-B${PROJECT_BINARY_DIR}/lld" -fuse-ld=lld -Wl,--icf=all -Wl,-O2)
endif()

# Packing of weights that Ferry never has, which is left out.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  get_property(common_depthwise GLOBAL PROPERTY FERRY_COMMON_DEPTHWISE)
  set(left_out_expression "^FERRY_LEAVE_OUT_PACKING")
  if(common_depthwise)
    set(left_out_expression "^FERRY_LEAVE_OUT_(PACKING|DEPTHWISE)")
  endif()
  file(STRINGS "${PROJECT_SOURCE_DIR}/sdk/cpu/kernels_left_out.cc" left_out REGEX "${left_out_expression}")
  list(TRANSFORM left_out REPLACE "^FERRY_LEAVE_OUT_[A-Z]+.([a-z0-9_]+).*" "-Wl,--wrap=\\1")
  list(APPEND FERRY_LINK_SMALL ${left_out})
endif()

# A shared library of such objects. The version script names what may be seen; tests/package compares the result with
# sdk/abi.txt.
function(ferry_shared_library target name) # sources
  add_library(${target} SHARED ${ARGN})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${FERRY_ABI_VERSION}
    LINK_DEPENDS "${PROJECT_SOURCE_DIR}/sdk/ferry.map" LINKER_LANGUAGE CXX)
  target_include_directories(${target} INTERFACE "${PROJECT_SOURCE_DIR}/sdk/include")
  target_link_options(${target} PRIVATE "-Wl,--version-script=${PROJECT_SOURCE_DIR}/sdk/ferry.map" ${FERRY_LINK_SMALL}
                      "-Wl,-Map=${PROJECT_BINARY_DIR}/lib${name}.map") # scripts/component-sizes reads it
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64") # runs on pages of 4 and 16 KB; for 64 KB the file would have up to 48 KB of holes
    target_link_options(${target} PRIVATE -Wl,-z,max-page-size=16384)
  endif()
  if(NOT FERRY_SANITIZE) # the sanitizers' runtime is found in the program, not in the library
    target_link_options(${target} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

ferry_sources(sdk_sources sdk/*.cc sdk/operators/*.cc sdk/operators/shape_rules/*.cc sdk/model/*.cc sdk/threads/*.cc sdk/graph/*.cc sdk/cpu/*.cc sdk/image/*.cc sdk/task/*.cc sdk/api/*.cc)

# In unity builds: so many files of the list at once, but for those named. CMake's own leaves files with options of their own apart.
function(ferry_together list name at_once)
  if(NOT CMAKE_UNITY_BUILD)
    return()
  endif()
  set(out)
  set(count 0)
  foreach(source IN LISTS ${list})
    get_filename_component(file "${source}" NAME)
    if(file IN_LIST ARGN)
      list(APPEND out "${source}")
      continue()
    endif()
    math(EXPR index "${count} / ${at_once}")
    math(EXPR count "${count} + 1")
    string(APPEND batch_${index} "#include \"${source}\"\n")
    set(last ${index})
  endforeach()
  foreach(index RANGE ${last})
    set(together "${PROJECT_BINARY_DIR}/unity/${name}_${index}.cc")
    file(CONFIGURE OUTPUT "${together}" CONTENT "${batch_${index}}" @ONLY)
    list(APPEND out "${together}")
  endforeach()
  set_source_files_properties(${out} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${list} ${out} PARENT_SCOPE)
endfunction()

if(FERRY_GPU)
  include(cmake/shaders.cmake)
  ferry_sources(gpu_sources sdk/gpu/*.cc)
  ferry_together(gpu_sources gpu 100 lzma.cc) # all as one: several per cent smaller than by eights
  list(APPEND sdk_sources ${gpu_sources})
  # volk finds Vulkan's functions at run time. It is one C file, compiled as its authors wrote it.
  set(volk "${PROJECT_BINARY_DIR}/third_party/include/volk.c")
  set_source_files_properties("${volk}" PROPERTIES COMPILE_OPTIONS -w)
  list(APPEND sdk_sources "${volk}")
endif()

# Files in which nothing throws, nor what they call: they take memory by functions that return null, and say so. tests/memory
# ends where this is not so.
set(throwing_nothing ${sdk_sources})
list(FILTER throwing_nothing INCLUDE REGEX
     "/sdk/(operators/|model/(verify|numbers|seeded|sha256)|threads/(cpuinfo|core_kinds)|image/(classify|codec|exif|frame\\.|frame_(cells|lines|rows)|jpeg_check|normalizer|pixels)|gpu/lzma)")
set(rules ${throwing_nothing})
list(FILTER rules INCLUDE REGEX "/sdk/(operators|model)/")
list(REMOVE_ITEM sdk_sources ${rules})
list(REMOVE_ITEM throwing_nothing ${rules})
ferry_together(rules rules 8)
list(APPEND sdk_sources ${rules})
set_property(SOURCE ${throwing_nothing} ${rules} APPEND PROPERTY COMPILE_OPTIONS -fno-exceptions)

# Our objects alone. Tests and the command line link this one and may include internal headers.
add_library(ferry_core STATIC ${sdk_sources})
if(FERRY_GPU)
  target_compile_definitions(ferry_core PUBLIC FERRY_GPU=1)
  add_dependencies(ferry_core ferry_shaders)
endif()
ferry_ships(ferry_core)
function(ferry_optimise source) # options
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/${source}" APPEND PROPERTY COMPILE_OPTIONS "$<${optimised}:${ARGN}>")
endfunction()

# Of the GPU's room nothing works long on the CPU: 2 % smaller than for size alone.
if(FERRY_GPU AND NOT FERRY_SANITIZE AND NOT (CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12))
  set(gpu_options -Oz)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND gpu_options -fno-gcse)
  endif()
  set_property(SOURCE ${gpu_sources} APPEND PROPERTY COMPILE_OPTIONS "$<${optimised}:${gpu_options}>")
endif()
# Files with kernels are compiled for speed, the rest, which plan or hand rows to XNNPACK and memcpy, for size. A file that is
# not listed here knows no FERRY_KERNEL (sdk/kernel.h). Our own kernels are plain loops for the compiler to vectorise. GCC turns a comparison in a loop into a selection only where floating-point traps may be ignored; no
# value changes. First iterations of their own cost bytes only.
set(kernels attention attention_in_place channel_norm depthwise depthwise_avx2 gemm layer_norm linear_int4 pool2d products resize2d
    rotary_embedding softmax unary winograd)
set(kernels_of_short_loops binary causal_conv1d experts gated_delta_rule reduce) # many, which -O3 writes out in versions
set(kernels_in_size) # what is around a FERRY_KERNEL is compiled for size
set(kernels_of_pictures kernels_of_short_loops)
set(kernel_options -fno-trapping-math)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64") # the limit of the library's size: docs/performance.md, "Size"
  set(kernels_of_short_loops attention attention_in_place binary)
  set(kernels_in_size causal_conv1d channel_norm depthwise experts gated_delta_rule gemm layer_norm pool2d products reduce resize2d softmax unary
      winograd)
  set(kernels_of_pictures kernels_in_size)
  list(REMOVE_ITEM kernels ${kernels_of_short_loops} ${kernels_in_size})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # the last iterations one by one
    list(APPEND kernel_options --param=vect-epilogues-nomask=0)
  endif()
endif()
set(fast -O2)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  list(APPEND fast -fomit-frame-pointer)
endif()
set(vectorised ${fast} -ftree-vectorize)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND kernel_options -fno-peel-loops)
  list(APPEND vectorised -fvect-cost-model=dynamic) # clang weighs so at -O2
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64") # where a kernel's AVX-512 clone runs; gcc would take half
    list(APPEND kernel_options -mprefer-vector-width=512)
  endif()
endif()
# Of float16: conversions, and kernels with the instructions of ARMv8.2, which nothing else in their files may use.
set(in_halves binary_half depthwise_kernels_half gemm_tile_neon_half unary_half)
foreach(name half binary_half gemm_tile_neon_half unary_half)
  ferry_optimise(sdk/cpu/${name}.cc ${fast})
endforeach()
ferry_optimise(sdk/cpu/depthwise_kernels_half.cc -Os ${kernel_options})
foreach(name half depthwise_half ${in_halves})
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/sdk/cpu/${name}.cc" PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endforeach()
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  foreach(name IN LISTS in_halves)
    set_property(SOURCE "${PROJECT_SOURCE_DIR}/sdk/cpu/${name}.cc" APPEND PROPERTY COMPILE_OPTIONS -march=armv8.2-a+fp16)
  endforeach()
endif()
foreach(list kernels kernels_of_short_loops kernels_in_size)
  list(TRANSFORM ${list} PREPEND cpu/)
endforeach()
list(APPEND ${kernels_of_pictures} image/frame_cells image/frame_columns image/frame_lines image/frame_rows
  image/normalizer image/resize)
foreach(name IN LISTS kernels kernels_of_short_loops kernels_in_size)
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/sdk/${name}.cc" PROPERTY COMPILE_DEFINITIONS FERRY_HOT=1)
endforeach()
if(FERRY_SANITIZE) # as the preset has it, but for instrumented kernels: they take minutes
  foreach(name IN LISTS kernels)
    ferry_optimise(sdk/${name}.cc -O1)
  endforeach()
  ferry_optimise(sdk/cpu/depthwise.cc -O0)
  ferry_optimise(sdk/cpu/depthwise_avx2.cc -O0)
  # stb copies nothing from nowhere where a PNG has an empty chunk: memcpy(NULL, ., 0)
  ferry_optimise(sdk/image/codec.cc -fno-sanitize=nonnull-attribute)
else()
  foreach(name IN LISTS kernels)
    ferry_optimise(sdk/${name}.cc ${fast} -O3 ${kernel_options})
  endforeach()
  foreach(name IN LISTS kernels_of_short_loops)
    ferry_optimise(sdk/${name}.cc ${vectorised} ${kernel_options})
  endforeach()
  foreach(name IN LISTS kernels_in_size)
    ferry_optimise(sdk/${name}.cc -Os ${kernel_options})
  endforeach()
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # All 32 registers of vectors are taken: instructions stay in their order, or sums would be kept in memory.
    foreach(name depthwise gemm products)
      ferry_optimise(sdk/cpu/${name}.cc -fno-schedule-insns)
    endforeach()
    ferry_optimise(sdk/cpu/binary.cc -fno-tree-vectorize) # its loops over vectors are written out
  endif()
  # stb's decoders, too large at -O3, are as fast at -O2. On arm64 the decoders are for size, too:
  # 20 KB less for 0.96 to 1.08 times the instructions of a JPEG (1.3 times those of a PNG; counted under qemu as cortex-a76).
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    ferry_optimise(sdk/image/codec.cc ${fast})
  endif()
  foreach(name pool loops xnnpack)
    ferry_optimise(sdk/threads/${name}.cc ${fast})
  endforeach()
endif()
target_include_directories(ferry_core PUBLIC "${PROJECT_SOURCE_DIR}/sdk/include")
target_link_libraries(ferry_core PUBLIC ferry_schema XNNPACK::XNNPACK PRIVATE ferry_options)

ferry_shared_library(ferry_shared ferry $<TARGET_OBJECTS:ferry_core>)
target_link_libraries(ferry_shared PRIVATE XNNPACK::XNNPACK)
add_library(Ferry::ferry ALIAS ferry_shared)

# The static library, with XNNPACK inside: an app links one archive. Its fallback kernels are ours to leave out
# (sdk/cpu/unary.cc).
set(FERRY_STATIC_ARCHIVE "${PROJECT_BINARY_DIR}/lib/libferry.a")
file(WRITE "${PROJECT_BINARY_DIR}/libferry.mri.in"
     "CREATE ${FERRY_STATIC_ARCHIVE}\nADDLIB $<TARGET_FILE:ferry_core>\nADDLIB ${FERRY_XNNPACK_ARCHIVE}\n"
     "DELETE unary-elementwise.cc.o\nSAVE\nEND\n")
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/libferry.mri" INPUT "${PROJECT_BINARY_DIR}/libferry.mri.in")
add_custom_command(
  OUTPUT "${FERRY_STATIC_ARCHIVE}"
  COMMAND "${CMAKE_COMMAND}" -E rm -f "${FERRY_STATIC_ARCHIVE}"
  COMMAND "${CMAKE_AR}" -M < "${PROJECT_BINARY_DIR}/libferry.mri"
  COMMAND "${CMAKE_RANLIB}" "${FERRY_STATIC_ARCHIVE}"
  DEPENDS ferry_core "${FERRY_XNNPACK_ARCHIVE}" "${PROJECT_BINARY_DIR}/libferry.mri"
  COMMENT "Merging libferry.a" VERBATIM)
add_custom_target(ferry_static_archive ALL DEPENDS "${FERRY_STATIC_ARCHIVE}")

# What works with text. Statuses are values of each library's own.
ferry_sources(text_sources sdk/text/*.cc sdk/text/*/*.cc)
set(template_sources ${text_sources})
list(FILTER template_sources INCLUDE REGEX "/sdk/text/(template/|utf8)") # nothing throws there
list(REMOVE_ITEM text_sources ${template_sources})
ferry_together(template_sources template 8)
list(APPEND text_sources ${template_sources})
add_library(ferry_text STATIC ${text_sources})
ferry_ships(ferry_text)
target_link_libraries(ferry_text PUBLIC ferry_core PRIVATE ferry_options)
set_property(SOURCE ${template_sources} APPEND PROPERTY COMPILE_OPTIONS -fno-exceptions)
set(status_sources "${PROJECT_SOURCE_DIR}/sdk/status.cc" "${PROJECT_SOURCE_DIR}/sdk/attempt.cc")
ferry_shared_library(ferry_text_shared ferry_text $<TARGET_OBJECTS:ferry_text> ${status_sources})
ferry_ships(ferry_text_shared)
target_link_libraries(ferry_text_shared PRIVATE ferry_options PUBLIC ferry_shared)
add_library(Ferry::text ALIAS ferry_text_shared)

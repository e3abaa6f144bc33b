# Header-only libraries and GoogleTest from Debian packages (docs/dependencies.md). Cross-builds use the same headers.
# They are linked into a separate folder, because -I/usr/include would expose the host's libc.
#
# Defines: FERRY_HEADERS, their folder, and the targets ferry_headers (flatbuffers, stb, Vulkan, volk, nlohmann/json, CLI11),
# ferry_schema and ferry_schema_objects (ferry_generated.h, text_generated.h, checkpoint_generated.h), ferry_gtest.

# The root of the headers. On other distributions: -DFERRY_HEADER_ROOT=/opt/include
set(FERRY_HEADER_ROOT /usr/include CACHE PATH "Folder with flatbuffers/, stb/, vulkan/, volk.h, nlohmann/ and CLI/")

function(ferry_provide_headers)
  add_library(ferry_headers INTERFACE)
  set(folder "${PROJECT_BINARY_DIR}/third_party/include")
  if(FERRY_PREPARED)
    set(folder "${FERRY_PREPARED}/include")
  endif()
  set(FERRY_HEADERS "${folder}" PARENT_SCOPE)
  target_include_directories(ferry_headers SYSTEM INTERFACE "${folder}" "${folder}/stb")
  if(FERRY_PREPARED)
    return()
  endif()
  file(MAKE_DIRECTORY "${folder}")
  set(needed flatbuffers:flatbuffers/flatbuffers.h:libflatbuffers-dev stb:stb/stb_image.h:libstb-dev)
  if(FERRY_GPU)
    list(APPEND needed vulkan:vulkan/vulkan_core.h:libvulkan-dev vk_video:vk_video:libvulkan-dev
         volk.h:volk.h:libvulkan-volk-dev volk.c:volk.c:libvulkan-volk-dev)
  endif()
  if(FERRY_BUILD_CONVERTER OR FERRY_BUILD_CLI OR FERRY_BUILD_TESTS)
    list(APPEND needed nlohmann:nlohmann/json.hpp:nlohmann-json3-dev CLI:CLI/CLI.hpp:libcli11-dev)
  endif()
  foreach(entry IN LISTS needed)
    string(REPLACE ":" ";" entry "${entry}")
    list(GET entry 0 name)
    list(GET entry 1 probe)
    list(GET entry 2 package)
    if(NOT EXISTS "${FERRY_HEADER_ROOT}/${probe}")
      message(FATAL_ERROR "${FERRY_HEADER_ROOT}/${probe} is missing: install ${package} (or run scripts/setup)")
    endif()
    file(CREATE_LINK "${FERRY_HEADER_ROOT}/${name}" "${folder}/${name}" SYMBOLIC)
  endforeach()
endfunction()

# The schemas' C++: "ferry_generated.h", "text_generated.h", "checkpoint_generated.h", in two forms:
#     ferry_schema           what reads a blob
#     ferry_schema_objects   the same, and the object API (fbs::GraphT), which doubles a file's time to compile
# A target uses one of them.
if(NOT FERRY_PREPARED)
  find_program(FERRY_FLATC flatc)
  if(NOT FERRY_FLATC)
    message(FATAL_ERROR "flatc is missing: install flatbuffers-compiler (or run scripts/setup)")
  endif()
endif()
set(generated "${PROJECT_BINARY_DIR}/generated")
function(ferry_generate_schema target)  # options of flatc
  string(REPLACE "ferry_" "" form "${target}")
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE ferry_headers)
  if(FERRY_PREPARED)
    target_include_directories(${target} SYSTEM INTERFACE "${FERRY_PREPARED}/generated/${form}" "${FERRY_PREPARED}/generated"
                               "${generated}")
    return()
  endif()
  set(folder "${generated}/${form}")
  set(headers)
  foreach(schema sdk/schema/ferry sdk/schema/text converter/export/checkpoint)
    get_filename_component(name "${schema}" NAME)
    add_custom_command(
      OUTPUT "${folder}/${name}_generated.h"
      COMMAND "${FERRY_FLATC}" --cpp --cpp-std c++17 --scoped-enums ${ARGN} -o "${folder}"
              "${PROJECT_SOURCE_DIR}/${schema}.fbs"
      DEPENDS "${PROJECT_SOURCE_DIR}/${schema}.fbs"
      COMMENT "flatc ${schema}.fbs")
    list(APPEND headers "${folder}/${name}_generated.h")
  endforeach()
  file(MAKE_DIRECTORY "${folder}")
  add_custom_target(${target}_headers DEPENDS ${headers})
  add_dependencies(${target} ${target}_headers)
  target_include_directories(${target} SYSTEM INTERFACE "${folder}" "${generated}")
endfunction()
ferry_generate_schema(ferry_schema)
ferry_generate_schema(ferry_schema_objects --gen-object-api)

# models/vision/imagenet_1k.txt -> "data/imagenet_1k.inc", a string literal:
#     constexpr char kNames[] =
#     #include "data/imagenet_1k.inc"
#         ;
function(ferry_embed_text)
  ferry_sources(texts models/*/*.txt)
  foreach(text IN LISTS texts)
    get_filename_component(name "${text}" NAME_WE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${text}")
    file(READ "${text}" content)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/data/${name}.inc" CONTENT
         "R\"FERRY(@content@)FERRY\"\n" @ONLY)
  endforeach()
endfunction()
ferry_embed_text()

# GoogleTest is compiled from Debian's sources with the build's own sanitizer and target.
function(ferry_provide_gtest)
  set(source /usr/src/googletest/googletest)
  if(NOT EXISTS "${source}/src/gtest-all.cc")
    message(FATAL_ERROR "${source} is missing: install googletest (or run scripts/setup), or set FERRY_BUILD_TESTS=OFF")
  endif()
  add_library(ferry_gtest STATIC "${source}/src/gtest-all.cc" "${source}/src/gtest_main.cc")
  set_target_properties(ferry_gtest PROPERTIES ${FERRY_APART}) # programs with their own main() link it too
  target_compile_options(ferry_gtest PRIVATE ${FERRY_COLD})
  target_include_directories(ferry_gtest SYSTEM PUBLIC "${source}/include" PRIVATE "${source}")
  find_package(Threads REQUIRED)
  target_link_libraries(ferry_gtest PUBLIC Threads::Threads)
endfunction()

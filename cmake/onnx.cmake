# The ONNX project's schema (third_party/onnx), compiled by protoc: target ferry_onnx_schema with "onnx.pb.h". Only the
# converter uses it. A distribution's own copy may be older: what it does not know would be lost without a word.
# protobuf is linked statically if possible, so that the ferry command runs on machines without it.

set(Protobuf_USE_STATIC_LIBS ON)
find_package(Protobuf 3.12)
if(NOT Protobuf_FOUND OR NOT Protobuf_PROTOC_EXECUTABLE)
  message(FATAL_ERROR "protobuf is missing: install libprotobuf-dev and protobuf-compiler (or run scripts/setup), or "
                      "build without ONNX files: -DFERRY_ONNX=OFF")
endif()

# A distribution's protobuf is built for one C++ library. With another one (clang's libc++ on Debian) the importer is
# compiled but not linked.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES ${Protobuf_LITE_LIBRARIES} Threads::Threads)
set(CMAKE_REQUIRED_INCLUDES ${Protobuf_INCLUDE_DIRS})
check_cxx_source_compiles("#include <google/protobuf/message_lite.h>
int main(int, char** a) { return static_cast<google::protobuf::MessageLite*>(nullptr)->ParseFromString(a[0]) ? 0 : 1; }"
  FERRY_ONNX_LINKS)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_INCLUDES)
if(NOT FERRY_ONNX_LINKS)
  message(STATUS "protobuf is built for another C++ library: ONNX files are compiled for, and read by no program")
endif()

set(generated "${PROJECT_BINARY_DIR}/generated/onnx")
file(MAKE_DIRECTORY "${generated}")
set(schema_folder "${PROJECT_SOURCE_DIR}/third_party/onnx")
add_custom_command(
  OUTPUT "${generated}/onnx.pb.cc" "${generated}/onnx.pb.h"
  COMMAND "${Protobuf_PROTOC_EXECUTABLE}" "--proto_path=${schema_folder}" "--cpp_out=${generated}" onnx.proto
  DEPENDS "${schema_folder}/onnx.proto"
  COMMENT "protoc onnx.proto")
add_library(ferry_onnx_schema STATIC "${generated}/onnx.pb.cc")
target_include_directories(ferry_onnx_schema SYSTEM PUBLIC "${generated}" ${Protobuf_INCLUDE_DIRS})
target_link_libraries(ferry_onnx_schema PUBLIC ${Protobuf_LITE_LIBRARIES})

# The importer, from a file to a graph.
ferry_sources(onnx_sources converter/onnx/*.cc converter/onnx/*/*.cc converter/onnx/*/*/*.cc)
list(FILTER onnx_sources EXCLUDE REGEX "/onnx/(convert_onnx|source)\\.cc$") # in ferry_converter: says in any build what is missing
add_library(ferry_onnx STATIC ${onnx_sources})
# Its rows are functions found by name; names of other files would clash in a unity build.
set_source_files_properties(converter/onnx/ops/table.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_compile_options(ferry_onnx PRIVATE -ffp-contract=off)
target_link_libraries(ferry_onnx PUBLIC ferry_tools PRIVATE ferry_onnx_schema ferry_options)

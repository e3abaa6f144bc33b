# TensorFlow Lite's schema (third_party/tflite), compiled by flatc: "tflite_generated.h"; and the importer of .tflite
# files, from a file to a graph.

set(generated "${PROJECT_BINARY_DIR}/generated/tflite")
set(schema "${PROJECT_SOURCE_DIR}/third_party/tflite/tflite.fbs")
file(MAKE_DIRECTORY "${generated}")
add_custom_command(
  OUTPUT "${generated}/tflite_generated.h"
  COMMAND "${FERRY_FLATC}" --cpp --cpp-std c++17 --scoped-enums -o "${generated}" "${schema}"
  DEPENDS "${schema}"
  COMMENT "flatc tflite.fbs")
set(metadata "${PROJECT_SOURCE_DIR}/converter/tflite/tflite_metadata.fbs")
add_custom_command(
  OUTPUT "${generated}/tflite_metadata_generated.h"
  COMMAND "${FERRY_FLATC}" --cpp --cpp-std c++17 --scoped-enums -o "${generated}" "${metadata}"
  DEPENDS "${metadata}"
  COMMENT "flatc tflite_metadata.fbs")
add_custom_target(ferry_tflite_schema_header DEPENDS "${generated}/tflite_generated.h" "${generated}/tflite_metadata_generated.h")
add_library(ferry_tflite_schema INTERFACE)
add_dependencies(ferry_tflite_schema ferry_tflite_schema_header)
target_include_directories(ferry_tflite_schema SYSTEM INTERFACE "${generated}")

ferry_add_room(ferry_tflite converter/tflite/*.cc converter/tflite/*/*.cc)
target_link_libraries(ferry_tflite PUBLIC ferry_tools ferry_tflite_schema)
# Numbers in custom options are read without the locale, which flatbuffers would link a library for.
set_source_files_properties("${PROJECT_SOURCE_DIR}/converter/tflite/custom_options.cc" PROPERTIES
                            COMPILE_DEFINITIONS FLATBUFFERS_LOCALE_INDEPENDENT=0 SKIP_UNITY_BUILD_INCLUSION ON)

# The converter. Checkpoints, the graph, the oracle, packing and preprocessing are small and built for every target,
# because tests and parity need them. Families, passes and importers are built for desktops only.

function(ferry_add_room name)
  ferry_sources(sources ${ARGN})
  list(FILTER sources EXCLUDE REGEX "/converter/[a-z]+/source\\.cc$") # a format's door, part of ferry_converter
  if(sources)
    add_library(${name} STATIC ${sources})
    # No contraction to FMA: folded weights, and so the blob, must have the same bytes on every host.
    target_compile_options(${name} PRIVATE -ffp-contract=off)
    target_link_libraries(${name} PUBLIC ferry_schema_objects ferry_core PRIVATE ferry_options)
  else()
    add_library(${name} INTERFACE)
  endif()
endfunction()

ferry_add_room(ferry_graph converter/error.cc converter/refused.cc converter/suggest.cc converter/write_file.cc converter/graph/*.cc)
# Its loops pass over every weight; without traps they are vectorised.
set_source_files_properties("${PROJECT_SOURCE_DIR}/converter/graph/float16.cc" PROPERTIES
                            COMPILE_OPTIONS "$<${optimised}:-O3>;-fno-trapping-math" SKIP_UNITY_BUILD_INCLUSION ON)
ferry_add_room(ferry_checkpoint converter/foreign.cc converter/checkpoint/*.cc converter/checkpoint/quantized/*.cc
               converter/gguf/*.cc)
ferry_add_room(ferry_quantize converter/quantize/*.cc)
# Its sums of products are the quantiser's longest loops.
set_source_files_properties("${PROJECT_SOURCE_DIR}/converter/quantize/rounding.cc" PROPERTIES COMPILE_OPTIONS "$<${optimised}:-O3>"
                            SKIP_UNITY_BUILD_INCLUSION ON)
ferry_add_room(ferry_reference converter/reference/*.cc)
ferry_add_room(ferry_pack converter/pack/*.cc)
ferry_add_room(ferry_preprocessing converter/preprocessing/*.cc)
ferry_add_room(ferry_text_files converter/text/*.cc)
target_link_libraries(ferry_graph PUBLIC ferry_checkpoint) # its weights are a checkpoint's, which it includes and is included by
foreach(room ferry_checkpoint ferry_quantize ferry_reference ferry_pack ferry_preprocessing ferry_text_files)
  get_target_property(type ${room} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_link_libraries(${room} PUBLIC ferry_graph)
  endif()
endforeach()
target_link_libraries(ferry_quantize PUBLIC ferry_pack ferry_reference) # it runs what it builds
target_link_libraries(ferry_preprocessing PUBLIC ferry_checkpoint)
target_link_libraries(ferry_pack PUBLIC ferry_checkpoint) # SHA-256
target_link_libraries(ferry_text_files PUBLIC ferry_checkpoint ferry_text)
add_library(ferry_tools INTERFACE) # all of these
target_link_libraries(ferry_tools INTERFACE ferry_schema_objects ferry_preprocessing ferry_text_files ferry_pack ferry_quantize ferry_reference
  ferry_checkpoint ferry_graph ferry_core)

if(FERRY_BUILD_CONVERTER)
  ferry_sources(converter_sources converter/*.cc converter/*/source.cc converter/hub/settings.cc converter/onnx/convert_onnx.cc converter/passes/*.cc converter/detect/*.cc converter/landmarks/*.cc)
  list(FILTER converter_sources EXCLUDE REGEX "/converter/(error|refused|suggest|write_file|foreign)\\.cc$") # in ferry_graph, ferry_checkpoint
  if(converter_sources)
    add_library(ferry_converter STATIC ${converter_sources})
    target_compile_options(ferry_converter PRIVATE -ffp-contract=off)
    target_compile_definitions(ferry_converter PUBLIC FERRY_HAS_CONVERTER=1)
    target_link_libraries(ferry_converter PUBLIC ferry_tools PRIVATE ferry_options)
    find_package(ICU 66 COMPONENTS uc)
    if(NOT ICU_FOUND)
      message(FATAL_ERROR "ICU is missing: install libicu-dev (or run scripts/setup)")
    endif()
    ferry_add_room(ferry_tokenizer_files converter/text/huggingface/*.cc)
    target_link_libraries(ferry_tokenizer_files PUBLIC ferry_text_files ICU::uc)
    target_link_libraries(ferry_converter PUBLIC ferry_tokenizer_files)
    find_package(ZLIB 1.2)
    if(NOT ZLIB_FOUND)
      message(FATAL_ERROR "zlib is missing: install zlib1g-dev (or run scripts/setup)")
    endif()
    ferry_add_room(ferry_export converter/export/*.cc)
    target_link_libraries(ferry_export PUBLIC ferry_pack PRIVATE ZLIB::ZLIB)
    target_link_libraries(ferry_converter PUBLIC ferry_export)
    if(FERRY_HUB)
      find_package(CURL 7.85)
      if(NOT CURL_FOUND)
        message(FATAL_ERROR "libcurl is missing: install libcurl4-openssl-dev (or run scripts/setup), or build without "
                            "downloads: -DFERRY_HUB=OFF")
      endif()
      ferry_sources(hub_sources converter/hub/*.cc)
      list(REMOVE_ITEM hub_sources "${PROJECT_SOURCE_DIR}/converter/hub/settings.cc") # reads references in any build
      set_source_files_properties("${PROJECT_SOURCE_DIR}/converter/hub/http.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON) # tests/fuzz/hub.cc replaces it
      target_sources(ferry_converter PRIVATE ${hub_sources})
      target_compile_definitions(ferry_converter PUBLIC FERRY_HAS_HUB=1)
      target_include_directories(ferry_converter SYSTEM PRIVATE ${CURL_INCLUDE_DIRS}) # curl.cc loads the library
      target_link_libraries(ferry_converter PRIVATE ${CMAKE_DL_LIBS})
    endif()
    include(cmake/tflite.cmake)
    target_link_libraries(ferry_converter PRIVATE ferry_tflite)
    if(FERRY_ONNX)
      include(cmake/onnx.cmake)
    endif()
    if(FERRY_ONNX AND FERRY_ONNX_LINKS)
      target_link_libraries(ferry_converter PRIVATE ferry_onnx)
      set_source_files_properties(converter/onnx/convert_onnx.cc converter/onnx/source.cc PROPERTIES COMPILE_DEFINITIONS FERRY_HAS_ONNX=1)
      target_compile_definitions(ferry_converter INTERFACE FERRY_HAS_ONNX=1)
    endif()
    # Model families use the converter, which receives them as a table.
    ferry_add_room(ferry_models models/*.cc models/*/*.cc models/*/*/*.cc)
    # In unity builds the families' tables are grouped by kind: timm() is a naming in one and a variant in another.
    set_target_properties(ferry_models PROPERTIES UNITY_BUILD_MODE GROUP)
    get_target_property(models ferry_models SOURCES)
    set(i 0)
    foreach(source IN LISTS models)
      get_filename_component(group "${source}" NAME_WE)
      if(NOT group MATCHES "^(names|variants)$")
        math(EXPR group "${i} / 16")
        math(EXPR i "${i} + 1")
      endif()
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${group})
    endforeach()
    target_link_libraries(ferry_models PUBLIC ferry_converter)
  endif()
endif()
foreach(room ferry_preprocessing ferry_text_files ferry_tokenizer_files ferry_onnx ferry_tflite ferry_converter ferry_models)
  if(TARGET ${room})
    target_compile_options(${room} PRIVATE ${FERRY_COLD})
  endif()
endforeach()
if(FERRY_SANITIZE) # with instrumentation, optimising takes longer than what most of it computes
  target_compile_options(ferry_graph PRIVATE -O0)
  target_compile_options(ferry_checkpoint PRIVATE -O0)
  foreach(processes_elements checkpoint/elements checkpoint/sha256 graph/float16 gguf/blocks)
    set_source_files_properties("${PROJECT_SOURCE_DIR}/converter/${processes_elements}.cc"
                                PROPERTIES COMPILE_OPTIONS -O2)
  endforeach()
endif()

# Left of the blob. Reading checkpoints, the graph, the oracle, packing and recipes are small and built on every target, because
# tests and parity need them there too; families, passes and importers are built for the desktop only.

function(ferry_add_room name)
  ferry_sources(sources ${ARGN})
  if(sources)
    add_library(${name} STATIC ${sources})
    # a*b+c rounds twice here, on every host: folded weights, and with them the blob, must have the same bytes.
    target_compile_options(${name} PRIVATE -ffp-contract=off)
    target_link_libraries(${name} PUBLIC ferry_core PRIVATE ferry_options)
  else()
    add_library(${name} INTERFACE)
  endif()
endfunction()

ferry_add_room(ferry_graph converter/error.cc converter/graph/*.cc)
ferry_add_room(ferry_checkpoint converter/checkpoint/*.cc)
ferry_add_room(ferry_quantize converter/quantize/*.cc)
ferry_add_room(ferry_reference converter/reference/*.cc)
ferry_add_room(ferry_pack converter/pack/*.cc)
ferry_add_room(ferry_recipes converter/recipes/*.cc)
ferry_add_room(ferry_text converter/text/*.cc)
target_link_libraries(ferry_graph PUBLIC ferry_checkpoint) # its weights are a checkpoint's, which it includes and is included by
foreach(room ferry_checkpoint ferry_quantize ferry_reference ferry_pack ferry_recipes ferry_text)
  get_target_property(type ${room} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_link_libraries(${room} PUBLIC ferry_graph)
  endif()
endforeach()
target_link_libraries(ferry_recipes PUBLIC ferry_checkpoint)
target_link_libraries(ferry_pack PUBLIC ferry_checkpoint) # SHA-256
target_link_libraries(ferry_text PUBLIC ferry_checkpoint)
add_library(ferry_tools INTERFACE) # all of these
target_link_libraries(ferry_tools INTERFACE ferry_recipes ferry_text ferry_pack ferry_quantize ferry_reference
  ferry_checkpoint ferry_graph ferry_core)

if(FERRY_BUILD_CONVERTER)
  ferry_sources(converter_sources converter/*.cc converter/hub/settings.cc converter/onnx/convert_onnx.cc converter/passes/*.cc converter/detect/*.cc)
  list(REMOVE_ITEM converter_sources "${PROJECT_SOURCE_DIR}/converter/error.cc") # in ferry_graph
  if(converter_sources)
    add_library(ferry_converter STATIC ${converter_sources})
    target_compile_options(ferry_converter PRIVATE -ffp-contract=off)
    target_compile_definitions(ferry_converter PUBLIC FERRY_HAS_CONVERTER=1)
    target_link_libraries(ferry_converter PUBLIC ferry_tools PRIVATE ferry_options)
    if(FERRY_HUB)
      find_package(CURL 7.85)
      if(NOT CURL_FOUND)
        message(FATAL_ERROR "libcurl is missing: install libcurl4-openssl-dev (or run scripts/setup), or build without "
                            "downloads: -DFERRY_HUB=OFF")
      endif()
      ferry_sources(hub_sources converter/hub/*.cc)
      list(REMOVE_ITEM hub_sources "${PROJECT_SOURCE_DIR}/converter/hub/settings.cc") # reads references in any build
      set_source_files_properties("${PROJECT_SOURCE_DIR}/converter/hub/http.cc" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON) # tests/fuzz/hub.cc stands in for it
      target_sources(ferry_converter PRIVATE ${hub_sources})
      target_compile_definitions(ferry_converter PUBLIC FERRY_HAS_HUB=1)
      target_link_libraries(ferry_converter PRIVATE CURL::libcurl)
    endif()
    if(FERRY_ONNX)
      include(cmake/onnx.cmake)
    endif()
    if(FERRY_ONNX AND FERRY_ONNX_LINKS)
      target_link_libraries(ferry_converter PRIVATE ferry_onnx)
      set_source_files_properties(converter/onnx/convert_onnx.cc PROPERTIES COMPILE_DEFINITIONS FERRY_HAS_ONNX=1)
      target_compile_definitions(ferry_converter INTERFACE FERRY_HAS_ONNX=1)
    endif()
    # The families stand above: they know the converter, which is handed them.
    ferry_add_room(ferry_models models/*.cc models/*/*.cc models/*/*/*.cc)
    # In unity builds the families' tables go together by their kind: timm() is a naming in one and a variant in another.
    set_target_properties(ferry_models PROPERTIES UNITY_BUILD_MODE GROUP)
    get_target_property(models ferry_models SOURCES)
    set(i 0)
    foreach(source IN LISTS models)
      get_filename_component(group "${source}" NAME_WE)
      if(NOT group MATCHES "^(names|variants)$")
        math(EXPR group "${i} / 9")
        math(EXPR i "${i} + 1")
      endif()
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP ${group})
    endforeach()
    target_link_libraries(ferry_models PUBLIC ferry_converter)
  endif()
endif()

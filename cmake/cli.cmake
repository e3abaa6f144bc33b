# The ferry command. Parity is a library of its own, because its tests link it too, with what it shares with the other
# commands; it needs no converter. So is the search for what is wrong, which needs one.

ferry_add_room(ferry_parity cli/parity/*.cc cli/arguments.cc cli/parameters.cc cli/sdk.cc)
target_link_libraries(ferry_parity PUBLIC ferry_tools)
if(TARGET ferry_models)
  ferry_add_room(ferry_bisect cli/bisect/*.cc)
  target_compile_options(ferry_bisect PRIVATE ${FERRY_COLD})
  target_link_libraries(ferry_bisect PUBLIC ferry_parity ferry_models)
endif()
ferry_sources(cli_sources cli/*.cc cli/*/*.cc)
list(FILTER cli_sources EXCLUDE REGEX "/cli/(parity/|bisect/|(arguments|parameters|sdk)\\.cc$)")
if(cli_sources)
  add_executable(ferry_cli ${cli_sources})
  set_target_properties(ferry_cli PROPERTIES OUTPUT_NAME ferry)
  target_compile_options(ferry_cli PRIVATE ${FERRY_COLD})
  target_link_libraries(ferry_cli PRIVATE ferry_options ferry_parity ferry_tools)
  configure_file("${PROJECT_SOURCE_DIR}/toolchains/qemu-aarch64" # for `ferry pack --for`
                 "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/ferry-qemu-aarch64" COPYONLY)
  if(TARGET ferry_models)
    target_link_libraries(ferry_cli PRIVATE ferry_bisect)
  endif()
endif()

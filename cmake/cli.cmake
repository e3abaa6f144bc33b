# The ferry command.

ferry_sources(cli_sources cli/*.cc cli/*/*.cc)
if(cli_sources)
  add_executable(ferry_cli ${cli_sources})
  set_target_properties(ferry_cli PROPERTIES OUTPUT_NAME ferry)
  target_link_libraries(ferry_cli PRIVATE ferry_options ferry_tools)
  if(TARGET ferry_converter)
    target_link_libraries(ferry_cli PRIVATE ferry_converter)
  endif()
endif()

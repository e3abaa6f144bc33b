# examples/NAME.c or NAME.cc, each a program of its own that includes only <ferry/...>. They link the static library.

ferry_sources(example_sources examples/*.c examples/*.cc)
foreach(source IN LISTS example_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(example_${name} "${source}")
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE CXX)
  target_compile_options(example_${name} PRIVATE -Wall -Wextra -Wshadow -Werror)
  target_link_libraries(example_${name} PRIVATE ferry_text ferry_core)
endforeach()

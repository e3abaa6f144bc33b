# Extracts the example in each public header's opening comment, so that tests/runtime compiles and runs it.

set(examples_dir "${PROJECT_BINARY_DIR}/header_examples")
file(MAKE_DIRECTORY "${examples_dir}")
set(header_examples)
foreach(header ferry.h image.h task.h text.h ferry.hpp text.hpp vulkan.h)
  set(source "${PROJECT_SOURCE_DIR}/sdk/include/ferry/${header}")
  set(example "${examples_dir}/${header}.inc")
  # Takes the lines of the first comment that are indented by three spaces.
  add_custom_command(
    OUTPUT "${example}"
    COMMAND sed -nE -e "/^#ifndef/q" -e "s,^( \\*|//)   ,,p" "${source}" > "${example}"
    DEPENDS "${source}" VERBATIM)
  list(APPEND header_examples "${example}")
endforeach()
foreach(program runtime_tests gpu_tests) # vulkan.h's is for gpu_tests
  if(TARGET ${program})
    target_sources(${program} PRIVATE ${header_examples})
    target_include_directories(${program} PRIVATE "${examples_dir}")
  endif()
endforeach()
# Compiled as an app may be.
set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/runtime/veneer_example_test.cc"
  "${PROJECT_SOURCE_DIR}/tests/runtime/veneer_test.cc" PROPERTIES COMPILE_OPTIONS "-fno-exceptions;-fno-rtti")

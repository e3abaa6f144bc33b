# Every examples/NAME.c or NAME.cc is a program that includes only <ferry/...> and links the static library.

ferry_sources(example_sources examples/*.c examples/*.cc)
foreach(source IN LISTS example_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(example_${name} "${source}")
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE CXX)
  target_compile_options(example_${name} PRIVATE -Wall -Wextra -Wshadow
                         $<$<BOOL:${FERRY_WARNINGS_ARE_ERRORS}>:-Werror>)
  target_link_libraries(example_${name} PRIVATE ferry_text ferry_core)
endforeach()

# examples/camera-linux uses an installed Ferry if built separately, and this build here. Its libraries are the host's,
# built for the host's C++ library.
if(NOT CMAKE_CROSSCOMPILING AND NOT CMAKE_CXX_FLAGS MATCHES "libc\\+\\+")
  find_package(PkgConfig)
  if(PkgConfig_FOUND)
    pkg_check_modules(FERRY_CAMERA libturbojpeg cpp-httplib)
  endif()
  if(FERRY_CAMERA_FOUND)
    add_subdirectory(examples/camera-linux)
    foreach(target camera_linux_parts camera_linux)
      target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow $<$<BOOL:${FERRY_WARNINGS_ARE_ERRORS}>:-Werror>)
    endforeach()
  else()
    message(STATUS "examples/camera-linux is left out: it needs libturbojpeg0-dev and libcpp-httplib-dev (scripts/setup camera)")
  endif()
endif()

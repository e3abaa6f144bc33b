# Precompiled headers: the standard library, the blob's schema and the JSON library are most of what a file parses (3 of the
# 4 seconds of a short one). They only save time: every file still includes what it uses; the preset includes, without them,
# finds one that does not.
#
# A precompiled header fits one set of compile options: a target has its own, or uses that of a target with the same options
# (target_precompile_headers(... REUSE_FROM ...)). A file with options of its own has SKIP_PRECOMPILE_HEADERS.

set(standard_headers algorithm array bit cmath cstddef cstdint cstdio cstring limits memory numeric span string string_view
    utility vector)
set(desktop_headers filesystem functional map optional set nlohmann/json.hpp)

# kind: SDK (what ships), DESKTOP (converter, command) or TESTS
function(ferry_precompile target kind)
  set(headers ${standard_headers} flatbuffers/flatbuffers.h ferry_generated.h)
  if(NOT kind STREQUAL "SDK")
    list(APPEND headers ${desktop_headers})
  endif()
  if(kind STREQUAL "TESTS")
    list(APPEND headers gtest/gtest.h)
  endif()
  list(TRANSFORM headers REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

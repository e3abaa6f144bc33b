# Which commit the command was built from (cli/machine.h, built_from()): written when a commit is made or another one is
# checked out, as the checkout's log of its HEAD tells, so that nothing is configured anew. An archive has none.
#
#     cmake -DOUT=FILE -P cmake/commit.cmake      writes the file

if(CMAKE_SCRIPT_MODE_FILE)
  set(commit "unknown")
  get_filename_component(source "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
  if(EXISTS "${source}/.git")
    execute_process(COMMAND git -C "${source}" rev-parse --short=12 HEAD OUTPUT_VARIABLE told RESULT_VARIABLE failed
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT failed)
      set(commit "${told}")
    endif()
  endif()
  file(WRITE "${OUT}" "#include \"cli/machine.h\"\n\nconst char* ferry::cli::built_from() { return \"${commit}\"; }\n")
  return()
endif()

function(ferry_write_commit target)
  set(out "${PROJECT_BINARY_DIR}/generated/commit.cc")
  set(log "")
  if(EXISTS "${PROJECT_SOURCE_DIR}/.git")
    execute_process(COMMAND git -C "${PROJECT_SOURCE_DIR}" rev-parse --path-format=absolute --git-path logs/HEAD
      OUTPUT_VARIABLE log RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(failed OR NOT EXISTS "${log}")
      set(log "")
    endif()
  endif()
  add_custom_command(OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DOUT=${out}" -P "${PROJECT_SOURCE_DIR}/cmake/commit.cmake"
    DEPENDS "${PROJECT_SOURCE_DIR}/cmake/commit.cmake" ${log} VERBATIM)
  target_sources(${target} PRIVATE "${out}")
endfunction()

# Runs inside the configure of cpuinfo and pthreadpool (CMAKE_PROJECT_..._INCLUDE) for small targets.
add_compile_options(-Os)

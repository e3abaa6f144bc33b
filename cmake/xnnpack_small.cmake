# Runs inside the configure of cpuinfo and pthreadpool (CMAKE_PROJECT_..._INCLUDE) where the library must stay small.
add_compile_options(-Os)

# FERRY_JNI_INCLUDE: the folder of jni.h in the JDK that javac belongs to (FindJNI searches only some locations), and
# JNI_INCLUDE_DIRS. The NDK has its own.
find_program(FERRY_JAVAC javac)
if(FERRY_JAVAC)
  file(REAL_PATH "${FERRY_JAVAC}" javac)
  cmake_path(GET javac PARENT_PATH jdk)
  find_path(FERRY_JNI_INCLUDE jni.h PATHS "${jdk}/../include" NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
endif()
if(FERRY_JNI_INCLUDE)
  set(JNI_INCLUDE_DIRS "${FERRY_JNI_INCLUDE}" "${FERRY_JNI_INCLUDE}/linux")
endif()

# The compiler and Python's headers, or what to install; and what the switches mean to the compiler.
include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
  message(FATAL_ERROR
    "No C++ compiler was found, and sardonyx-ep-native-cpp is compiled when it is installed. Install g++ 11 or newer, or clang "
    "(Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; Alpine: apk add g++; conda: conda install gxx), or name one in CXX. "
    "Without it, sardonyx runs every model on sardonyx-ep-cpu.")
endif()
enable_language(CXX)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
  message(FATAL_ERROR
    "g++ ${CMAKE_CXX_COMPILER_VERSION} (${CMAKE_CXX_COMPILER}) is too old for sardonyx-ep-native-cpp: install g++ 11 or newer, or clang, and "
    "name it in CXX.")
endif()

set(PYBIND11_FINDPYTHON ON)
find_package(Python 3.11 COMPONENTS Interpreter Development.Module)
if(NOT Python_Development.Module_FOUND)
  message(FATAL_ERROR
    "The headers of Python ${Python_VERSION} were not found, and sardonyx-ep-native-cpp is compiled when it is installed. Install them "
    "(Debian, Ubuntu: apt install python3-dev; Fedora: dnf install python3-devel).")
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module NumPy)
find_package(pybind11 CONFIG REQUIRED)

set(engine_flags)
set(engine_link_flags)
if(SARDONYX_MARCH_NATIVE)
  list(APPEND engine_flags -march=native)
endif()
if(SARDONYX_INLINE_LIMIT STREQUAL "0")
  list(APPEND engine_flags -fno-inline)
elseif(SARDONYX_INLINE_LIMIT)
  list(APPEND engine_flags -finline-limit=${SARDONYX_INLINE_LIMIT})
endif()
if(SARDONYX_PGO AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "SARDONYX_PGO needs g++, not ${CMAKE_CXX_COMPILER_ID}.")
endif()
if(SARDONYX_PGO MATCHES "^generate:(.+)$")
  list(APPEND engine_flags -fprofile-generate=${CMAKE_MATCH_1} -fprofile-update=atomic)
  list(APPEND engine_link_flags -fprofile-generate=${CMAKE_MATCH_1})
elseif(SARDONYX_PGO MATCHES "^use:(.+)$")
  # What the training did not run is optimized as without a profile.
  list(APPEND engine_flags -fprofile-use=${CMAKE_MATCH_1} -fprofile-partial-training -fprofile-correction -Wno-missing-profile)
elseif(SARDONYX_PGO)
  message(FATAL_ERROR "SARDONYX_PGO is generate:DIR or use:DIR, not ${SARDONYX_PGO}.")
endif()

# SPDX-License-Identifier: Apache-2.0
# Every C++ file of the repository is as clang-format leaves it (.clang-format; tables that it would shred are fenced).
# cmake -DROOT=<repository> -DCLANG_FORMAT=<program> -P clang_format.cmake
cmake_minimum_required(VERSION 3.20)
set(files "")
foreach(room include source tools test examples platforms python)
  file(GLOB_RECURSE found ${ROOT}/${room}/*.cc ${ROOT}/${room}/*.h)
  list(APPEND files ${found})
endforeach()
list(LENGTH files count)
if(count LESS 900)
  message(FATAL_ERROR "Only ${count} files in '${ROOT}': the search is broken")
endif()
execute_process(COMMAND ${CLANG_FORMAT} --dry-run --Werror ${files} RESULT_VARIABLE result ERROR_VARIABLE said)
if(NOT result EQUAL 0)
  string(REGEX MATCHALL "[^\n]*error:[^\n]*" places "${said}")
  list(JOIN places "\n" places)
  message(FATAL_ERROR
    "Not formatted; run: ${CLANG_FORMAT} -i FILE (git clang-format does it for what changed)\n${places}")
endif()
message("${count} files are formatted")

# SPDX-License-Identifier: Apache-2.0
# cmake -DBIN=<build>/bin "-DTOOLS=a b" -P only_tools.cmake: the folder that the README names holds the tools and
# nothing else.
cmake_minimum_required(VERSION 3.20)
separate_arguments(TOOLS)
file(GLOB there RELATIVE ${BIN} ${BIN}/*)
foreach(name IN LISTS there)
  if(NOT name IN_LIST TOOLS)
    message(SEND_ERROR
      "${BIN}/${name} is no tool; tests and benchmarks belong into test-bin (an older build may have left it)")
  endif()
endforeach()
foreach(name IN LISTS TOOLS)
  if(NOT name IN_LIST there)
    message(SEND_ERROR "the tool ${name} is not in ${BIN}")
  endif()
endforeach()

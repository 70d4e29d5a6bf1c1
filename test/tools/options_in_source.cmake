# SPDX-License-Identifier: Apache-2.0
# The library names fields and values, never a tool's option: no text in source/ has one, be it an error, a report or a
# comment. (-x options are not looked for: too many texts hold a dash.)
# cmake -DSOURCE=<source folder> -P options_in_source.cmake
cmake_minimum_required(VERSION 3.20)
file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/*.cc ${SOURCE}/*.h)
list(LENGTH files count)
if(count LESS 400)
  message(FATAL_ERROR "${SOURCE} has ${count} files: this is not source/")
endif()
# The arguments of plumb_golden and model_check, which it starts; commands of other programs; a script that calls
# model_check.
list(REMOVE_ITEM files session/golden.cc format/next_step.cc session/reduce_script.cc session/bisect_wheels.cc
  session/show_python.cc samples/parts.cc)
set(found "")
foreach(file IN LISTS files)
  file(STRINGS ${SOURCE}/${file} lines REGEX "\"[^\"]*--[a-z][a-z]")
  foreach(line IN LISTS lines)
    string(REGEX MATCHALL "--[a-z][a-z-]+" options "${line}")
    string(APPEND found "\n  ${file}: ${options}")
  endforeach()
endforeach()
if(found)
  message(FATAL_ERROR
    "The library names an option; name the field, which tools/common/option_words.cc replaces:${found}")
endif()

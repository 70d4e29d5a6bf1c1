# SPDX-License-Identifier: Apache-2.0
# An operator is asked for by its OpKind or by what OpDef says of it, never by its name: no file of source/ but the
# readers and writers of names (format/) compares a layer's type with a string. cmake -DROOT=<repository> -P
# op_kind.cmake
cmake_minimum_required(VERSION 3.20)
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/source/*.cc ${ROOT}/source/*.h)
list(FILTER files EXCLUDE REGEX "^source/format/")
list(LENGTH files count)
if(count LESS 300)
  message(FATAL_ERROR "Only ${count} files in '${ROOT}/source': the search is broken")
endif()
set(found "")
foreach(file IN LISTS files)
  file(STRINGS ${ROOT}/${file} lines REGEX "[.>]type *[=!]= *\"[A-Z]")
  foreach(line IN LISTS lines)
    string(APPEND found "\n  ${file}: ${line}")
  endforeach()
endforeach()
if(found)
  message(FATAL_ERROR "A layer's type is compared with a string; use its kind (OpKind) or a trait of OpDef:${found}")
endif()
message("${count} files, no operator by name")

# SPDX-License-Identifier: Apache-2.0
# plumb-golden, a package of its own, has the version of the project. cmake -DROOT=<repository> -P version.cmake
cmake_minimum_required(VERSION 3.20)
file(STRINGS ${ROOT}/CMakeLists.txt project REGEX "^project\\(plumb VERSION [0-9.]+ ")
string(REGEX REPLACE "^project\\(plumb VERSION ([0-9.]+) .*" "\\1" version "${project}")
file(STRINGS ${ROOT}/tools/python/plumb_golden/folder.py golden REGEX "^VERSION = ")
if(NOT version MATCHES "^[0-9]+\\.[0-9]+\\.[0-9]+$" OR NOT golden STREQUAL "VERSION = \"${version}\"")
  message(FATAL_ERROR "CMakeLists.txt has version '${version}', tools/python/plumb_golden/folder.py '${golden}'")
endif()
message("version ${version}, everywhere")

# SPDX-License-Identifier: Apache-2.0
# What a page or a list names exists: every `path` of README.md, SECURITY.md and doc/*.md that begins with a folder of
# this repository. What stands below "## Where to look" is of other projects.
# cmake -DROOT=<repository> -P doc_paths.cmake
cmake_minimum_required(VERSION 3.20)
file(GLOB pages RELATIVE ${ROOT} ${ROOT}/README.md ${ROOT}/SECURITY.md ${ROOT}/doc/*.md ${ROOT}/third_party/*.md)
set(missing "")
set(count 0)
foreach(page IN LISTS pages)
  file(READ ${ROOT}/${page} text)
  string(REGEX REPLACE "## Where to look.*" "" text "${text}")
  string(REGEX MATCHALL "`(doc|source|test|tools|include|examples|cmake|platforms|third_party)/[A-Za-z0-9_./-]+`" paths
    "${text}")
  foreach(path IN LISTS paths)
    string(REPLACE "`" "" path "${path}")
    math(EXPR count "${count} + 1")
    if(NOT EXISTS ${ROOT}/${path})
      list(APPEND missing "${page}: ${path}")
    endif()
  endforeach()
endforeach()
if(count LESS 50)
  message(FATAL_ERROR "Only ${count} paths in the pages of '${ROOT}': the search is broken")
endif()
string(REPLACE ";" "\n  " missing "${missing}")
if(missing)
  message(FATAL_ERROR "Pages name what is not there:\n  ${missing}")
endif()
message("${count} paths exist")

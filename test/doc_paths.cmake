# SPDX-License-Identifier: Apache-2.0
# What a page or a comment names exists: every `path` of README.md, SECURITY.md and doc/ that begins with a folder of
# this repository, and every file that a source file names so. What stands below "## Where to look" is of other
# projects.
# cmake -DROOT=<repository> -P doc_paths.cmake
cmake_minimum_required(VERSION 3.20)
file(GLOB pages RELATIVE ${ROOT} ${ROOT}/README.md ${ROOT}/SECURITY.md ${ROOT}/doc/*.md
  ${ROOT}/doc/*/*.md ${ROOT}/third_party/*.md)
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
set(names "(^|[^A-Za-z0-9_./-])(doc|source|test|tools|platforms|cmake)/[A-Za-z0-9_/-]+\\.(md|cc|h|def|py|sh|cmake)")
foreach(room cmake examples include platforms python source test tools)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/${room}/*.cc ${ROOT}/${room}/*.h ${ROOT}/${room}/*.def
    ${ROOT}/${room}/*.gpu ${ROOT}/${room}/*.cl ${ROOT}/${room}/*.comp ${ROOT}/${room}/*.py ${ROOT}/${room}/*.sh
    ${ROOT}/${room}/*.cmake)
  foreach(file IN LISTS files)
    file(STRINGS ${ROOT}/${file} lines REGEX "${names}" ENCODING UTF-8)
    list(FILTER lines EXCLUDE REGEX "^#include|doc/en/|xxhash_spec")  # the last two: pages of TNN and xxHash
    foreach(line IN LISTS lines)
      string(REGEX MATCHALL "${names}" paths "${line}")
      foreach(path IN LISTS paths)
        string(REGEX REPLACE "^[^A-Za-z]" "" path "${path}")
        math(EXPR count "${count} + 1")
        if(NOT EXISTS ${ROOT}/${path})
          list(APPEND missing "${file}: ${path}")
        endif()
      endforeach()
    endforeach()
  endforeach()
endforeach()
string(REPLACE ";" "\n  " missing "${missing}")
if(missing)
  message(FATAL_ERROR "Pages name what is not there:\n  ${missing}")
endif()
message("${count} paths exist")

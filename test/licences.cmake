# SPDX-License-Identifier: Apache-2.0
# Every source file says in its first lines under which licence it stands, and LICENSE is the text of that licence.
# cmake -DROOT=<repository> -P licences.cmake
cmake_minimum_required(VERSION 3.20)
set(count 0)
set(silent "")
foreach(folder cmake examples include platforms python source test tools)
  file(GLOB_RECURSE files RELATIVE ${ROOT}
    ${ROOT}/${folder}/*.c ${ROOT}/${folder}/*.cc ${ROOT}/${folder}/*.h ${ROOT}/${folder}/*.def ${ROOT}/${folder}/*.fbs
    ${ROOT}/${folder}/*.cl ${ROOT}/${folder}/*.clh ${ROOT}/${folder}/*.comp ${ROOT}/${folder}/*.glslh
    ${ROOT}/${folder}/*.gpu ${ROOT}/${folder}/*.py ${ROOT}/${folder}/*.sh ${ROOT}/${folder}/*.cmake
    ${ROOT}/${folder}/CMakeLists.txt)
  foreach(file IN LISTS files)
    if(file MATCHES "(^|/)(build|corpus|__pycache__)/")
      continue()
    endif()
    math(EXPR count "${count} + 1")
    file(READ ${ROOT}/${file} start LIMIT 400)
    if(NOT start MATCHES "SPDX-License-Identifier: (Apache-2\\.0|MIT-0)")
      list(APPEND silent ${file})
    endif()
  endforeach()
endforeach()
if(count LESS 1000)
  message(FATAL_ERROR "Only ${count} source files below '${ROOT}': the search is broken")
endif()
if(silent)
  string(REPLACE ";" "\n  " silent "${silent}")
  message(FATAL_ERROR "The first line is '// SPDX-License-Identifier: Apache-2.0' (or with #) in each source file. \
Not in:\n  ${silent}")
endif()
file(READ ${ROOT}/LICENSE licence LIMIT 400)
if(NOT licence MATCHES "Apache License[ \n]+Version 2.0, January 2004")
  message(FATAL_ERROR "'${ROOT}/LICENSE' is not the Apache License 2.0")
endif()
message("${count} source files name their licence")

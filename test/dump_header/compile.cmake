# plumb_dump.h compiles without a warning as C99 and C++11 (without exceptions), in every compiler that is here, and
# what it writes is the same. cmake -DROOT=<repository> -DWORK=<scratch folder> -P compile.cmake
cmake_minimum_required(VERSION 3.20)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(count 0)
foreach(compiler gcc clang g++ clang++ aarch64-linux-gnu-gcc)
  find_program(found_${compiler} ${compiler})
  if(NOT found_${compiler})
    message("no ${compiler} here")
    continue()
  endif()
  set(language -std=c99)
  if(compiler MATCHES "[+][+]")
    set(language -x c++ -std=c++11 -fno-exceptions -fno-rtti)
  endif()
  execute_process(COMMAND ${found_${compiler}} ${language} -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -O1
    -I${ROOT}/include
    ${ROOT}/test/dump_header/program.c -o ${WORK}/${compiler} -lm -lpthread RESULT_VARIABLE result ERROR_VARIABLE said)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${compiler} ${language}:\n${said}")
  endif()
  math(EXPR count "${count} + 1")
  if(compiler STREQUAL "aarch64-linux-gnu-gcc")
    continue()  # cannot be run here
  endif()
  execute_process(COMMAND ${CMAKE_COMMAND} -E env DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=${WORK}/dump-of-${compiler}
    ${WORK}/${compiler}
    RESULT_VARIABLE result ERROR_VARIABLE said)
  file(SHA256 ${WORK}/dump-of-${compiler}/00001-conv_2-out-0-conv_2-dims-1-6-2-2.npy sum)
  if(NOT result EQUAL 0 OR (DEFINED first AND NOT sum STREQUAL first))
    message(FATAL_ERROR "The program that ${compiler} made exits with ${result}, or writes other bytes: ${said}")
  endif()
  set(first ${sum})
endforeach()
if(count EQUAL 0)
  message(FATAL_ERROR "no compiler found")
endif()
message("${count} compilers, no warning, the same bytes")

# SPDX-License-Identifier: Apache-2.0
# Installs the build into an empty prefix and builds, against that alone, the project beside this file (with every
# example of README.md, doc/dump.md, doc/library.md and the public headers in it) and examples/cpp; runs both, with a
# right path and with wrong ones. cmake -DBUILD=<build folder> -DWORK=<scratch folder> -DCOMPILER=<c++> -P
# consumer_test.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed (${code}): ${ARGN}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()
# The command, run in that folder, ends with that code and says that.
function(expect folder code words)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${folder} RESULT_VARIABLE found OUTPUT_VARIABLE out ERROR_VARIABLE
    out)
  string(FIND "${out}" "${words}" at)
  if(NOT found STREQUAL code OR at EQUAL -1)
    message(FATAL_ERROR "expected ${code} and '${words}', found ${found}: ${ARGN}\n${out}")
  endif()
endfunction()

set(root ${CMAKE_CURRENT_LIST_DIR}/../..)
set(digits ${root}/examples/digits/digits)
file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
file(RENAME ${WORK}/installed ${WORK}/prefix)  # nothing may remember where it was
include(${CMAKE_CURRENT_LIST_DIR}/installed.cmake)
file(GLOB_RECURSE headers ${WORK}/prefix/include/plumb/*.h)
execute_process(COMMAND awk -f ${CMAKE_CURRENT_LIST_DIR}/extract.awk ${root}/README.md ${root}/doc/dump.md
    ${root}/doc/library.md ${headers}
  OUTPUT_VARIABLE examples RESULT_VARIABLE code)
file(WRITE ${WORK}/examples.inc "${examples}")
set(configure -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build ${configure} -DEXAMPLES=${WORK})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_COMMAND} -S ${root}/examples/cpp -B ${WORK}/example ${configure} -DCMAKE_CXX_FLAGS=-Werror)
run(${CMAKE_COMMAND} --build ${WORK}/example)

# The examples say net.tnnproto: first it is not there, then it is.
file(MAKE_DIRECTORY ${WORK}/empty ${WORK}/full)
foreach(part proto model)
  configure_file(${digits}.tnn${part} ${WORK}/full/net.tnn${part} COPYONLY)
endforeach()
expect(${WORK}/empty 0 "every example says that 'net.tnnproto' is not there" ${WORK}/build/consumer absent)
expect(${WORK}/empty "Subprocess aborted" "plumb: Result accessed without a value: " ${WORK}/build/consumer careless)
expect(${WORK}/full 0 "every example ran" ${WORK}/build/consumer present)
expect(${WORK} 0 "no layer is wrong" ${WORK}/example/check_model ${digits}.tnnproto NAIVE)
expect(${WORK} 0 "NAIVE: aligned, 10 of 10 layers aligned" ${WORK}/example/check_model ${digits}.tnnproto NAIVE)
expect(${WORK} 2 "nowhere.tnnproto" ${WORK}/example/check_model nowhere.tnnproto)
expect(${WORK} 2 "unknown device 'X87'" ${WORK}/example/check_model ${digits}.tnnproto X87)

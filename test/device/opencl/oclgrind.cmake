# SPDX-License-Identifier: Apache-2.0
# Runs TEST with the gtest filter FILTER on oclgrind instead of this machine's OpenCL drivers; fails when it reports
# anything or finds no case. DRIVER: liboclgrind-rt-icd.so. WORK: a folder of its own.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/vendors ${WORK}/cache)
file(WRITE ${WORK}/vendors/oclgrind.icd "${DRIVER}\n")
set(ENV{OCL_ICD_VENDORS} ${WORK}/vendors)
set(ENV{OCLGRIND_LOG} ${WORK}/log)
set(ENV{PLUMB_CACHE_DIR} ${WORK}/cache)
set(ENV{VK_ICD_FILENAMES} ${WORK}/none)  # Mesa's LLVM and oclgrind's do not live in one process
execute_process(COMMAND ${TEST} --gtest_filter=${FILTER} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE
  output)
string(REGEX MATCH "PASSED  . [1-9][0-9]* test" passed "${output}")
set(log "")
if(EXISTS ${WORK}/log)
  file(READ ${WORK}/log log LIMIT 4000)
endif()
if(NOT result EQUAL 0 OR NOT passed OR NOT log STREQUAL "")
  message(FATAL_ERROR "exit code ${result}\n${output}\noclgrind reports:\n${log}")
endif()
message("${passed}s, no report")

# Writes report/version.h with the commit at hand, at build time, so that a result names the code it came from. The file
# changes only when the commit does: nothing is rebuilt otherwise.
#   cmake -DSOURCE=... -DTEMPLATE=... -DOUTPUT=... -DCNUAS_VERSION=... -P WriteVersion.cmake
execute_process(COMMAND git -C "${SOURCE}" rev-parse --short=12 HEAD
                OUTPUT_VARIABLE CNUAS_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  set(CNUAS_COMMIT "unknown")
else()
  execute_process(COMMAND git -C "${SOURCE}" diff --quiet HEAD RESULT_VARIABLE changed ERROR_QUIET)
  if(NOT changed EQUAL 0)
    string(APPEND CNUAS_COMMIT "+changes")
  endif()
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)

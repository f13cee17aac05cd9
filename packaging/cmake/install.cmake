# SPDX-License-Identifier: Apache-2.0
# Installs hx by the script that ./hx install runs; the files that it names go into CMake's install_manifest.txt.
execute_process(COMMAND sh "${hx_source}/runtime/install.sh" "${hx_source}" "${hx_built}" "${CMAKE_INSTALL_PREFIX}"
    "${hx_libdir}"
  OUTPUT_VARIABLE hx_written RESULT_VARIABLE hx_status OUTPUT_STRIP_TRAILING_WHITESPACE)
message("${hx_written}")
if(NOT hx_status EQUAL 0)
  message(FATAL_ERROR "hx: the installation failed")
endif()
string(REPLACE "hx: $ENV{DESTDIR}" "" hx_written "${hx_written}")
string(REPLACE "\n" ";" hx_written "${hx_written}")
list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${hx_written})

# lockset_backend_option(SQLITE SQLite3) declares LOCKSET_WITH_SQLITE = AUTO, ON or OFF and sets
# LOCKSET_HAS_SQLITE. AUTO builds the backend if its client library is found. ON makes a missing
# library an error, so that CI never passes without the backend.
macro(lockset_backend_option name package)
  set(LOCKSET_WITH_${name} AUTO CACHE STRING "Build this backend: AUTO, ON or OFF")
  set_property(CACHE LOCKSET_WITH_${name} PROPERTY STRINGS AUTO ON OFF)
  if(NOT "${LOCKSET_WITH_${name}}" MATCHES "^(AUTO|ON|OFF|1|0|TRUE|FALSE|YES|NO)$")
    message(FATAL_ERROR
      "LOCKSET_WITH_${name}=${LOCKSET_WITH_${name}}: use AUTO (built if ${package} is found), ON or OFF")
  endif()
  set(LOCKSET_HAS_${name} OFF)
  if(LOCKSET_WITH_${name} STREQUAL "AUTO")
    find_package(${package} QUIET)
    set(LOCKSET_HAS_${name} ${${package}_FOUND})
  elseif(LOCKSET_WITH_${name})
    find_package(${package} REQUIRED)
    set(LOCKSET_HAS_${name} ON)
  endif()
  message(STATUS "lockset: backend ${name}: ${LOCKSET_HAS_${name}}")
endmacro()

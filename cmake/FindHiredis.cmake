# hiredis, Redis's C client (Debian: libhiredis-dev): the target Hiredis::Hiredis, for
# <hiredis/hiredis.h>. If it was built with TLS (Debian 12's was not), also Hiredis::SSL, for
# <hiredis/hiredis_ssl.h>, with OpenSSL.
find_path(Hiredis_INCLUDE_DIR hiredis/hiredis.h)
find_library(Hiredis_LIBRARY hiredis)
find_path(Hiredis_SSL_INCLUDE_DIR hiredis/hiredis_ssl.h)
find_library(Hiredis_SSL_LIBRARY hiredis_ssl)
mark_as_advanced(Hiredis_INCLUDE_DIR Hiredis_LIBRARY Hiredis_SSL_INCLUDE_DIR Hiredis_SSL_LIBRARY)
if(Hiredis_INCLUDE_DIR)
  file(STRINGS "${Hiredis_INCLUDE_DIR}/hiredis/hiredis.h" Hiredis_VERSION
    REGEX "^#define HIREDIS_(MAJOR|MINOR|PATCH) [0-9]+")
  list(TRANSFORM Hiredis_VERSION REPLACE "^.* " "")
  list(JOIN Hiredis_VERSION "." Hiredis_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hiredis
  REQUIRED_VARS Hiredis_LIBRARY Hiredis_INCLUDE_DIR VERSION_VAR Hiredis_VERSION)
if(Hiredis_FOUND AND NOT TARGET Hiredis::Hiredis)
  add_library(Hiredis::Hiredis UNKNOWN IMPORTED)
  set_target_properties(Hiredis::Hiredis PROPERTIES
    IMPORTED_LOCATION "${Hiredis_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Hiredis_INCLUDE_DIR}")
endif()
if(Hiredis_SSL_LIBRARY AND Hiredis_SSL_INCLUDE_DIR)
  find_package(OpenSSL QUIET)
endif()
if(Hiredis_FOUND AND Hiredis_SSL_LIBRARY AND Hiredis_SSL_INCLUDE_DIR AND OPENSSL_FOUND
    AND NOT TARGET Hiredis::SSL)
  add_library(Hiredis::SSL UNKNOWN IMPORTED)
  set_target_properties(Hiredis::SSL PROPERTIES
    IMPORTED_LOCATION "${Hiredis_SSL_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Hiredis_SSL_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "Hiredis::Hiredis;OpenSSL::SSL")
endif()

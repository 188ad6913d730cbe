# libmemcached, memcached's C client (Debian: libmemcached-dev): the target
# Libmemcached::Libmemcached, for <libmemcached/memcached.h>.
find_path(Libmemcached_INCLUDE_DIR libmemcached/memcached.h)
find_library(Libmemcached_LIBRARY memcached)
mark_as_advanced(Libmemcached_INCLUDE_DIR Libmemcached_LIBRARY)
if(Libmemcached_INCLUDE_DIR)
  file(STRINGS "${Libmemcached_INCLUDE_DIR}/libmemcached-1.0/configure.h" Libmemcached_VERSION
    REGEX "^#define LIBMEMCACHED_VERSION_STRING ")
  string(REGEX REPLACE "^.*\"(.*)\".*$" "\\1" Libmemcached_VERSION "${Libmemcached_VERSION}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libmemcached
  REQUIRED_VARS Libmemcached_LIBRARY Libmemcached_INCLUDE_DIR VERSION_VAR Libmemcached_VERSION)
if(Libmemcached_FOUND AND NOT TARGET Libmemcached::Libmemcached)
  add_library(Libmemcached::Libmemcached UNKNOWN IMPORTED)
  set_target_properties(Libmemcached::Libmemcached PROPERTIES
    IMPORTED_LOCATION "${Libmemcached_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Libmemcached_INCLUDE_DIR}")
endif()

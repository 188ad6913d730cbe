# libpqxx, and libpq below it: the target libpqxx::libpqxx. Found by pkg-config, because Debian's
# package has no CMake file.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(PC_LIBPQXX QUIET IMPORTED_TARGET libpqxx libpq)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(libpqxx
  REQUIRED_VARS PC_LIBPQXX_FOUND VERSION_VAR PC_LIBPQXX_libpqxx_VERSION)
if(libpqxx_FOUND AND NOT TARGET libpqxx::libpqxx)
  add_library(libpqxx::libpqxx INTERFACE IMPORTED)
  target_link_libraries(libpqxx::libpqxx INTERFACE PkgConfig::PC_LIBPQXX)
endif()

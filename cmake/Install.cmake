# For users of an installed tree: find_package(lockset), or pkg-config. The components are the
# packages of cmake/Package.cmake.
include(CMakePackageConfigHelpers)
install(TARGETS lockset EXPORT locksetTargets
        FILE_SET HEADERS COMPONENT development
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/lockset)
install(EXPORT locksetTargets NAMESPACE lockset:: DESTINATION ${config_folder}
        COMPONENT development)
configure_package_config_file(cmake/locksetConfig.cmake.in ${PROJECT_BINARY_DIR}/locksetConfig.cmake
  INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/locksetConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
set(config_files ${PROJECT_BINARY_DIR}/locksetConfig.cmake
  ${PROJECT_BINARY_DIR}/locksetConfigVersion.cmake)

# What a program links besides the library. A shared library brings it along.
set(pc_requires "")
set(pc_libs "-pthread")
if(LOCKSET_HAS_SQLITE)
  list(APPEND pc_requires sqlite3)
endif()
if(LOCKSET_HAS_POSTGRESQL)
  list(APPEND config_files cmake/Findlibpqxx.cmake)
  list(APPEND pc_requires libpqxx libpq)
endif()
if(LOCKSET_HAS_MYSQL)
  list(APPEND config_files cmake/FindMysqlCppConn.cmake)
  list(APPEND pc_libs -lmysqlcppconn -lmariadb)
endif()
if(LOCKSET_HAS_REDIS)
  list(APPEND config_files cmake/FindHiredis.cmake)
  list(APPEND pc_requires hiredis)
  if(TARGET Hiredis::SSL)
    list(APPEND pc_requires hiredis_ssl openssl)
  endif()
endif()
if(LOCKSET_HAS_ZOOKEEPER)
  list(APPEND config_files cmake/FindZooKeeper.cmake)
  list(APPEND pc_libs -lzookeeper_mt)
endif()
if(LOCKSET_HAS_MEMCACHED)
  list(APPEND config_files cmake/FindLibmemcached.cmake)
  list(APPEND pc_libs -lmemcached)
endif()
install(FILES ${config_files} DESTINATION ${config_folder} COMPONENT development)

list(JOIN pc_requires ", " pc_requires)
list(JOIN pc_libs " " pc_libs)
if(BUILD_SHARED_LIBS)
  set(pc_requires "")  # pkg-config insists on the files even of Requires.private
  set(pc_libs "")
endif()
# From the folder of lockset.pc, so that the installed tree can be moved.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/lockset.pc.in ${PROJECT_BINARY_DIR}/lockset.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lockset.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)

if(LOCKSET_BUILD_CLI)
  install(TARGETS lockset-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  install(DIRECTORY examples/systemd examples/prometheus
          DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT command)
endif()

# find_package(lockset) for users of an installed tree.
include(CMakePackageConfigHelpers)
install(TARGETS lockset EXPORT locksetTargets FILE_SET HEADERS
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT locksetTargets NAMESPACE lockset::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lockset)
configure_package_config_file(cmake/locksetConfig.cmake.in ${PROJECT_BINARY_DIR}/locksetConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lockset)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/locksetConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/locksetConfig.cmake ${PROJECT_BINARY_DIR}/locksetConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lockset)
if(LOCKSET_HAS_POSTGRESQL)
  install(FILES cmake/Findlibpqxx.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lockset)
endif()
if(LOCKSET_HAS_MYSQL)
  install(FILES cmake/FindMysqlCppConn.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lockset)
endif()
if(LOCKSET_HAS_REDIS)
  install(FILES cmake/FindHiredis.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lockset)
endif()
if(LOCKSET_HAS_ZOOKEEPER)
  install(FILES cmake/FindZooKeeper.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lockset)
endif()
if(LOCKSET_BUILD_CLI)
  install(TARGETS lockset-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

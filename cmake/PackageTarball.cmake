# bin/lockset, which finds the libraries beside it in lib/lockset wherever the folder is put. They
# are all that it needs but those of glibc, which fit only together with the system's own loader.
if(BUILD_SHARED_LIBS OR NOT LOCKSET_BUILD_CLI)
  message(FATAL_ERROR "LOCKSET_PACKAGE=tarball needs BUILD_SHARED_LIBS=OFF and LOCKSET_BUILD_CLI=ON")
endif()
set(bundle lib/lockset)
set_target_properties(lockset-cli PROPERTIES INSTALL_RPATH "$ORIGIN/../${bundle}")
# As DT_RPATH, because DT_RUNPATH is not searched for what the libraries themselves need.
target_link_options(lockset-cli PRIVATE -Wl,--disable-new-dtags)
install(TARGETS lockset-cli RUNTIME_DEPENDENCY_SET needed
        RUNTIME DESTINATION bin COMPONENT bundle)
install(RUNTIME_DEPENDENCY_SET needed
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|anl|nsl)\\.so"
  LIBRARY DESTINATION ${bundle} COMPONENT bundle)
# How accounts of MySQL log in: libmariadb loads them where MARIADB_PLUGIN_DIR says.
file(GLOB plugins /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libmariadb3/plugin/*.so)
install(FILES ${plugins} DESTINATION ${bundle}/plugin COMPONENT bundle)
install(FILES LICENSE CHANGELOG.md DESTINATION . COMPONENT bundle)

install(SCRIPT cmake/BundledLicences.cmake COMPONENT bundle)

set(CPACK_GENERATOR TGZ)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_COMPONENTS_ALL bundle)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
set(CPACK_PACKAGE_FILE_NAME lockset-${PROJECT_VERSION}-${system}-${CMAKE_SYSTEM_PROCESSOR})

# lockset, the shared library, whose package has the soname in its name, and liblockset-dev.
if(NOT BUILD_SHARED_LIBS OR NOT LOCKSET_BUILD_CLI)
  message(FATAL_ERROR "LOCKSET_PACKAGE=deb needs BUILD_SHARED_LIBS=ON and LOCKSET_BUILD_CLI=ON")
endif()
find_program(LOCKSET_GZIP gzip REQUIRED)
get_target_property(soversion lockset SOVERSION)
set(package_of_command lockset)
set(package_of_library liblockset${soversion})
set(package_of_development liblockset-dev)

# Each package says under which licence it is and where its changes are.
string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(CPACK_COMPONENTS_ALL command library development)
foreach(component ${CPACK_COMPONENTS_ALL})
  string(TOUPPER ${component} upper)
  set(package ${package_of_${component}})
  set(folder ${PROJECT_BINARY_DIR}/debian/${package})
  configure_file(packaging/debian/changelog.in ${folder}/changelog @ONLY)
  execute_process(COMMAND ${LOCKSET_GZIP} -9nf ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
  install(FILES packaging/debian/copyright ${folder}/changelog.gz
          DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package} COMPONENT ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)

# What dpkg-shlibdeps finds, and this version's library.
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/debian/triggers CONTENT "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/triggers)
set(this_library "${package_of_library} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "${this_library}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${this_library}")

# One summary for all, then what each of them is.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "named locks on the datastore you already run")
set(sets "Sets of named read/write locks, taken all or nothing, on PostgreSQL, MySQL,
MariaDB, Redis, ZooKeeper, memcached or SQLite. A crashed process never leaves
a lock behind. Every grant has a stamp, by which the guarded resource can refuse a
stale holder.")
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "${sets}\n\nThis is the command, for shells, cron jobs and deploys.")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "${sets}\n\nThis is the shared library, for C++ programs.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "${sets}\n\nThese are the headers, the CMake package and the pkg-config file.")

# An overlay port that builds the checkout which it is in:
#
#   vcpkg install 'lockset[command,redis]' --overlay-ports=packaging/vcpkg
#
# vcpkg has no port of the clients of MySQL (Connector/C++ 1.1) and ZooKeeper, so these stores are
# left out. It looks for changes only in this folder: after others, remove the package first.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features
  FEATURES
    command LOCKSET_BUILD_CLI
    postgresql LOCKSET_WITH_POSTGRESQL
    redis LOCKSET_WITH_REDIS
    sqlite LOCKSET_WITH_SQLITE)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${features}
    -DLOCKSET_BUILD_TESTS=OFF
    -DLOCKSET_INSTALL=ON
    -DLOCKSET_WITH_MYSQL=OFF
    -DLOCKSET_WITH_ZOOKEEPER=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/lockset)
vcpkg_fixup_pkgconfig()
if("command" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES lockset AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")

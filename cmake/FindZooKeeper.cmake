# ZooKeeper's C client, multi-threaded (Debian: libzookeeper-mt-dev), which has neither a CMake
# package nor a pkg-config file: the target ZooKeeper::ZooKeeper, for <zookeeper/zookeeper.h>.
find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeper_LIBRARY zookeeper_mt)
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)
if(ZooKeeper_INCLUDE_DIR)
  file(STRINGS "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h" ZooKeeper_VERSION
    REGEX "^#define ZOO_VERSION \"")
  string(REGEX REPLACE "^.*\"(.*)\".*$" "\\1" ZooKeeper_VERSION "${ZooKeeper_VERSION}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeper
  REQUIRED_VARS ZooKeeper_LIBRARY ZooKeeper_INCLUDE_DIR VERSION_VAR ZooKeeper_VERSION)
if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::ZooKeeper)
  find_package(Threads REQUIRED)
  add_library(ZooKeeper::ZooKeeper UNKNOWN IMPORTED)
  # The header declares the synchronous calls only if THREADED is defined.
  set_target_properties(ZooKeeper::ZooKeeper PROPERTIES
    IMPORTED_LOCATION "${ZooKeeper_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS THREADED
    INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()

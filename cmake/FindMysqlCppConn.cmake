# MySQL Connector/C++ 1.1 (the JDBC-style API; Debian: libmysqlcppconn-dev), which has neither a
# CMake package nor a pkg-config file: the target MysqlCppConn::MysqlCppConn.
find_path(MysqlCppConn_INCLUDE_DIR mysql_connection.h PATH_SUFFIXES mysql-cppconn/jdbc)
find_library(MysqlCppConn_LIBRARY mysqlcppconn)
mark_as_advanced(MysqlCppConn_INCLUDE_DIR MysqlCppConn_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MysqlCppConn
  REQUIRED_VARS MysqlCppConn_LIBRARY MysqlCppConn_INCLUDE_DIR)
if(MysqlCppConn_FOUND AND NOT TARGET MysqlCppConn::MysqlCppConn)
  add_library(MysqlCppConn::MysqlCppConn UNKNOWN IMPORTED)
  set_target_properties(MysqlCppConn::MysqlCppConn PROPERTIES
    IMPORTED_LOCATION "${MysqlCppConn_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${MysqlCppConn_INCLUDE_DIR}")
endif()

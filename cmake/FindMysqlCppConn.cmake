# MySQL Connector/C++ 1.1 (the JDBC-style API; Debian: libmysqlcppconn-dev), which has neither a
# CMake package nor a pkg-config file, and the C library under it (libmariadb-dev), which can wait
# for an answer without blocking: the target MysqlCppConn::MysqlCppConn.
find_path(MysqlCppConn_INCLUDE_DIR mysql_connection.h PATH_SUFFIXES mysql-cppconn/jdbc)
find_library(MysqlCppConn_LIBRARY mysqlcppconn)
find_path(MysqlCppConn_C_INCLUDE_DIR mysql.h PATH_SUFFIXES mariadb)
find_library(MysqlCppConn_C_LIBRARY mariadb)
mark_as_advanced(MysqlCppConn_INCLUDE_DIR MysqlCppConn_LIBRARY MysqlCppConn_C_INCLUDE_DIR
  MysqlCppConn_C_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MysqlCppConn
  REQUIRED_VARS MysqlCppConn_LIBRARY MysqlCppConn_INCLUDE_DIR MysqlCppConn_C_LIBRARY
    MysqlCppConn_C_INCLUDE_DIR)
if(MysqlCppConn_FOUND AND NOT TARGET MysqlCppConn::MysqlCppConn)
  add_library(MysqlCppConn::MysqlCppConn UNKNOWN IMPORTED)
  set_target_properties(MysqlCppConn::MysqlCppConn PROPERTIES
    IMPORTED_LOCATION "${MysqlCppConn_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${MysqlCppConn_INCLUDE_DIR};${MysqlCppConn_C_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${MysqlCppConn_C_LIBRARY}")
endif()

# The SQL and Lua of the stores are in separate files, backends/<x>/statements/, and are built into
# the library.
#
#   lockset_statements(TARGET STORE FILE...)      FILE: its name in statements/
#
# makes the header "backends/STORE/statements.h" in the build folder, again whenever a file changes.
# For acquire.sql the header has lockset::STORE::statements::acquire_sql, a constexpr
# std::string_view.
#
# It contains what the server is to get: without the first lines that begin with "-- #" (they say
# what the file is, and are a comment in SQL and in Lua alike), and without the newlines at both
# ends. All other comments stay. The program fills in placeholders; the header of each file says
# with what.
function(lockset_statements target store)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/statements/ OUTPUT_VARIABLE files)
  set(folder ${PROJECT_BINARY_DIR}/generated)
  set(header ${folder}/backends/${store}/statements.h)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DSTORE=${store} "-DFILES=${files}"
            -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE}
    DEPENDS ${files} ${CMAKE_CURRENT_FUNCTION_LIST_FILE} ${CMAKE_CURRENT_LIST_FILE}
    COMMENT "Statements of ${store}"
    VERBATIM)
  # The target belongs to another folder, which does not know the commands of this one.
  add_custom_target(${target}_${store}_statements DEPENDS ${header})
  add_dependencies(${target} ${target}_${store}_statements)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()

# Sets `result` to the definition of one file's text.
function(lockset_statement file result)
  file(READ "${file}" text)
  string(REGEX REPLACE "^(-- #[^\n]*\n)+" "" text "${text}")
  string(REGEX REPLACE "^\n+" "" text "${text}")
  string(REGEX REPLACE "\n+$" "" text "${text}")
  foreach(never IN ITEMS "\n-- #" ")statement\"" "\r")
    string(FIND "\n${text}" "${never}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file}: there may be no line with \"-- #\" but at its beginning, no "
        ")statement\" and no carriage return")
    endif()
  endforeach()
  if(text STREQUAL "")
    message(FATAL_ERROR "${file}: there is no statement in it")
  endif()
  get_filename_component(name "${file}" NAME)
  string(MAKE_C_IDENTIFIER ${name} name)
  set(${result}
    "inline constexpr std::string_view ${name} = R\"statement(${text})statement\";\n" PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  string(CONCAT code "// Made of backends/${STORE}/statements/ by cmake/Statements.cmake.\n"
    "#pragma once\n\n#include <string_view>\n\nnamespace lockset::${STORE}::statements {\n\n")
  foreach(file IN LISTS FILES)
    lockset_statement("${file}" definition)
    string(APPEND code "${definition}")
  endforeach()
  string(APPEND code "\n}  // namespace lockset::${STORE}::statements\n")
  file(WRITE "${HEADER}" "${code}")
endif()

# Warnings for our own targets; never passed on to whoever links lockset.
function(lockset_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 warns of std::string's own operator+ (GCC bug 105329), and of what a std::variant
    # that is moved does not hold.
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-maybe-uninitialized)
  endif()
  if(CMAKE_UNITY_BUILD)
    # One file's names may hide another's there; builds without unity look at each file alone.
    target_compile_options(${target} PRIVATE -Wno-shadow -Wno-subobject-linkage)
  endif()
  if(LOCKSET_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

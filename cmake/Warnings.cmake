# Warnings for our own targets; never passed on to users of lockset.
function(lockset_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # When a std::variant is moved, GCC (12 to 14) warns about alternatives that it does not hold.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # GCC 12 warns about std::string's own operator+ (GCC bug 105329).
      target_compile_options(${target} PRIVATE -Wno-restrict)
    endif()
  endif()
  if(CMAKE_UNITY_BUILD)
    # In a unity build one file's names may hide another's; builds without unity check each file
    # alone.
    target_compile_options(${target} PRIVATE -Wno-shadow -Wno-subobject-linkage)
  endif()
  if(LOCKSET_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# Warnings for our own targets; never passed on to whoever links lockset.
function(lockset_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual)
  if(LOCKSET_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# lockset_sanitize(TARGET): LOCKSET_SANITIZE=address;undefined or thread, for our own targets.
# LOCKSET_SANITIZE_LESS: checks of undefined that are left out.
function(lockset_sanitize target)
  if(LOCKSET_SANITIZE)
    list(JOIN LOCKSET_SANITIZE "," sanitizers)
    target_compile_options(${target} PRIVATE -fsanitize=${sanitizers} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    if(LOCKSET_SANITIZE_LESS)
      list(JOIN LOCKSET_SANITIZE_LESS "," less)
      target_compile_options(${target} PRIVATE -fno-sanitize=${less})
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${sanitizers})
  endif()
endfunction()

# lockset_sanitize(TARGET): LOCKSET_SANITIZE=address;undefined or thread, for our own targets.
function(lockset_sanitize target)
  if(LOCKSET_SANITIZE)
    list(JOIN LOCKSET_SANITIZE "," sanitizers)
    target_compile_options(${target} PRIVATE -fsanitize=${sanitizers} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${sanitizers})
  endif()
endfunction()

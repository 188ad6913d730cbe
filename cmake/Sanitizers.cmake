# lockset_sanitize(TARGET [HEADER...]) LOCKSET_SANITIZE=address;undefined or thread, for our own
# targets. Such a build compiles slowly, so it precompiles headers that nearly all files of the
# target include. (Other builds don't, and so check that each file includes what it needs.)
function(lockset_sanitize target)
  if(LOCKSET_SANITIZE)
    list(JOIN LOCKSET_SANITIZE "," sanitizers)
    target_compile_options(${target} PRIVATE -fsanitize=${sanitizers} -fno-omit-frame-pointer
      -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${sanitizers})
    if(ARGN)
      target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
  endif()
endfunction()

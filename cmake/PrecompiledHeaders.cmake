# lockset_precompile(TARGET HEADER...): what nearly all files of the target include, compiled once,
# in quick builds (CMAKE_UNITY_BUILD). The others check that each file includes what it needs.
function(lockset_precompile target)
  if(CMAKE_UNITY_BUILD)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# Run by cpack: puts the licence of each Debian package whose library is in the tarball beside it.
file(GLOB libraries "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/lockset/*.so*")
set(packages "")
foreach(library ${libraries})
  get_filename_component(name ${library} NAME)
  execute_process(COMMAND dpkg-query --search "*/${name}"
    OUTPUT_VARIABLE owner OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[:,].*" "" package "${owner}")
  list(APPEND packages ${package})
endforeach()
list(REMOVE_DUPLICATES packages)
foreach(package ${packages})
  file(INSTALL FILES /usr/share/doc/${package}/copyright
    DESTINATION "${CMAKE_INSTALL_PREFIX}/licences" RENAME ${package})
endforeach()

# With FOREBAY_UNITY, compiles the sources of a folder as one, because most of a source's compile
# time is that of its headers. So names must differ within a folder, also in unnamed namespaces.
function(forebay_unite target)
  if(NOT FOREBAY_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME group)
    set_source_files_properties(${source} TARGET_DIRECTORY ${target}
                                PROPERTIES UNITY_GROUP "sources${group}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

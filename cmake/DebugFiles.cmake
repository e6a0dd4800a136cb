# Puts the debug information of a target into a file of its own, FOREBAY_DEBUG_FILES/<file>.debug.
# The target contains the name and checksum of that file, by which debuggers find it.
function(forebay_keep_debug_file target)
  if(NOT FOREBAY_DEBUG_FILES)
    return()
  endif()
  set(debug_file ${FOREBAY_DEBUG_FILES}/$<TARGET_FILE_NAME:${target}>.debug)
  add_custom_command(
    TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${FOREBAY_DEBUG_FILES}
    COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE:${target}> ${debug_file}
    COMMAND ${CMAKE_OBJCOPY} --strip-debug --remove-section=.gnu_debuglink
            --add-gnu-debuglink=${debug_file} $<TARGET_FILE:${target}>
    VERBATIM)
endfunction()

# The files that `cmake --install` and the wheel contain: the same tree, below a prefix or, for the
# wheel, below the Python package.
include(CMakePackageConfigHelpers)

set(config_directory lib/cmake/forebay)
install(TARGETS forebay_preload LIBRARY DESTINATION lib)
install(TARGETS forebay-committer RUNTIME DESTINATION lib)
install(TARGETS forebay_earlier LIBRARY DESTINATION lib)
foreach(abi mpich mpiabi openmpi)
  if(NOT TARGET forebay_${abi})
    continue()
  endif()
  set_target_properties(forebay_${abi} PROPERTIES EXPORT_NAME ${abi})
  # Keeps the MPI library, which comes after, even if the program then needs nothing of it.
  target_link_options(forebay_${abi} INTERFACE LINKER:--no-as-needed)
  install(TARGETS forebay_${abi} EXPORT forebayTargets LIBRARY DESTINATION lib)
  configure_file(cmake/forebay.pc.in forebay-${abi}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/forebay-${abi}.pc DESTINATION lib/pkgconfig)
endforeach()
install(EXPORT forebayTargets NAMESPACE forebay:: DESTINATION ${config_directory})

configure_package_config_file(cmake/forebayConfig.cmake.in forebayConfig.cmake
                              INSTALL_DESTINATION ${config_directory})
write_basic_package_version_file(forebayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/forebayConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/forebayConfigVersion.cmake
        DESTINATION ${config_directory})

# The manual pages and the completion files, where man and the shells look for them: below the
# environment into which the wheel is installed, or below the prefix.
set(share share)
if(SKBUILD)
  set(share ${SKBUILD_DATA_DIR}/share)
endif()
file(GLOB manual_pages CONFIGURE_DEPENDS man/*.1)
install(FILES ${manual_pages} DESTINATION ${share}/man/man1)
install(FILES completion/forebay.bash DESTINATION ${share}/bash-completion/completions RENAME forebay)
install(FILES completion/forebay.zsh DESTINATION ${share}/zsh/site-functions RENAME _forebay)
install(FILES completion/forebay.fish DESTINATION ${share}/fish/vendor_completions.d)

if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
  install(DIRECTORY include/ DESTINATION include)
endif()

# Target zstd_static: the compressor of traces, linked statically, because it is loaded into other
# people's programs. It is the system's if that has headers and a static library, otherwise it is
# compiled from the sources in the zstandard package.
set(FOREBAY_ZSTD_SOURCE "zstandard==0.25.0")

find_path(FOREBAY_ZSTD_INCLUDE zstd.h)
find_library(FOREBAY_ZSTD_LIBRARY libzstd.a)
mark_as_advanced(FOREBAY_ZSTD_INCLUDE FOREBAY_ZSTD_LIBRARY)

if(FOREBAY_ZSTD_INCLUDE AND FOREBAY_ZSTD_LIBRARY)
  add_library(zstd_static STATIC IMPORTED)
  set_target_properties(zstd_static PROPERTIES IMPORTED_LOCATION ${FOREBAY_ZSTD_LIBRARY})
  target_include_directories(zstd_static SYSTEM INTERFACE ${FOREBAY_ZSTD_INCLUDE})
else()
  set(zstd_directory ${CMAKE_BINARY_DIR}/zstd)
  if(NOT EXISTS ${zstd_directory}/zstd.c)
    find_package(Python REQUIRED COMPONENTS Interpreter)
    message(STATUS "Fetching the sources of zstd with ${FOREBAY_ZSTD_SOURCE}")
    execute_process(
      COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/fetch_zstd.py
              ${zstd_directory} ${FOREBAY_ZSTD_SOURCE}
      RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "The sources of zstd could not be fetched from PyPI. Install its "
                          "development package (libzstd-dev).")
    endif()
  endif()
  add_library(zstd_static STATIC ${zstd_directory}/zstd.c)
  target_include_directories(zstd_static SYSTEM PUBLIC ${zstd_directory})
  target_compile_options(zstd_static PRIVATE -w -O2)
endif()

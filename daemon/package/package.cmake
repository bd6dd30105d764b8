# The Debian packages, one a component: `cpack -G DEB` in the build folder.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME thermocline)
set(CPACK_PACKAGE_CONTACT "The Thermocline authors <thermocline@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "keeps the warm memory of training jobs in fast memory")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON) # places.cmake sees /usr, not a folder of CPack's
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime observer dev doc)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(same "(= ${PROJECT_VERSION})")
set(loaded "libpmem2, libpmem1")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME thermocline)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION admin)
# procps: the unit's kill; libpfm4, libpmem: loaded, so that no ELF header names
# them.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS
  "init-system-helpers, procps, libpfm4, ${loaded}, thermocline-observer ${same}")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS
  "thermocline-doc, python3-zmq, python3-torch")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${package}/postinst
  ${package}/prerm ${package}/postrm ${package}/conffiles)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
  "keeps the warm memory of training jobs in fast memory
thermoclined learns which memory of a job is warm and moves it; thermocline
records, estimates, trains, runs and asks.")

set(CPACK_DEBIAN_OBSERVER_PACKAGE_NAME thermocline-observer)
set(CPACK_DEBIAN_OBSERVER_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_OBSERVER_PACKAGE_DEPENDS "${loaded}")
set(CPACK_DEBIAN_OBSERVER_PACKAGE_CONTROL_EXTRA ${package}/triggers)
set(CPACK_COMPONENT_OBSERVER_DESCRIPTION
  "Thermocline inside a job: the tensor observer, and checkpoints
The libraries that thermocline record and run preload into a PyTorch or LibTorch
job, and checkpoints on persistent memory for C and Python.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME thermocline-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "thermocline-observer ${same}, libisal-dev, libzmq3-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS
  "libtorch-dev, libopenmpi-dev, pkg-config, cmake")
set(CPACK_COMPONENT_DEV_DESCRIPTION
  "Thermocline's libraries for training jobs
Checkpoints on persistent memory, exchange of samples, shared parameters and
ordered loops over one-sided MPI windows: headers, static libraries, CMake
package and pkg-config files.")

set(CPACK_DEBIAN_DOC_PACKAGE_NAME thermocline-doc)
set(CPACK_DEBIAN_DOC_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_DOC_DESCRIPTION
  "Thermocline's documentation
Guides, the API, the formats, a Grafana dashboard, and the bill of materials.")
include(CPack)

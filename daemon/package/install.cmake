# What is installed, and where, by component:
#   runtime   the programs, the service, man pages, completion, the client
#   observer  what runs inside a job: the libraries that record and run preload,
#             and checkpoints for C and Python
#   dev       headers and libraries that a job links (develop.cmake)
#   doc       all pages, with their links whole
#
# Programs find their libraries by their own place (daemon/paths.h), so all lie
# in one folder, and bin/ has links to them.
include(GNUInstallDirs)
set(home ${CMAKE_INSTALL_LIBDIR}/thermocline)
set(python lib/python3/dist-packages)
set(package ${CMAKE_CURRENT_LIST_DIR})
set(made ${CMAKE_BINARY_DIR}/package)
file(MAKE_DIRECTORY ${made})

# --- runtime ----------------------------------------------------------------
install(TARGETS thermocline thermoclined thermocline-train
  thermocline-export-checkpoint RUNTIME DESTINATION ${home}/bin
  COMPONENT runtime)
install(TARGETS thermocline_learned thermocline_solver
  LIBRARY DESTINATION ${home}/lib COMPONENT runtime)
install(FILES ${CMAKE_SOURCE_DIR}/agent/models/general.pt
  DESTINATION ${home}/share/thermocline COMPONENT runtime)
set_target_properties(thermocline thermoclined thermocline-train PROPERTIES
  INSTALL_RPATH "$ORIGIN/../lib")

file(RELATIVE_PATH to_home ${CMAKE_INSTALL_FULL_BINDIR}
  ${CMAKE_INSTALL_FULL_LIBDIR}/thermocline)
foreach(program thermocline thermoclined)
  file(CREATE_LINK ${to_home}/bin/${program} ${made}/${program} SYMBOLIC)
  install(FILES ${made}/${program} DESTINATION ${CMAKE_INSTALL_BINDIR}
    COMPONENT runtime)
endforeach()

add_custom_command(OUTPUT ${made}/thermoclined.json
  COMMAND sh -c "\"$1\" --print-config --state /var/lib/thermocline/state >\"$2\""
    sh $<TARGET_FILE:thermoclined> ${made}/thermoclined.json
  DEPENDS thermoclined VERBATIM)
add_custom_target(default_config ALL DEPENDS ${made}/thermoclined.json)
add_custom_command(OUTPUT ${made}/completion
  COMMAND sh -c "\"$1\" completion bash >\"$2\""
    sh $<TARGET_FILE:thermocline> ${made}/completion
  DEPENDS thermocline thermocline-train VERBATIM)
add_custom_target(completion_of_bash ALL DEPENDS ${made}/completion)
install(FILES ${made}/completion COMPONENT runtime RENAME thermocline
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
foreach(section 1 8)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/share/man/ COMPONENT runtime
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
    FILES_MATCHING PATTERN "*.${section}")
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/daemon/thermocline.py DESTINATION ${python}
  COMPONENT runtime)

# The system's places when the prefix is the system's, which is known only when
# all is installed: a package's prefix is not the one that was configured.
install(CODE "
  set(made [[${made}]])
  set(package [[${package}]])
  set(etc [[${CMAKE_INSTALL_SYSCONFDIR}]])
  include(\"\${package}/places.cmake\")" COMPONENT runtime)

# --- observer ---------------------------------------------------------------
install(TARGETS thermocline_observer thermocline_observer_torch
  LIBRARY DESTINATION ${home}/lib COMPONENT observer)
install(TARGETS thermocline_checkpoint COMPONENT observer
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT observer
    NAMELINK_COMPONENT dev)
install(FILES ${CMAKE_SOURCE_DIR}/training/thermocline_checkpoint.py
  DESTINATION ${python} COMPONENT observer)

# --- dev --------------------------------------------------------------------
include(${package}/develop.cmake)

# --- doc --------------------------------------------------------------------
set(docs ${CMAKE_INSTALL_DATADIR}/doc/thermocline)
file(GLOB pages RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
  ${CMAKE_SOURCE_DIR}/*.md ${CMAKE_SOURCE_DIR}/*/*.md
  ${CMAKE_SOURCE_DIR}/*/*/*.md)
list(FILTER pages EXCLUDE REGEX "^build/")
foreach(page ${pages} daemon/package/grafana.json)
  get_filename_component(folder ${page} DIRECTORY)
  install(FILES ${CMAKE_SOURCE_DIR}/${page} DESTINATION ${docs}/${folder}
    COMPONENT doc)
endforeach()
# What all this stands on, and why; made where dpkg knows.
find_program(DPKG_QUERY dpkg-query)
if(DPKG_QUERY)
  add_custom_command(OUTPUT ${made}/sbom.cdx.json
    COMMAND ${package}/sbom ${CMAKE_BINARY_DIR} ${made}/sbom.cdx.json
    DEPENDS ${package}/sbom ${package}/reasons ${package}/changelog
      ${CMAKE_SOURCE_DIR}/bootstrap thermocline thermoclined thermocline-train
      thermocline-export-checkpoint thermocline_learned thermocline_solver
      thermocline_observer thermocline_observer_torch thermocline_checkpoint
    VERBATIM)
  add_custom_target(sbom ALL DEPENDS ${made}/sbom.cdx.json)
  install(FILES ${made}/sbom.cdx.json DESTINATION ${docs} COMPONENT doc)
endif()

# --- every package's papers -------------------------------------------------
find_program(GZIP gzip REQUIRED)
add_custom_command(OUTPUT ${made}/changelog.gz
  COMMAND sh -c "\"$1\" -9nc \"$2\" >\"$3\"" sh ${GZIP} ${package}/changelog
    ${made}/changelog.gz
  DEPENDS ${package}/changelog VERBATIM)
add_custom_target(packed_changelog ALL DEPENDS ${made}/changelog.gz)
foreach(part runtime observer dev doc)
  set(name thermocline-${part})
  if(part STREQUAL runtime)
    set(name thermocline)
  endif()
  install(FILES ${made}/changelog.gz COMPONENT ${part}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE COMPONENT ${part} RENAME copyright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name})
endforeach()

# All that is installed: what ./bootstrap build makes, without tests and benches.
set(product thermocline thermoclined thermocline-train
  thermocline-export-checkpoint thermocline_learned thermocline_solver
  thermocline_observer thermocline_observer_torch thermocline_checkpoint
  thermocline_installed_training thermocline_installed_torch
  thermocline_installed_distributed default_config completion_of_bash
  packed_changelog)
foreach(target thermocline_installed_mpi man sbom)
  if(TARGET ${target})
    list(APPEND product ${target})
  endif()
endforeach()
add_custom_target(product DEPENDS ${product})

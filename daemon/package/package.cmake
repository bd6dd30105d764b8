# What is installed, and the Debian package: `cpack -G DEB` in the build folder.
#
# Programs find their libraries by their own place (daemon/paths.h), so all lie
# in one folder, and /usr/bin has links to them.
set(home lib/thermocline)
set(package ${CMAKE_CURRENT_LIST_DIR})
set(made ${CMAKE_BINARY_DIR}/package)

install(TARGETS thermocline thermoclined thermocline-train
  thermocline-export-checkpoint RUNTIME DESTINATION ${home}/bin)
install(TARGETS thermocline_learned thermocline_observer
  thermocline_observer_torch thermocline_solver
  LIBRARY DESTINATION ${home}/lib)
install(FILES ${CMAKE_SOURCE_DIR}/agent/models/general.pt
  DESTINATION ${home}/share/thermocline)
set_target_properties(thermocline thermoclined thermocline-train PROPERTIES
  INSTALL_RPATH "$ORIGIN/../lib")

file(MAKE_DIRECTORY ${made})
foreach(program thermocline thermoclined)
  file(CREATE_LINK ../${home}/bin/${program} ${made}/${program} SYMBOLIC)
  install(FILES ${made}/${program} DESTINATION bin)
endforeach()

add_custom_command(OUTPUT ${made}/thermoclined.json
  COMMAND sh -c "\"$1\" --print-config --state /var/lib/thermocline/state >\"$2\""
    sh $<TARGET_FILE:thermoclined> ${made}/thermoclined.json
  DEPENDS thermoclined VERBATIM)
add_custom_target(default_config ALL DEPENDS ${made}/thermoclined.json)
install(FILES ${made}/thermoclined.json DESTINATION /etc/thermocline)

add_custom_command(OUTPUT ${made}/completion
  COMMAND sh -c "\"$1\" completion bash >\"$2\""
    sh $<TARGET_FILE:thermocline> ${made}/completion
  DEPENDS thermocline VERBATIM)
add_custom_target(completion_of_bash ALL DEPENDS ${made}/completion)
install(FILES ${made}/completion
  DESTINATION share/bash-completion/completions RENAME thermocline)
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/man/ DESTINATION share/man/man1
  FILES_MATCHING PATTERN "*.1")
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/man/ DESTINATION share/man/man8
  FILES_MATCHING PATTERN "*.8")
install(FILES ${CMAKE_SOURCE_DIR}/daemon/thermocline.py
  DESTINATION lib/python3/dist-packages)
install(FILES ${package}/thermoclined.service
  DESTINATION /lib/systemd/system)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/daemon/API.md
  ${CMAKE_SOURCE_DIR}/daemon/OPERATION.md ${package}/grafana.json
  DESTINATION share/doc/thermocline)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/thermocline
  RENAME copyright)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME thermocline)
set(CPACK_PACKAGE_CONTACT "The Thermocline authors <thermocline@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY
  "keeps the warm memory of training jobs in fast memory")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS init-system-helpers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${package}/postinst ${package}/prerm
  ${package}/postrm ${package}/conffiles)
include(CPack)

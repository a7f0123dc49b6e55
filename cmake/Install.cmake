# `cmake --install` and the Debian package (`cpack --config build/release/CPackConfig.cmake`).

# The AppArmor profile names two programs by their full paths, once for the clone, once installed:
# the launcher, which makes the namespaces, and the program itself, whose doctor tries to.
function(cordon_apparmor_profile profile prefix output)
  set(CORDON_PROFILE ${profile})
  set(CORDON_PROGRAMS "${prefix}/{bin/cordon,libexec/cordon/cordon-launch}")
  configure_file(${PROJECT_SOURCE_DIR}/packaging/apparmor/cordon-launch.in ${output} @ONLY)
endfunction()
string(SHA256 place ${PROJECT_BINARY_DIR})
string(SUBSTRING ${place} 0 8 place)
cordon_apparmor_profile(cordon-launch-${place}
  ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/apparmor/clone)

if(NOT TARGET cordon OR NOT TARGET cordon-launch)
  return()
endif()
install(TARGETS cordon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Found from the program as ../libexec/cordon/cordon-launch.
install(TARGETS cordon-launch RUNTIME DESTINATION libexec/cordon)

# Files that exist once their part of the project does.
function(cordon_install_file file destination)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${file})
    install(FILES ${PROJECT_SOURCE_DIR}/${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${destination}
            ${ARGN})
  endif()
endfunction()
cordon_install_file(docs/man/cordon.1 man/man1)
cordon_install_file(completions/cordon.bash bash-completion/completions RENAME cordon)
cordon_install_file(completions/_cordon zsh/vendor-completions)
cordon_install_file(completions/cordon.fish fish/vendor_completions.d)
cordon_install_file(README.md doc/cordon)
cordon_install_file(SECURITY.md doc/cordon)
cordon_install_file(LICENSE doc/cordon RENAME copyright)

cordon_apparmor_profile(cordon-launch /usr ${PROJECT_BINARY_DIR}/apparmor/installed)
install(FILES ${PROJECT_BINARY_DIR}/apparmor/installed RENAME cordon-launch
        DESTINATION ${CMAKE_INSTALL_DATADIR}/cordon/apparmor)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cordon)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "Cordon developers <cordon@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS bubblewrap)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/packaging/debian/postinst;${PROJECT_SOURCE_DIR}/packaging/debian/postrm)
include(CPack)

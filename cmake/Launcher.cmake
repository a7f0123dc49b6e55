# cordon-launch: the small static program that makes namespaces and stays as monitor, init and broker.
# Its own sources have no exceptions; the broker (src/notify) decides with the modules of the host
# side, which it links. The wire format is compiled into it a second time, under its own flags.
file(GLOB CORDON_LAUNCHER_EXTRA_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/jail/wire*.cc)
list(FILTER CORDON_LAUNCHER_EXTRA_SOURCES EXCLUDE REGEX "_(test|fuzz)\\.cc$|_json\\.cc$")

file(GLOB launcher_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/launcher/*.cc)
list(FILTER launcher_sources EXCLUDE REGEX "_(test|fuzz)\\.cc$")
if(EXISTS ${PROJECT_SOURCE_DIR}/src/launcher/main.cc)
  add_executable(cordon-launch ${launcher_sources} ${CORDON_LAUNCHER_EXTRA_SOURCES})
  target_link_libraries(cordon-launch PRIVATE cordon_warnings)
  target_compile_options(cordon-launch PRIVATE -Os -fno-pie -fno-exceptions -fno-rtti
                         -fno-asynchronous-unwind-tables -fno-threadsafe-statics
                         -ffunction-sections -fdata-sections
                         $<$<CONFIG:Release>:-fstack-protector-strong>)
  target_link_options(cordon-launch PRIVATE -static -no-pie -Wl,--gc-sections -Wl,-z,noexecstack
                      $<$<CONFIG:Release>:-s>)
  set_target_properties(cordon-launch PROPERTIES POSITION_INDEPENDENT_CODE OFF
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/libexec/cordon)
  if(CORDON_SANITIZE)
    # A static program has no sanitizer: what it links is compiled once more without.
    set(plain_sources "")
    foreach(module base sys glob policy notify maskfs)
      cordon_module_sources(${module} sources)
      list(FILTER sources EXCLUDE REGEX "_json[a-z_]*\\.cc$|/json_[a-z]*\\.cc$")
      list(APPEND plain_sources ${sources})
    endforeach()
    add_library(cordon_plain STATIC ${plain_sources})
    target_link_libraries(cordon_plain PUBLIC cordon_warnings)
    target_link_libraries(cordon-launch PRIVATE cordon_plain)
  else()
    target_link_libraries(cordon-launch PRIVATE cordon_maskfs)
  endif()
endif()

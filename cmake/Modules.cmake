# The modules, left to right; a module links (and may include) what stands left of it, except that
# jail and probe do not know each other. tests/lint/include_order_test.py reads the same order.
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Threads REQUIRED)

# A module's own sources, without tests, fuzz targets and the program's main.cc.
function(cordon_module_sources module out)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${module}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz)\\.cc$|/main\\.cc$")
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

set(CORDON_MODULES "")  # those that exist, in order
function(cordon_module module)
  cordon_module_sources(${module} sources)
  if(NOT sources)
    return()
  endif()
  add_library(cordon_${module} STATIC ${sources})
  target_link_libraries(cordon_${module} PUBLIC cordon_options)
  foreach(left IN LISTS ARGN)
    if(TARGET cordon_${left})
      target_link_libraries(cordon_${module} PUBLIC cordon_${left})
    endif()
  endforeach()
  list(APPEND CORDON_MODULES ${module})
  set(CORDON_MODULES ${CORDON_MODULES} PARENT_SCOPE)
endfunction()

cordon_module(base)
cordon_module(sys     base)
cordon_module(glob    base sys)
cordon_module(policy  base sys glob)
cordon_module(jail    base sys glob policy)
cordon_module(probe   base sys glob policy)
cordon_module(session base sys glob policy jail probe)
cordon_module(cli     base sys glob policy jail probe session)

foreach(module IN LISTS CORDON_MODULES)
  target_link_libraries(cordon_${module} PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
endforeach()
if(TARGET cordon_session)
  target_link_libraries(cordon_session PUBLIC Threads::Threads)
endif()

# Compiler, ccache, mold, warnings, hardening. The flags hang on two interface targets:
#   cordon_warnings  language level and warnings, for every target
#   cordon_options   the above, sanitizers and hardening, for everything but the static launcher
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")

# check_pie_supported() is not called on purpose: CMake would add -pie or -no-pie behind the
# -static-pie of the program. Each program says itself how it is linked.

find_program(CORDON_CCACHE ccache)
if(CORDON_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache refuses precompiled headers unless told that their defines and times may differ.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${CORDON_CCACHE})
endif()

find_program(CORDON_MOLD mold)
if(CORDON_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(cordon_warnings INTERFACE)
target_include_directories(cordon_warnings INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(cordon_warnings INTERFACE -Wall -Wextra -Wshadow
                       $<$<BOOL:${CORDON_WERROR}>:-Werror>
                       # g++ 12 sees uninitialised members in every std::variant that it inlines,
                       # and overlapping copies in operator+ of strings (GCC bug 105651).
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                       # Designated initialisers that leave the rest at its default are house style.
                       -Wno-missing-field-initializers)
target_compile_definitions(cordon_warnings INTERFACE _GNU_SOURCE _GLIBCXX_ASSERTIONS
                           CORDON_VERSION="${PROJECT_VERSION}")

add_library(cordon_options INTERFACE)
target_link_libraries(cordon_options INTERFACE cordon_warnings)
if(CORDON_SANITIZE)
  target_compile_options(cordon_options INTERFACE -fsanitize=${CORDON_SANITIZE}
                         -fno-omit-frame-pointer -fno-sanitize-recover=all -g1 -O1)
  target_link_options(cordon_options INTERFACE -fsanitize=${CORDON_SANITIZE})
else()
  target_compile_options(cordon_options INTERFACE
                         $<$<CONFIG:Release>:-fstack-protector-strong>
                         $<$<CONFIG:Release>:-U_FORTIFY_SOURCE>
                         $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
  target_link_options(cordon_options INTERFACE $<$<CONFIG:Release>:-Wl,-z,relro>
                      -Wl,-z,noexecstack)
endif()

# cmake -DSOURCE=FOLDER -DVERSION=0.1.0 -DTO=version.cpp -P version.cmake
# Fills in core/base/version.cpp.in at every build; the file changes only if the commit does.
set(COMMIT "$Format:%H$")  # git archive writes the commit here, see .gitattributes
set(DIRTY false)
if(COMMIT MATCHES "^.Format")
  set(COMMIT "")
  find_package(Git QUIET)
  if(Git_FOUND AND EXISTS ${SOURCE}/.git)
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse HEAD WORKING_DIRECTORY ${SOURCE}
                    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${GIT_EXECUTABLE} status --porcelain --untracked-files=no
                    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(DIRTY true)
    endif()
  endif()
endif()
configure_file(${SOURCE}/core/base/version.cpp.in ${TO} @ONLY)

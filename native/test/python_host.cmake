# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

# The host of Python objects. There is one interpreter in a process.
enable_language(C)
execute_process(COMMAND ${Python_EXECUTABLE} -c "import sys; print(sys.prefix)"
  OUTPUT_VARIABLE environment OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
# Python never frees all its memory, and memory held by the sanitizer must not count as growth.
set(sanitizer "ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=0:thread_local_quarantine_size_kb=0")
function(add_host_test name)
  add_test(NAME python_host.${name} COMMAND ${ARGN})
  set_tests_properties(python_host.${name} PROPERTIES
    ENVIRONMENT "VMS_PH_PYTHON=${environment};OMP_NUM_THREADS=1;${sanitizer}" TIMEOUT 120)
endfunction()

add_executable(worker_test worker_test.cpp)
target_link_libraries(worker_test PRIVATE vms_ph_python_host vms_ph_warnings)
add_host_test(the_handshake_keeps_questions_and_answers_together worker_test)

add_executable(python_controller_test python_controller_test.cpp)
target_link_libraries(python_controller_test PRIVATE vms_ph_python_host vms_ph_warnings)
target_compile_definitions(python_controller_test PRIVATE
  VMS_PH_TEST_CONTROLLERS="${CMAKE_CURRENT_SOURCE_DIR}/controllers")
# One after the other in a process; those that leave a thread behind or count them in their own.
add_host_test(many_controllers_in_a_process python_controller_test
    a_users_class_controls
    gains_change_between_updates
    a_gain_set_while_another_is_refused_is_not_lost
    an_exception_holds_gravity
    numbers_that_are_not_finite_hold_gravity
    an_invalid_state_is_held
    a_late_answer_is_discarded_and_gravity_held
    missed_updates_are_reported_to_the_law
    no_answer_is_ever_that_to_another_state
    two_controllers_work_side_by_side
    mistakes_are_reported_in_one_sentence)
foreach(case
    the_caller_never_waits_for_the_gil
    a_hanging_controller_does_not_block_its_owner
    loading_many_times_leaves_nothing_behind)
  add_host_test(${case} python_controller_test ${case})
endforeach()

add_executable(gravity_compensating_fallback_test gravity_compensating_fallback_test.cpp)
target_link_libraries(gravity_compensating_fallback_test PRIVATE vms_ph_gravity_compensating_fallback vms_ph_warnings)
target_compile_definitions(gravity_compensating_fallback_test PRIVATE
  VMS_PH_TEST_CONTROLLERS="${CMAKE_CURRENT_SOURCE_DIR}/controllers")
vms_ph_precompiled(gravity_compensating_fallback_test)
add_dependencies(core_tests gravity_compensating_fallback_test)
add_host_test(the_fallback_acts_when_python_does_not_answer gravity_compensating_fallback_test)

# It replaces malloc, as the sanitizers do.
if(NOT VMS_PH_SANITIZE)
  add_executable(python_no_allocation python_no_allocation.cpp)
  target_link_libraries(python_no_allocation PRIVATE vms_ph_python_host vms_ph_warnings)
  add_dependencies(core_tests python_no_allocation)
  target_compile_definitions(python_no_allocation PRIVATE
    VMS_PH_TEST_CONTROLLERS="${CMAKE_CURRENT_SOURCE_DIR}/controllers")
  add_host_test(the_calling_thread_allocates_nothing python_no_allocation)
endif()

add_library(test_plugin MODULE plugin.cpp)
target_link_libraries(test_plugin PRIVATE vms_ph_python_host vms_ph_warnings)
add_executable(plugin_loader plugin_loader.c)
target_link_libraries(plugin_loader PRIVATE ${CMAKE_DL_LIBS})
add_host_test(a_plugin_in_a_program_without_python_is_loaded_again_and_again
  plugin_loader $<TARGET_FILE:test_plugin>)

add_executable(replay replay.cpp)
target_link_libraries(replay PRIVATE vms_ph_python_host vms_ph_warnings)
add_dependencies(core_tests replay)

# All but what is linked to the core, which takes minutes to compile with the sanitizers.
add_custom_target(python_host_tests DEPENDS
  worker_test python_controller_test test_plugin plugin_loader)

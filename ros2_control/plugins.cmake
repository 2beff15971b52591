# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

# The plugins of ros2_control over native/; included by the package where ros2_control is found.
find_package(control_msgs REQUIRED)
find_package(nav_msgs REQUIRED)
find_package(rclcpp_action REQUIRED)
find_package(rosgraph_msgs REQUIRED)
find_package(tf2_msgs REQUIRED)

# A Pinocchio from a Python wheel is named by its prefix. It is searched after the packages of ROS,
# because the wheel has a urdfdom, a console_bridge and a tinyxml2 of its own.
set(VMS_PH_PINOCCHIO_PREFIX "" CACHE PATH "folder of a Pinocchio that is on no search path")
if(VMS_PH_PINOCCHIO_PREFIX)
  file(GLOB Boost_DIR ${VMS_PH_PINOCCHIO_PREFIX}/lib/cmake/Boost-*)
  list(APPEND CMAKE_PREFIX_PATH ${VMS_PH_PINOCCHIO_PREFIX})
endif()
find_package(pinocchio REQUIRED)  # here, so that its targets are visible here and in native/
# The nodes use the compiled laws and integrators by the Python module.
set(VMS_PH_BINDINGS ON)
set(VMS_PH_PYTHON_DESTINATION ${PYTHON_INSTALL_DIR})
if(NOT Python_EXECUTABLE)
  set(Python_EXECUTABLE ${Python3_EXECUTABLE})
endif()
set(VMS_PH_PYTHON_HOST ON)
add_subdirectory(native)

set(schemas attitude_control controller_shell decoupled_vms_controller differential_drive
  dynamics_broadcaster cartesian_impedance energy_guard
  energy_guard_settings force_broadcaster mobile_manipulation pose_ida_pbc
  pushing_impedance python_controller resolved_motion robot_broadcaster servo_guard task_space_ida_pbc
  underactuated_flight wheeled_impedance)
foreach(schema ${schemas})
  generate_parameter_library(${schema}_parameters ros2_control/parameters/${schema}.yaml)
endforeach()
list(TRANSFORM schemas APPEND _parameters)

set(sources
  actuator_failures cartesian_trajectory controller_shell core_laws description_tags dynamics_broadcaster
  energy_guard external_wrench force_broadcaster hardware_tag
  law_parameters python_controller reference_ports robot_broadcaster robot_setup simulated_system
  state_reader telemetry)
# For users of inverse_dynamics_solver, where it is installed with the interface that was released.
find_package(inverse_dynamics_solver QUIET)
include(CheckCXXSourceCompiles)
if(inverse_dynamics_solver_FOUND)
  set(CMAKE_REQUIRED_INCLUDES ${inverse_dynamics_solver_INCLUDE_DIRS})
  set(CMAKE_REQUIRED_LIBRARIES rclcpp::rclcpp)
  check_cxx_source_compiles("
    #include <inverse_dynamics_solver/exceptions.hpp>
    #include <inverse_dynamics_solver/inverse_dynamics_solver.hpp>
    using Vector = Eigen::VectorXd;
    struct Solver : inverse_dynamics_solver::InverseDynamicsSolver {
      void initialize(rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr,
        const std::string&, const std::string&) override {}
      Eigen::MatrixXd getInertiaMatrix(const Vector&) const override { return {}; }
      Vector getCoriolisVector(const Vector&, const Vector&) const override { return {}; }
      Vector getGravityVector(const Vector&) const override { return {}; }
      Vector getFrictionVector(const Vector&) const override { return {}; }
    };
    int main() { Solver solver; }" VMS_PH_HAS_INVERSE_DYNAMICS_SOLVER)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(VMS_PH_HAS_INVERSE_DYNAMICS_SOLVER)
  list(APPEND sources inverse_dynamics_solver)
else()
  message(STATUS "vms_ph: without the plugin of inverse_dynamics_solver 1 or newer, which is not here")
endif()
list(TRANSFORM sources PREPEND ros2_control/src/)
list(TRANSFORM sources APPEND .cpp)
add_library(vms_ph_ros2_control SHARED ${sources})
target_compile_features(vms_ph_ros2_control PRIVATE cxx_std_17)
target_compile_options(vms_ph_ros2_control PRIVATE -Wall -Wextra -Wpedantic)
# Reading these takes most of the compilation time.
target_precompile_headers(vms_ph_ros2_control PRIVATE
  <controller_interface/chainable_controller_interface.hpp>
  <hardware_interface/system_interface.hpp>
  <vms_ph_native/model.hpp>)
rosidl_get_typesupport_target(interfaces_target ${PROJECT_NAME} rosidl_typesupport_cpp)
target_link_libraries(vms_ph_ros2_control PRIVATE
  ${schemas}
  controller_interface::controller_interface
  hardware_interface::hardware_interface
  pluginlib::pluginlib
  rclcpp_action::rclcpp_action
  rclcpp_lifecycle::rclcpp_lifecycle
  realtime_tools::realtime_tools
  ${interfaces_target}
  ${control_msgs_TARGETS} ${geometry_msgs_TARGETS} ${nav_msgs_TARGETS} ${rosgraph_msgs_TARGETS}
  ${sensor_msgs_TARGETS} ${std_msgs_TARGETS} ${tf2_msgs_TARGETS}
  vms_ph_native vms_ph_python_host vms_ph_gravity_compensating_fallback)

pluginlib_export_plugin_description_file(controller_interface ros2_control/controller_plugins.xml)
pluginlib_export_plugin_description_file(hardware_interface ros2_control/hardware_plugins.xml)
if(VMS_PH_HAS_INVERSE_DYNAMICS_SOLVER)
  target_include_directories(vms_ph_ros2_control PRIVATE ${inverse_dynamics_solver_INCLUDE_DIRS})
  pluginlib_export_plugin_description_file(
    inverse_dynamics_solver ros2_control/inverse_dynamics_plugins.xml)
endif()
install(TARGETS vms_ph_ros2_control vms_ph_native vms_ph_python_host DESTINATION lib)
install(TARGETS vms_ph_native_module DESTINATION ${PYTHON_INSTALL_DIR})
install(FILES native/bindings/vms_ph_native.pyi
  DESTINATION ${PYTHON_INSTALL_DIR}/vms_ph_native-stubs RENAME __init__.pyi)
file(RELATIVE_PATH to_libraries /${PYTHON_INSTALL_DIR} /lib)
set_target_properties(vms_ph_native_module PROPERTIES
  INSTALL_RPATH "$ORIGIN/${to_libraries}" INSTALL_RPATH_USE_LINK_PATH ON)
# The libraries are in one folder, and Pinocchio is where it was found.
set_target_properties(vms_ph_ros2_control vms_ph_native vms_ph_python_host PROPERTIES
  INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)

set(CMAKE_REQUIRED_LIBRARIES realtime_tools::realtime_tools ${std_msgs_TARGETS})
set(CMAKE_REQUIRED_FLAGS -Werror=deprecated-declarations)
check_cxx_source_compiles("
  #include <realtime_tools/realtime_publisher.hpp>
  #include <std_msgs/msg/empty.hpp>
  void size(realtime_tools::RealtimePublisher<std_msgs::msg::Empty>& publisher) {
    publisher.lock();
    publisher.msg_ = {};
    publisher.unlock();
  }
  int main() {}" VMS_PH_PUBLISHERS_CAN_BE_SIZED)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_FLAGS)
if(VMS_PH_PUBLISHERS_CAN_BE_SIZED)
  target_compile_definitions(vms_ph_ros2_control PRIVATE VMS_PH_PUBLISHERS_CAN_BE_SIZED)
endif()

if(BUILD_TESTING)
  find_package(ament_cmake_gmock QUIET)
  if(ament_cmake_gmock_FOUND)
    # Where gmock itself is missing, ament_add_gmock() makes no target: those tests are left out.
    ament_add_gmock(simulated_system ros2_control/test/simulated_system_test.cpp TIMEOUT 120)
    ament_add_gmock(simulated_effects ros2_control/test/simulated_effects_test.cpp TIMEOUT 120)
    ament_add_gmock(simulated_wheels ros2_control/test/simulated_wheels_test.cpp TIMEOUT 120)
    foreach(test simulated_system simulated_effects simulated_wheels)
      if(TARGET ${test})
        target_link_libraries(${test} vms_ph_ros2_control vms_ph_native
          controller_interface::controller_interface hardware_interface::hardware_interface
          pluginlib::pluginlib rclcpp::rclcpp ${geometry_msgs_TARGETS})
      endif()
    endforeach()
    ament_add_gmock(controller_shell ros2_control/test/controller_shell_test.cpp TIMEOUT 120)
    if(TARGET controller_shell)
      # ROS first: a Pinocchio from pip brings another libtinyxml2.
      target_link_libraries(controller_shell hardware_interface::hardware_interface
        controller_interface::controller_interface vms_ph_ros2_control vms_ph_native
        controller_shell_parameters
        realtime_tools::realtime_tools ${interfaces_target} ${geometry_msgs_TARGETS}
        ${sensor_msgs_TARGETS})
    endif()
    ament_add_gmock(sampling ros2_control/test/sampling_test.cpp)
    if(TARGET sampling)
      target_link_libraries(sampling rclcpp_lifecycle::rclcpp_lifecycle
        realtime_tools::realtime_tools ${builtin_interfaces_TARGETS})
    endif()
    ament_add_gmock(robot_broadcaster ros2_control/test/robot_broadcaster_test.cpp TIMEOUT 120)
    if(TARGET robot_broadcaster)
      target_link_libraries(robot_broadcaster controller_interface::controller_interface
        pluginlib::pluginlib ${interfaces_target} ${rosgraph_msgs_TARGETS})
    endif()
    ament_add_gmock(force_broadcaster ros2_control/test/force_broadcaster_test.cpp TIMEOUT 120)
    if(TARGET force_broadcaster)
      target_link_libraries(force_broadcaster controller_interface::controller_interface
        pluginlib::pluginlib ${interfaces_target} ${geometry_msgs_TARGETS})
    endif()
    ament_add_gmock(dynamics_broadcaster ros2_control/test/dynamics_broadcaster_test.cpp
      native/test/allocations.cpp TIMEOUT 120)
    if(TARGET dynamics_broadcaster)
      target_link_libraries(dynamics_broadcaster vms_ph_native
        controller_interface::controller_interface pluginlib::pluginlib ${interfaces_target}
        ${control_msgs_TARGETS})
    endif()
    ament_add_gmock(servo_guard ros2_control/test/servo_guard_test.cpp
      native/test/allocations.cpp TIMEOUT 120)
    if(TARGET servo_guard)
      target_link_libraries(servo_guard controller_interface::controller_interface
        pluginlib::pluginlib rclcpp::rclcpp)
    endif()
    if(VMS_PH_HAS_INVERSE_DYNAMICS_SOLVER)
      ament_add_gmock(inverse_dynamics_solver ros2_control/test/inverse_dynamics_solver_test.cpp
        TIMEOUT 120)
      if(TARGET inverse_dynamics_solver)
        target_include_directories(inverse_dynamics_solver PRIVATE
          ${inverse_dynamics_solver_INCLUDE_DIRS})
        target_link_libraries(inverse_dynamics_solver vms_ph_native pluginlib::pluginlib
          rclcpp::rclcpp)
      endif()
    endif()
  endif()
  find_package(ament_cmake_pytest QUIET)
  find_package(controller_manager QUIET)
  if(ament_cmake_pytest_FOUND AND controller_manager_FOUND)
    # A controller manager, switched and killed; in a domain of its own.
    ament_add_pytest_test(controller_manager ros2_control/test TIMEOUT 1200
      ENV "PYTEST_ADDOPTS=-p no:launch_testing -p no:launch_ros -p no:cacheprovider -c /dev/null"
      ROS_DOMAIN_ID=87)
  endif()
endif()

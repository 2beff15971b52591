# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The public names of rclpy, by its documentation, that the embedded runtime lacks."""

MISSING_MODULES = """
    rclpy.action rclpy.event_handler rclpy.expand_topic_name rclpy.guard_condition
    rclpy.logging_service rclpy.parameter_event_handler rclpy.qos_overriding_options
    rclpy.service_introspection rclpy.topic_or_service_is_hidden rclpy.type_description_service
    rclpy.type_hash rclpy.validate_full_topic_name rclpy.validate_namespace
    rclpy.validate_node_name rclpy.validate_parameter_name rclpy.validate_topic_name
    rclpy.wait_for_message rclpy.waitable
"""

MISSING_NAMES = {
    "rclpy.client.Client": "configure_introspection get_pending_request",
    "rclpy.clock": "ClockChange JumpHandle JumpThreshold TimeJump",
    "rclpy.clock.Clock": "create_jump_callback sleep_for sleep_until",
    "rclpy.context.Context": "get_domain_id",
    "rclpy.exceptions": "NoTypeSupportImportedException ROSInterruptException",
    "rclpy.executors": """
        ConditionReachedException MultiThreadedExecutor ShutdownException TimeoutObject
        await_or_execute
    """,
    "rclpy.executors.Executor": """
        can_execute spin_once_until_future_complete wait_for_ready_callbacks
    """,
    "rclpy.lifecycle": "LifecyclePublisher ManagedEntity Publisher SimpleManagedEntity",
    "rclpy.lifecycle.LifecycleNode": """
        add_managed_entity create_lifecycle_publisher destroy_lifecycle_publisher
    """,
    "rclpy.logging": "clear_config get_logger_level get_logging_directory initialize shutdown",
    "rclpy.node.Node": """
        add_post_set_parameters_callback add_waitable clients count_clients count_services
        create_guard_condition create_rate destroy_guard_condition destroy_rate
        get_fully_qualified_node_names get_node_names_and_namespaces_with_enclaves
        get_parameters_by_prefix guards remove_on_set_parameters_callback
        remove_post_set_parameters_callback remove_pre_set_parameters_callback remove_waitable
        services set_descriptor wait_for_node waitables
    """,
    "rclpy.parameter": "get_parameter_value parameter_dict_from_yaml_file",
    "rclpy.parameter_client.AsyncParameterClient": """
        delete_parameters get_parameter_types load_parameter_file load_parameter_file_atomically
        on_parameter_event set_parameters_atomically wait_for_services
    """,
    "rclpy.publisher.Publisher": "assert_liveliness wait_for_all_acked",
    "rclpy.qos": """
        DeadlineBestAvailable LivelinessLeaseDurationeBestAvailable QoSCompatibility
        QoSPolicyEnum QoSPolicyKind QoSPresetProfiles qos_check_compatible
        qos_policy_name_from_kind qos_profile_action_status_default qos_profile_best_available
        qos_profile_system_default qos_profile_unknown
    """,
    "rclpy.service.Service": "configure_introspection",
    "rclpy.signals": "SignalHandlerGuardCondition get_current_signal_handlers_options",
    "rclpy.task.Task": "executing",
    "rclpy.time_source.TimeSource": "detach_node",
    "rclpy.timer": "Rate",
    "rclpy.timer.Timer": "time_since_last_call time_until_next_call",
    "rclpy.utilities": "get_available_rmw_implementations timeout_sec_to_nsec",
    "tf2_ros": "Buffer BufferClient BufferInterface StaticTransformListener TransformListener",
    "ament_index_python": """
        get_packages_with_prefixes get_resource get_resource_types get_resources get_search_paths
        has_resource
    """,
}
"""By module or class, those of modules and classes that are there in part."""

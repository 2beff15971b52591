# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The public names of rclpy by its documentation, by module and class.

Left out are names for rclpy's own use (handles, wait sets, type variables). A module that only
holds what others re-export is listed with what is defined in it.
"""

NAMES = {
    "rclpy": """
        create_node get_default_context get_global_executor get_rmw_implementation_identifier init
        ok shutdown spin spin_once spin_until_future_complete try_shutdown
    """,
    "rclpy.action": """
        ActionClient ActionServer CancelResponse GoalResponse
        get_action_client_names_and_types_by_node get_action_names_and_types
        get_action_server_names_and_types_by_node
    """,
    "rclpy.callback_groups": """
        CallbackGroup MutuallyExclusiveCallbackGroup ReentrantCallbackGroup
    """,
    "rclpy.callback_groups.CallbackGroup": """
        add_entity beginning_execution can_execute ending_execution has_entity
    """,
    "rclpy.client": "Client",
    "rclpy.client.Client": """
        call call_async configure_introspection destroy get_pending_request remove_pending_request
        service_is_ready service_name wait_for_service
    """,
    "rclpy.clock": "Clock ClockChange JumpHandle JumpThreshold ROSClock TimeJump",
    "rclpy.clock.Clock": "clock_type create_jump_callback now sleep_for sleep_until",
    "rclpy.clock.ROSClock": "ros_time_is_active set_ros_time_override",
    "rclpy.clock_type": "ClockType",
    "rclpy.constants": "S_TO_NS",
    "rclpy.context": "Context",
    "rclpy.context.Context": """
        destroy get_domain_id init ok on_shutdown shutdown try_shutdown
    """,
    "rclpy.duration": "Duration Infinite",
    "rclpy.duration.Duration": "from_msg nanoseconds to_msg",
    "rclpy.event_handler": "EventHandler PublisherEventCallbacks SubscriptionEventCallbacks",
    "rclpy.exceptions": """
        InvalidHandle InvalidNamespaceException InvalidNodeNameException InvalidParameterException
        InvalidParameterTypeException InvalidParameterValueException InvalidServiceNameException
        InvalidTopicNameException NameValidationException NoTypeSupportImportedException
        NotInitializedException ParameterAlreadyDeclaredException ParameterException
        ParameterImmutableException ParameterNotDeclaredException ParameterUninitializedException
        ROSInterruptException
    """,
    "rclpy.executors": """
        ConditionReachedException Executor ExternalShutdownException MultiThreadedExecutor
        ShutdownException SingleThreadedExecutor TimeoutException TimeoutObject await_or_execute
    """,
    "rclpy.executors.Executor": """
        add_node can_execute context create_task get_nodes remove_node shutdown spin spin_once
        spin_once_until_future_complete spin_until_future_complete wait_for_ready_callbacks wake
    """,
    "rclpy.expand_topic_name": "expand_topic_name",
    "rclpy.guard_condition": "GuardCondition",
    "rclpy.guard_condition.GuardCondition": "destroy trigger",
    "rclpy.lifecycle": """
        LifecycleNode LifecycleNodeMixin LifecyclePublisher LifecycleState ManagedEntity Node
        NodeMixin Publisher SimpleManagedEntity State
    """,
    "rclpy.logging": """
        LoggingSeverity clear_config get_logger get_logger_effective_level get_logger_level
        get_logging_directory get_logging_severity_from_string initialize set_logger_level shutdown
    """,
    "rclpy.logging_service": "LoggingService",
    "rclpy.node": "Node NodeNameNonExistentError",
    "rclpy.node.Node": """
        PARAM_REL_TOL add_on_set_parameters_callback add_post_set_parameters_callback
        add_pre_set_parameters_callback add_waitable clients context count_clients count_publishers
        count_services count_subscribers create_client create_guard_condition create_publisher
        create_rate create_service create_subscription create_timer declare_parameter
        declare_parameters default_callback_group describe_parameter describe_parameters
        destroy_client destroy_guard_condition destroy_node destroy_publisher destroy_rate
        destroy_service destroy_subscription destroy_timer executor
        get_client_names_and_types_by_node get_clock get_fully_qualified_name
        get_fully_qualified_node_names get_logger get_name get_namespace get_node_names
        get_node_names_and_namespaces get_node_names_and_namespaces_with_enclaves get_parameter
        get_parameter_or get_parameter_type get_parameter_types get_parameters
        get_parameters_by_prefix get_publisher_names_and_types_by_node
        get_publishers_info_by_topic get_service_names_and_types
        get_service_names_and_types_by_node get_subscriber_names_and_types_by_node
        get_subscriptions_info_by_topic get_topic_names_and_types guards has_parameter
        list_parameters publishers remove_on_set_parameters_callback
        remove_post_set_parameters_callback remove_pre_set_parameters_callback remove_waitable
        resolve_service_name resolve_topic_name services set_descriptor set_parameters
        set_parameters_atomically subscriptions timers undeclare_parameter wait_for_node waitables
    """,
    "rclpy.parameter": """
        Parameter get_parameter_value parameter_dict_from_yaml_file parameter_value_to_python
    """,
    "rclpy.parameter.Parameter": """
        Type from_parameter_msg get_parameter_value name to_parameter_msg type_ value
    """,
    "rclpy.parameter_client": "AsyncParameterClient",
    "rclpy.parameter_client.AsyncParameterClient": """
        delete_parameters describe_parameters get_parameter_types get_parameters list_parameters
        load_parameter_file load_parameter_file_atomically on_parameter_event services_are_ready
        set_parameters set_parameters_atomically wait_for_services
    """,
    "rclpy.parameter_event_handler": "ParameterEventHandler",
    "rclpy.parameter_service": "ParameterService",
    "rclpy.publisher": "Publisher",
    "rclpy.publisher.Publisher": """
        assert_liveliness destroy get_subscription_count publish topic_name wait_for_all_acked
    """,
    "rclpy.qos": """
        DeadlineBestAvailable DurabilityPolicy HistoryPolicy InvalidQoSProfileException
        LivelinessLeaseDurationeBestAvailable LivelinessPolicy QoSCompatibility
        QoSDurabilityPolicy QoSHistoryPolicy QoSLivelinessPolicy QoSPolicyEnum QoSPolicyKind
        QoSPresetProfiles QoSProfile QoSReliabilityPolicy ReliabilityPolicy qos_check_compatible
        qos_policy_name_from_kind qos_profile_action_status_default qos_profile_best_available
        qos_profile_default qos_profile_parameter_events qos_profile_parameters
        qos_profile_sensor_data qos_profile_services_default qos_profile_system_default
        qos_profile_unknown
    """,
    "rclpy.qos.QoSProfile": """
        avoid_ros_namespace_conventions deadline depth durability history lifespan liveliness
        liveliness_lease_duration reliability
    """,
    "rclpy.qos_overriding_options": "InvalidQosOverridesError QoSOverridingOptions",
    "rclpy.serialization": "deserialize_message serialize_message",
    "rclpy.service": "Service",
    "rclpy.service.Service": "configure_introspection destroy send_response service_name",
    "rclpy.service_introspection": "ServiceIntrospectionState",
    "rclpy.signals": """
        SignalHandlerGuardCondition SignalHandlerOptions get_current_signal_handlers_options
        install_signal_handlers uninstall_signal_handlers
    """,
    "rclpy.subscription": "Subscription",
    "rclpy.subscription.Subscription": "callback destroy get_publisher_count topic_name",
    "rclpy.task": "Future Task",
    "rclpy.task.Future": """
        add_done_callback cancel cancelled done exception result set_exception set_result
    """,
    "rclpy.task.Task": "executing",
    "rclpy.time": "Time",
    "rclpy.time.Time": "clock_type from_msg nanoseconds seconds_nanoseconds to_msg",
    "rclpy.time_source": "TimeSource",
    "rclpy.time_source.TimeSource": """
        attach_clock attach_node clock_callback detach_node ros_time_is_active
    """,
    "rclpy.timer": "Rate Timer",
    "rclpy.timer.Rate": "destroy sleep",
    "rclpy.timer.Timer": """
        cancel clock destroy is_canceled is_ready reset time_since_last_call time_until_next_call
        timer_period_ns
    """,
    "rclpy.topic_endpoint_info": "TopicEndpointInfo TopicEndpointTypeEnum",
    "rclpy.topic_or_service_is_hidden": "topic_or_service_is_hidden",
    "rclpy.type_description_service": "TypeDescriptionService",
    "rclpy.type_hash": "TypeHash",
    "rclpy.type_support": """
        check_for_type_support check_is_valid_msg_type check_is_valid_srv_type
    """,
    "rclpy.utilities": """
        get_available_rmw_implementations get_default_context get_rmw_implementation_identifier ok
        remove_ros_args shutdown timeout_sec_to_nsec try_shutdown
    """,
    "rclpy.validate_full_topic_name": "validate_full_topic_name",
    "rclpy.validate_namespace": "validate_namespace",
    "rclpy.validate_node_name": "validate_node_name",
    "rclpy.validate_parameter_name": "validate_parameter_name",
    "rclpy.validate_topic_name": "validate_topic_name",
    "rclpy.wait_for_message": "wait_for_message",
    "rclpy.waitable": "NumberOfEntities Waitable",
    "tf2_ros": """
        Buffer BufferClient BufferInterface StaticTransformBroadcaster StaticTransformListener
        TransformBroadcaster TransformListener
    """,
    "ament_index_python": """
        PackageNotFoundError get_package_prefix get_package_share_directory get_package_share_path
        get_packages_with_prefixes get_resource get_resource_types get_resources get_search_paths
        has_resource
    """,
}

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Loggers."""

import re

import pytest
from rcl_interfaces.msg import Log
from rclpy.logging import (
    LoggingSeverity,
    get_logger,
    get_logger_effective_level,
    get_logging_severity_from_string,
    set_logger_level,
)


@pytest.fixture
def lines(capfd):
    """What has been logged since the last time, without the stamps."""

    def read():
        text = capfd.readouterr().err
        return re.sub(r"\[\d+\.\d{9}\] ", "", text).splitlines()

    return read


def test_a_message_shows_severity_time_and_name(capfd):
    get_logger("contract.form").info("hello")
    line = capfd.readouterr().err
    assert re.fullmatch(r"\[INFO\] \[\d{10}\.\d{9}\] \[contract\.form\]: hello\n", line)


def test_severities_below_the_level_are_not_shown(lines):
    logger = get_logger("contract.levels")
    logger.debug("d")
    logger.info("i")
    logger.warning("w")
    logger.error("e")
    logger.fatal("f")
    shown = ["INFO", "WARN", "ERROR", "FATAL"]
    assert [line.split("]")[0][1:] for line in lines()] == shown
    logger.set_level(LoggingSeverity.ERROR)
    assert logger.warn("no") is False
    assert logger.error("yes") is True
    assert lines() == ["[ERROR] [contract.levels]: yes"]
    assert logger.is_enabled_for(LoggingSeverity.FATAL)
    assert not logger.is_enabled_for(LoggingSeverity.INFO)


def test_a_level_holds_for_the_loggers_below(lines):
    parent = get_logger("contract.parent")
    child = parent.get_child("child")
    set_logger_level("contract.parent", LoggingSeverity.DEBUG)
    assert child.get_effective_level() == LoggingSeverity.DEBUG
    child.debug("low")
    assert lines() == ["[DEBUG] [contract.parent.child]: low"]
    assert get_logger_effective_level("contract.elsewhere") == LoggingSeverity.INFO
    assert get_logging_severity_from_string("warn") == LoggingSeverity.WARN


def test_messages_can_be_filtered(lines):
    logger = get_logger("contract.filters")
    for i in range(3):
        logger.info(f"once {i}", once=True)
        logger.info(f"skipped {i}", skip_first=True)
        logger.info(f"throttled {i}", throttle_duration_sec=60.0)
    said = [line.split(": ")[1] for line in lines()]
    assert said == ["once 0", "throttled 0", "skipped 1", "skipped 2"]
    with pytest.raises(TypeError):
        logger.info("wrong", colour="red")


def test_one_place_in_the_source_logs_at_one_severity_with_one_set_of_filters(lines):
    logger = get_logger("contract.places")

    def log(severity, **filters):
        logger.log("here", severity, **filters)

    log(LoggingSeverity.INFO)
    log(LoggingSeverity.INFO)
    with pytest.raises(ValueError, match="severity cannot be changed"):
        log(LoggingSeverity.WARN)
    with pytest.raises(ValueError, match="filters cannot be changed"):
        log(LoggingSeverity.INFO, once=True)
    assert len(lines()) == 2


def test_a_name_is_needed():
    with pytest.raises(ValueError, match="must not be empty"):
        get_logger("")


def test_the_logger_of_a_node_has_its_name(ros, lines):
    node = ros.node("arm", namespace="left")
    node.get_logger().warning("careful")
    assert "[WARN] [left.arm]: careful" in lines()


def test_what_a_node_logs_is_published(ros):
    node, listener, logs = ros.node("speaker"), ros.node("listener"), []
    subscription = listener.create_subscription(Log, "/rosout", logs.append, 10)
    assert ros.spin_until(lambda: subscription.get_publisher_count() == 2)

    def heard() -> bool:
        # That the listener knows the speaker does not mean that the speaker knows the listener yet.
        node.get_logger().error("broken")
        return any(log.name == "speaker" for log in logs)

    assert ros.spin_until(heard)
    log = next(log for log in logs if log.name == "speaker")
    assert (log.msg, log.level) == ("broken", 40)
    assert log.function == "heard"
    assert log.stamp.sec > 0

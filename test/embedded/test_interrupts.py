# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Ctrl-C waits where it would be swallowed, and is not lost."""

import os
import signal
import threading

import pytest

from vms_ph_embedded.wire import interrupts


def test_an_interrupt_waits_for_the_end_of_the_block():
    finished = []
    with pytest.raises(KeyboardInterrupt), interrupts.deferred():  # noqa: PT012
        os.kill(os.getpid(), signal.SIGINT)
        finished.append(True)
    assert finished == [True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_an_interrupt_nothing_changes():
    with interrupts.deferred():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_do_not_meddle_with_signals():
    seen = []

    def work():
        with interrupts.deferred():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]

import os
import threading

import pytest

from sardonyx.ir.fork import ForkLock


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_finds_open_what_another_thread_held():
    lock, held, done = ForkLock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        with lock:
            os._exit(7)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    finally:
        done.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_while_the_lock_is_held_ends_well():
    lock = ForkLock()
    with lock:
        child = os.fork()
    if child == 0:
        with lock:
            os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    with lock:
        assert lock._lock.acquire(blocking=False)
        lock._lock.release()

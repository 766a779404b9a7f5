"""Tasks: one at a time a VM, queued, running, then success or error. Called by ``world``; knows no rule of what they do.

With threads, each has one of its own; without, a task runs within ``start`` if it takes no time, else when time is moved on.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from bot.local.clock import Clock, Timers
from bot.local.vcenter.injected import Injection
from bot.local.vcenter.inventory import Inventory, Node
from bot.local.vcenter.settings import Settings
from bot.local.vcenter.vmomi import Ref, Refusal, support, vim, vmodl

KEEP = 500  # finished tasks that can still be read
POLL_S = 0.05  # real seconds between looks at a question that blocks a task
ASK_S = 1.0  # virtual seconds between such looks, without threads


class Tasks:
    """Runs the tasks of one vCenter."""

    def __init__(self, inventory: Inventory, settings: Settings, clock: Clock, timers: Timers) -> None:
        """No task runs yet. ``timers`` move tasks on if there are no threads."""
        self.inventory, self.settings, self.clock, self.timers = inventory, settings, clock, timers
        self.busy: dict[str, str] = {}  # moid of a VM -> id of the task that holds it
        self._done: list[str] = []
        self._cancelled: set[str] = set()
        self._random = random.Random(settings.seed)
        self._stop = threading.Event()
        self.meddled: Injection | None = (
            None  # what is to befall the next task; set and read within the inventory's lock
        )

    def stop(self) -> None:
        """End the pauses of running tasks: what has not begun fails."""
        self._stop.set()

    def start(self, vm: Node, name: str, user: str, work: Callable[[], Any], seconds: float | None = None) -> Ref:
        """Queue ``work`` on ``vm``; Refusal (TaskInProgress) if one runs. ``seconds``: longer than the setting."""
        with self.inventory.lock:
            self.check_free(vm)
            number = self.inventory.number()
            moid = f"task-{number}"
            info = vim.TaskInfo(
                key=moid,
                task=vim.Task(moid),
                name=support.GuessWsdlMethod(name),
                descriptionId="VirtualMachine." + name[0].lower() + name[1:].removesuffix("_Task"),
                entity=vm.ref,
                entityName=vm.name,
                state="queued",
                cancelled=False,
                cancelable=self.settings.tasks_cancelable,
                queueTime=self._now(),
                eventChainId=number,
                reason=vim.TaskReasonUser(userName=user),
            )
            task = self.inventory.add(vim.Task, moid, info=info)
            self.busy[vm.moid] = moid
            vm.props["recentTask"] = [*(vm.props.get("recentTask") or [])[-4:], task.ref]
            meddled, self.meddled = self.meddled, None
        latency = self._latency() if seconds is None else seconds
        if meddled is not None:
            latency, work = latency + meddled.seconds, meddled.instead(vm.ref, work)
        if self.settings.threads:
            threading.Thread(target=self._run, args=(task, vm, work, latency), name=moid, daemon=True).start()
        else:
            self._by_hand(task, vm, work, latency)
        return task.ref

    def _latency(self) -> float:
        jitter = self.settings.task_jitter
        return self.settings.task_latency_s * (self._random.uniform(1 - jitter, 1 + jitter) if jitter else 1)

    def cancel(self, task: Node) -> None:
        """Cancel a task that has not ended: what it was for is not done. Refusal if these tasks cannot be cancelled, or it is over."""
        with self.inventory.lock:
            if not self.settings.tasks_cancelable:
                raise Refusal(vmodl.fault.NotSupported(), "The task cannot be cancelled.")
            state = task.props["info"].state
            if state not in ("queued", "running"):
                raise Refusal(vim.fault.InvalidState(), f"The task has ended: {state}.")
            self._cancelled.add(task.moid)
            self._step(task, cancelled=True)

    def _by_hand(self, task: Node, vm: Node, work: Callable[[], Any], latency: float) -> None:
        if latency > 0:
            self.timers.after(latency / 2, lambda: self._step(task, state="running", startTime=self._now(), progress=0))
        else:
            self._step(task, state="running", startTime=self._now(), progress=0)

        def end() -> None:
            if self._blocked(task, vm):
                self.timers.after(ASK_S, end)
            else:
                self._finish(task, vm, work)

        if latency > 0 or self._blocked(task, vm):
            self.timers.after(latency, end)
        else:
            end()

    def check_free(self, vm: Node) -> None:
        """Refusal (TaskInProgress, naming the task) if something works on ``vm``."""
        if (running := self.busy.get(vm.moid)) is not None:
            fault = vim.fault.TaskInProgress(task=vim.Task(running))
            raise Refusal(fault, "The operation is not allowed: another task is already in progress.")

    def _now(self) -> datetime:
        return self.clock.now()

    def _pause(self, seconds: float) -> None:
        if self.settings.task_latency_virtual:
            self.clock.sleep(seconds, self._stop)
        else:
            self._stop.wait(seconds)

    def _step(self, task: Node, **fields: Any) -> None:
        with self.inventory.lock:
            for name, value in fields.items():
                setattr(task.props["info"], name, value)
            self.inventory.touch(task)

    def _run(self, task: Node, vm: Node, work: Callable[[], Any], latency: float) -> None:
        self._pause(latency / 2)
        self._step(task, state="running", startTime=self._now(), progress=0)
        self._pause(latency / 2)
        while self._blocked(task, vm):
            time.sleep(POLL_S)  # a pending question blocks the task until it is answered
        self._finish(task, vm, work)

    def _blocked(self, task: Node, vm: Node) -> bool:
        asked = vm.props["runtime"].question is not None
        return asked and not self._stop.is_set() and task.moid not in self._cancelled

    def _finish(self, task: Node, vm: Node, work: Callable[[], Any]) -> None:
        with self.inventory.lock:
            try:
                if self._stop.is_set():
                    raise Refusal(vmodl.fault.RequestCanceled(), "The server is stopping.")
                if task.moid in self._cancelled:
                    raise Refusal(vmodl.fault.RequestCanceled(), "The task was canceled by a user.")
                if vm.moid not in self.inventory.nodes:
                    raise Refusal(vmodl.fault.ManagedObjectNotFound(obj=vm.ref), "The object has been deleted.")
                result = work()
                self._step(task, state="success", progress=100, result=result)
            except Refusal as refusal:
                self._step(task, state="error", error=refusal.fault)
            except Exception as error:
                self._step(task, state="error", error=Refusal(vmodl.fault.SystemError(reason=repr(error))).fault)
                raise  # a mistake of ours: it is to be seen in the log, and the client is not to wait for ever
            finally:
                self.busy.pop(vm.moid, None)
                self._step(task, completeTime=self._now())
                self._prune(task.moid)

    def _prune(self, moid: str) -> None:
        self._done.append(moid)
        while len(self._done) > KEEP:
            self.inventory.nodes.pop(self._done.pop(0), None)

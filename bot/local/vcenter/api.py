"""The vSphere methods: who may call what, and which operation of the world it is. No XML, no HTTP.

Called by ``server`` with a parsed call, inside the inventory's lock. A method is the function ``do_<its name on the wire>``;
what has none is refused (MethodNotFound).
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bot.local.vcenter import customfields, versions
from bot.local.vcenter.access import Access
from bot.local.vcenter.collector import Collector
from bot.local.vcenter.inventory import Node, gone
from bot.local.vcenter.privileges import ANSWER, KNOWN, OFF, ON, RESET, Privileges, of_spec
from bot.local.vcenter.replay import RecordedPrivileges, Recording, show
from bot.local.vcenter.sessions import Filter, Session, Sessions, View
from bot.local.vcenter.vmomi import DataObject, Ref, Refusal, vim, vmodl
from bot.local.vcenter.wire import Call
from bot.local.vcenter.world import World

OPEN = {"RetrieveServiceContent", "Login"}  # need no session
MUTATING = {
    "ReconfigVM_Task",
    "PowerOnVM_Task",
    "PowerOffVM_Task",
    "ShutdownGuest",
    "SetField",
    "setCustomValue",
}  # counted, can be held
CHANGING = MUTATING | {
    "RebootGuest",
    "AnswerVM",
    "CancelTask",
    "AddCustomFieldDef",
    "RenameCustomFieldDef",
    "RemoveCustomFieldDef",
}  # all that change more than sessions and what is theirs


class Api(Access):
    """One vCenter's methods."""

    def __init__(self, world: World, recording: Recording | None = None) -> None:
        """No session yet. ``recording``: a site that is shown in place of the world's, read-only."""
        self.recording = recording
        self.world, self.inventory = world, world.inventory
        self.version = versions.named(world.settings.api_version)  # the newest that is spoken
        self._introduce()
        if recording is not None:
            show(recording, world.inventory)
        self.sessions = Sessions(dict(world.settings.users), world.settings.idle_s, world.inventory.touch)
        bot = world.settings.bot_user
        self.privileges = Privileges(bot) if recording is None else RecordedPrivileges(recording)
        self.fields = customfields.CustomFields(world.inventory)
        self.collector = Collector(self, world.settings.page_size)
        self.skew_s = world.settings.skew_s  # seconds that vCenter's clock is ahead; what runs on hosts is not

    def _introduce(self) -> None:
        api = versions.api_id(self.world.settings.api_version)
        content = self.inventory.nodes["ServiceInstance"].props["content"]
        about = content.about
        about.apiVersion, (about.version, about.build) = api, versions.product(api)
        about.fullName = f"VMware vCenter Server {about.version} (stand-in)"
        content.customFieldsManager = vim.CustomFieldsManager(customfields.MOID)
        listed = [vim.AuthorizationManager.Privilege(privId=p, onParent=False, name=p, privGroupName="") for p in KNOWN]
        self.inventory.nodes["AuthorizationManager"].props["privilegeList"] = listed

    def call(self, call: Call, session: Session | None) -> tuple[Any, Any, Session | None]:
        """Carry ``call`` out: (value, its declared type, the session of a fresh login or None); Refusal if not."""
        if call.method == "Login":
            return self._login(call)
        if session is None and not self._open(call):
            fault = vim.fault.NotAuthenticated(object=call.this, privilegeId="System.View")
            raise Refusal(fault, "The session is not authenticated.")
        if session is not None:
            session.version = call.version
        if call.method == "Fetch":
            return self._fetch(call, session), object, None
        do = getattr(self, "do_" + call.method, None)
        if do is None:
            text = f"The method {call.method} is not supported by this server."
            raise Refusal(vmodl.fault.MethodNotFound(receiver=call.this, method=call.method), text)
        if self.recording is not None and call.method in CHANGING:
            raise Refusal(vmodl.fault.NotSupported(), "This is a recorded site: nothing can be changed.")
        return do(call.this, call.args, session), call.result, None

    def names(self, ref: Ref) -> tuple[str, ...]:
        """By which names the VM ``ref`` goes: name, instance UUID, managed object id; none if it is no VM."""
        with self.inventory.lock:
            node = self.inventory.nodes.get(ref._moId)
            if node is None or not issubclass(node.kind, vim.VirtualMachine):
                return ()
            return (*self.world.tag(node), node.moid)

    def _open(self, call: Call) -> bool:
        reads_content = call.method == "Fetch" and call.this._moId in ("ServiceInstance", "SessionManager")
        return call.method in OPEN or reads_content

    def _login(self, call: Call) -> tuple[Any, Any, Session]:
        session = self.sessions.login(call.args.get("userName", ""), call.args.get("password", ""))
        return session.shown(), call.result, session

    def _fetch(self, call: Call, session: Session | None) -> Any:
        prop = call.args.get("prop", "")
        if session is None:
            if prop not in ("content", "currentSession"):
                raise Refusal(vim.fault.NotAuthenticated(object=call.this), "The session is not authenticated.")
            return self.inventory.node(call.this).get(prop)
        return self.collector.fetch(call.this, prop, session)

    def _vm(self, ref: Ref, session: Session, *needed: str) -> Node:
        """The VM that ``ref`` names, if the session has the privileges that are ``needed`` on it."""
        node = self.inventory.node(ref)
        if not issubclass(node.kind, vim.VirtualMachine):
            raise gone(ref)
        self.privileges.check(session.user, ref, list(needed))
        return node

    # -- service and sessions -----------------------------------------------

    def do_RetrieveServiceContent(self, this: Ref, args: Any, session: Session) -> Any:
        """What the server is."""
        return self.inventory.node(this).get("content")

    def do_CurrentTime(self, this: Ref, args: Any, session: Session) -> Any:
        """vCenter's clock: virtual."""
        return self.world.clock.now() + timedelta(seconds=self.skew_s)

    def do_Logout(self, this: Ref, args: Any, session: Session) -> None:
        """End this session."""
        self.sessions.end(session.key)

    def do_SessionIsActive(self, this: Ref, args: Any, session: Session) -> bool:
        """Does a session of that user live?"""
        return any(s.key == args["sessionID"] and s.user == args["userName"] for s in self.sessions.all())

    def do_TerminateSession(self, this: Ref, args: Any, session: Session) -> None:
        """End sessions: one's own other ones, and with the privilege those of others."""
        owners = {s.key: s.user for s in self.sessions.all()}
        for key in args["sessionId"]:
            if owners.get(key, session.user) != session.user:
                root = self.inventory.nodes["ServiceInstance"].get("content").rootFolder
                self.privileges.check(session.user, root, ["Sessions.TerminateSession"])
            if key == session.key:
                raise Refusal(vmodl.fault.InvalidArgument(invalidProperty="sessionId"), "A session cannot end itself.")
            if not self.sessions.end(key):
                raise Refusal(vim.fault.NotFound(), "The session was not found.")

    # -- views and properties -----------------------------------------------

    def do_CreateContainerView(self, this: Ref, args: Any, session: Session) -> Ref:
        """A live list of objects below a container."""
        self.inventory.node(args["container"])
        view = View(
            f"session[{session.key[:8]}]view-{self.inventory.number()}",
            args["container"],
            tuple(args.get("type") or ()),
            bool(args["recursive"]),
        )
        session.views[view.moid] = view
        return vim.view.ContainerView(view.moid)

    def do_DestroyView(self, this: Ref, args: Any, session: Session) -> None:
        """Forget a view."""
        if session.views.pop(this._moId, None) is None:
            raise gone(this)

    def do_RetrieveProperties(self, this: Ref, args: Any, session: Session) -> Any:
        """The old call: everything at once."""
        kind = vmodl.query.PropertyCollector.ObjectContent.Array
        return kind(self.collector.retrieve(args["specSet"], session))

    def do_RetrievePropertiesEx(self, this: Ref, args: Any, session: Session) -> Any:
        """The first page."""
        size = args["options"].maxObjects if args.get("options") is not None else None
        return self.collector.page(self.collector.retrieve(args["specSet"], session), size, session)

    def do_ContinueRetrievePropertiesEx(self, this: Ref, args: Any, session: Session) -> Any:
        """A further page."""
        return self.collector.next_page(args["token"], session)

    def do_CancelRetrievePropertiesEx(self, this: Ref, args: Any, session: Session) -> None:
        """Forget the rest."""
        session.pages.pop(args["token"], None)

    def do_CreatePropertyCollector(self, this: Ref, args: Any, session: Session) -> Ref:
        """A collector with filters of its own."""
        moid = f"session[{session.key[:8]}]pc-{self.inventory.number()}"
        session.collectors[moid] = 0
        return vmodl.query.PropertyCollector(moid)

    def do_DestroyPropertyCollector(self, this: Ref, args: Any, session: Session) -> None:
        """Forget a collector and its filters."""
        self._collector(this, session)
        session.collectors.pop(this._moId, None)
        session.filters = {k: f for k, f in session.filters.items() if f.collector != this._moId}

    def _collector(self, this: Ref, session: Session) -> str:
        if this._moId != "propertyCollector" and this._moId not in session.collectors:
            raise gone(this)
        return str(this._moId)

    def do_CreateFilter(self, this: Ref, args: Any, session: Session) -> Ref:
        """Watch objects; checked at once."""
        one = Filter(
            f"session[{session.key[:8]}]filter-{self.inventory.number()}", self._collector(this, session), args["spec"]
        )
        for node in self.collector.expand(one.spec, session):
            self.collector.properties(node, one.spec, session)
        session.filters[one.moid] = one
        self.inventory.touch()
        return vmodl.query.PropertyCollector.Filter(one.moid)

    def do_DestroyPropertyFilter(self, this: Ref, args: Any, session: Session) -> None:
        """Forget a filter."""
        if session.filters.pop(this._moId, None) is None:
            raise gone(this)

    def do_WaitForUpdates(self, this: Ref, args: Any, session: Session) -> Any:
        """The old call: waits without end."""
        return self.collector.wait(self._collector(this, session), args.get("version"), None, session)

    def do_CheckForUpdates(self, this: Ref, args: Any, session: Session) -> Any:
        """What is new, without waiting."""
        return self.collector.wait(self._collector(this, session), args.get("version"), 0, session)

    def do_WaitForUpdatesEx(self, this: Ref, args: Any, session: Session) -> Any:
        """What is new, at most maxWaitSeconds later and maxObjectUpdates objects."""
        options = args.get("options")
        seconds, size = (None, None) if options is None else (options.maxWaitSeconds, options.maxObjectUpdates)
        return self.collector.wait(self._collector(this, session), args.get("version"), seconds, session, size)

    def do_CancelWaitForUpdates(self, this: Ref, args: Any, session: Session) -> None:
        """Let waiters look once more."""
        self.inventory.touch()

    # -- machines -----------------------------------------------------------

    def do_ReconfigVM_Task(self, this: Ref, args: Any, session: Session) -> Ref:
        """Change a configuration."""
        return self.world.reconfigure_task(self._vm(this, session, *of_spec(args["spec"])), args["spec"], session.user)

    def do_PowerOnVM_Task(self, this: Ref, args: Any, session: Session) -> Ref:
        """Start."""
        return self.world.power_on_task(self._vm(this, session, ON), session.user)

    def do_PowerOffVM_Task(self, this: Ref, args: Any, session: Session) -> Ref:
        """Stop hard."""
        return self.world.power_off_task(self._vm(this, session, OFF), session.user)

    def do_ShutdownGuest(self, this: Ref, args: Any, session: Session) -> None:
        """Ask the guest to stop."""
        self.world.shutdown_guest(self._vm(this, session, OFF), session.user)

    def do_RebootGuest(self, this: Ref, args: Any, session: Session) -> None:
        """Ask the guest to start over."""
        self.world.reboot_guest(self._vm(this, session, RESET), session.user)

    def do_QueryConfigTarget(self, this: Ref, args: Any, session: Session) -> DataObject:
        """What a VM may be given."""
        self.inventory.node(this)
        host = args.get("host")
        if host is not None:
            self.inventory.node(host)
        if self.recording is None:
            return self.world.config_target(host, this)
        targets = self.recording.targets
        moid = host._moId if host is not None else next(iter(targets), "")
        if moid not in targets:
            raise Refusal(vmodl.fault.HostNotReachable(), "What this host offers was not recorded.")
        return targets[moid]

    def do_CancelTask(self, this: Ref, args: Any, session: Session) -> None:
        """Refused, unless the settings let tasks be cancelled."""
        self.world.tasks.cancel(self.inventory.node(this))

    def do_AnswerVM(self, this: Ref, args: Any, session: Session) -> None:
        """Answer the pending question."""
        vm = self._vm(this, session, ANSWER)
        question = vm.props["runtime"].question
        if question is None or question.id != args["questionId"]:
            raise Refusal(vmodl.fault.InvalidArgument(invalidProperty="questionId"), "There is no such question.")
        vm.props["runtime"].question = None
        self.world.journal.add(session.user, "question answered", self.world.tag(vm), choice=args["answerChoice"])
        self.inventory.touch(vm)

"""A stand-in vCenter: a vSphere SOAP server over TLS; by default one R740 with four Tesla T4, API 8.0.3.0.

It speaks the real protocol to any vSphere client, enforces the rules of fixed passthrough, Dynamic DirectPath I/O and vGPU,
simulates the guests, keeps a journal of every change with the user who made it, and is steered over a plain HTTP side
(``drive``). Called by the command line and by tests; imports nothing of the bot.

Who does what: ``wire`` XML, ``versions`` what each API version knows; ``server`` HTTPS, ``injected`` how it fails; ``sessions``,
``collector``, ``api`` and ``access`` what a client may say, ``privileges`` and ``customfields``; ``replay`` a recorded site; ``world`` the
state and its operations; ``reconfigure`` and ``power`` the rules; ``placement`` where devices go at power-on; ``metal`` one
host's cards, ``models`` what cards there are, ``devices`` what a VM's devices are; ``tasks``; ``rig`` and ``hardware`` what is
there at first; ``hands`` (and ``hands_hosts``, ``foreign``) what admins and fate do, ``chaos`` the same at random; ``sound`` what must hold whatever was done;
``holds`` counting and holding of calls; ``drive`` and ``shown`` the control side; ``start`` puts them together.

**A rig of one's own**: ``Settings(hosts=(HostRig("esx-01", cards=(CardRig("0000:3b:00.0", "T4", label="t4-pool"),), vms=("a",)),
HostRig("esx-02", cards=(CardRig("0000:3b:00.0", "T4", mode="shared"),), vms=("b",), policy="consolidation", hardware="vmx-21")))``.
``mode`` is direct (whole cards, fixed or dynamic), shared (vGPUs) or none. Several parts of a card in one VM want
``hardware="vmx-20"`` or later; ``cluster=""`` is a host that stands alone. Addresses may be equal on two hosts; what is a host's own is in ``world.metals[moid]``: ``bound``
(PCI id -> VM's moid), ``parts`` (PCI id -> vGPUs), ``system_id``, ``cards``. ``world.metal``, ``world.bound``, ``world.host`` are
the first host's. A VM's devices are named by words, see ``devices.word``: ``0000:3b:00.0``, ``dynamic 10de:1eb8 t4-pool``,
``vgpu grid_t4-8q``; a guest's hardware by PCI id, or ``grid_t4-8q@0000:3b:00.0#13000`` (profile, card, device key).

**Without wire and threads**: ``world = World(Settings(threads=False, task_latency_s=0, seed=7, hosts=...), clock)``, never
started. With no latency a task has ended when ``reconfigure_task``, ``power_on_task``, ``power_off_task`` return (and the plain
``reconfigure``, ``power_on``, ``power_off`` raise the Refusal themselves); with a latency it goes on as time does. ``clock`` is any
``Clock`` whose ``unix()`` answers what the caller says; after moving it on, ``world.timers.run_due()`` makes what was due happen:
guests boot and stop, tasks end, lags pass; step through ``world.timers.next_due()`` so that each happens at its time. The
seed decides ids, choices of cards and jitter; ``Chaos(Hands(world), seed).act()`` does one thing that a foreign hand might do.
The same seed and the same calls give the same journal, but for its real times.

**Judging**: ``sound.impossible(world)`` after each act; ``sound.in_two(lines)``, ``sound.named_twice(lines, user)`` over
``world.journal.since()``. A line has user, verb, vm, uuid and details: ``card on`` and ``card off`` (``card``: its word, ``key``),
``devices`` (``host``, ``before``, ``after``), ``config``, ``power on`` (``cards``: what was bound, ``host``, ``devices``), ``power off``,
``suspend``, ``shutdown asked``, ``clone`` and ``register`` (``cards``, ``host``), ``host``, ``card``, and more. Logins are the users;
``guest`` and ``vcenter`` stand for what nobody asked for, ``settings.DRS_USER`` for vCenter's own putting off.

**Faults of the wire**: ``running.server.injections.add(Injection("drop", when="after", method="ReconfigVM_Task", vm="vm-r"))``, or
``POST /_drive/inject``: see ``injected``. ``running.server.restart()`` is vCenter's own restart. Without wire, ask
``Injections.due(method, user, changing, names)`` yourself. **Rights**: ``running.server.api.privileges``: ``lacks`` and ``grants`` of a login,
``lacks_on`` and ``grants_on`` of a login on one object; the bot's role is the least that it needs, on machines, and looking on hosts.

**What is uncertain of a real vCenter is a setting**: ``strict_backing``, ``hot_fault``, ``vgpu_fault``, ``cluster_faults``,
``placement``, ``parts_listed_once``, ``power_renews``, ``binding_lag_s``, ``release_lag_s``, ``task_jitter``, ``tasks_cancelable``.
"""

"""A recorded site, served read-only: what ``gpubot doctor --record DIR`` wrote is what ``gpubot local vcenter --replay DIR`` shows.

**The format** (number 1). ``DIR`` holds

``site.json``
    ``{"format": 1, "api_version": "8.0.3.0", "taken": "2026-01-01T00:00:00+00:00", "skew_s": 0.0,``
    ``"about": {"version": "8.0.3", "build": "24022515", "fullName": ...}, "privileges": {moid: {privilege id: true or false}}}``.
    ``skew_s``: the vCenter's clock minus the recorder's. ``about`` and ``privileges`` may be left out; then nothing is
    known to be missing. Privileges are those of the login that recorded.
``TYPE-MOID.xml``, one file an object
    ``TYPE`` is the wire name (``VirtualMachine``, ``HostSystem``, ``Task``, and whatever else was read). The content is one
    ``ObjectContent`` (``obj`` and ``propSet``) as ``SoapSerializer(out, version)`` of pyVmomi writes it, the version being the one
    that was negotiated, with unset required fields left off. ``propSet`` names are property *paths* as they were asked for
    (``config.hardware.device``); what was unset or unreadable has no entry.
``ConfigTarget-MOID.xml``
    the reply of ``QueryConfigTarget`` for the host ``MOID``, serialised likewise. A host without one could not be asked.

An object whose ``parent`` was not recorded hangs below the root folder, so virtual machines and hosts are enough for a
look. Scrubbing is the recorder's: managed object ids and instance UUIDs replaced consistently, or kept; names
replaced by ``machine-1``, ``host-1``; no IP, no note, no user. Whatever stands in the files is shown as it is.

Called by ``start``. Each call that would change something is refused by ``api`` (NotSupported), and so is the drive's.
"""

from __future__ import annotations

"""The vSphere edge: reads and changes vCenters over SOAP for the port `Lab`. Home of pyVmomi.

`lab` is the port; `connect` logs in, `look` reads, `change` and `power` change, `tasks` waits, `faults` translates.
Wiring imports `VSphereLab`, `ReadOnly` and `VCenter` from the modules that define them; nothing else is meant for outside.
"""

"""The vSphere edge: reads and changes vCenters over SOAP for the port `Lab`. Home of pyVmomi.

`lab` is the port; `connect` logs in, `look` reads all, `reading` one machine and what is around it, `machines`, `hosts` and `offers` say what was
read; `act` does one step with `change` (the choke point) and `power`, `tasks` waits, `offered` and `dryrun` judge before, `faults` translates.
Wiring imports `VSphereLab`, `ReadOnly` and `VCenter` from the modules that define them; nothing else is meant for outside.
"""

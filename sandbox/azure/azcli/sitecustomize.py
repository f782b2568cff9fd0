"""Repairs Debian 12's azure-cli 2.45.0, which is packaged with libraries newer than it expects.

Put this folder on PYTHONPATH; it touches nothing but the `az` program. Repaired:

- every `az network` command: python3-azure has no azure.mgmt.network v2022_01_01, so loading the arguments failed. Of its newest version it
  has the models alone; the operations are in one module for all versions, where az, which reads the arguments off them, does not look;
- every `az vm` command: it has no azure.mgmt.compute v2022_11_01 either;
- `az role assignment` and `az ad sp create-for-rbac`: the operations objects of azure.mgmt.authorization renamed .config to ._config.
"""
import importlib
import os
import sys
import types


def _repair():
    from azure.cli.core.profiles import _shared
    import azure.cli.command_modules.role._client_factory as role

    profile = _shared.AZURE_API_PROFILES["latest"]
    profile[_shared.ResourceType.MGMT_NETWORK] = "2022-07-01"

    operations = types.ModuleType("azure.mgmt.network.v2022_07_01.operations")
    operations.__getattr__ = lambda name: getattr(importlib.import_module("azure.mgmt.network.operations"), name)
    sys.modules[operations.__name__] = operations

    compute = profile[_shared.ResourceType.MGMT_COMPUTE]
    profile[_shared.ResourceType.MGMT_COMPUTE] = _shared.SDKProfile(
        "2022-08-01", {**compute.profile, "virtual_machine_scale_sets": "2022-08-01"})

    original = role._auth_client_factory

    class Client:
        def __init__(self, client):
            self._client = client

        def __getattr__(self, name):
            operations = getattr(self._client, name)
            if hasattr(operations, "_config") and not hasattr(operations, "config"):
                operations.config = operations._config
            return operations

    role._auth_client_factory = lambda *args, **kwargs: Client(original(*args, **kwargs))


if sys.argv[:1] and (sys.argv[0].endswith("/az") or sys.argv[0] in ("", "-c", "-m")):
    try:
        _repair()
    except Exception as error:  # another version of az, or none: nothing to repair
        if "HYPERSHIFT_DEBUG" in os.environ:
            print("azcli overlay:", error, file=sys.stderr)

"""Builds the shared object of the Python module with make while pip builds the wheel (pyproject.toml)."""
import os
import subprocess

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        del version
        subprocess.run(["make", "-s", f"-j{os.cpu_count() or 1}", "python"], cwd=self.root, check=True)
        build_data["pure_python"] = False
        build_data["infer_tag"] = False
        build_data["tag"] = f"py3-none-{_platform()}"
        build_data["force_include"]["build/release/cospec-python.so"] = "cospec/cospec-python.so"


def _platform():
    """The platform tag of this machine: ctypes loads the shared object, so any Python 3 will do."""
    import sysconfig
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")

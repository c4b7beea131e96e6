"""Has make build and install the Python package while pip builds the wheel (pyproject.toml)."""
import os
import subprocess
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        del version
        subprocess.run(["make", "-s", f"-j{os.cpu_count() or 1}", "install-python", "DESTDIR=",
                        "PYTHON_SITE=build/package"], cwd=self.root, check=True)
        build_data["force_include"]["build/package/cospec"] = "cospec"
        build_data["pure_python"] = False
        # ctypes loads the shared object, so any Python 3 will do.
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

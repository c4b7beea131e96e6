# The pages that have blocks too slow for `make test`, whole.
. tests/rotating/lib.sh
export PYTHON="${PYTHON:-/usr/bin/python3}" PYTHONPATH="$work/site"
make -s -C "$root" install-python PYTHON="$PYTHON" PYTHON_SITE="$work/site" > log 2>&1 || { echo "not ok pages: $(tail -3 log)"; exit 1; }
# shellcheck disable=SC2046 # names have no blanks
/usr/bin/python3 "$root/tests/pages.py" --slow $(grep -rl '^<!-- slow: ' "$root/docs" --include='*.md')

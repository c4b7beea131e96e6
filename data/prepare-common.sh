# Sourced by the prepare scripts: a work folder beside the target, checks, and the atomic end.

fail() {
    echo "$1" >&2
    exit 1
}

# need_file PATH PACKAGE
need_file() {
    [ -r "$1" ] || fail "install $2 ($1 is not there)"
}

# need_command NAME PACKAGE
need_command() {
    command -v "$1" > /dev/null 2>&1 || fail "install $2 (no command $1)"
}

# begin TARGET: makes the folder $work, removed at the end whatever happens.
begin() {
    target=$1
    work=$(mktemp -d "$target.XXXXXX") || fail "cannot write beside $target"
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# finish PACKAGE...: moves $work/out into place and tells the versions of the packages it was made from.
finish() {
    mv "$work/out" "$target"
    versions=
    for package in "$@"; do
        version=$(dpkg-query -W -f '${Version}' "$package" 2> /dev/null) || version=unknown
        versions="$versions${versions:+ }$package=${version:-unknown}"
    done
    echo "$versions"
}

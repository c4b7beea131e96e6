#!/bin/sh
# Prepares the Linux manual pages: key TAB label TAB split TAB text, one page a line (docs/reference/corpora.md, "Prepared corpora").
# usage: sh data/prepare-manpages.sh OUT.tsv
#
# The pages of the Debian packages manpages and manpages-dev, rendered by groff without hyphenation and without the header
# and footer (which name the section); the key is the page's file name (open.2), the label the section's digit. Links and
# pages that only include another (.so) are left out. The split is that of split_sides. Needs groff-base.
set -eu
export LC_ALL=C
. "$(dirname "$0")/prepare-common.sh"
target=${1:?"usage: sh data/prepare-manpages.sh OUT.tsv"}
need_command dpkg-query dpkg
need_command groff groff-base
for package in manpages manpages-dev; do
    dpkg-query -L "$package" > /dev/null 2>&1 || fail "install $package (dpkg does not list it)"
done
begin "$target"

dpkg-query -L manpages manpages-dev | grep '/man/man[1-9][^/]*/[^/]*$' | sort > "$work/list"
: > "$work/out"
while IFS= read -r page; do
    [ -f "$page" ] && [ ! -L "$page" ] || continue
    gzip -dcf < "$page" > "$work/source" || fail "$page: cannot be unpacked"
    # The first line that is no comment distinguishes a page from an inclusion.
    ! grep -v "^[.']\\\\\"" "$work/source" | head -n 1 | grep -q '^\.so ' || continue
    groff -t -man -Kutf8 -Tutf8 -rHY=0 -dAD=l -rLL=78n -P-c -P-b -P-u "$work/source" > "$work/text" 2> /dev/null ||
        fail "$page: groff failed"
    name=${page##*/}
    name=${name%.gz}
    section=${page##*/man/man}
    awk -v name="$name" -v section="$(echo "$section" | cut -c 1)" '
    NF { gsub(/[ \t]+/, " "); sub(/^ /, ""); sub(/ $/, ""); line[++n] = $0 }
    END {
        text = line[2]
        for (i = 3; i < n; i++) text = text " " line[i]
        if (n > 2) printf "%s\t%s\t\t%s\n", name, section, text
    }' "$work/text" >> "$work/out"
done < "$work/list"
[ -s "$work/out" ] || fail "install manpages (its pages are not there)"
split_sides
finish manpages manpages-dev groff-base

# Sourced by the prepare scripts: a work folder next to the target, checks, and the atomic end.

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
    work=$(mktemp -d "$target.XXXXXX") || fail "cannot write to the folder of $target"
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# dict_starts INDEX: of a dictd dictionary the offset of each entry and whether it is an entry or a notice of the dictionary's
# own. Index: headword TAB offset TAB length, numbers in base 64.
dict_starts() {
    awk -F '\t' -v OFS='\t' '
    BEGIN {
        digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (i = 1; i <= 64; i++) value[substr(digits, i, 1)] = i - 1
    }
    function decode(text, i, x) {
        for (i = 1; i <= length(text); i++) x = x * 64 + value[substr(text, i, 1)]
        return x + 0
    }
    { print decode($2), $1 ~ /^00-(database|gcide|web1913)-/ ? "notice" : "entry" }' "$1"
}

# dict_entries NAME: $work/entries has the entries of a dictd dictionary, its own notices left out: the byte offset TAB the
# text on one line. DICTD_DIR is the folder of its files.
dict_entries() {
    dict=${DICTD_DIR:-/usr/share/dictd}/$1
    need_file "$dict.dict.dz" "dict-$1"
    need_file "$dict.index" "dict-$1"
    gzip -dc < "$dict.dict.dz" > "$work/dict" || fail "$dict.dict.dz: cannot be unpacked"
    dict_starts "$dict.index" > "$work/starts"
    awk -F '\t' '
    function flush() {
        gsub(/[ \t\r\f\v]+/, " ", text)
        if (key != "" && !(key in notice)) print key "\t" text
    }
    FILENAME == starts { start[$1] = 1; if ($2 == "notice") notice[$1] = 1; next }
    {
        if (at in start) { flush(); key = at; text = "" }
        at += length($0) + 1
        text = text " " $0
    }
    BEGIN { starts = ARGV[1]; at = 0; key = "" }
    END { flush() }' "$work/starts" "$work/dict" > "$work/entries"
}

# split_sides: stores the split of $work/out. A fifth of the documents, by a hash of their keys, are the test side, less those
# with half or more of their runs of five words (a shorter text is one run) in another document, on whichever side, and those
# of classes with fewer than five documents. Runs are of [a-z0-9]+ after lower-casing. Memory: all distinct runs.
split_sides() {
    mv "$work/out" "$work/whole"
    awk -F '\t' -v OFS='\t' '
    # A run of a document, which it may have several times: shared counts those that are in another document too.
    function add(run, document, f) {
        f = first[run]
        if (f == "") first[run] = document
        else if (f == document) again[run]++
        else {
            shared[document]++
            if (f) shared[f] += 1 + (run in again ? again[run] : 0)
            first[run] = 0   # in two documents
        }
    }
    function add_runs(text, document, count, words, i) {
        text = tolower(text)
        gsub(/[^a-z0-9]+/, " ", text)
        count = split(text, words, " ")
        runs[document] = count < 5 ? 1 : count - 4
        if (count < 5) add(text, document)
        for (i = 5; i <= count; i++) add(words[i - 4] " " words[i - 3] " " words[i - 2] " " words[i - 1] " " words[i], document)
    }
    function hash(key, i, h) {
        for (i = 1; i <= length(key); i++) h = (h * 31 + code[substr(key, i, 1)]) % 2147483647
        for (i = 0; i < 4; i++) h = (h * 16807 + 12345) % 2147483647
        return h
    }
    BEGIN { for (i = 1; i < 256; i++) code[sprintf("%c", i)] = i }
    NR == FNR {
        size[$2]++
        add_runs($4, FNR)
        next
    }
    {
        $3 = hash($1) % 5 == 0 && 2 * shared[FNR] < runs[FNR] && size[$2] >= 5 ? "test" : "train"
        print
    }' "$work/whole" "$work/whole" > "$work/out"
}

# finish PACKAGE...: moves $work/out into place and prints the versions of the packages it was made from.
finish() {
    mv "$work/out" "$target"
    versions=
    for package in "$@"; do
        version=$(dpkg-query -W -f '${Version}' "$package" 2> /dev/null) || version=unknown
        versions="$versions${versions:+ }$package=${version:-unknown}"
    done
    echo "$versions"
}

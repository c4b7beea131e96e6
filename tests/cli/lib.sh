# Sourced by the end-to-end tests: each test is a function test_NAME that returns 0 or sets `why`; a script ends with run_tests.
# $COSPEC is the program. Everything happens in a separate folder, removed at the end.
set -u
: "${COSPEC:?}"
export LC_ALL=C.UTF-8 TERM=dumb
# MPI on one machine without a network, with more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_plm=isolated OMPI_MCA_pml=ob1
tests=$(sed -n 's/^test_\([a-z0-9_]*\)() *{.*/\1/p' "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
why=

# check NAME: runs the function test_NAME in a fresh folder and prints its line, unless that skipped itself.
check() {
    why= skipped=
    mkdir "$work/$1" && cd "$work/$1" || exit 1
    if "test_$1"; then [ -n "$skipped" ] || echo "ok $1"; else echo "not ok $1: ${why:-failed}"; fi
    cd "$work" || exit 1
    chmod -R u+w "$work/$1" && rm -rf "${work:?}/$1"
}

# run_tests: the tests of the script, in their order.
run_tests() { for test_name in $tests; do check "$test_name"; done; }

skip() { skipped=1; echo "skip $1: $2"; }

# sanitized NAME: skips a test that measures or limits what a sanitized program needs more of.
sanitized() { case $COSPEC in */asan/*) skip "$1" "the address sanitizer needs terabytes of address space, more memory, and /proc" ;; *) return 1 ;; esac; }

fail() { why="$*"; return 1; }

# exits CODE COMMAND...: the exit code; stdout and stderr are kept in `out` and `err`.
exits() {
    exits_want=$1; shift
    "$@" > out 2> err
    exits_got=$?
    [ "$exits_got" = "$exits_want" ] || fail "'$*' exits with $exits_got, not $exits_want: $(head -c 300 err)"
}

# says TEXT: the last stderr holds the text, on one line, and stdout is empty.
says() {
    grep -qF -- "$1" err || { fail "stderr lacks '$1': $(head -c 300 err)"; return 1; }
}

# refuses CODE TEXT COMMAND...
refuses() {
    refuses_code=$1 refuses_text=$2; shift 2
    exits "$refuses_code" "$@" && says "$refuses_text" && { [ ! -s out ] || fail "'$*' failed but printed: $(head -c 100 out)"; }
}

# edited DIR...: these results are changed by hand, which the digests of their manifests would not let pass.
edited() { sed -i 's/"outputs"/"outputs before"/; s/^  "sha256"/  "sha256 before"/' $(printf '%s/manifest.json ' "$@"); }

# number KEY FILE: the number that follows "KEY": in a JSON file.
number() { sed -n "s/^ *\"$1\": *\([-+0-9.eE]*\),\{0,1\}\$/\1/p" "$2" | head -1; }

# members PATTERN FILE: how many lines of a JSON match, except those of its table ("schema" and "data").
members() { sed '/^  "schema": {$/,$d' "$2" | grep -c "$1"; }

# The checks of numbers. holds CONDITION: one of numbers, in the language of awk; where a number is missing it does not hold.
holds() { awk "BEGIN { exit !($*) }" 2> /dev/null || fail "not $*"; }

# near A B TOLERANCE
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a != "" && d <= t) }' || fail "$1 is not $2 within $3"; }

# between LOW X HIGH, with a slack for printed digits.
between() { holds "$1 - 1e-9 <= $2 && $2 <= $3 + 1e-9"; }

# near_lists FILE FILE TOLERANCE COUNT: numbers, one a line.
near_lists() {
    paste "$1" "$2" | awk -v t="$3" -v n="$4" '{ d = $1 - $2; if (NF != 2 || d > t || -d > t) bad = 1 } END { exit bad || NR != n }' ||
        fail "$1 is not $2 within $3: $(paste "$1" "$2" | tr '\t\n' ' ,' | head -c 300)"
}

# sigmas FILE: the singular values of a JSON result, one a line.
sigmas() { tr -d ' \n' < "$1" | sed 's/.*"sigma":\[\([^]]*\)\].*/\1/; s/,/\n/g'; echo; }

# metric NAME [FILE] [KEY]: the value, or another number, of a metric in the JSON of the last run.
metric() { awk -v m="\"$1\"," -v key="\"${3:-value}\":" '$1 == "\"name\":" { on = $2 == m } on && $1 == key { sub(/,/, "", $2); print $2; exit }' "${2:-out}"; }

# cell FILE COLUMN ROW: of CSV whose fields may be quoted; the row by its number or the first that matches.
cell() {
    awk -v column="$2" -v row="$3" 'function split_row(s, n) {
            for (s = s ","; match(s, /^("([^"]|"")*"|[^,"]*),/); s = substr(s, RLENGTH + 1)) field[++n] = substr(s, 1, RLENGTH - 1)
            return n
        }
        NR == 1 { for (i = split_row($0); i > 0; --i) if (field[i] == column) c = i; next }
        row ~ /^[0-9]+$/ ? NR == row + 1 : $0 ~ row { split_row($0); print field[c]; exit }' "$1"
}

# verdict ID FORM FILE: of a statement in CSV.
verdict() { awk -F, -v id="$1" -v form="$2" '$1 == id && $2 == form { print $3; exit }' "$3"; }

# blocks FILE COLUMN REGEX: the jackknife error of the column in the rows of FILE-blocks.csv that match, which have no quoted fields.
blocks() {
    awk -F, -v column="$2" -v re="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == column) c = i; next } $0 ~ re && $c != "" { x[n++] = $c; mean += $c }
        END { for (i = 0; i < n; i++) s += (x[i] - mean / n) ^ 2; printf "%.12g", sqrt((n - 1) / n * s) }' "$1-blocks.csv"
}

# mtx ROWS COLS "i j v" ...: a Matrix Market file on stdout.
mtx() {
    rows=$1 cols=$2; shift 2
    printf '%%%%MatrixMarket matrix coordinate real general\n%s %s %s\n' "$rows" "$cols" $#
    printf '%s\n' "$@"
}

# block_matrix N [WEIGHTED]: in blocks.mtx, N blocks (3 1; 1 3), whose values are N times 1 and 1/2; WEIGHTED: the n-th block times n.
block_matrix() {
    awk -v n="$1" -v weighted="${2:+1}" 'BEGIN { print "%%MatrixMarket matrix coordinate real general"; print 2 * n, 2 * n, 4 * n
        for (b = 1; b <= n; ++b) for (i = -1; i <= 0; ++i) for (j = -1; j <= 0; ++j) print 2 * b + i, 2 * b + j, (i == j ? 3 : 1) * (weighted ? b : 1) }' > blocks.mtx
}

# random_words DOCUMENTS WORDS SPREAD: texts of words w1 to w(e^SPREAD); the first are the most frequent.
random_words() { awk -v documents="$1" -v words="$2" -v spread="$3" 'BEGIN { srand(3); for (d = 0; d < documents; ++d) { for (i = 0; i < words; ++i) printf "w%d ", int(exp(rand() * spread)); print "" } }'; }

# two_classes DOCUMENTS: labelled lines of random words, of cats and of trees in turn.
two_classes() { awk -v n="$1" 'BEGIN { srand(3); split("red green blue old new tall small dark", w, " "); for (i = 0; i < n; ++i) { s = i % 2 ? "animal\tthe cat" : "plant\ta tree"; for (k = 0; k < 6; ++k) s = s " " w[1 + int(8 * rand())]; print s } }'; }

# trained DIR OBJECTIVE...: a tiny model of the small corpus, in c.tsv.
trained() {
    dir=$1; shift
    exits 0 "$COSPEC" train --corpus c.tsv --width 16 --layers 2 --heads 2 --batch 8 --max-length 16 --steps 6 --objective "$@" -o "$dir"
}

# fewer STEP CORPUS...: in cache/, every STEP-th document or image of prepared corpora. $root is the repository.
fewer() {
    step=$1; shift
    mkdir cache
    for corpus; do
        "$COSPEC" data prepare "$corpus" --csv > out 2> err || return 1
        path=$(cell out path 1)
        case $path in
        *.npz) /usr/bin/python3 "$root/tests/fewer_images.py" "$path" "cache/$corpus.npz" "$step" || exit 1 ;;
        *) awk -v step="$step" 'NR % step == 1' "$path" > "cache/$corpus.tsv" ;;
        esac
    done
}

# A small labelled corpus; any change of these lines changes the tests' numbers.
small_corpus() {
    i=0
    while [ $i -lt 40 ]; do
        printf 'animal\tthe cat number %d sat on the mat and the dog ran away\n' $((i % 3))
        printf 'plant\ta tree number %d grows in the wood and the leaf falls down\n' $((i % 4))
        i=$((i + 1))
    done | sed 's/ 0 / zero /; s/ 1 / one /; s/ 2 / two /; s/ 3 / three /' > "$1"
}

# two_stacks GOLDEN DIR: a random t5 of tests/golden/models with a tokenizer of words, which ends texts with </s>, and c.tsv of them.
two_stacks() {
    cp -r "$1/t5-untied" "$2" && awk -v q='"' 'BEGIN {
        n = split("<unk> <pad> </s> the cat a tree red green blue old new tall small dark dog x y z", w, " ")
        for (i = 1; i <= n; i++) v = v (i > 1 ? "," : "") q w[i] q ":" i - 1
        text = "{#Sequence#:{#id#:#A#,#type_id#:0}}"
        t = "{#version#:#1.0#,#added_tokens#:[],#normalizer#:null,#pre_tokenizer#:{#type#:#Whitespace#},#decoder#:null,#post_processor#:{#type#:#TemplateProcessing#," \
            "#single#:[" text ",{#SpecialToken#:{#id#:#</s>#,#type_id#:0}}],#pair#:[" text "],#special_tokens#:{#</s>#:{#id#:#</s>#,#ids#:[2],#tokens#:[#</s>#]}}},"
        gsub("#", q, t); print t q "model" q ":{" q "type" q ":" q "WordLevel" q "," q "unk_token" q ":" q "<unk>" q "," q "vocab" q ":{" v "}}}"
    }' > "$2/tokenizer.json"
    two_classes 120 > c.tsv
}

# npy NAME DTYPE SHAPE < bytes: an NPY file with this header ("(4, 2)") and these data.
npy() {
    head="{'descr': '$2', 'fortran_order': False, 'shape': $3, }"
    size=$(( (${#head} + 11 + 63) / 64 * 64 ))
    { printf '\223NUMPY\001\000'; printf '%b' "$(printf '\\%03o\\%03o' $(((size - 10) % 256)) $(((size - 10) / 256)))"
      printf "%-$((size - 11))s\n" "$head"; cat; } > "$1"
}

# f32 NUMBER...: little-endian float32 of 0 1 2 -1 0.5 nan, and big for 1000
f32() {
    for x in "$@"; do
        case $x in
            0) printf '\000\000\000\000' ;;
            1) printf '\000\000\200\077' ;;
            2) printf '\000\000\000\100' ;;
            -1) printf '\000\000\200\277' ;;
            0.5) printf '\000\000\000\077' ;;
            nan) printf '\000\000\300\177' ;;
            big) printf '\000\000\172\104' ;;
            *) fail "f32 knows no $x" ;;
        esac
    done
}

# README.md and docs/tutorial/corpus-to-probe.md do what they show: words are the same, numbers within 2 %, and within 15 % behind a training
# step, whose sums differ between processors.
. "$(dirname "$0")/lib.sh"
root=$(cd "$(dirname "$COSPEC")/../.." && pwd)

# does PAGE
does() {
    sh "$root/tests/tutorial.sh" "$root/$1" > new.md 2> err || { fail "$(tail -4 err)"; return 1; }
    paste -d '\n' "$root/$1" new.md > both
    awk '
    function number(x) { return x ~ /^[-+]?[0-9.]+(e[-+]?[0-9]+)?[,:;]?$/ }
    NR % 2 { old = $0; next }
    /^\$ cospec train/ { loose = 1 }
    {
        n = split(old, a, " "); m = split($0, b, " "); bad = n != m
        for (i = 1; i <= n && !bad; ++i) {
            if (a[i] == b[i]) continue
            d = a[i] - b[i]; d = d < 0 ? -d : d; s = a[i] < 0 ? -a[i] : a[i] + 0
            bad = !number(a[i]) || !number(b[i]) || (d > (loose ? 0.15 : 0.02) * s && d > 1e-9)
        }
        if (bad) { print "line " NR / 2 ": " old " | " $0; exit 1 }
    }' both > differences || fail "$(cat differences)"
}

test_readme() { does README.md; }
test_tutorial() { does docs/tutorial/corpus-to-probe.md; }

check readme
check tutorial

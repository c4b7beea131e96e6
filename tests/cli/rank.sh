# cospec rank and similarity: closed forms, every kind of file, rows left out, shards, bad input.
. tests/cli/lib.sh

# Rows (1 0 0) (0 1 0) (0 0 1), twice, of either sign: lambda = 2 2 2.
cube() { f32 1 0 0  0 1 0  0 0 1  -1 0 0  0 -1 0  0 0 -1 | npy cube.npy '<f4' '(6, 3)'; }

test_closed_form() {
    cube
    for precision in float double; do
        exits 0 "$COSPEC" rank cube.npy --tau 0.9 --precision $precision --blocks 2 --json || return 1
        [ "$(number n out)" = 6 ] && [ "$(number d out)" = 3 ] || { fail "$(head -c 300 out)"; return 1; }
        for m in rank_tau:3 rank_tau_interpolated:2.7 entropy_rank:3 entropy_rank_squared:3 participation_ratio:3 \
            stable_rank:3 numerical_rank:3; do
            near "$(metric ${m%:*})" ${m#*:} 1e-9 || return 1
        done
    done
    grep -q '"definition": "least k with sum_{i<=k} sigma_i^2 >= 0.9 ' out && grep -q '"se": 0.0' out || fail "no definition or no se"
}

test_csv_and_text() {
    cube
    exits 0 "$COSPEC" rank cube.npy --csv --blocks 1 && [ "$(head -1 out)" = matrix,metric,definition,value,se,n,d ] &&
        [ "$(wc -l < out)" = 11 ] && exits 0 "$COSPEC" rank cube.npy --blocks 3 && grep -q rank_tau out || return 1
    exits 0 "$COSPEC" rank cube.npy --blocks 3 --curve --csv && [ "$(grep -c '^cube.npy,stable_rank,' out)" = 3 ] || fail "curve: $(cat out)"
}

# Equal rows leave nothing after centring, whatever the rounding of their mean; the definition has the range that was fitted.
test_constant_rows() {
    f32 1 2 -1  1 2 -1  1 2 -1  1 2 -1  1 2 -1  1 2 -1 | npy same.npy '<f4' '(6, 3)'
    exits 0 "$COSPEC" rank same.npy --center && says "same.npy: all rows are equal, or differ by less than rounding" || return 1
    exits 0 "$COSPEC" rank same.npy --center --json && grep -q 'alpha of sigma_k^2 ~ k^-alpha needs two sigma above the floor' out || fail "$(grep alpha out)"
}

# B theta - (B - 1) mean_b theta_b in addition to rank_tau, wherever that is, within its range and with its own error; without blocks there is none.
test_corrected_rank() {
    f32 1 0 0  0 1 0  0 0 1  2 0 0  0 1 0  0 0 1 | npy six.npy '<f4' '(6, 3)'
    # lambda 5 2 2; without two rows after the other 4 2 1, 2 1 1, 5 1 1
    exits 0 "$COSPEC" rank six.npy --blocks 3 --csv && awk -F, '$2 == "rank_tau_interpolated" { t = $(NF - 3) } $2 == "rank_tau_corrected" { c = $(NF - 3) } { e[$2] = $(NF - 2) }
        function tau(a, b, d) { s = 0.9 * (a + b + d); return s <= a ? s / a : s <= a + b ? 1 + (s - a) / b : 2 + (s - a - b) / d }
        END { m = (tau(4, 2, 1) + tau(2, 1, 1) + tau(5, 1, 1)) / 3; x = 3 * t - 2 * m; x = (x > 2.7 ? 2.7 : x) - c # 0.9 of 3 columns at most
            # its own error: two rows alone have 1 1, 4 1 or 1 1; two pairs each miss a part
            p = 2 * tau(4, 2, 1) - (1.8 + 1.5) / 2; q = 2 * tau(2, 1, 1) - 1.8; r = 2 * tau(5, 1, 1) - (1.5 + 1.8) / 2; n = (p + q + r) / 3
            b = (9 * t - 8 * m + (1.8 + 1.5 + 1.8) / 3) / 2 - (3 * t - 2 * m)
            y = sqrt(2 / 3 * ((p - n) ^ 2 + (q - n) ^ 2 + (r - n) ^ 2) + b * b) - e["rank_tau_corrected"]; exit !(t != "" && x < 1e-9 && x > -1e-9 && y < 1e-9 && y > -1e-9) }' out || { fail "${why:-$(cat out)}"; return 1; }
    grep -q 'six.npy,rank_tau_corrected,"B theta - (B - 1) mean_b theta_b, .* of B = 3' out && exits 0 "$COSPEC" rank six.npy --blocks 3 &&
        [ "$(awk 'NR > 1 { printf "%s ", $2 }' out)" = "rank_tau entropy_rank participation_ratio rank_tau_corrected " ] || { fail "${why:-$(cat out)}"; return 1; }
    exits 0 "$COSPEC" rank six.npy --blocks 1 --json && [ "$(metric rank_tau)" = 3.0 ] && [ "$(metric rank_tau_corrected)" = null ] || fail "${why:-$(cat out)}"
}

# Definitions are in files and --csv, whatever is printed; columns of nothing are not printed.
test_table_for_the_eye() {
    cube
    exits 0 "$COSPEC" rank cube.npy --blocks 3 && cp out plain && exits 0 "$COSPEC" rank cube.npy --blocks 3 -o o && cmp -s out plain && ! grep -q 'least k with' out &&
        grep -q 'least k with' o/rank.csv && [ "$(head -1 plain | tr -s ' ')" = "matrix metric value se n d" ] || { fail "${why:-$(cat out)}"; return 1; }
    exits 0 "$COSPEC" rank cube.npy --blocks 1 && [ "$(head -1 out | tr -s ' ')" = "matrix metric value n d" ] || fail "${why:-$(cat out)}"
}

# An array of three dimensions counts as rows of its last one, which is said.
test_more_dimensions() {
    cube
    f32 1 0 0  0 1 0  0 0 1  -1 0 0  0 -1 0  0 0 -1 | npy deep.npy '<f4' '(2, 3, 3)'
    exits 0 "$COSPEC" rank deep.npy --blocks 2 --json && says "deep.npy: an array of 3 dimensions, read as 6 rows along its last" && [ "$(number n out)" = 6 ] &&
        exits 0 "$COSPEC" rank cube.npy --blocks 2 --json && ! grep -q dimensions err || fail "${why:-$(cat err)}"
}

# A warning names the row and its share; without the row it is gone.
test_outliers() {
    f32 1 0 0  0 1 0  0 0 big  0 0 1 | npy heavy.npy '<f4' '(4, 3)'
    exits 0 "$COSPEC" rank heavy.npy --blocks 1 --json && says "row 2 has 100.0%" && says "one direction has 100.0%" || return 1
    [ "$(metric rank_tau)" = 1.0 ] || { fail "rank_tau $(metric rank_tau)"; return 1; }
    echo 2 > drop.txt
    f32 | npy none.npy '|b1' '(0,)'
    printf '\000\000\001\000' | npy mask.npy '|b1' '(4,)'
    printf '\002\000\000\000\000\000\000\000' | npy list.npy '<i8' '(1,)'
    for drop in drop.txt mask.npy list.npy; do
        exits 0 "$COSPEC" rank heavy.npy --blocks 1 --drop-rows $drop --json && [ "$(metric rank_tau)" = 3.0 ] && [ "$(number n out)" = 3 ] ||
            { fail "${why:-$drop: $(metric rank_tau)}"; return 1; }
        ! grep -q "of the sum of squares" err || { fail "$(cat err)"; return 1; }
    done
    exits 0 "$COSPEC" rank heavy.npy --blocks 1 --row-norm --json && ! grep -q 'row 2' err || { fail "$(cat err)"; return 1; }
    refuses 3 "none.npy: 0 booleans for 4 rows" "$COSPEC" rank heavy.npy --drop-rows none.npy || return 1
    printf '1\n7\n' > far.txt; refuses 3 "far.txt:2: far.txt: row 7 does not exist: there are 4" "$COSPEC" rank heavy.npy --drop-rows far.txt || return 1
    echo x > far.txt; refuses 3 "far.txt:1" "$COSPEC" rank heavy.npy --drop-rows far.txt || return 1
    exits 0 "$COSPEC" rank heavy.npy --blocks 4 --csv && says ", which is impossible for 3 columns, and is set to 0.9" && near "$(cell out value ,rank_tau_corrected,)" 0.9 0 || { fail "$(cat out err)"; return 1; }
}

test_groups() {
    cube
    i64() { for x in "$@"; do printf '%b\000\000\000\000\000\000\000' "\\$(printf %03o "$x")"; done; }
    i64 7 7 3 3 9 9 | npy g.npy '<i8' '(6,)'
    exits 0 "$COSPEC" rank cube.npy --groups g.npy --json && [ "$(number blocks out)" = 3 ] || { fail "${why:-$(number blocks out) blocks}"; return 1; }
    exits 0 "$COSPEC" rank named=cube.npy --groups g.npy -o d && grep -q '^named,stable_rank,' d/rank.csv &&
        near "$(blocks d/rank value '^named,stable_rank,')" "$(awk -F, '$2 == "stable_rank" { print $(NF - 2) }' d/rank.csv)" 1e-10 || return 1
    i64 7 7 3 | npy short.npy '<i8' '(3,)'
    refuses 3 "short.npy: 3 groups for 6 rows" "$COSPEC" rank cube.npy --groups short.npy || return 1
    # As rows.npy of cospec features: document, piece, position, token, flags (1 masked, 2 special).
    i64 0 0 0 5 2  0 0 1 5 1  0 0 2 5 0  1 0 0 5 2  1 0 1 5 1  1 0 2 5 0 | npy about.npy '<i8' '(6, 5)'
    for o in "--keep masked:2" "--keep unmasked:4" "--drop-special:4" "--drop-position 2:4" "--drop-position 0 --drop-position 1:2"; do
        # shellcheck disable=SC2086 # several options
        exits 0 "$COSPEC" rank cube.npy --groups about.npy ${o%:*} --json && [ "$(number n out)" = "${o#*:}" ] ||
            { fail "${why:-$o: $(number n out) rows}"; return 1; }
    done
    refuses 2 "need --groups rows.npy" "$COSPEC" rank cube.npy --keep masked || return 1
    refuses 3 "g.npy: not a rows.npy" "$COSPEC" rank cube.npy --groups g.npy --drop-special || return 1
    refuses 3 "none of the 6 rows is left" "$COSPEC" rank cube.npy --groups about.npy --keep masked --drop-position 1
}

# Shards give the bits of the whole; stored blocks give them again.
test_shards() {
    cube
    f32 1 0 0  0 1 0  0 0 1 | npy a.npy '<f4' '(3, 3)'
    f32 -1 0 0  0 -1 0  0 0 -1 | npy b.npy '<f4' '(3, 3)'
    exits 0 "$COSPEC" rank cube.npy --blocks 1 --json && cp out whole || return 1
    exits 0 "$COSPEC" rank a.npy --blocks 1 --save-blocks -o d || return 1
    exits 0 "$COSPEC" rank d/blocks.npz b.npy --merge --blocks 1 --json || return 1
    for f in whole out; do # the floor counts the sums that were added; shards have more of them
        sed '/"file"/d;/"matrix"/d;/"name": "\(cube.npy\|merged\)"/d;/"floor"/d;s/floor [0-9.e-]* are/floor are/' $f > $f.same
    done
    cmp -s whole.same out.same || { fail "$(diff whole.same out.same | head -5)"; return 1; }
    refuses 2 "--save-blocks needs -o" "$COSPEC" rank a.npy --save-blocks || return 1
    refuses 2 "needs --merge" "$COSPEC" rank a.npy b.npy --save-blocks -o e || return 1
    refuses 2 "must be given to the run that stores blocks" "$COSPEC" rank d/blocks.npz --row-norm
}

# The hash is made along with the Gram matrix: it is that of the file, with one thread or two, and a damaged file is refused, before
# other errors in it.
test_hash_in_a_thread() {
    cube
    for t in 1 2; do
        exits 0 "$COSPEC" rank cube.npy --blocks 2 --save-blocks --threads $t -o h$t &&
            grep -q "\"sha256\": \"$(sha256sum < cube.npy | cut -d' ' -f1)\"" h$t/manifest.json || { fail "${why:-$(cat h$t/manifest.json)}"; return 1; }
        exits 0 "$COSPEC" rank h$t/blocks.npz --threads $t && printf x >> h$t/blocks.npz &&
            refuses 3 "it was changed or damaged after" "$COSPEC" rank h$t/blocks.npz --threads $t &&
            : > h$t/blocks.npz && refuses 3 "it was changed or damaged after" "$COSPEC" rank h$t/blocks.npz --threads $t || return 1
    done
}

test_unequal_n() {
    cube
    f32 1 0 0  0 1 0 | npy two.npy '<f4' '(2, 3)'
    refuses 3 "two.npy: 2 rows, but cube.npy has 6" "$COSPEC" rank cube.npy two.npy || return 1
    exits 0 "$COSPEC" rank cube.npy two.npy --force-unequal --json && says "2 rows of 3 columns, and ranks cannot exceed the number of rows" &&
        [ "$(grep -c '"file"' out)" = 2 ] || fail "${why:-$(head -c 200 out)}"
}

test_bad_input() {
    f32 1 0 0  0 nan 0 | npy nan.npy '<f4' '(2, 3)'
    refuses 3 "nan.npy: row 1, column 1: value nan is not finite" "$COSPEC" rank nan.npy || return 1
    f32 1 0 2 | npy flat.npy '<f4' '(3,)'; refuses 3 "flat.npy: has 1 dimension" "$COSPEC" rank flat.npy || return 1
    f32 | npy empty.npy '<f4' '(0, 3)'; refuses 3 "empty.npy: is empty" "$COSPEC" rank empty.npy || return 1
    f32 1 0 | npy cut.npy '<f4' '(2, 3)'; refuses 3 "cut.npy" "$COSPEC" rank cut.npy || return 1
    printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n' > lfs.npy
    refuses 3 "Git LFS" "$COSPEC" rank lfs.npy || return 1
    cp lfs.npy lfs.safetensors; refuses 3 "Git LFS" "$COSPEC" rank lfs.safetensors:x || return 1
    refuses 3 "nowhere.npy" "$COSPEC" rank nowhere.npy || return 1
    cp nan.npy nan.npy.txt; refuses 3 "nan.npy.txt: row 1, column 1: value nan is not finite" "$COSPEC" rank nan.npy.txt || return 1
    echo 1 2 > numbers.txt; refuses 2 "expected a matrix: FILE.npy" "$COSPEC" rank numbers.txt || return 1
    cube
    refuses 2 "--tau: 0 is not in (0, 1]" "$COSPEC" rank cube.npy --tau 0 || return 1
    refuses 2 "--tau: 1.5 is not in (0, 1]" "$COSPEC" rank cube.npy --tau 1.5 || return 1
    refuses 2 "an argument is missing" "$COSPEC" rank || return 1
    exits 0 "$COSPEC" rank cube.npy --dry-run --json && grep -q '"dtype": "float32"' out
}

# Matrices on which BLAS would use both threads, and then round differently.
test_similarity_threads() {
    for s in 1 2; do
        awk -v s=$s 'BEGIN { srand(s); split("0 1 2 -1 0.5", v, " "); for (i = 0; i < 300 * 50; ++i) print v[1 + int(5 * rand())] }' > v.txt
        f32 $(cat v.txt) | npy v$s.npy '<f4' '(300, 50)'
    done
    for t in 1 2; do
        exits 0 "$COSPEC" similarity v1.npy v2.npy --dimension --threads $t --json || return 1
        cp out out.$t
    done
    cmp -s out.1 out.2 || fail "$(diff out.1 out.2)"
}

test_similarity() {
    cube
    # The same turned: (x, y, z) -> 2 (y, -x, z).
    f32 0 -1 0  1 0 0  0 0 1  0 1 0  -1 0 0  0 0 -1 | npy turned.npy '<f4' '(6, 3)'
    exits 0 "$COSPEC" similarity cube.npy turned.npy -k 3 --json || return 1
    for m in cka:1 cka_unbiased:1 procrustes:0 procrustes_similarity:1 mean_squared_cosine:1; do
        near "$(metric ${m%:*})" ${m#*:} 1e-12 || return 1
    done
    exits 0 "$COSPEC" similarity cube.npy --dimension --json && near "$(metric mean_cosine)" -0.2 1e-12 || return 1
    near "$(metric partition_isotropy)" 1 1e-12 || return 1
    f32 1 0 0  0 1 0 | npy two.npy '<f4' '(2, 3)'
    refuses 3 "cube.npy has 6 rows, but two.npy has 2" "$COSPEC" similarity cube.npy two.npy || return 1
    refuses 2 "needs two matrices" "$COSPEC" similarity cube.npy || return 1
    f32 1 0 0  0 nan 0 | npy nan.npy '<f4' '(2, 3)'
    refuses 3 "nan.npy: row 1" "$COSPEC" similarity nan.npy --dimension && ! grep -q 'nan.npy: nan.npy' err || { fail "${why:-$(cat err)}"; return 1; }
    exits 0 "$COSPEC" similarity cube.npy turned.npy --csv && [ "$(head -1 out)" = of,with,metric,definition,value,se,n ] || return 1
    exits 0 "$COSPEC" similarity a=cube.npy b=turned.npy --with c=turned.npy --with cube.npy --csv && [ "$(grep -c '^[ab],\(c\|cube.npy\),' out)" = 20 ] &&
        [ "$(grep -c ',cka,.*,1,,6$' out)" = 4 ] || fail "${why:-$(cat out)}"
}

# The jackknife: what a block leaves is measured as that alone is, and the error is that of the blocks.
test_shape_blocks() {
    f32 $(awk 'BEGIN { srand(5); split("0 1 2 -1 0.5", v, " "); for (i = 0; i < 30 * 12; ++i) print v[1 + int(5 * rand())] }') > v
    npy all.npy '<f4' '(30, 12)' < v && tail -c $((20 * 12 * 4)) v | npy rest.npy '<f4' '(20, 12)'
    exits 0 "$COSPEC" similarity x=all.npy --dimension --blocks 3 -o d && exits 0 "$COSPEC" similarity rest.npy --dimension --csv || return 1
    for m in intrinsic_dimension mean_cosine partition_isotropy; do
        [ "$(awk -F, -v m=$m '$2 == m && $3 == 1 { print $4 }' d/similarity-blocks.csv)" = "$(grep ",$m," out | awk -F, '{ print $(NF - 2) }')" ] || { fail "$m: $(grep $m out d/similarity-blocks.csv)"; return 1; }
        near "$(blocks d/similarity value "x,$m,")" "$(grep ",$m," d/similarity.csv | awk -F, '{ print $(NF - 1) }')" 1e-10 || return 1
    done
    f32 0 1 2 -1 0.5 1 | npy three.npy '<f4' '(3, 2)' && refuses 3 "3 rows in 3 blocks: leaving out one block leaves 2 rows" "$COSPEC" similarity three.npy --dimension --blocks 3
}

# A file that is not regular is refused before it is read, and a signal ends the hashing of a large one.
test_inputs_that_do_not_end() {
    mkfifo pipe.npy
    ln -s /dev/zero zero.npy
    refuses 3 "pipe.npy: not a regular file" timeout -s KILL 20 "$COSPEC" rank pipe.npy &&
        refuses 3 "zero.npy: not a regular file" timeout -s KILL 20 "$COSPEC" rank zero.npy &&
        refuses 2 "/dev/zero: expected a matrix: FILE.npy" timeout -s KILL 20 "$COSPEC" rank /dev/zero &&
        refuses 3 "pipe.npy: not a regular file" timeout -s KILL 20 "$COSPEC" plot bound pipe.npy -o f || return 1
    truncate -s 16G large.npy || { fail "no sparse file"; return 1; }
    "$COSPEC" rank large.npy -o r > out 2> err & # its hash goes into the manifest; without one it is refused at once
    pid=$!
    until ls -l /proc/$pid/fd 2> /dev/null | grep -q large.npy || ! readlink /proc/$pid/exe > /dev/null; do :; done
    kill -TERM $pid
    wait $pid
    code=$?
    [ $code = 130 ] || { fail "exit code $code: $(cat err)"; return 1; }
    refuses 3 "large.npy: not an NPY array" timeout -s KILL 5 "$COSPEC" rank large.npy
}

run_tests

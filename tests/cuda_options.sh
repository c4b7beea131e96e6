#!/bin/sh
# Prints nvcc's options for the cards of the GPU plug-in. usage: cuda_options.sh NVCC [CAPABILITY...]
# CAPABILITY 80 is compute capability 8.0. Each named one gets machine code; the lowest is kept as PTX too, which a driver compiles for
# any later card. Without names: the cards of docs/how-to/a-gpu.md that this nvcc can compile for. Under CI=true the first of them, quickly
# rather than for speed: there is no GPU to run it.
set -eu
nvcc=$1 lowest=80
shift
named=$*
known=$("$nvcc" --list-gpu-code) help=$("$nvcc" --help)
[ -n "$named" ] || set -- 80 86 89 90 100 120
cards=
for card in $(printf '%s\n' "$@" | sort -nu); do
    case $card in
    *[!0-9]*) echo "CUDA_ARCHS: $card is not a compute capability such as 80" >&2; exit 1 ;;
    esac
    [ "$card" -ge $lowest ] || { echo "CUDA_ARCHS: $card is less than $lowest, the lowest that the kernels compile for" >&2; exit 1; }
    if echo "$known" | grep -qx "sm_$card"; then
        cards="$cards $card"
    elif [ -n "$named" ]; then
        echo "CUDA_ARCHS: $nvcc cannot compile for $card, only for" $(echo "$known" | sed 's/sm_//') >&2
        exit 1
    fi
done
[ -n "$cards" ] || { echo "$nvcc cannot compile for compute capability $lowest or later" >&2; exit 1; }
quick=
if [ -z "$named" ] && [ -n "${CI:-}" ]; then cards=$lowest quick=1; fi
first=$(echo $cards | cut -d ' ' -f 1)
# One PTX serves all: the kernels use no instruction that only later cards have.
printf '%s' "-DPLUGIN_LOWEST=$first --threads 0"
for card in $cards; do printf '%s' " -gencode arch=compute_$first,code=sm_$card"; done
printf '%s' " -gencode arch=compute_$first,code=compute_$first"
# Options that an older nvcc lacks; without --compress-mode, which is of CUDA 12.8, the plug-in is twice as large.
if [ -n "$quick" ]; then
    printf ' -Xcompiler -O1'
    case $help in *--Ofast-compile*) printf ' --Ofast-compile=max' ;; esac
else
    case $help in *--compress-mode*) printf ' -compress-mode=size' ;; esac
fi
echo

# cospec: build, test, install, reproduce.
#
#   make            build the program and the library into build/release (installs nothing)
#   make test       install missing packages (deps), build, run all tests
#   make reproduce  the main job: install what is missing, build, run every audit, write results/report.html
#   make help       the other targets
#
# CONFIG=release|debug|asan|fuzz|tsan|coverage picks the build folder; CC=gcc|clang the compiler; WERROR=1 makes warnings errors;
# CUDA=auto|0|1 and MPI=auto|0|1 are probed (1 fails if absent); CUDA_ARCHS='86' restricts the cards of the GPU plug-in.

# As many jobs as processors, unless -j says otherwise.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

VERSION := 0.2.0
CONFIG ?= release
WERROR ?= $(if $(CI),1,0)
PREFIX ?= /usr/local
DESTDIR ?=
PYTHON ?= /usr/bin/python3
TORCH_PYTHON ?= python3
B := build/$(CONFIG)

# --- flags -------------------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
ifeq ($(WERROR),1)
WARN += -Werror
endif
# Debugging information, even of lines alone, would be a third of the program and takes a twentieth of the build.
OPT_release := -O2 -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
OPT_debug := -O0 -g3
# For clang's check of function types a shared object would need another library.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined $(if $(findstring clang,$(CC)),-fno-sanitize=function)
OPT_asan := -O1 -g $(SANITIZE) -fno-omit-frame-pointer
OPT_fuzz := -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OPT_tsan := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
OPT_coverage := $(OPT_release)
OPT := $(OPT_$(CONFIG))
ifeq ($(OPT),)
$(error CONFIG=$(CONFIG) is not release, debug, asan, fuzz, tsan or coverage)
endif
PACKAGES := openblas jansson libxxhash libutf8proc libpcre2-8 nettle zlib libpng libjpeg libwebp libwebpdemux freetype2
PKG_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) lapacke libtiff-4 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null)
CPPFLAGS := -D_GNU_SOURCE -Isrc -I. -I$(B)/generated $(PKG_CFLAGS)
CFLAGS := -std=gnu11 $(OPT) $(WARN) -ffp-contract=off -fPIC -pthread
comma := ,
LDFLAGS := $(if $(filter asan,$(CONFIG)),-fsanitize=address$(comma)undefined)$(if $(filter tsan,$(CONFIG)),-fsanitize=thread)$(if $(filter coverage,$(CONFIG)),--coverage)
# The GPU plug-in: host and device code by nvcc, for the cards that the probe chose (tests/cuda_options.sh).
NVCC ?= nvcc
CUDA_ARCHS ?=
NVCCFLAGS = -std=c++17 -O3 $(shell cat $(B)/probe/cuda-options) -Isrc -Werror all-warnings -Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wextra -cudart static
# The MPI plug-in: the compiler wrapper of Open MPI (or MPICH), around the same compiler.
MPICC ?= mpicc
# The compiler of the emulation that tests the plug-in's sources on the CPU (g++ with gcc, clang++ with clang).
CXX := $(if $(findstring clang,$(CC)),$(CC:clang%=clang++%),g++)
CXXFLAGS := -std=gnu++17 -O2 -Wall -Wextra -Wshadow -Wno-unknown-pragmas $(if $(filter 1,$(WERROR)),-Werror) \
  $(if $(filter asan,$(CONFIG)),$(SANITIZE))
LIBS := -Wl,-z,relro,-z,now,--build-id=sha1 -llapacke $(PKG_LIBS) -lgif -larpack -lm -pthread -ldl
# The program has its functions of LAPACKE in itself: to bind all of the library's takes a sixth of each start.
PROGRAM_LIBS := $(patsubst -llapacke,$(or $(filter /%,$(shell $(CC) -print-file-name=liblapacke.a)),-llapacke),$(LIBS))

# --- sources -----------------------------------------------------------------------------------------------
MPI_SRC := src/dist/carrier_mpi.c
ROOMS := src/base src/io src/stats src/dist src/plan src/text src/image src/linalg src/cooc src/tensor src/model src/train src/infer toy \
  analysis/measures analysis/theorems analysis/design analysis/trained analysis/study analysis/vision
LIB_SRC := $(sort $(filter-out $(MPI_SRC),$(wildcard $(ROOMS:%=%/*.c))))
# Readers of bytes from outside come to these alone; the link of a reader that needs another says so.
ifeq ($(CONFIG),fuzz)
LIB_SRC := $(filter src/% analysis/study/%,$(filter-out src/infer/%,$(LIB_SRC))) \
  $(patsubst %,analysis/%.c,measures/answer_scores measures/row_blocks theorems/theorem_41_labels)
endif
CLI_SRC := $(sort $(wildcard src/cli/*.c))
TEST_SRC := $(sort $(wildcard tests/test_*.c))
TEST_SUPPORT := $(sort $(filter-out $(TEST_SRC),$(wildcard tests/*.c)))
# Vector kernels: an object for each instruction set (src/base/simd.h).
KERNEL_SRC := $(filter %_kernels.c,$(LIB_SRC))
SIMD_SETS := 128 $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),256 512)
SIMD_256 := -mavx2 -mfma
SIMD_512 := $(SIMD_256) -mavx512f -mavx512dq -mavx512vl -mavx512bw
LIB_OBJ := $(patsubst %.c,$(B)/%.o,$(filter-out $(KERNEL_SRC),$(LIB_SRC))) $(foreach bits,$(SIMD_SETS),$(KERNEL_SRC:%.c=$(B)/%.$(bits).o))
COMMAND_HELP := $(sort $(wildcard src/cli/commands/*.txt))
CLI_OBJ := $(CLI_SRC:%.c=$(B)/%.o) $(B)/generated/command_help.o
TEST_SUPPORT_OBJ := $(TEST_SUPPORT:%.c=$(B)/%.o)
FUZZ_OBJ := $(patsubst %,$(B)/tests/fuzz/%.o,readers readers_counts readers_files readers_text fixtures)
TESTS := $(TEST_SRC:tests/%.c=$(B)/tests/%)
CUDA_SRC := $(sort $(wildcard src/cuda/*.cu))
CUDA_OBJ := $(CUDA_SRC:%.cu=$(B)/%.o)
EMULATED_OBJ := $(CUDA_SRC:src/cuda/%.cu=$(B)/tests/cuda_emulation/%.o) $(patsubst %,$(B)/tests/cuda_emulation/%.o,emulator runtime libraries libraries_products libraries_sparse)
ifneq ($(shell command -v $(CXX)),)
TESTS += $(B)/tests/test_cuda_emulation $(B)/tests/test_cuda_linalg
EMULATED := $(B)/tests/cuda_emulation/cospec-emulated.so
endif
FORMATTED := $(MPI_SRC) src/python/bridge.c $(wildcard src/cuda/*.cu src/cuda/*.cuh tests/cuda_emulation/* tests/gpu/*.c tests/fuzz/*.c tests/fuzz/*.h tests/torture/*.c)
# The public headers open with /** \file, which makes Doxygen read them too; the list must include all that they include.
HEADERS := $(sort $(shell grep -l '^/\*\* .file' $(ROOMS:%=%/*.h)))

.PHONY: all help deps probe plugin carrier test unit oracle cli-test asan tsan coverage mutants valgrind fuzz torture damaged layers tidy format format-check docs install python install-python wheel uninstall uninstall-python reproduce train-demo bench clean
.DELETE_ON_ERROR:
.SECONDARY:

all: probe $(B)/cospec $(B)/libcospec.so plugin carrier

help:
	@sed -n '3,9p' Makefile | sed 's/^# \{0,1\}//'
	@echo "other targets: deps probe unit cli-test oracle asan tsan coverage mutants valgrind fuzz torture damaged layers tidy format format-check docs install install-python wheel uninstall uninstall-python bench gpu-bundle train-demo clean"

deps:
	@sh tests/deps.sh

# Makes the folders of objects, and probes the libraries that the compiler and linker find; a missing required one stops here, with its
# Debian package's name.
FOLDERS := $(addprefix $(B)/,$(sort $(dir $(wildcard src/*/*.c analysis/*/*.c toy/*.c tests/*.c tests/*/*.c))))
probe:
	@mkdir -p $(FOLDERS)
	@CC='$(CC)' NVCC='$(NVCC)' MPICC='$(MPICC)' CUDA='$(CUDA)' CUDA_ARCHS='$(CUDA_ARCHS)' MPI='$(MPI)' sh tests/probe.sh $(B)

# The options of a build for coverage apply to the counted sources alone; the rest of the build is quick.
ifeq ($(CONFIG),coverage)
$(foreach module,io cooc linalg,$(B)/src/$(module)/%.o): CFLAGS += -O0 -U_FORTIFY_SOURCE --coverage
$(B)/tests/test.o: CPPFLAGS += -DCS_COVERAGE
endif
# The code of tests is quick to compile rather than quick; what it shares (references, comparisons) is optimised.
ifeq ($(CONFIG),release)
$(B)/tests/test_%.o: CFLAGS += -Og
endif
# No reader comes to the kernels, which would take the most of a build for libFuzzer.
ifeq ($(CONFIG),fuzz)
$(B)/src/tensor/%.o $(foreach bits,$(SIMD_SETS),$(B)/src/linalg/%_kernels.$(bits).o): CFLAGS += -O0 -fno-sanitize=all
endif

# --- build ---------------------------------------------------------------------------------------------------
$(B)/%.o: %.c $(B)/flags | probe
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

define SIMD_RULE
$(B)/%_kernels.$(1).o: %_kernels.c $(B)/flags | probe
	$$(CC) $$(CPPFLAGS) $$(CFLAGS) $$(SIMD_$(1)) -DCS_SIMD=$(1) -MMD -MP -c $$< -o $$@
endef
$(foreach bits,$(SIMD_SETS),$(eval $(call SIMD_RULE,$(bits))))

# Rebuild when flags or compiler change.
$(B)/flags: FORCE
	@mkdir -p $(B)
	@echo '$(CC) $(CPPFLAGS) $(CFLAGS)' | cmp -s - $@ || echo '$(CC) $(CPPFLAGS) $(CFLAGS)' > $@
.PHONY: FORCE
FORCE:

# Version and commit for manifests; rewritten only when they change. COMMIT names the commit of sources without their repository.
COMMIT := $(or $(COMMIT),$(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)$(shell git diff --quiet HEAD 2>/dev/null || echo -dirty))
ARPACK_VERSION := $(or $(shell pkg-config --modversion arpack 2>/dev/null),unknown)
$(B)/generated/version.h: FORCE
	@mkdir -p $(@D)
	@{ echo '#define CS_VERSION "$(VERSION)"'; echo '#define CS_COMMIT "$(COMMIT)"'; \
	   echo '#define CS_ARPACK_VERSION "$(ARPACK_VERSION)"'; } > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(LIB_OBJ) $(CLI_OBJ): | $(B)/generated/version.h

# Summaries, descriptions and examples of the commands, built in.
$(B)/generated/command_help.c: src/cli/commands/generate.awk $(COMMAND_HELP)
	@mkdir -p $(@D)
	awk -f $^ > $@
$(B)/generated/command_help.o: $(B)/generated/command_help.c $(B)/flags | probe
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# ../share/cospec of programs and of tests that are not installed.
SHARE := build/share/cospec $(B)/share/cospec
build/share/cospec: ; @mkdir -p $(@D) && ln -sfn ../.. $@
$(B)/share/cospec: ; @mkdir -p $(@D) && ln -sfn ../../.. $@

$(B)/libcospec.a: $(LIB_OBJ) | $(SHARE)
	@rm -f $@
	ar rcs $@ $^

$(B)/libcospec.so: $(LIB_OBJ)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,libcospec.so.1 -o $@ $^ $(LIBS)

$(B)/cospec: $(B)/src/cli/main.o $(B)/libcli.a $(B)/libcospec.a
	$(CC) $(LDFLAGS) -pie -o $@ $^ $(PROGRAM_LIBS)

# The plug-in, where the probe found a compiler for it.
plugin: probe
	+@if [ "$$(cat $(B)/probe/cuda)" = 1 ]; then $(MAKE) --no-print-directory DEPENDENCIES=src/cuda $(B)/cospec-cuda.so; else rm -f $(B)/cospec-cuda.so; fi

$(B)/src/cuda/%.o: src/cuda/%.cu $(B)/nvcc-flags
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

$(B)/nvcc-flags: FORCE
	@mkdir -p $(@D)
	@echo '$(NVCC) $(NVCCFLAGS)' | cmp -s - $@ || echo '$(NVCC) $(NVCCFLAGS)' > $@

$(B)/cospec-cuda.so: $(CUDA_OBJ)
	$(NVCC) $(NVCCFLAGS) -shared -Xlinker --exclude-libs,ALL -o $@ $^ -ldl

# The carrier of --mpi, where the probe found MPI and PARPACK.
carrier: probe
	+@if [ "$$(cat $(B)/probe/mpi)" = 1 ]; then $(MAKE) --no-print-directory DEPENDENCIES=src/dist $(B)/cospec-mpi.so; else rm -f $(B)/cospec-mpi.so; fi

$(B)/cospec-mpi.so: $(MPI_SRC) src/dist/carrier.h src/dist/comm.h $(B)/flags
	OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC) $(CPPFLAGS) $(CFLAGS) -fvisibility=hidden $(LDFLAGS) -shared -o $@ $(MPI_SRC) -lparpack

# The program without its main(), for the tests of its parts.
$(B)/libcli.a: $(filter-out %/main.o,$(CLI_OBJ))
	@rm -f $@
	ar rcs $@ $^

# Functions that several tests share: a program takes those that it calls.
$(B)/tests/support.a: $(TEST_SUPPORT_OBJ)
	@rm -f $@
	ar rcs $@ $^

# Linked with the library, in a sixth of the time that the archive needs; its symbols are resolved already, and few tests call
# OpenBLAS, whose table of symbols is long, or libzip, the other writer and reader of archives. An object can replace one of its
# members (tests/mutants.py). The library looks for plug-ins in its own folder, so it is a hard link.
TEST_LIBS := $(filter-out -lopenblas -llapacke,$(LIBS)) -lcmocka -Wl,--as-needed -lzip -Wl,--no-as-needed
$(patsubst %,$(B)/tests/test_%,base linalg similarity lapack_failures opt): TEST_LIBS += -llapacke -lopenblas
LINK_LIBRARY := -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..' -Wl,--unresolved-symbols=ignore-in-shared-libs
$(B)/tests/libcospec.so.1: $(B)/libcospec.so
	@mkdir -p $(@D) && rm -f $@ && ln $< $@

$(B)/tests/%: $(B)/tests/%.o $(B)/tests/support.a $(B)/libcli.a $(B)/tests/libcospec.so.1
	$(CC) $(LDFLAGS) $(LINK_LIBRARY) -o $@ $(filter %.o,$^) $(filter %.a %.1,$^) $(TEST_LIBS)

# The plug-in's sources as C++ on the CPU.
$(B)/tests/cuda_emulation/%.o: src/cuda/%.cu $(B)/flags | probe
	$(CXX) -x c++ -fPIC $(CXXFLAGS) -DCS_CUDA_EMULATION -D_GNU_SOURCE -Isrc -Itests/cuda_emulation -MMD -MP -c $< -o $@

# As a plug-in that the program can load: COSPEC_PLUGIN=... cospec train --device cuda.
$(B)/tests/cuda_emulation/cospec-emulated.so: $(EMULATED_OBJ)
	$(CXX) $(LDFLAGS) -shared -o $@ $^ -llapacke $(PKG_LIBS)

$(B)/tests/cuda_emulation/%.o: tests/cuda_emulation/%.cpp $(B)/flags | probe
	$(CXX) -fPIC $(CXXFLAGS) $(PKG_CFLAGS) -Itests/cuda_emulation -MMD -MP -c $< -o $@

$(B)/tests/test_cuda_linalg: $(B)/tests/cuda_emulation/test_cuda_linalg.o $(B)/tests/cuda_emulation/svd_cases.o \
  $(EMULATED_OBJ) $(B)/tests/support.a $(B)/libcli.a $(B)/tests/libcospec.so.1
	$(CXX) $(LDFLAGS) $(LINK_LIBRARY) -o $@ $^ $(LIBS) -lcmocka -lzip

$(B)/tests/test_cuda_emulation: $(B)/tests/cuda_emulation/test_cuda_emulation.o $(B)/tests/cuda_emulation/test_cuda_search.o \
  $(B)/tests/cuda_emulation/cuda_cases.o \
  $(EMULATED_OBJ) $(B)/tests/support.a $(B)/libcli.a $(B)/tests/libcospec.so.1
	$(CXX) $(LDFLAGS) $(LINK_LIBRARY) -o $@ $^ $(LIBS) -lcmocka

$(B)/tests/gpu/test_gpu: $(B)/tests/gpu/test_gpu.o $(B)/tests/gpu/gpt.o $(B)/tests/cuda_emulation/cuda_cases.o \
  $(filter $(B)/tests/backend_% $(B)/tests/tensor_% $(B)/tests/parity_% $(B)/tests/gpt_graph.o,$(TEST_SUPPORT_OBJ)) $(B)/libcospec.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/tests/gpu/test_svd: $(B)/tests/gpu/test_svd.o $(B)/tests/cuda_emulation/svd_cases.o $(B)/libcospec.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

GPU_TESTS := $(B)/tests/gpu/test_gpu $(B)/tests/gpu/test_svd

# A folder (build/gpu-bundle) for a machine with a GPU and CUDA 13 that has neither the sources nor our libraries.
gpu-bundle: all $(GPU_TESTS)
	@sh tests/gpu/bundle $(B)

# Reading all takes a third of a second, and the plug-ins need few of them.
-include $(shell find $(B)/$(DEPENDENCIES) -name '*.d' 2>/dev/null)

# --- tests ---------------------------------------------------------------------------------------------------
test:
	@sh tests/deps.sh python3-numpy python3-scipy
	$(MAKE) all unit-programs
	@COSPEC=$(CURDIR)/$(B)/cospec BUILD=$(B) sh tests/run.sh unit cli layers prose

unit-programs: $(TESTS) $(EMULATED) $(GPU_TESTS)

unit: all $(TESTS)
	@COSPEC=$(CURDIR)/$(B)/cospec BUILD=$(B) sh tests/run.sh unit

cli-test: all $(EMULATED) $(GPU_TESTS)
	@COSPEC=$(CURDIR)/$(B)/cospec BUILD=$(B) sh tests/run.sh cli

# Unit programs and commands under the address and undefined-behaviour sanitizers; clang's find more: make CC=clang asan.
asan:
	$(MAKE) CONFIG=asan all unit-programs
	@COSPEC=$(CURDIR)/build/asan/cospec BUILD=build/asan sh tests/run.sh unit cli

# The tests of code that runs on several threads, under the thread sanitizer. OpenBLAS, which the sanitizer does not instrument, has
# one thread.
THREADED := base builder builder_large builder_memory by_document checkpoint checkpoint_resume comm corpus density gram hidden_states images io_zip linop merge perplexity similarity \
  spectrum spectrum_density svd_block tensor_cpu tokenizer_train top_pairs train train_resume finetune
TSAN_TESTS := $(filter $(THREADED:%=build/tsan/tests/test_%),$(TESTS:$(B)/%=build/tsan/%))
tsan:
	$(MAKE) CONFIG=tsan CUDA=0 MPI=0 $(TSAN_TESTS)
	@for t in $(TSAN_TESTS); do echo $$t; OPENBLAS_NUM_THREADS=1 TSAN_OPTIONS=halt_on_error=1:die_after_fork=0:suppressions=tests/tsan.supp $$t > build/tsan.log 2>&1 || { cat build/tsan.log; exit 1; }; done

# Lines and branches that the unit programs take of src/io, src/cooc and src/linalg.
coverage:
	$(MAKE) CONFIG=coverage $(TEST_SRC:tests/%.c=build/coverage/tests/%)
	@$(PYTHON) tests/coverage.py build/coverage $(FILES)

# Mutation tests: small faults in these modules that the unit programs detect, or do not: ARGS='--sample 200 io', --again, ...
mutants: $(TEST_SRC:tests/%.c=$(B)/tests/%)
	@[ -f build/coverage/taken.json ] || $(MAKE) coverage
	@$(PYTHON) tests/mutants.py $(B) build/coverage/taken.json $(ARGS)

# The unit programs under valgrind, a few at a time: slow, finds what the sanitizers cannot.
valgrind: $(TESTS)
	@for t in $(TESTS); do echo $$t; valgrind -q --error-exitcode=9 --leak-check=full --suppressions=tests/valgrind.supp $$t > /dev/null 2> build/valgrind.log || { cat build/valgrind.log; exit 1; }; done

# Against libraries that are not ours (scipy, scikit-learn, torch, transformers); needs $(PYTHON) and $(TORCH_PYTHON) with them, a
# development aid.
oracle: all $(B)/tests/oracle/parity_tool
	@COSPEC=$(CURDIR)/$(B)/cospec PYTHON=$(PYTHON) TORCH_PYTHON=$(TORCH_PYTHON) sh tests/oracle/run.sh

# Every reader under libFuzzer and sanitizers, FUZZ_SECONDS each; needs clang (tests/fuzz/run.sh).
fuzz:
	$(MAKE) CONFIG=fuzz CC=clang WERROR=0 build/fuzz/fuzz
	@sh tests/fuzz/run.sh build/fuzz $(READERS)

$(B)/tests/test_fuzz: $(FUZZ_OBJ)
$(B)/fuzz: $(B)/tests/fuzz/fuzz.o $(FUZZ_OBJ) $(B)/libcospec.a
	$(CC) -fsanitize=fuzzer,address,undefined -o $@ $^ $(LIBS)

# Commands under faults (tests/torture/torture.sh): ARGS='--trials 1000', '--case train --fault kill', ...
torture: all $(B)/tests/torture/preload.so
	@COSPEC=$(CURDIR)/$(B)/cospec TORTURE=$(CURDIR)/$(B)/tests/torture sh tests/torture/torture.sh $(ARGS)

# Commands of the sanitized program on damaged files (tests/torture/damaged.py): ARGS='--seconds 600 --seed 7', ...
damaged:
	$(MAKE) CONFIG=asan build/asan/cospec
	@COSPEC=build/asan/cospec $(PYTHON) tests/torture/damaged.py $(ARGS)

$(B)/tests/torture/preload.so: tests/torture/preload.c
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -std=gnu11 -O2 $(WARN) -fPIC -shared -o $@ $<

layers:
	@sh tests/layers.sh

tidy: $(B)/generated/version.h
	@printf '%s\n' $(LIB_SRC) $(CLI_SRC) | xargs -P2 -n8 sh -c 'clang-tidy --quiet "$$@" -- $(CPPFLAGS) -DCS_SIMD=128 -std=gnu11 2>/dev/null' sh

format:
	clang-format -i $(LIB_SRC) $(CLI_SRC) $(wildcard tests/*.c tests/*.h src/*/*.h toy/*.h analysis/*/*.h) $(FORMATTED)

format-check:
	clang-format --dry-run --Werror $(LIB_SRC) $(CLI_SRC) $(wildcard tests/*.c tests/*.h src/*/*.h toy/*.h analysis/*/*.h) $(FORMATTED)

# --- the main job ----------------------------------------------------------------------------------------------
reproduce: deps
	$(MAKE) all
	$(B)/cospec reproduce -o results --resume

# Six small models, one an objective: some minutes each on two cores.
train-demo: deps
	$(MAKE) all
	$(B)/cospec reproduce --steps plots/train-demo.json --template plots/train-demo.html -o results/train-demo --resume

bench: all $(B)/tests/bench/bench $(B)/tests/bench/train_bench $(B)/tests/bench/count_bench
	@BUILD=$(B) PYTHON=$(PYTHON) sh tests/bench/run.sh

# The reference counter as GloVe's own makefile compiles its.
$(B)/tests/bench/glove_style.o: private CFLAGS += -O3 -march=native -funroll-loops
$(B)/tests/bench/count_bench: $(B)/tests/bench/glove_style.o $(B)/tests/bench/zipf_text.o
$(B)/tests/bench/train_bench: $(B)/tests/gpt_graph.o $(B)/tests/tensor_support.o

$(B)/tests/bench/%: $(B)/tests/bench/%.o $(B)/libcospec.a
	$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)

# --- docs and install ------------------------------------------------------------------------------------------
# The page of all commands, and the HTML site of all pages.
docs: all
	$(B)/cospec help --markdown > docs/reference/cli.md
	@sh docs/site.sh build/docs $(B)/cospec && echo "docs: open build/docs/html/index.html"

# Where the loader looks by itself: elsewhere a program built with the .pc file carries the library's path.
SYSTEM_PREFIXES := /usr /usr/local

# Where the shells look for completion.
COMPLETIONS := bash-completion/completions zsh/site-functions fish/vendor_completions.d

# The plug-ins that were built go to $(1)/lib/cospec, what the program reads at run time to $(1)/share/cospec. Stripped: debugging
# information names the folder of the build.
define INSTALL_PARTS
for p in cuda mpi; do [ ! -f $(B)/cospec-$$p.so ] || install -D -s -m 755 $(B)/cospec-$$p.so $(1)/lib/cospec/cospec-$$p.so || exit 1; done
install -d $(1)/share/cospec/data $(1)/share/cospec/plots
install -m 755 data/*.sh $(1)/share/cospec/data/
install -m 644 data/*.tsv data/*.md $(1)/share/cospec/data/
install -m 644 plots/* $(1)/share/cospec/plots/
endef

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/share/man/man1 \
	  $(COMPLETIONS:%=$(DESTDIR)$(PREFIX)/share/%)
	install -s -m 755 $(B)/cospec $(DESTDIR)$(PREFIX)/bin/cospec
	install -s -m 755 $(B)/libcospec.so $(DESTDIR)$(PREFIX)/lib/libcospec.so.1
	ln -sf libcospec.so.1 $(DESTDIR)$(PREFIX)/lib/libcospec.so
	install -m 644 $(B)/libcospec.a $(DESTDIR)$(PREFIX)/lib/libcospec.a
	strip -g $(DESTDIR)$(PREFIX)/lib/libcospec.a
	rm -rf $(DESTDIR)$(PREFIX)/include/cospec
	for h in $(HEADERS); do to=$(DESTDIR)$(PREFIX)/include/cospec/$${h#src/} && mkdir -p $${to%/*} && \
	  sed 's|^#include "\(.*\)"|#include <cospec/\1>|' $$h > $$to || exit 1; done
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@PACKAGES@|$(PACKAGES)|' \
	  -e 's|@RPATH@|$(if $(filter $(SYSTEM_PREFIXES),$(PREFIX)),,-Wl$(comma)-rpath$(comma)$${libdir} )|' docs/cospec.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/cospec.pc
	$(B)/cospec help --man > $(DESTDIR)$(PREFIX)/share/man/man1/cospec.1
	$(B)/cospec help --completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/cospec
	$(B)/cospec help --completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_cospec
	$(B)/cospec help --completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/cospec.fish
	$(call INSTALL_PARTS,$(DESTDIR)$(PREFIX))
	$(if $(DESTDIR),,$(if $(filter $(SYSTEM_PREFIXES),$(PREFIX)),if [ "$$(id -u)" = 0 ]; then ldconfig; fi))

# The Python package: the module, its shared object in lib/, the program in bin/ and what both read in share/. numpy and scipy are its only
# needs, and nothing else here needs it. Into the site of $(PYTHON), or PYTHON_SITE.
PYTHON_SITE = $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
$(B)/cospec-python.so: $(B)/src/python/bridge.o $(B)/libcli.a $(B)/libcospec.a
	$(CC) $(LDFLAGS) -shared -Wl,--exclude-libs,ALL -o $@ $^ $(LIBS)

# A function for each command, from the option tables.
$(B)/generated/_commands.py: $(B)/cospec src/python/generate.py src/python/results.py src/python/cospec/_words.py $(wildcard plots/*.gp)
	@mkdir -p $(@D)
	$(B)/cospec help --tables > $@.tables
	$(PYTHON) src/python/generate.py < $@.tables > $@

python: $(B)/cospec-python.so $(B)/generated/_commands.py

install-python: all python
	rm -rf $(DESTDIR)$(PYTHON_SITE)/cospec
	install -d $(DESTDIR)$(PYTHON_SITE)/cospec/bin $(DESTDIR)$(PYTHON_SITE)/cospec/lib
	install -m 644 $(wildcard src/python/cospec/*.*) $(B)/generated/_commands.py $(DESTDIR)$(PYTHON_SITE)/cospec/
	install -s -m 755 $(B)/cospec-python.so $(DESTDIR)$(PYTHON_SITE)/cospec/lib/
	install -s -m 755 $(B)/cospec $(DESTDIR)$(PYTHON_SITE)/cospec/bin/
	$(call INSTALL_PARTS,$(DESTDIR)$(PYTHON_SITE)/cospec)

# A wheel for older systems too, in build/wheel; as root (src/python/wheel.sh).
wheel:
	@sh src/python/wheel.sh

uninstall-python:
	rm -rf $(DESTDIR)$(PYTHON_SITE)/cospec

# And the folders that install made, where nothing else is in them; a system's own stay.
uninstall:
	rm -rf $(DESTDIR)$(PREFIX)/bin/cospec $(DESTDIR)$(PREFIX)/lib/cospec $(DESTDIR)$(PREFIX)/lib/libcospec.* $(DESTDIR)$(PREFIX)/lib/pkgconfig/cospec.pc \
	  $(DESTDIR)$(PREFIX)/include/cospec $(DESTDIR)$(PREFIX)/share/man/man1/cospec.1 \
	  $(foreach file,bash-completion/completions/cospec zsh/site-functions/_cospec fish/vendor_completions.d/cospec.fish cospec,$(DESTDIR)$(PREFIX)/share/$(file))
	$(if $(filter $(SYSTEM_PREFIXES),$(PREFIX)),,if [ -d $(DESTDIR)$(PREFIX) ]; then \
	  (cd $(DESTDIR)$(PREFIX) && for d in bin lib/pkgconfig include share/man/man1 $(COMPLETIONS:%=share/%) share; do \
	    [ ! -d $$d ] || rmdir -p --ignore-fail-on-non-empty $$d; done) && rmdir --ignore-fail-on-non-empty $(DESTDIR)$(PREFIX); fi)

clean:
	rm -rf build

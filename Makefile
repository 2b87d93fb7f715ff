# The human's front to CMake: `make help` lists the targets. Works on Debian 12, Debian 13 and Ubuntu 24.04.
## BUDGET=small smoke, small or paper: how much of a sweep runs; with RUN=0, of which budget results must be
## RESULTS=results folder of the sweeps' results
## JOBS=processors trials at a time
## FORCE= 1: bench-peers measures again what is there
## BUILD=build folder of what is built
BUILD ?= build
RESULTS ?= results
BUDGET ?= small
PREFIX ?= /usr/local
CORES := $(shell nproc)
JOBS ?= $(CORES)
MAKEFLAGS += --no-print-directory

# The only list of what headlab needs beside make itself. Debian 12's oneDNN asks for OpenCL's headers.
PACKAGES := g++ cmake git libboost-dev libboost-program-options-dev libdnnl-dev \
  ocl-icd-opencl-dev libeigen3-dev libfmt-dev libgtest-dev libhdf5-dev librandom123-dev \
  libssl-dev libtomlplusplus-dev nlohmann-json3-dev hdf5-tools python3-h5netcdf python3-h5py \
  python3-matplotlib python3-netcdf4 python3-pandas python3-venv python3-xarray
INSTALL := env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends

# The distribution's compiler, CMake and Python, whatever else comes first on the user's PATH.
export PATH := /usr/bin:/bin:$(PATH)
HEADLAB := $(BUILD)/headlab
LINT := .venv-lint/bin
ACCEPTANCE := .venv-acceptance
PEERS := .venv-peers

.DEFAULT_GOAL := help
.PHONY: help demo check check-all acceptance build program install test bench bench-peers step-bench format lint tidy asan tsan clean packages

help: ## this list
	@grep -hE '^[a-z%-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([^:]+):[^#]*## */\1\t/; s/^(sweep|figure)-%/\1-NAME/' | expand -t 14
	@printf '\nVariables, as in make figure-demo BUDGET=small JOBS=2\n'
	@sed -nE 's/^## ([A-Z]+=[^ ]*) +/\1\t/p' $(MAKEFILE_LIST) | expand -t 22
demo: figure-demo ## set up, build, train all architectures for seconds, draw a figure: start here
	@sed 's|figures/demo|$(FIGURES)/demo|; s|results/demo|$(RESULTS)/demo|; s|build/headlab|$(HEADLAB)|' analysis/demo.txt
check: build ## set up, build, run all tests but the long ones
	cd $(BUILD) && ctest --output-on-failure -j $(CORES) -LE long
check-all: build ## set up, build, run all tests
	cd $(BUILD) && ctest --output-on-failure -j $(CORES)
build: $(BUILD)/Makefile ## set up and build the program and the tests
	@cmake --build $(BUILD) -j $(CORES)
program: $(BUILD)/Makefile ## set up and build build/headlab
	@cmake --build $(BUILD) -j $(CORES) --target headlab
install: program ## install the program under PREFIX (default /usr/local)
	cmake --install $(BUILD) --prefix $(PREFIX)
test: build ## the fast tests: under a minute
	cd $(BUILD) && ctest --output-on-failure -j $(CORES) -LE 'slow|long'
acceptance: program $(ACCEPTANCE)/torch ## whole models against float64 PyTorch (downloads it)
	sh tests/acceptance/run.sh $(HEADLAB)
bench: step-bench $(PEERS)/torch-and-jax ## a training step against PyTorch eager, taking turns (downloads it): 3 minutes
	$(PEERS)/bin/python3 tests/bench/peers.py $(BUILD)/headlab_step_bench --results $(RESULTS)/bench --force \
	  --peers eager --architectures mte nap --shapes 128,128 16,128 128,8
bench-peers: step-bench $(PEERS)/torch-and-jax ## against PyTorch eager, compiled and JAX, with a figure (downloads them): 25 minutes
	$(PEERS)/bin/python3 tests/bench/peers.py $(BUILD)/headlab_step_bench --results $(RESULTS)/peers \
	  $(if $(filter 1,$(FORCE)),--force)
	/usr/bin/python3 -m analysis.figures.peers $(RESULTS)/peers/peers.json --out $(FIGURES)/peers --formats $(FORMATS)
step-bench: $(BUILD)/Makefile
	@cmake --build $(BUILD) -j $(CORES) --target headlab_step_bench
sweep-%: program ## run or resume sweeps/specs/NAME.toml
	$(HEADLAB) sweep sweeps/specs/$*.toml --out $(RESULTS)/$* --budget $(BUDGET) -j $(JOBS)
format: $(LINT)/clang-tidy ## format all C++ files
	git ls-files '*.cpp' '*.hpp' | xargs $(LINT)/clang-format -i
lint: tidy ## format, clang-tidy: what has to pass before a change is taken
	git ls-files '*.cpp' '*.hpp' | xargs $(LINT)/clang-format --dry-run -Werror
tidy: $(LINT)/clang-tidy $(BUILD)/Makefile ## clang-tidy on what changed since it last passed
	python3 tests/lint/tidy.py --clang-tidy $(LINT)/clang-tidy --build $(BUILD) -j $(CORES)
asan: ## the fast tests with address and undefined-behaviour sanitizers
	$(MAKE) test BUILD=build-asan OPTIONS=-DHEADLAB_SANITIZE=address
tsan: ## the sweep runner's tests with the thread sanitizer
	$(MAKE) build BUILD=build-tsan OPTIONS=-DHEADLAB_SANITIZE=thread
	cd build-tsan && TSAN_OPTIONS=suppressions=$(CURDIR)/tests/lint/tsan.txt ctest --output-on-failure -LE long -R '^(Attempts|Claims|Crew|Folding|Messages|Progress|Runner|Store)'
clean: ## remove everything that was built; results stay
	rm -rf build build-asan build-tsan .venv-lint .venv-acceptance .venv-peers

-include analysis/figures.mk

packages: ## install what is missing (SETUP=0: assume all is there)
	@missing='$(if $(filter 0,$(SETUP)),,$(filter-out $(installed),$(PACKAGES)))'; if [ -z "$$missing" ]; then exit 0; fi; \
	as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	if ! command -v apt-get >/dev/null || ! $${as_root:-true} true 2>/dev/null; then \
	  echo "headlab needs these packages; as root: apt-get update && apt-get install $$missing" >&2; exit 2; fi; \
	$$as_root apt-get update -q && $$as_root $(INSTALL) $$missing
installed = $(patsubst %/installed,%,$(shell dpkg-query -W -f '$${Package}/$${db:Status-Status} ' $(PACKAGES) 2>/dev/null))

$(BUILD)/Makefile: | packages
	cmake -S . -B $(BUILD) $(OPTIONS)
$(LINT)/clang-tidy: tests/lint/requirements.txt | packages
	python3 -m venv .venv-lint && $(LINT)/pip install --quiet --requirement $< && touch $@
$(ACCEPTANCE)/torch: tests/acceptance/requirements.txt | packages
	python3 -m venv $(ACCEPTANCE) && $(ACCEPTANCE)/bin/pip install --quiet --requirement $< && touch $@
$(PEERS)/torch-and-jax: tests/bench/peers_requirements.txt | packages
	python3 -m venv $(PEERS) && $(PEERS)/bin/pip install --quiet --requirement $< && touch $@

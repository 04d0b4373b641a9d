# qiming-sandbox: the verbs a person needs. Meson does the work; `make help` lists the verbs.
.PHONY: help run build build-linux build-darwin build-windows node prebuilt test test-asan fuzz bench bench-peers install \
	clean format lint
.DEFAULT_GOAL := help

BUILD   ?= build
PREFIX  ?= /usr/local
SECONDS ?= 30
export BUILD PREFIX

help:             ## lists these verbs
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1	/p' Makefile | expand -t 24

run: build        ## sets up, builds, and shows a command in the sandbox
	@scripts/demo $(BUILD)/qiming-sandbox

build:            ## leaves build/qiming-sandbox, one static program
	@scripts/setup build
	@scripts/build release

build-linux: build ## the release program for this Linux

build-darwin build-windows: ## (come with a later version)
	@echo "$@: there is no back end for this platform yet; it comes with a later version." >&2; exit 1

node:             ## builds the Node package's addon and wrapper, to be used in this tree
	@scripts/setup build node
	@scripts/build node

prebuilt:         ## the program and the addon in build/prebuilt/<platform>-<arch>/, and the npm package build/*.tgz
	@scripts/setup build node
	@scripts/build prebuilt

test:             ## sets up, builds and runs every test: as this user, and when root also as an ordinary one
	@scripts/setup build node test
	@scripts/build all node clang sanitized
	@scripts/node-versions || [ "$${QSB_MUST_WORK-}" != 1 ]
	@scripts/node-tools || [ "$${QSB_MUST_WORK-}" != 1 ]
	@tests/run

test-asan:        ## the tests on the build with the address and undefined-behaviour sanitizers only
	@scripts/setup build test
	@scripts/build sanitized
	@tests/run --build sanitized

fuzz:             ## fuzzes each parser for SECONDS=30
	@scripts/setup build test
	@scripts/build fuzz
	@tests/fuzz/run $(BUILD)/fuzz $(SECONDS)

bench: build      ## measures against plain spawn, bubblewrap and, after bench-peers, srt and codex
	@scripts/setup bench node
	@scripts/build all node
	@bench/run

bench-peers:      ## installs srt and codex below build/ for `make bench`
	@scripts/setup bench peers
	@mkdir -p $(BUILD)/peers && cp bench/package.json $(BUILD)/peers/
	@cd $(BUILD)/peers && npm install --no-audit --no-fund --loglevel=error

install: build    ## into PREFIX=/usr/local (and DESTDIR)
	@scripts/build install

clean:            ## removes build/
	@rm -rf $(BUILD)

format:           ## lays out the C sources as .clang-format says
	@scripts/setup lint
	@scripts/lint format

lint:             ## layout, clang-tidy and shellcheck
	@scripts/setup build lint
	@scripts/build release
	@scripts/lint check

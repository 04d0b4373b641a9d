# qiming-sandbox: the verbs a person needs. Meson does the work.
.PHONY: build build-debug setup
BUILD ?= build/meson
build: setup
	@meson setup $(BUILD) --reconfigure >/dev/null 2>&1 || meson setup $(BUILD)
	@meson compile -C $(BUILD)
	@cp $(BUILD)/src/qiming-sandbox build/qiming-sandbox
setup:
	@:

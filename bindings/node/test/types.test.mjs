import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "./setup.mjs";

const COMPILER = join(ROOT, "node_modules/typescript/bin/tsc");
const OPTIONS = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--module", "node16", "--target", "es2022",
    "--types", "node"];

for (const name of ["types.mts", "types.cts"]) {
    test(`the types are as documented for ${name.endsWith("mts") ? "import" : "require"}`, () => {
        const { status, stdout } = spawnSync(process.execPath, [COMPILER, ...OPTIONS, join("test", name)],
            { cwd: ROOT, encoding: "utf8" });
        assert.equal(status, 0, stdout);
    });
}

// What every test starts from: a package, a workspace in the home folder, and what was left running.
import { mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export const ROOT = new URL("..", import.meta.url).pathname;
export const { QimingSandbox, SandboxError } = await import("../dist/index.mjs");
export const required = createRequire(import.meta.url)("../dist/index.js");

/** A folder of its own; gone after the tests of the file. */
export function workspace(after) {
    const folder = realpathSync(mkdtempSync(join(homedir(), ".qsb-node-")));
    after(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
}

/** Processes of this machine whose arguments hold `mark`. */
export function processesWith(mark) {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).filter((pid) => {
        try {
            return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(mark);
        } catch {
            return false;
        }
    }).map(Number);
}

/** Waits until `test` holds; the limit ends a test that hangs, no test asserts a time. */
export async function until(test, what) {
    for (let tries = 0; tries < 1500; tries++) {
        if (test()) return;
        await sleep(20);
    }
    throw new Error(`never seen: ${what}`);
}

let marks = 0;
/** A word that no other process of this machine has among its arguments. */
export const mark = () => `qsb-mark-${process.pid}-${++marks}`;

export async function collect(iterable) {
    const events = [];
    for await (const event of iterable) events.push(event);
    return events;
}

export const textOf = (events, type) => events.filter((event) => event.type === type)
    .map(({ data }) => data.toString()).join("");

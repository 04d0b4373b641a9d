import assert from "node:assert/strict";
import { spawn as spawnPlain } from "node:child_process";
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { Worker } from "node:worker_threads";
import { QimingSandbox, ROOT, mark, processesWith, until, workspace } from "./setup.mjs";

const folder = workspace(after);
const sandbox = new QimingSandbox();
const PACKAGE = JSON.stringify(join(ROOT, "dist/index.js"));

/** Runs a script in a Node of its own: what it printed, and how it ended. */
function run(script, { node = process.execPath, signal, descriptors } = {}) {
    const limited = ["/bin/sh", "-c", `ulimit -n ${descriptors}; exec "$0" "$@"`];
    const [file, ...words] = [...(descriptors ? limited : []), node, "-e", script];
    const child = spawnPlain(file, words, { stdio: ["ignore", "pipe", "pipe"] });
    const got = { child, text: "", complaints: "" };
    child.stdout.on("data", (data) => { got.text += data; });
    child.stderr.on("data", (data) => { got.complaints += data; });
    got.end = new Promise((resolve) => child.on("close", (code, ended) => resolve({ code, signal: ended, ...got })));
    if (signal) void until(() => got.text.includes("ready"), "ready").then(() => child.kill(signal));
    return got;
}

const starting = (word, then) => `
    const { QimingSandbox } = require(${PACKAGE});
    const child = new QimingSandbox().spawn(["sh", "-c", "echo ready; sleep 1000; :", "${word}"],
        { workspace: ${JSON.stringify(folder)} });
    child.stdout.once("data", (data) => { process.stdout.write(data); ${then} });
`;

test("process.exit leaves nothing running and does not crash", async () => {
    const word = mark();
    const { code, complaints } = await run(starting(word, "setTimeout(() => process.exit(9), 50)")).end;
    assert.equal(code, 9, complaints);
    await until(() => processesWith(word).length === 0, "the end of the command");
});

test("a Node that is killed leaves nothing running", async () => {
    const word = mark();
    const { signal } = await run(starting(word, ""), { signal: "SIGKILL" }).end;
    assert.equal(signal, "SIGKILL");
    await until(() => processesWith(word).length === 0, "the end of the command");
});

test("a running command keeps Node alive and an ended one does not", async () => {
    const { code, text } = await run(`
        const { QimingSandbox } = require(${PACKAGE});
        void new QimingSandbox().execute("sleep 0.2; echo done", ${JSON.stringify(folder)})
            .then(({ stdout }) => process.stdout.write(stdout));
    `).end;
    assert.equal(code, 0);
    assert.equal(text, "done\n");
});

test("an uncaught exception in mid-run ends Node and the command", async () => {
    const word = mark();
    const { code, complaints } = await run(starting(word, "throw new Error('of the test')")).end;
    assert.equal(code, 1);
    assert.match(complaints, /of the test/);
    await until(() => processesWith(word).length === 0, "the end of the command");
});

function worker(script) {
    const thread = new Worker(`const { parentPort } = require("node:worker_threads");${script}`, { eval: true });
    thread.said = new Promise((resolve, reject) => thread.once("message", resolve).once("error", reject));
    return thread;
}

test("a worker runs commands, and several of them do at once", async () => {
    const workers = [1, 2, 3, 4].map((number) => worker(`
        const { QimingSandbox } = require(${PACKAGE});
        void new QimingSandbox().execute("echo ${number}", ${JSON.stringify(folder)})
            .then(({ stdout }) => parentPort.postMessage(stdout));
    `));
    const here = sandbox.execute("echo 0", folder);
    assert.deepEqual(await Promise.all(workers.map(({ said }) => said)), ["1\n", "2\n", "3\n", "4\n"]);
    assert.equal((await here).stdout, "0\n");
    await Promise.all(workers.map((thread) => thread.terminate()));
});

test("a worker's commands have the environment of the worker", async () => {
    const thread = worker(`
        const { QimingSandbox } = require(${PACKAGE});
        process.env.QSB_TEST_OF = "worker";
        void new QimingSandbox().execute("echo $QSB_TEST_OF", ${JSON.stringify(folder)})
            .then(({ stdout }) => parentPort.postMessage(stdout));
    `);
    assert.equal(await thread.said, "worker\n");
    await thread.terminate();
});

test("a module that is loaded anew works beside the old one, which goes on", async () => {
    const again = createRequire(import.meta.url);
    const all = [];
    for (let round = 0; round < 4; round++) {
        for (const name of Object.keys(again.cache)) if (name.startsWith(join(ROOT, "dist"))) delete again.cache[name];
        const { QimingSandbox: Fresh } = again(join(ROOT, "dist/index.js"));
        all.push(new Fresh().execute(`sleep 0.1; echo ${round}`, folder));
    }
    assert.deepEqual((await Promise.all(all)).map(({ stdout }) => stdout), ["0\n", "1\n", "2\n", "3\n"]);
});

test("process.exit in any callback, and a start while Node goes, neither crash nor leave anything", async () => {
    const word = mark();
    const start = `sandbox.spawn(["sh", "-c", "yes; :", "${word}"], { workspace: ${JSON.stringify(folder)} })`;
    const ways = [
        `${start}.stdout.on("data", () => process.exit(7))`,
        `${start}.pid; process.exit(7)`,
        `${start}.stdin.write("x", () => process.exit(7))`,
        `${start}; setTimeout(() => process.exit(7), 1)`,
        `process.on("exit", () => { ${start}.pid; process.exitCode = 7; })`,
    ];
    for (const way of ways) {
        const script = `const { QimingSandbox } = require(${PACKAGE}); const sandbox = new QimingSandbox(); ${way}`;
        const { code, signal, complaints } = await run(script).end;
        assert.deepEqual([code, signal, complaints], [7, null, ""], way);
    }
    await until(() => processesWith(word).length === 0, "the end of the commands");
});

test("a worker that is terminated in mid-run takes its commands along, and only these", async () => {
    const [theirs, mine] = [mark(), mark()];
    const here = sandbox.spawn(["sh", "-c", "sleep 1000; :", mine], { workspace: folder });
    for (let round = 0; round < 5; round++) {
        const thread = worker(`
            const { QimingSandbox } = require(${PACKAGE});
            const sandbox = new QimingSandbox();
            for (let i = 0; i < 4; i++)
                sandbox.spawn(["sh", "-c", "yes; :", "${theirs}"], { workspace: ${JSON.stringify(folder)} })
                    .stdout.on("data", () => parentPort.postMessage("ready"));
        `);
        await thread.said;
        await thread.terminate();
        await until(() => processesWith(theirs).length === 0, "the end of the worker's commands");
    }
    assert.ok(processesWith(mine).length > 0);
    here.kill("SIGKILL");
    await here.result;
});

test("a worker that is terminated in the moment of a start leaves nothing", async () => {
    const word = mark();
    for (let round = 0; round < 10; round++) {
        const thread = worker(`
            const { QimingSandbox } = require(${PACKAGE});
            new QimingSandbox().spawn(["sh", "-c", "sleep 1000; :", "${word}"],
                { workspace: ${JSON.stringify(folder)} });
            parentPort.postMessage("started");
        `);
        await thread.said;
        await thread.terminate();
    }
    await until(() => processesWith(word).length === 0, "the end of the commands");
});

test("the addon is loaded in a renamed Node, as Electron is one", async () => {
    const renamed = join(folder, "electron");
    copyFileSync(process.execPath, renamed);
    const { code, text, complaints } = await run(`
        const { QimingSandbox } = require(${PACKAGE});
        void new QimingSandbox().execute("echo from", ${JSON.stringify(folder)})
            .then(({ stdout }) => process.stdout.write(stdout + require("node:path").basename(process.execPath)));
    `, { node: renamed }).end;
    assert.equal(code, 0, complaints);
    assert.equal(text, "from\nelectron");
});

const open = () => ({
    descriptors: readdirSync("/proc/self/fd").length,
    threads: readdirSync("/proc/self/task").length,
    children: readdirSync("/proc/self/task").flatMap((task) =>
        readFileSync(`/proc/self/task/${task}/children`, "latin1").split(" ").filter(Boolean)).length,
});

test("500 commands leave no descriptor, thread or process behind", async () => {
    await Promise.all(Array.from({ length: 8 }, () => sandbox.execute("true", folder)));
    await sandbox.check();
    const before = open();
    for (let round = 0; round < 50; round++) {
        await Promise.all(Array.from({ length: 8 }, () => sandbox.execute("echo x", folder)));
        const child = sandbox.spawn("cat", { workspace: folder });
        child.stdin.end("x");
        for await (const event of child) void event;
        await sandbox.execute("true", folder, { timeout: "x" }).catch(() => undefined);
        await sandbox.policy.check({});
    }
    await until(() => open().children === before.children, "the end of all programs");
    assert.deepEqual(open(), before);
});

test("a host with thousands of open descriptors runs commands, and one without a free one is told so", async () => {
    const script = `
        const fs = require("node:fs");
        const { QimingSandbox } = require(${PACKAGE});
        const sandbox = new QimingSandbox();
        const workspace = ${JSON.stringify(folder)};
        const held = [];
        void (async () => {
            while (held.length < 1500) held.push(fs.openSync("/dev/null"));
            const child = sandbox.spawn("cat", { workspace, encoding: "utf8" });
            child.stdin.end("in\\n");
            for await (const event of child) if (event.data) process.stdout.write(event.data);
            try { for (;;) held.push(fs.openSync("/dev/null")); } catch {}
            const { code, hint } = await sandbox.execute("true", workspace).catch((error) => error);
            while (held.length) fs.closeSync(held.pop());
            console.log(code, hint);
            console.log((await sandbox.execute("echo after", workspace)).stdout);
        })();
    `;
    const { text, complaints } = await run(script, { descriptors: 2000 }).end;
    assert.match(text, /^in\nQSB_E_OS .*ulimit -n.*\nafter\n/, complaints);
});

test("a host whose own 0, 1 and 2 are closed runs commands, too", async () => {
    const script = join(folder, "closed.cjs");
    const out = join(folder, "closed.out");
    writeFileSync(script, `
        const fs = require("node:fs");
        for (const fd of [0, 1, 2]) fs.closeSync(fd);
        const { QimingSandbox } = require(${PACKAGE});
        const sandbox = new QimingSandbox();
        void (async () => {
            const child = sandbox.spawn("cat; echo bad >&2",
                { workspace: ${JSON.stringify(folder)}, encoding: "utf8" });
            child.stdin.end("in ");
            let text = "";
            for await (const event of child) if (event.data) text += event.data;
            text += (await sandbox.execute("echo result", ${JSON.stringify(folder)})).stdout;
            fs.writeFileSync(${JSON.stringify(out)}, text);
        })();
    `);
    const child = spawnPlain(process.execPath, [script], { stdio: "ignore" });
    await new Promise((resolve) => child.on("close", resolve));
    assert.match(readFileSync(out, "utf8"), /^(in bad\n|bad\nin )result\n$/);
});

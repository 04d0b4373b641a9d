import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { QimingSandbox, SandboxError, collect, mark, processesWith, textOf, until, workspace } from "./setup.mjs";

const folder = workspace(after);
const sandbox = new QimingSandbox();
const spawn = (command, options) => sandbox.spawn(command, { workspace: folder, ...options });

test("iteration gives output as it comes and the end last", async () => {
    const child = spawn("echo one; read line; echo two $line; echo bad >&2; exit 5", { encoding: "utf8" });
    const events = [];
    for await (const event of child) {
        events.push(event);
        // The command waits for this: so the first line came while it ran.
        if (event.type === "stdout" && event.data === "one\n") child.stdin.end("go\n");
    }
    assert.equal(textOf(events, "stdout"), "one\ntwo go\n");
    assert.equal(textOf(events, "stderr"), "bad\n");
    assert.equal(events.at(-1).type, "exit");
    assert.equal(events.at(-1).result.exitCode, 5);
    assert.equal((await child.result).exitCode, 5);
});

test("a process has a number at once", async () => {
    const child = spawn("sleep 1000");
    assert.ok(child.pid > 1);
    process.kill(child.pid, 0);
    child.kill("SIGKILL");
    assert.equal((await child.result).exitCode, 137);
    assert.equal(child.kill(), false);
});

test("many processes that start at once have numbers, orders and ends of their own", async () => {
    const children = Array.from({ length: 40 }, () => spawn(["cat"], { encoding: "utf8" }));
    for (const [number, child] of children.entries())
        if (number % 3 === 0) child.stdin.end(`${number}`);
    const pids = children.map(({ pid }) => pid);
    assert.equal(new Set(pids).size, 40);
    for (const pid of pids) process.kill(pid, 0);
    for (const [number, child] of children.entries()) {
        if (number % 3 === 1) child.kill("SIGKILL");
        if (number % 3 === 2) child.stdin.end(`${number}`);
    }
    for (const [number, child] of children.entries()) {
        const events = await collect(child);
        assert.equal(events.at(-1).result.exitCode, number % 3 === 1 ? 137 : 0);
        assert.equal(textOf(events, "stdout"), number % 3 === 1 ? "" : `${number}`);
    }
});

test("a signal reaches the command, which may handle it", async () => {
    const child = spawn("trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep 0.05; done",
        { encoding: "utf8" });
    let text = "";
    for await (const data of child.stdout) {
        text += data;
        if (text === "ready\n") child.kill();
    }
    assert.equal(text, "ready\ncaught\n");
    assert.equal((await child.result).exitCode, 7);
});

test("a signal that does not exist is an error", () => {
    const child = spawn("true");
    assert.throws(() => child.kill("SIGNONE"), { code: "QSB_E_RANGE" });
    assert.throws(() => child.kill(-1), { code: "QSB_E_RANGE" });
});

test("binary stdin comes back as it went", async () => {
    const bytes = randomBytes(9_000_001);
    const child = spawn(["cat"]);
    child.stdin.end(bytes);
    const parts = [];
    for await (const part of child.stdout) parts.push(part);
    assert.ok(Buffer.concat(parts).equals(bytes));
    assert.equal((await child.result).exitCode, 0);
});

test("stdin is written no faster than it is read", async () => {
    const child = spawn("sleep 1000");
    const piece = Buffer.alloc(65536);
    let written = 0;
    for (let i = 0; i < 100; i++) child.stdin.write(piece, () => { written++; });
    await sleep(200);
    // A pipe's worth went, and the rest waits here.
    assert.ok(written < 16, `${written} pieces were taken`);
    child.kill("SIGKILL");
    await child.result;
});

test("a command that does not read its stdin ends all the same", async () => {
    const child = spawn(["true"]);
    child.stdin.write(Buffer.alloc(10_000_000));
    child.stdin.end();
    assert.equal((await child.result).exitCode, 0);
});

test("100 MB of output arrive whole", async () => {
    const child = spawn("head -c 100000000 /dev/zero | tr '\\0' 'q'");
    const hash = createHash("sha256");
    let length = 0;
    for await (const part of child.stdout) {
        length += part.length;
        hash.update(part);
    }
    assert.equal(length, 100_000_000);
    assert.equal(hash.digest("hex"), createHash("sha256").update(Buffer.alloc(100_000_000, "q")).digest("hex"));
    assert.equal((await child.result).exitCode, 0);
});

test("a reader that stops makes the command wait and holds little memory", async () => {
    const child = spawn("head -c 200000000 /dev/zero; echo over >&2");
    let over = false;
    child.stderr.on("data", () => { over = true; });
    await new Promise((resolve) => child.stdout.once("readable", resolve));
    const before = process.memoryUsage.rss();
    await sleep(500);
    assert.equal(over, false);
    assert.ok(process.memoryUsage.rss() - before < 50_000_000);
    let length = 0;
    for await (const part of child.stdout) length += part.length;
    assert.equal(length, 200_000_000);
    assert.equal((await child.result).exitCode, 0);
    assert.equal(over, true);
});

test("Chinese text that is split between pieces stays whole", async () => {
    const bytes = Buffer.from("你好，世界");
    const pieces = [...bytes].map((byte) => `printf '\\${byte.toString(8).padStart(3, "0")}'; sleep 0.01`).join("; ");
    const events = await collect(spawn(pieces, { encoding: "utf8" }));
    assert.ok(events.length > 2, "it came in several pieces");
    assert.equal(textOf(events, "stdout"), "你好，世界");
    assert.ok(events.every(({ data }) => !data?.includes("\uFFFD")));
});

test("without an encoding the streams give bytes", async () => {
    const events = await collect(spawn("printf '\\377\\000'"));
    assert.deepEqual(Buffer.concat(events.filter(({ type }) => type === "stdout").map(({ data }) => data)),
        Buffer.from([255, 0]));
});

test("a stream that is ignored is not there", async () => {
    const child = spawn("echo x; echo y >&2; cat", { stdin: "ignore", stdout: "ignore" });
    assert.equal(child.stdin, null);
    assert.equal(child.stdout, null);
    assert.equal(textOf(await collect(child), "stderr"), "y\n");
});

test("a pty is a terminal of the size asked for, and follows resize", async () => {
    const child = spawn("while :; do stty size; sleep 0.05; done",
        { pty: { rows: 33, columns: 101 }, encoding: "utf8" });
    let text = "";
    for await (const data of child.stdout) {
        text += data;
        if (text.includes("33 101")) child.resize({ rows: 40, columns: 80 });
        if (text.includes("40 80")) child.kill("SIGKILL");
    }
    assert.match(text, /33 101[^]*40 80/);
    const plain = spawn("test -t 0 && test -t 1 && echo terminal", { pty: true, encoding: "utf8" });
    assert.match(textOf(await collect(plain), "stdout"), /terminal/);
});

test("a pty has its size before the command looks", async () => {
    const sizes = Array.from({ length: 24 }, async (_, number) => {
        const size = { rows: 30 + number, columns: 100 };
        const events = await collect(spawn(["stty", "size"], { pty: size, encoding: "utf8" }));
        assert.equal(textOf(events, "stdout").trim(), `${size.rows} 100`);
    });
    await Promise.all(sizes);
    const wrong = [{ rows: 0, columns: 80 }, { rows: 24 }, { rows: 24, columns: 70000 }, { rows: "x", columns: 1 }];
    for (const size of wrong) {
        assert.throws(() => spawn("true", { pty: size }), { name: "SandboxError", code: "QSB_E_RANGE" });
        const child = spawn("true", { pty: true });
        assert.throws(() => child.resize(size), { name: "SandboxError", code: "QSB_E_RANGE" });
        await collect(child);
    }
});

test("a pty takes what is typed", async () => {
    const child = spawn(["cat"], { pty: true, encoding: "utf8" });
    child.stdin.write("typed\n\x04");
    assert.match(textOf(await collect(child), "stdout"), /typed\r?\n/);
});

test("leaving the loop ends the command", async () => {
    const word = mark();
    const child = spawn(["sh", "-c", "echo here; sleep 1000; :", word]);
    for await (const event of child) if (event.type === "stdout") break;
    assert.equal((await child.result).exitCode, 137);
    await until(() => processesWith(word).length === 0, "its end");
});

test("a failure to run is thrown by the loop and rejects the result", async () => {
    const child = spawn("true", { timeout: "soon" });
    await assert.rejects(collect(child), { name: "SandboxError", code: "QSB_E_INVALID" });
    await assert.rejects(child.result, SandboxError);
});

test("a failure that nobody looks at does not end the process", async () => {
    spawn("true", { memoryLimit: "x" });
    await sleep(300);
});

test("an abort in mid-run ends the iteration with the result", async () => {
    const control = new AbortController();
    const child = spawn("echo ready; sleep 1000", { signal: control.signal });
    const events = [];
    for await (const event of child) {
        events.push(event);
        if (event.type === "stdout") control.abort();
    }
    assert.equal(events.at(-1).result.aborted, true);
});

test("an abort before the start ends the iteration at once", async () => {
    const child = spawn("true", { signal: AbortSignal.abort() });
    assert.equal(child.pid, undefined);
    const events = await collect(child);
    assert.deepEqual(events.map(({ type }) => type), ["exit"]);
    assert.equal(events[0].result.aborted, true);
});

test("an exception of a listener is uncaught and what comes behind it is heard", async () => {
    const seen = [];
    const before = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.once("uncaughtException", (error) => seen.push(error.message));
    const child = spawn("echo x");
    child.stdout.once("data", () => { throw new Error("of the listener"); });
    assert.equal((await child.result).exitCode, 0);
    await until(() => seen.length > 0, "the exception");
    assert.deepEqual(seen, ["of the listener"]);
    for (const listener of before) process.on("uncaughtException", listener);
});

/** Runs `body` with what is uncaught in it collected. */
async function uncaughtIn(body) {
    const seen = [];
    const note = (error) => seen.push(error.message);
    const before = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException").on("uncaughtException", note);
    try {
        await body();
        await sleep(20);
    } finally {
        process.off("uncaughtException", note);
        for (const listener of before) process.on("uncaughtException", listener);
    }
    return seen;
}

test("a callback of a write that throws does not keep the result back", async () => {
    const seen = await uncaughtIn(async () => {
        const child = spawn("sleep 0.1", { stdout: "ignore", stderr: "ignore" });
        for (let i = 0; i < 40; i++) child.stdin.write(Buffer.alloc(65536), () => { throw new Error("of the write"); });
        assert.equal((await child.result).exitCode, 0);
    });
    assert.deepEqual([...new Set(seen)], ["of the write"]);
});

test("a listener that always throws is given all of a stream", async () => {
    let length = 0;
    const seen = await uncaughtIn(async () => {
        const child = spawn("head -c 5000000 /dev/zero", { stderr: "ignore" });
        child.stdout.on("data", (data) => {
            length += data.length;
            throw new Error("of the listener");
        });
        assert.equal((await child.result).exitCode, 0);
    });
    assert.equal(length, 5_000_000);
    assert.deepEqual([...new Set(seen)], ["of the listener"]);
});

test("a listener of denials that throws does not keep the next one from being heard", async () => {
    const heard = [];
    const bad = () => { throw new Error("of the denial"); };
    const good = ({ target }) => heard.push(target);
    sandbox.on("denial", bad).on("denial", good);
    const config = { policy: { filesystem: { denyWrite: ["**/*.never"] } } };
    const seen = await uncaughtIn(() => sandbox.execute("for i in 1 2 3; do echo > $i.never; done", folder, config));
    sandbox.off("denial", bad).off("denial", good);
    assert.equal(heard.length, 3);
    assert.deepEqual(seen, Array(3).fill("of the denial"));
});

test("what the host's git would run is a finding of the result, and comes before the end", async () => {
    const make = "mkdir -p g/objects g/refs g/hooks; echo >g/HEAD; echo 'touch ran' >g/hooks/post-commit";
    const seen = [];
    for await (const event of spawn(make))
        seen.push(event.type === "finding" ? event.finding.what : event.type === "exit" ? event.result.findings : "");
    const [finding] = seen.at(-1);
    assert.deepEqual([seen.length, seen[0], finding.kind, finding.error], [2, "post-commit", "gitHook", null]);
    assert.equal(finding.movedTo, `${finding.path}.quarantined`);
});

test("a busy stream does not keep the other one from being heard", async () => {
    const child = spawn("yes & echo early >&2; wait");
    let stdout = 0;
    for await (const event of child) {
        if (event.type === "stderr") child.kill("SIGKILL");
        if (event.type !== "stdout") continue;
        stdout += event.data.length;
        // Slower than the command: there is always more.
        await sleep(1);
        assert.ok(stdout < 50_000_000, "stderr was never heard");
    }
});

test("a stream that is nothing is an error", () => {
    assert.throws(() => spawn("true", { stdin: "file" }), { name: "SandboxError", code: "QSB_E_INVALID" });
});

test("a stream that is destroyed does not stop the command", async () => {
    const child = spawn("head -c 5000000 /dev/zero; exit 6");
    child.stdout.destroy();
    assert.equal((await child.result).exitCode, 6);
});

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { constants, homedir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { QimingSandbox, SandboxError, mark, processesWith, required, until, workspace } from "./setup.mjs";

const folder = workspace(after);
const sandbox = new QimingSandbox();

test("a command's output and exit code are the result", async () => {
    const result = await sandbox.execute("echo out; echo err >&2; exit 3", folder, {
        networkEnabled: false, memoryLimit: "2g", cpuLimit: 2, timeout: 300,
    });
    assert.equal(result.exitCode, 3);
    assert.equal(result.stdout, "out\n");
    assert.equal(result.stderr, "err\n");
    assert.deepEqual(result.truncated, { stdout: false, stderr: false });
    assert.equal(result.signal, null);
    assert.ok(!result.timedOut && !result.outOfMemory && !result.aborted);
    assert.equal(result.sandbox.enforced.files, true);
    assert.ok(result.usage.maxRssBytes > 0);
});

test("a sandbox is available where a command runs", () => {
    assert.equal(sandbox.isAvailable(), true);
    assert.equal(sandbox.isAvailable(), true);
});

test("a sandbox is not available where its program is missing", () => {
    assert.equal(new QimingSandbox({ nativePath: join(folder, "nowhere") }).isAvailable(), false);
});

test("import and require give the same classes", () => {
    assert.equal(required.QimingSandbox, QimingSandbox);
    assert.equal(required.SandboxError, SandboxError);
});

test("a command with quotes, !, newlines, $HOME and an empty string arrives as it is", async () => {
    const words = ["'", '"', "!", "a\nb", "$HOME", "", "\\", "`id`", "*", "-n", "你好"];
    const result = await sandbox.execute(["printf", "<%s>", ...words], folder);
    assert.equal(result.stdout, words.map((word) => `<${word}>`).join(""));
});

test("a string goes to a shell and a list never does", async () => {
    const text = await sandbox.execute("echo \"$HOME\" '!' \"it's\"\necho ''second", folder);
    assert.equal(text.stdout, `${homedir()} ! it's\nsecond\n`);
    const list = await sandbox.execute(["echo", "$HOME; id"], folder);
    assert.equal(list.stdout, "$HOME; id\n");
});

test("a command that begins with a dash is a command", async () => {
    const result = await sandbox.execute("-not-an-option", folder);
    assert.equal(result.exitCode, 127);
});

test("an empty command does nothing and an empty list is an error", async () => {
    assert.equal((await sandbox.execute("", folder)).exitCode, 0);
    await assert.rejects(sandbox.execute([], folder), { name: "SandboxError", code: "QSB_E_INVALID" });
});

test("a NUL in a command is an error and cuts nothing off", async () => {
    await assert.rejects(sandbox.execute("echo a\0; rm -rf b", folder), { code: "QSB_E_INVALID" });
    await assert.rejects(sandbox.execute(["echo", "a\0b"], folder), { code: "QSB_E_INVALID" });
});

test("a failure to run is a SandboxError with code, hint and place", async () => {
    const error = await sandbox.execute("true", folder, { memoryLimit: "lots" }).catch((reason) => reason);
    assert.ok(error instanceof SandboxError);
    assert.equal(error.code, "QSB_E_INVALID");
    assert.equal(error.where, "/limits/memory");
    assert.match(error.message, /^\/limits\/memory: must be a size/);
    assert.match(error.hint, /\/limits\/memory/);
    await assert.rejects(sandbox.execute("true", join(folder, "missing")), { code: "QSB_E_NOT_FOUND" });
    await assert.rejects(sandbox.execute("true", folder, { policy: { nonsense: 1 } }), { code: "QSB_E_UNKNOWN" });
});

test("a text that is longer than an argument can be is an error that says what to do", async () => {
    const error = await sandbox.execute(`: ${"x".repeat(200_000)}`, folder).catch((reason) => reason);
    assert.deepEqual([error.name, error.code, error.errno], ["SandboxError", "QSB_E_OS", constants.errno.E2BIG]);
    assert.match(error.hint, /stdin/);
});

test("what is said by a field and by the policy is refused", async () => {
    await assert.rejects(sandbox.execute("true", folder, { memoryLimit: "1g", policy: { limits: { memory: "1g" } } }),
        { code: "QSB_E_INVALID", where: "/limits/memory" });
    const network = { mode: "off" };
    await assert.rejects(sandbox.execute("true", folder, { networkEnabled: true, policy: { network } }),
        { code: "QSB_E_INVALID", where: "/network/mode" });
});

test("a field that is none, or a value that could mean more than it says, is refused and runs nothing", async () => {
    const wrong = [
        [{ networkEnabled: true, allowedDomain: ["example.com"] }, "QSB_E_UNKNOWN"],
        [{ networkEnabled: "false" }, "QSB_E_INVALID"],
        [{ networkEnabled: true, allowedDomains: null }, "QSB_E_INVALID"],
        [{ networkEnabled: true, deniedDomains: null }, "QSB_E_INVALID"],
        [{ networkEnabled: true, policy: { network: { allowedDomains: null } } }, "QSB_E_INVALID"],
    ];
    for (const [config, code] of wrong) {
        const error = await sandbox.execute("echo x > refused", folder, config).catch((reason) => reason);
        assert.ok(error instanceof SandboxError, JSON.stringify(config));
        assert.equal(error.code, code);
        assert.notEqual(error.hint, "");
    }
    assert.ok(!existsSync(join(folder, "refused")));
});

test("a workspace or a command that is missing is an error and not the current folder", async () => {
    for (const missing of [undefined, null, "", 5])
        await assert.rejects(sandbox.execute("true", missing), { name: "SandboxError", code: "QSB_E_INVALID" });
    for (const missing of [undefined, null, 5, {}, [1], ["true", undefined]])
        await assert.rejects(sandbox.execute(missing, folder), { name: "SandboxError", code: "QSB_E_INVALID" });
});

test("a workspace is written and everything else is not", async () => {
    const outside = join(homedir(), `.qsb-node-outside-${process.pid}`);
    const result = await sandbox.execute(`echo x > inside; echo x > ${outside}`, folder);
    assert.notEqual(result.exitCode, 0);
    assert.equal(readFileSync(join(folder, "inside"), "utf8"), "x\n");
    assert.ok(!existsSync(outside));
});

test("cwd is a folder of the workspace and env sets variables", async () => {
    await sandbox.execute("mkdir -p sub", folder);
    const result = await sandbox.execute("pwd; echo $API_TOKEN", folder, { cwd: "sub", env: { API_TOKEN: "given" } });
    assert.equal(result.stdout, `${join(folder, "sub")}\ngiven\n`);
});

test("a secret of this process's environment stays here", async () => {
    process.env.QSB_TEST_API_TOKEN = "secret";
    const result = await sandbox.execute("echo [$QSB_TEST_API_TOKEN]", folder);
    assert.equal(result.stdout, "[]\n");
    delete process.env.QSB_TEST_API_TOKEN;
});

test("the environment is the one of the call", async () => {
    process.env.QSB_TEST_MOMENT = "before";
    const all = Array.from({ length: 16 }, () => sandbox.execute("echo $QSB_TEST_MOMENT", folder));
    // So many that the list has to be moved.
    for (let i = 0; i < 200; i++) process.env[`QSB_TEST_MOMENT_${i}`] = "x".repeat(i);
    process.env.QSB_TEST_MOMENT = "after";
    assert.deepEqual(new Set((await Promise.all(all)).map(({ stdout }) => stdout)), new Set(["before\n"]));
    for (const name of Object.keys(process.env)) if (name.startsWith("QSB_TEST_MOMENT")) delete process.env[name];
});

test("a timeout ends grandchildren, too", async () => {
    const word = mark();
    const result = await sandbox.execute(
        `(setsid sh -c 'trap "" TERM; while :; do sleep 1; done' ${word} &)
        (sh -c 'sleep 100; :' ${word} &); sleep 100`,
        folder, { timeout: 1 });
    assert.equal(result.exitCode, 124);
    assert.equal(result.timedOut, true);
    await until(() => processesWith(word).length === 0, "the end of the grandchildren");
});

test("a grandchild that keeps the output open does not keep the result back", async () => {
    const result = await sandbox.execute("sleep 1000 & echo done", folder);
    assert.equal(result.stdout, "done\n");
});

test("memory beyond the limit ends the command and is told", async () => {
    const script = "const a = []; for (;;) a.push(Buffer.alloc(1 << 22, 1))";
    const result = await sandbox.execute(["node", "-e", script], folder, { memoryLimit: "256m" });
    assert.equal(result.outOfMemory, true);
    assert.notEqual(result.exitCode, 0);
});

test("an abort before the start runs nothing", async () => {
    const result = await sandbox.execute("echo x > aborted", folder, { signal: AbortSignal.abort() });
    assert.equal(result.aborted, true);
    assert.equal(result.exitCode, 137);
    assert.ok(!existsSync(join(folder, "aborted")));
});

test("an abort in the moment of the start is a result", async () => {
    const control = new AbortController();
    const running = sandbox.execute("sleep 1000", folder, { signal: control.signal });
    control.abort();
    assert.equal((await running).aborted, true);
});

test("an abort in mid-run ends everything and is a result", async () => {
    const control = new AbortController();
    const word = mark();
    const running = sandbox.execute(["sh", "-c", "sleep 1000; :", word], folder, { signal: control.signal });
    await until(() => processesWith(word).length > 1, "the command");
    control.abort();
    const result = await running;
    assert.equal(result.aborted, true);
    assert.equal(result.exitCode, 137);
    await until(() => processesWith(word).length === 0, "its end");
});

test("an abort about the moment of the end is told only where it ended the command", async () => {
    for (let round = 0; round < 60; round++) {
        const control = new AbortController();
        setTimeout(() => control.abort(), 2 + (round % 30) / 5);
        const { aborted, exitCode } = await sandbox.execute("exit 4", folder, { signal: control.signal });
        assert.equal(exitCode, aborted ? 137 : 4);
    }
});

test("an abort after the end changes nothing", async () => {
    const control = new AbortController();
    const result = await sandbox.execute("exit 4", folder, { signal: control.signal });
    control.abort();
    assert.equal(result.exitCode, 4);
    assert.equal(result.aborted, false);
});

test("output beyond the limit keeps head and tail", async () => {
    const result = await sandbox.execute("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo last", folder,
        { policy: { limits: { output: "64k" } } });
    assert.equal(result.truncated.stdout, true);
    assert.match(result.stdout, /^first\n/);
    assert.match(result.stdout, /last\n$/);
    assert.ok(result.stdout.length < 100_000);
});

test("64 commands at once each have their own result", async () => {
    const all = await Promise.all(Array.from({ length: 64 }, (_, number) =>
        sandbox.execute(["sh", "-c", `echo ${number}; exit ${number}`], folder)));
    assert.deepEqual(all.map(({ exitCode }) => exitCode), Array.from({ length: 64 }, (_, number) => number));
    assert.deepEqual(all.map(({ stdout }) => Number(stdout)), Array.from({ length: 64 }, (_, number) => number));
});

test("two sandboxes with different policies run at once, each with its own", async () => {
    const other = workspace(after);
    const strict = { policy: { filesystem: { denyWrite: ["kept"] } } };
    await sandbox.execute("echo old > kept", folder);
    const word = "for i in 1 2 3; do sleep 0.1; echo new > kept; done; cat kept";
    const [first, second] = await Promise.all([
        sandbox.execute(word, folder, strict),
        new QimingSandbox().execute(word, other, { policy: { limits: { openFiles: 64 } } }),
    ]);
    assert.equal(first.stdout, "old\n");
    assert.equal(second.stdout, "new\n");
    const limits = await Promise.all([64, 128].map((openFiles) =>
        sandbox.execute("ulimit -n", folder, { policy: { limits: { openFiles } } })));
    assert.deepEqual(limits.map(({ stdout }) => stdout), ["64\n", "128\n"]);
});

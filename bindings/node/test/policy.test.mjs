import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { QimingSandbox, ROOT, collect, workspace } from "./setup.mjs";

const folder = workspace(after);
const sandbox = new QimingSandbox();

test("check gives the doctor's report", async () => {
    const report = await sandbox.check();
    assert.equal(report.usable, true);
    assert.ok(report.backends[0].facts.some(({ name }) => name === "kernel"));
});

test("on a machine that cannot run a sandbox nothing runs, and the hint is what the doctor says", () => {
    const script = `
        const { QimingSandbox } = require(${JSON.stringify(join(ROOT, "dist/index.js"))});
        const sandbox = new QimingSandbox();
        sandbox.execute("echo x > ran", ".").catch(async ({ code, hint }) =>
            console.log(JSON.stringify({ code, hint, available: sandbox.isAvailable(), ...await sandbox.check() })));
    `;
    // A namespace of users in which no further one can be made.
    const said = execFileSync("unshare", ["--user", "--map-root-user", "sh", "-c",
        "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"", "sh", process.execPath, "-e", script],
        { cwd: folder, encoding: "utf8" });
    const { code, hint, available, usable } = JSON.parse(said);
    assert.deepEqual([code, available, usable], ["QSB_E_UNSUPPORTED", false, false]);
    assert.match(hint, /sysctl .*max_user_namespaces/);
    assert.ok(!existsSync(join(folder, "ran")));
});

test("a policy is checked without being used", async () => {
    assert.deepEqual(await sandbox.policy.check({ limits: { memory: "1g" } }), { valid: true });
    const bad = await sandbox.policy.check({ limits: { memory: 5 } });
    assert.equal(bad.valid, false);
    assert.equal(bad.code, "QSB_E_RANGE");
    assert.equal(bad.where, "/limits/memory");
});

test("explain tells what a path, a host and a command may do", async () => {
    const path = await sandbox.explain({ path: "/etc/passwd" }, folder);
    assert.deepEqual([path.read, path.write], [true, false]);
    assert.equal((await sandbox.explain({ path: "x" }, folder)).write, true);
    assert.equal((await sandbox.explain({ path: "~/x" }, folder)).path, join(homedir(), "x"));
    const config = { networkEnabled: true, allowedDomains: ["*.example.com"], deniedDomains: ["bad.example.com"] };
    const hosts = ["a.example.com", "bad.example.com", "example.org"];
    const verdicts = await Promise.all(hosts.map((host) => sandbox.explain({ host }, folder, config)));
    assert.deepEqual(verdicts.map(({ allowed }) => allowed), [true, false, false]);
    assert.equal((await sandbox.explain({ command: ["sh"] }, folder)).command.name, "sh");
    await assert.rejects(sandbox.explain({ path: "x" }, folder, { timeout: -1 }), { where: "/limits/timeout" });
});

test("a network without lists is everything, and an empty list is nothing", async () => {
    const allowed = async (config) => (await sandbox.explain({ host: "example.com" }, folder, config)).allowed;
    assert.equal(await allowed({}), false);
    assert.equal(await allowed({ networkEnabled: true }), true);
    assert.equal(await allowed({ networkEnabled: true, allowedDomains: [] }), false);
    assert.equal(await allowed({ networkEnabled: true, deniedDomains: ["example.com"] }), false);
    assert.equal(await allowed({ networkEnabled: false, allowedDomains: ["*"] }), false);
    assert.equal(await allowed({ allowedDomains: ["*"] }), false);
});

test("a config is only renamed", () => {
    assert.deepEqual(sandbox.policy.of({ networkEnabled: true, memoryLimit: "1g", cpuLimit: 1, timeout: 9,
        policy: { filesystem: { tmp: "host" }, limits: { processes: 99 } } }), {
        filesystem: { tmp: "host" },
        network: { mode: "filtered", allowedDomains: ["*"] },
        limits: { processes: 99, memory: "1g", cpus: 1, timeout: 9 },
    });
    assert.deepEqual(sandbox.policy.of({}), {});
});

test("the types of a policy are what the program says of itself", async () => {
    const made = execFileSync(process.execPath, [join(ROOT, "scripts/policy-types.mjs"), process.env.QS],
        { encoding: "utf8" });
    assert.equal(readFileSync(join(ROOT, "src/policy.ts"), "utf8"), made);
    assert.equal((await sandbox.policy.schema()).title, "qiming-sandbox policy");
});

test("a denied write is a denial while it runs and in the result", async () => {
    const heard = [];
    const listener = (denial) => heard.push(denial);
    sandbox.on("denial", listener);
    const config = { policy: { filesystem: { denyWrite: ["**/*.never"] } } };
    const events = await collect(sandbox.spawn("echo x > a.never", { workspace: folder, ...config }));
    const told = events.filter(({ type }) => type === "denial").map(({ denial }) => denial);
    const result = await sandbox.execute("echo x > b.never", folder, config);
    sandbox.off("denial", listener);
    for (const [denial, name] of [[told[0], "a.never"], [result.denials[0], "b.never"]]) {
        assert.equal(denial.kind, "file");
        assert.equal(denial.target, join(folder, name));
        assert.equal(denial.rule, "/filesystem/denyWrite/0");
        assert.ok(denial.pid > 0);
    }
    assert.deepEqual(heard.map(({ target }) => target), [join(folder, "a.never"), join(folder, "b.never")]);
    assert.deepEqual(events.at(-1).result.denials.map(({ target }) => target), [join(folder, "a.never")]);
});

test("refused files and calls are denials with rule and suggestion, each once with its count", async () => {
    const outside = mkdtempSync(join(homedir(), ".refused-"));
    try {
        const script = `for i in 1 2 3; do touch ${outside}/new; done; unshare -U true; touch fine`;
        const { denials, denialsLeftOut, sandbox: report } = await sandbox.execute(script, folder);
        assert.deepEqual(denials.map(({ kind, operation, target, count }) => [kind, operation, target, count]),
            [["file", "create", join(outside, "new"), 3], ["call", "unshare", "user namespace", 1]]);
        assert.match(denials[0].rule, /^default: only what is allowed/);
        assert.equal(denials[0].suggestion, `--write ${outside}`);
        assert.equal(denials[0].process, "touch");
        assert.equal(denials[0].detail, undefined);
        assert.equal(denials[1].rule, "/allowNestedSandbox");
        assert.equal(denialsLeftOut, 0);
        assert.equal(report.reported.files, true);
    } finally {
        rmSync(outside, { recursive: true });
    }
    const quiet = await sandbox.execute("touch /etc/refused", folder,
        { policy: { filesystem: { reportDenials: false } } });
    assert.equal(quiet.sandbox.reported.files, "not asked");
    assert.deepEqual(quiet.denials, []);
});

// A client in the sandbox that says only whether its connection was let through: the broker answers 403 where not.
const CLIENT = `
const http = require("node:http");
const proxy = new URL(process.env.HTTP_PROXY || process.env.http_proxy);
const [host, port] = process.argv.slice(1);
const request = http.request({ host: proxy.hostname, port: proxy.port, method: "CONNECT", path: host + ":" + port,
    headers: { host: host + ":" + port } });
request.on("connect", (answer) => { console.log(answer.statusCode); process.exit(0); });
request.on("error", (error) => { console.log(error.code); process.exit(0); });
request.end();
`;
const connect = (host, port, config) => sandbox.execute(["node", "-e", CLIENT, host, String(port)], folder, config);

test("a denied host is a denial", async () => {
    const result = await connect("denied.example.com", 443, { networkEnabled: true, allowedDomains: ["example.org"] });
    assert.equal(result.stdout, "403\n");
    const denial = result.denials.find(({ kind }) => kind === "network");
    assert.match(denial.target, /^denied\.example\.com/);
    assert.equal(result.sandbox.network.denied, 1);
});

test("the example plays an agent's turn to its end", () => {
    const said = execFileSync(process.execPath, [join(ROOT, "examples/agent.mjs")], { encoding: "utf8" });
    assert.match(said, /> node sum\.test\.mjs[^]*AssertionError[^]*\[refused: write .*release\.key\]/);
    assert.match(said, /1 test passed\n\nfixed: sum\(\) subtracted\n$/);
});

test("a policy file of the project does not widen what the application says", async () => {
    writeFileSync(join(folder, ".qiming-sandbox.json"), JSON.stringify({ network: { mode: "host" } }));
    const result = await sandbox.execute("cat /proc/net/dev | grep -vc lo:", folder);
    assert.equal(result.exitCode, 0);
    assert.equal(result.sandbox.enforced.network, true);
});

// Run in test/world, where 203.0.113.10 is a neighbour.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { QimingSandbox, workspace } from "./setup.mjs";

if (process.env.QSB_WORLD !== "made") throw new Error("to be run by test/world");
const folder = workspace(after);
const sandbox = new QimingSandbox();
const ASK = { networkEnabled: true, allowedDomains: [] };
const ASKING = "exec 3<>/dev/tcp/203.0.113.10/80 && " +
    "printf 'GET / HTTP/1.0\\r\\nHost: 203.0.113.10\\r\\n\\r\\n' >&3 && tail -n 1 <&3";
const read = (config) => sandbox.execute(["bash", "-c", `(${ASKING}); (${ASKING})`], folder, config);

test("the neighbour can be reached where the policy allows it", async () => {
    const result = await read({ networkEnabled: true });
    assert.equal(result.stdout, "hello\nhello\n");
    assert.equal(result.sandbox.network.connections, 2);
});

test("a connection is let through where the listener says so, each or all of a run", async () => {
    for (const [answer, times] of [[true, 2], ["once", 2], ["run", 1]]) {
        const asked = [];
        const listener = async ({ host, port }) => {
            asked.push(`${host}:${port}`);
            await sleep(50);
            return answer;
        };
        sandbox.on("networkRequest", listener);
        assert.throws(() => sandbox.on("networkRequest", () => true), { code: "QSB_E_STATE" });
        const result = await read(ASK);
        sandbox.off("networkRequest", listener);
        assert.equal(result.stdout, "hello\nhello\n");
        assert.deepEqual(asked, Array(times).fill("203.0.113.10:80"));
    }
});

test("a connection is refused where the listener fails, is wrong, says no, or is gone", async () => {
    const warnings = [];
    const warned = (warning) => warnings.push(warning.message);
    process.on("warning", warned);
    for (const answer of [() => false, () => undefined, () => "yes", () => { throw new Error("of the listener"); },
        () => Promise.reject(new Error("of the promise"))]) {
        let asked = 0;
        const listener = () => {
            asked++;
            return answer();
        };
        sandbox.on("networkRequest", listener);
        const result = await read(ASK);
        sandbox.off("networkRequest", listener);
        assert.doesNotMatch(result.stdout, /hello/, String(answer));
        assert.ok(asked > 0);
        assert.match(result.denials.find(({ kind }) => kind === "network").target, /^203\.0\.113\.10/);
    }
    assert.doesNotMatch((await read(ASK)).stdout, /hello/);
    process.off("warning", warned);
    assert.deepEqual([...new Set(warnings)], ["of the listener", "of the promise"]);
});

test("a command that ends while a question waits ends at once", async () => {
    const listener = () => new Promise(() => undefined);
    sandbox.on("networkRequest", listener);
    const result = await sandbox.execute(["bash", "-c", `(${ASKING}) & sleep 0.3`], folder, ASK);
    sandbox.off("networkRequest", listener);
    assert.equal(result.exitCode, 0);
});

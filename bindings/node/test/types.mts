// Compiled, never run: what an application may write, and what it may not.
import { expectTypeOf } from "expect-type";
import {
    QimingSandbox, SandboxError, type Denial, type ExecuteResult, type Finding, type Policy, type ProcessEvent,
    type SandboxConfig, type SandboxErrorCode, type SandboxProcess,
} from "@qiming/sandbox-native";
import type { Readable, Writable } from "node:stream";

const sandbox = new QimingSandbox();

// What an application calls already.
const result = await sandbox.execute("npm test", "/path/to/project", {
    networkEnabled: false, memoryLimit: "2g", cpuLimit: 2, timeout: 300,
});
expectTypeOf(result).toEqualTypeOf<ExecuteResult>();
expectTypeOf(result.exitCode).toEqualTypeOf<number>();
expectTypeOf(result.signal).toEqualTypeOf<string | null>();
expectTypeOf(result.denials).toEqualTypeOf<readonly Denial[]>();
expectTypeOf(result.findings).toEqualTypeOf<readonly Finding[]>();
expectTypeOf(sandbox.isAvailable()).toEqualTypeOf<boolean>();

expectTypeOf<SandboxConfig>().toHaveProperty("allowedDomains").toEqualTypeOf<readonly string[] | undefined>();
expectTypeOf<SandboxConfig["policy"]>().toEqualTypeOf<Policy | undefined>();
expectTypeOf<NonNullable<Policy["network"]>["mode"]>().toEqualTypeOf<"off" | "filtered" | "host" | undefined>();
expectTypeOf<NonNullable<Policy["limits"]>["memory"]>().toEqualTypeOf<string | number | undefined>();

expectTypeOf(sandbox.spawn("x")).toEqualTypeOf<SandboxProcess<Buffer>>();
const child = sandbox.spawn(["x"] as const, { encoding: "utf8", pty: { rows: 24, columns: 80 } });
expectTypeOf(child).toEqualTypeOf<SandboxProcess<string>>();
expectTypeOf(child.stdin).toEqualTypeOf<Writable | null>();
expectTypeOf(child.stdout).toEqualTypeOf<Readable | null>();
expectTypeOf(child.pid).toEqualTypeOf<number | undefined>();
expectTypeOf(child.result).toEqualTypeOf<Promise<ExecuteResult>>();
for await (const event of child) {
    expectTypeOf(event).toEqualTypeOf<ProcessEvent<string>>();
    if (event.type === "stdout") expectTypeOf(event.data).toEqualTypeOf<string>();
    else if (event.type === "denial") expectTypeOf(event.denial).toEqualTypeOf<Denial>();
    else if (event.type === "finding") expectTypeOf(event.finding).toEqualTypeOf<Finding>();
    else if (event.type === "exit") expectTypeOf(event.result).toEqualTypeOf<ExecuteResult>();
}

sandbox.on("denial", (denial) => expectTypeOf(denial).toEqualTypeOf<Denial>());
sandbox.on("networkRequest", async ({ host, port }) => host === "example.com" && port === 443);
sandbox.on("networkRequest", () => "run");
expectTypeOf((await sandbox.check()).usable).toEqualTypeOf<boolean>();
expectTypeOf((await sandbox.explain({ path: "x" }, ".")).write).toEqualTypeOf<boolean>();
expectTypeOf((await sandbox.explain({ host: "x" }, ".")).allowed).toEqualTypeOf<boolean>();
expectTypeOf(new SandboxError("QSB_E_DENIED", "x").code).toEqualTypeOf<SandboxErrorCode>();

// @ts-expect-error: a string is not a number of seconds
void sandbox.execute("x", ".", { timeout: "300" });
// @ts-expect-error: the workspace is not left out
void sandbox.execute("x");
// @ts-expect-error: no key of the policy
void sandbox.execute("x", ".", { policy: { network: { mode: "maybe" } } });
// @ts-expect-error: a misspelt field
void sandbox.execute("x", ".", { memorylimit: "1g" });
// @ts-expect-error: an answer that is none
sandbox.on("networkRequest", () => "always");
// @ts-expect-error: no such event
sandbox.on("denials", () => undefined);

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
    chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { QimingSandbox, ROOT, workspace } from "./setup.mjs";

const folder = workspace(after);
const NATIVE = process.env.QIMING_SANDBOX_NATIVE;
const TARGET = `${process.platform}-${process.arch}`;
const project = join(folder, "project");

/** npm without a network and without anybody's settings; the program is the one under test. */
function npm(cwd, ...words) {
    const settings = { npm_config_cache: join(folder, "cache"), npm_config_userconfig: join(folder, "npmrc") };
    const env = { ...process.env, ...settings };
    delete env.QIMING_SANDBOX_NATIVE;
    return execFileSync("npm", words, { cwd, env, encoding: "utf8" });
}

function node(script, { cwd = project, env = {} } = {}) {
    const surroundings = { ...process.env, ...env };
    if (!("QIMING_SANDBOX_NATIVE" in env)) delete surroundings.QIMING_SANDBOX_NATIVE;
    return execFileSync(process.execPath, script, { cwd, env: surroundings, encoding: "utf8" });
}

before(() => {
    const source = join(folder, "source");
    const prebuilds = join(source, "prebuilds", TARGET);
    mkdirSync(prebuilds, { recursive: true });
    mkdirSync(project);
    for (const name of readdirSync(NATIVE)) copyFileSync(join(NATIVE, name), join(prebuilds, name));
    for (const name of readdirSync(ROOT))
        if (/^(package\.json|README.*|dist)$/.test(name))
            cpSync(join(ROOT, name), join(source, name), { recursive: true });
    npm(source, "pack", "--silent", "--pack-destination", folder);
    writeFileSync(join(project, "package.json"), "{\"private\": true}");
    const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
    npm(project, "install", "--ignore-scripts", "--offline", "--no-audit", "--no-fund", join(folder, tarball));
});

const SCRIPT = `
    const sandbox = new QimingSandbox();
    const result = await sandbox.execute("echo installed; pwd", process.cwd());
    if (!sandbox.isAvailable()) throw new Error("not available");
    process.stdout.write(result.stdout);
`;

test("the tarball holds the wrapper, its types, the addon, the program, and no script", () => {
    const home = join(project, "node_modules/@qiming/sandbox-native");
    const { scripts, dependencies, gypfile } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
    assert.deepEqual([scripts, dependencies, gypfile], [undefined, undefined, false]);
    assert.deepEqual(readdirSync(join(home, "prebuilds", TARGET)).sort(), ["qiming-sandbox", "qiming_sandbox.node"]);
    for (const name of ["README.md", "README.zh-CN.md", "dist/index.mjs", "dist/index.d.mts", "dist/index.d.ts"])
        assert.ok(existsSync(join(home, name)), name);
    assert.deepEqual(readdirSync(home).filter((name) => /^(src|test|tsconfig.json|node_modules)$/.test(name)), []);
});

test("the tarball installed without scripts runs a command, by import and by require", () => {
    writeFileSync(join(project, "main.mjs"), `import { QimingSandbox } from "@qiming/sandbox-native";${SCRIPT}`);
    writeFileSync(join(project, "main.cjs"),
        `const { QimingSandbox } = require("@qiming/sandbox-native");(async () => {${SCRIPT}})();`);
    for (const name of ["main.mjs", "main.cjs"])
        assert.equal(node([name]), `installed\n${project}\n`);
});

test("five lines of TypeScript in the fresh folder stream a command's output", () => {
    writeFileSync(join(project, "five.mts"), `import { QimingSandbox } from "@qiming/sandbox-native";
const sandbox = new QimingSandbox();
const child = sandbox.spawn("echo one; sleep 0.1; echo two", { workspace: ".", encoding: "utf8" });
for await (const event of child) if (event.type === "stdout") process.stdout.write(event.data);
console.log((await child.result).exitCode);
`);
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    node([compiler, "--strict", "--module", "node16", "--target", "es2022", "--types", "node", "--typeRoots",
        join(ROOT, "node_modules/@types"), "five.mts"]);
    assert.equal(node(["five.mjs"]), "one\ntwo\n0\n");
});

function failure(env, options = {}) {
    const script = `
        const { QimingSandbox } = require("@qiming/sandbox-native");
        const sandbox = new QimingSandbox(${JSON.stringify(options)});
        sandbox.execute("true", ".").then(() => console.log("{}"), ({ name, code, message, hint }) =>
            console.log(JSON.stringify({ name, code, message, hint, available: sandbox.isAvailable() })));
    `;
    return JSON.parse(node(["-e", script], { env }));
}

const place = (name) => {
    const made = join(folder, name);
    cpSync(NATIVE, made, { recursive: true });
    return made;
};

test("the explicit path comes before the variable, and the variable before the prebuilds", () => {
    const good = place("good");
    assert.deepEqual(failure({ QIMING_SANDBOX_NATIVE: "/nowhere" }, { nativePath: good }), {});
    assert.deepEqual(failure({ QIMING_SANDBOX_NATIVE: join(good, "qiming_sandbox.node") }), {});
    const named = failure({ QIMING_SANDBOX_NATIVE: "/nowhere" });
    assert.equal(named.code, "QSB_E_NOT_FOUND");
    assert.match(named.message, /\/nowhere\/qiming_sandbox\.node/);
    assert.match(named.message, /QIMING_SANDBOX_NATIVE/);
    assert.ok(named.message.includes(TARGET));
    assert.equal(named.available, false);
});

test("an application's resources come before the prebuilds", () => {
    const resources = join(folder, "resources");
    cpSync(NATIVE, join(resources, "sandbox", TARGET), { recursive: true });
    const home = join(project, "node_modules/@qiming/sandbox-native/prebuilds");
    const script = `
        process.resourcesPath = ${JSON.stringify(resources)};
        const { QimingSandbox } = require("@qiming/sandbox-native");
        const child = new QimingSandbox().spawn("sleep 1000", { workspace: "." });
        console.log(require("node:fs").readlinkSync("/proc/" + child.pid + "/exe"));
        child.kill("SIGKILL");
    `;
    assert.equal(node(["-e", script]), `${join(resources, "sandbox", TARGET, "qiming-sandbox")}\n`);
    assert.ok(existsSync(home));
});

test("a missing program is an error that names the file and the fix", () => {
    const made = place("without-program");
    execFileSync("rm", [join(made, "qiming-sandbox")]);
    const { code, message, hint } = failure({ QIMING_SANDBOX_NATIVE: made });
    assert.equal(code, "QSB_E_NOT_FOUND");
    assert.ok(message.includes(join(made, "qiming-sandbox")));
    assert.match(hint, /install/);
});

test("a foreign binary is an error that names the file, what it is for, what is wanted, and the fix", () => {
    const elf = readFileSync(join(NATIVE, "qiming_sandbox.node"));
    const other = process.arch === "x64" ? [183, "linux-arm64"] : [62, "linux-x64"];
    elf.writeUInt16LE(other[0], 18);
    const foreign = [[elf, other[1]], [Buffer.from("cffaedfe0c000001".padEnd(200, "0"), "hex"), "darwin-arm64"],
        [Buffer.from("MZ".padEnd(200, "\0")), "win32"], [Buffer.from("x".repeat(200)), "no program"]];
    for (const [number, [bytes, made]] of foreign.entries()) {
        for (const name of ["qiming_sandbox.node", "qiming-sandbox"]) {
            const where = place(`foreign-${number}-${name}`);
            chmodSync(join(where, name), 0o755);
            writeFileSync(join(where, name), bytes);
            const { code, message, hint } = failure({ QIMING_SANDBOX_NATIVE: where });
            assert.equal(code, "QSB_E_UNSUPPORTED");
            for (const word of [join(where, name), made, TARGET])
                assert.ok(message.includes(word), `${message}: ${word}`);
            assert.ok(hint.includes(TARGET));
        }
    }
});

test("an addon that the system cannot load is an error with its cause", () => {
    const made = place("cut");
    const bytes = readFileSync(join(NATIVE, "qiming_sandbox.node"));
    bytes.writeUInt16LE(2, 16); // no shared object, but a program
    writeFileSync(join(made, "qiming_sandbox.node"), bytes);
    const { code, message, hint } = failure({ QIMING_SANDBOX_NATIVE: made });
    assert.equal(code, "QSB_E_UNSUPPORTED");
    assert.match(message, /cannot be loaded on/);
    assert.match(hint, /make prebuilt/);
});

test("an addon for another C library, or for a newer one, is an error that says so", () => {
    const newer = place("newer");
    const bytes = readFileSync(join(NATIVE, "qiming_sandbox.node"), "latin1");
    assert.match(bytes, /GLIBC_2\.\d\d/, "made with glibc");
    const changed = bytes.replaceAll(/GLIBC_2\.\d\d/g, "GLIBC_9.99");
    writeFileSync(join(newer, "qiming_sandbox.node"), changed, "latin1");
    const old = failure({ QIMING_SANDBOX_NATIVE: newer });
    assert.equal(old.code, "QSB_E_UNSUPPORTED");
    assert.match(old.message, /newer\/qiming_sandbox\.node needs GLIBC 9\.99 and this system's C library is older/);
    assert.match(old.hint, /newer system.*make prebuilt/);

    const prelude = join(folder, "musl.cjs");
    writeFileSync(prelude, "process.report.getReport = () => ({ header: {} });");
    const musl = failure({ QIMING_SANDBOX_NATIVE: join(folder, "cut"), NODE_OPTIONS: `--require ${prelude}` });
    assert.equal(musl.code, "QSB_E_UNSUPPORTED");
    assert.match(musl.message, /cut\/qiming_sandbox\.node is for glibc and this system has musl/);
    assert.match(musl.hint, /make prebuilt/);
});

test("a program without the right to be executed is an error", async () => {
    const made = place("not-executable");
    chmodSync(join(made, "qiming-sandbox"), 0o644);
    await assert.rejects(new QimingSandbox({ nativePath: made }).execute("true", folder), {
        code: "QSB_E_NOT_FOUND",
        message: `there is no right to execute ${join(made, "qiming-sandbox")}`,
        hint: `chmod +x ${join(made, "qiming-sandbox")}`,
    });
});

import { accessSync, constants, existsSync, openSync, readSync, closeSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { Channel, type Addon } from "./channel.js";
import { SandboxError } from "./errors.js";

const ADDON = "qiming_sandbox.node";
const PROGRAM = process.platform === "win32" ? "qiming-sandbox.exe" : "qiming-sandbox";

/** "linux-x64": the name of a folder that holds the addon and the program. */
export const TARGET = `${process.platform}-${process.arch}`;

/** Where this version can be built; the others come with later ones. */
const BUILT_FOR: readonly string[] = ["linux-x64", "linux-arm64"];

interface Place {
    readonly folder: string;
    readonly what: string;
    /** A person named it: it is there, or it is an error. */
    readonly named: boolean;
}

/** A program in an archive of Electron's cannot be started: it lies beside the archive. */
function unpacked(folder: string): string {
    const outside = folder.replace(`app.asar${sep}`, `app.asar.unpacked${sep}`);
    return outside !== folder && existsSync(outside) ? outside : folder;
}

function folderOf(path: string): string {
    const absolute = resolve(path);
    const isFile = statSync(absolute, { throwIfNoEntry: false })?.isFile();
    return isFile ? dirname(absolute) : absolute;
}

function places(explicit: string | undefined): Place[] {
    const named = process.env["QIMING_SANDBOX_NATIVE"];
    const resources = (process as NodeJS.Process & { readonly resourcesPath?: string }).resourcesPath;
    const root = dirname(__dirname);
    const found: Place[] = [];
    if (explicit) found.push({ folder: folderOf(explicit), what: "the option nativePath", named: true });
    if (named) found.push({ folder: folderOf(named), what: "the variable QIMING_SANDBOX_NATIVE", named: true });
    if (resources) found.push({ folder: join(resources, "sandbox", TARGET), what: "the application", named: false });
    found.push({ folder: unpacked(join(root, "prebuilds", TARGET)), what: "the package", named: false });
    // In this project's own tree: `make prebuilt`.
    found.push({ folder: join(root, "..", "..", "build", "prebuilt", TARGET), what: "the build", named: false });
    return found;
}

function fail(message: string, hint: string, cause?: unknown): never {
    const code = message.startsWith("there is no") ? "QSB_E_NOT_FOUND" : "QSB_E_UNSUPPORTED";
    throw new SandboxError(code, message, { hint, where: "addon", cause });
}

function find(explicit: string | undefined): string {
    const all = places(explicit);
    for (const { folder, what, named } of all) {
        if (existsSync(join(folder, ADDON))) return folder;
        if (named) fail(`there is no ${join(folder, ADDON)} (${what}); it must be the one for ${TARGET}`,
            `correct or remove ${what}`);
    }
    const looked = all.map(({ folder }) => join(folder, ADDON)).join(", ");
    return fail(`there is no ${ADDON} for ${TARGET}; looked for ${looked}`, BUILT_FOR.includes(TARGET)
        ? `install the package anew, or build it with \`make prebuilt\` and set QIMING_SANDBOX_NATIVE to its folder`
        : `there is no sandbox for ${TARGET} yet, only for ${BUILT_FOR.join(", ")}`);
}

const MACHINES: Readonly<Record<number, string>> = { 3: "ia32", 40: "arm", 62: "x64", 183: "arm64", 243: "riscv64" };

/** "linux-x64" of a file's first bytes; undefined: nothing that is known. */
function madeFor(file: string): string | undefined {
    const head = Buffer.alloc(64);
    const descriptor = openSync(file, "r");
    try {
        readSync(descriptor, head, 0, head.length, 0);
    } finally {
        closeSync(descriptor);
    }
    const magic = head.readUInt32BE(0);
    if (magic === 0x7f454c46) {
        const machine = head[5] === 2 ? head.readUInt16BE(18) : head.readUInt16LE(18);
        return `linux-${MACHINES[machine] ?? `machine ${machine}`}`;
    }
    if (magic === 0xcffaedfe) return head.readUInt32LE(4) === 0x0100000c ? "darwin-arm64" : "darwin-x64";
    if (magic === 0xcafebabe) return "darwin";
    return head.readUInt16BE(0) === 0x4d5a ? "win32" : undefined;
}

/** Some ways of copying lose it: archives, and artifacts of build servers. */
function checkExecutable(program: string): void {
    try {
        accessSync(program, constants.X_OK);
    } catch (error) {
        fail(`there is no right to execute ${program}`, `chmod +x ${program}`, error);
    }
}

function checkFile(file: string): void {
    if (!existsSync(file) || !statSync(file).isFile())
        fail(`there is no ${file}, which belongs beside ${ADDON}`, "install the package anew: the two come together");
    const made = madeFor(file);
    const wanted = made === "darwin" || made === "win32" ? process.platform : TARGET;
    if (made !== wanted)
        fail(`${file} is ${made ? `for ${made}` : "no program"}; this is ${TARGET}`,
            `put the files for ${TARGET} there: node_modules of another machine cannot be used here`);
}

/** Why the system's loader refuses a file that is made for this processor: another C library, or an older one. */
function explainLoad(file: string, error: unknown): never {
    const said = error instanceof Error ? error.message : String(error);
    const newer = /version `(GLIBC_[\d.]+)' not found/.exec(said)?.[1];
    // Of this very Node: a system may hold both libraries. With the network, the report asks name servers.
    Object.assign(process.report, { excludeNetwork: true });
    const { header } = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
    const musl = header.glibcVersionRuntime === undefined;
    const forGlibc = readFileSync(file).includes("libc.so.6");
    if (newer)
        fail(`${file} needs ${newer.replace("_", " ")} and this system's C library is older`,
            "use a newer system, or build it on this one with `make prebuilt`", error);
    if (forGlibc && musl)
        fail(`${file} is for glibc and this system has musl`, "build it on this system with `make prebuilt`", error);
    const hint = "build it on this system with `make prebuilt`";
    return fail(`${file} cannot be loaded on ${TARGET}: ${said}`, hint, error);
}

function load(folder: string): Channel {
    const file = join(folder, ADDON);
    const program = join(folder, PROGRAM);
    checkFile(file);
    checkFile(program);
    checkExecutable(program);
    const loaded: { exports: Partial<Addon> } = { exports: {} };
    try {
        // Not by `require`: bundlers would follow it.
        process.dlopen(loaded, file);
    } catch (error) {
        explainLoad(file, error);
    }
    return new Channel(loaded.exports as Addon, program);
}

const channels = new Map<string, Channel>();

/** The addon of this environment, loaded once for each folder. */
export function channelAt(explicit: string | undefined): Channel {
    const folder = find(explicit);
    const known = channels.get(folder);
    if (known) return known;
    const channel = load(folder);
    channels.set(folder, channel);
    return channel;
}

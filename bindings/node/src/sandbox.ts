import { resolve } from "node:path";
import { APPROVE, SPAWN, STREAM, throwLater, type Channel, type Launch } from "./channel.js";
import { policyOf, type SandboxConfig } from "./config.js";
import type { CommandExplanation, DoctorReport, HostExplanation, PathExplanation, PolicyCheck } from "./reports.js";
import { SandboxError, errorOf, wrapped, type ToldError } from "./errors.js";
import { channelAt } from "./native.js";
import type { Policy } from "./policy.js";
import { SandboxProcess, checkSize, runTool, type NetworkRequest, type Start, type TerminalSize } from "./process.js";
import type { Denial, ExecuteResult } from "./result.js";

export interface SandboxOptions {
    /** The folder that holds the addon and the program, or the addon itself; else it is looked for. */
    readonly nativePath?: string;
}

/** Text for a shell inside the sandbox; or a program and its arguments, which never meet a shell. */
export type Command = string | readonly string[];

export type StreamMode = "pipe" | "ignore" | "inherit";

export interface RunOptions extends SandboxConfig {
    /** Where the command starts; a folder of the workspace. Default: the workspace. */
    readonly cwd?: string;
    /** Variables that are set for the command, over those that the policy lets through. */
    readonly env?: Readonly<Record<string, string>>;
    /** Ends every process of the sandbox. The result says `aborted`. */
    readonly signal?: AbortSignal;
}

export interface SpawnOptions extends RunOptions {
    /** The folder the command works in. Default: the current one. */
    readonly workspace?: string;
    /** Default: "pipe" for each. */
    readonly stdin?: StreamMode;
    readonly stdout?: StreamMode;
    readonly stderr?: StreamMode;
    /** A pseudo-terminal of the command's own, of this size. What it writes comes by `stdout`. */
    readonly pty?: boolean | TerminalSize;
    /** The streams and the iteration give strings; a character that was split between two pieces stays whole. */
    readonly encoding?: BufferEncoding;
}

/** What a listener says of a connection to a host under no rule: true is "once"; all but these words is a refusal. */
export type NetworkAnswer = boolean | "once" | "run";

export interface SandboxEvents {
    /** Something was refused, told while the command runs. */
    denial: (denial: Denial) => void;
    /**
     * A connection to a host under no rule waits for the answer, for a minute at most. "once" lets it through, "run"
     * this and every later one of the run to that host and port. There is one listener; it may be asynchronous. If it
     * throws, or answers anything else, the connection is refused.
     */
    networkRequest: (request: NetworkRequest) => NetworkAnswer | Promise<NetworkAnswer>;
}

const MODES: Readonly<Record<StreamMode, number>> = STREAM;

function invalid(message: string, hint: string): never {
    throw new SandboxError("QSB_E_INVALID", message, { hint });
}

function words(command: Command): Pick<Launch, "argv" | "command"> {
    if (typeof command === "string") return { command };
    if (!Array.isArray(command) || !command.every((word) => typeof word === "string"))
        invalid("a command is a string or a list of strings", "give text for a shell, or a program and its arguments");
    if (command.length === 0)
        invalid("the list that is to be a command is empty", "give a program and its arguments");
    return { argv: command };
}

/** An empty or a forgotten one would be the current folder, which nobody meant to be written to. */
function folderOf(workspace: string): string {
    if (typeof workspace === "string" && workspace !== "") return resolve(workspace);
    return invalid("the workspace is missing", "give the folder the command works in; \".\" is the current one");
}

function modeOf(stream: string, mode: StreamMode): number {
    return MODES[mode] ?? invalid(`${stream} cannot be ${mode}`, `it is one of ${Object.keys(MODES).join(", ")}`);
}

/** Runs commands in sandboxes, each in one of its own; any number of them at a time. */
export class QimingSandbox {
    private readonly denied = new Set<SandboxEvents["denial"]>();
    private asked: SandboxEvents["networkRequest"] | undefined;
    private found: Channel | undefined;
    private available = false;

    /** Policies by themselves. */
    readonly policy = {
        /** Is it a policy, and what is wrong with it? */
        check: (policy: Policy): Promise<PolicyCheck> => this.checkPolicy(policy),
        /** The policy that a config stands for. */
        of: (config: SandboxConfig): Policy => policyOf(config),
        /** The JSON Schema of policies. */
        schema: async (): Promise<object> => JSON.parse(await this.ask(["policy", "schema"])) as object,
    };

    constructor(private readonly options: SandboxOptions = {}) {}

    /**
     * Runs a command in `workspace` and gives what it wrote. A string goes to a shell inside the sandbox.
     *
     * A command that fails, is ended by a limit or aborted is a result. Rejected with a SandboxError: it could not run
     * as asked, and did not.
     */
    async execute(command: Command, workspace: string, config: RunOptions = {}): Promise<ExecuteResult> {
        const { ignore } = STREAM;
        folderOf(workspace);
        const flags = SPAWN.capture | (this.denied.size > 0 || this.asked ? SPAWN.events : 0);
        return this.run(command, { ...config, workspace }, { stdio: [ignore, ignore, ignore], flags }).result;
    }

    /** Starts a command whose streams are read and written while it runs. */
    spawn(command: Command, options: SpawnOptions & { readonly encoding: BufferEncoding }): SandboxProcess<string>;
    spawn(command: Command, options?: SpawnOptions & { readonly encoding?: undefined }): SandboxProcess<Buffer>;
    spawn(command: Command, options?: SpawnOptions): SandboxProcess<string | Buffer>;
    spawn(command: Command, options: SpawnOptions = {}): SandboxProcess<string | Buffer> {
        const { stdin = "pipe", stdout = "pipe", stderr = "pipe" } = options;
        const stdio = [modeOf("stdin", stdin), modeOf("stdout", stdout), modeOf("stderr", stderr)] as const;
        return this.run(command, options, { stdio, flags: SPAWN.events | (options.pty ? SPAWN.tty : 0) });
    }

    /**
     * Can a command be run in a sandbox on this machine? Tries it once, which takes a few milliseconds; a yes is
     * remembered. `check` says why not.
     */
    isAvailable(): boolean {
        if (this.available) return true;
        try {
            const { addon, program } = this.channel();
            const { exitCode } = JSON.parse(addon.tryOut(program)) as { exitCode: number };
            this.available = exitCode === 0;
        } catch {
            this.available = false;
        }
        return this.available;
    }

    /** What this machine can enforce, why not, and what would help. */
    async check(): Promise<DoctorReport> {
        // A machine that cannot run a sandbox has its report, too, with another status.
        return JSON.parse(await this.ask(["doctor", "--json"], "", true)) as DoctorReport;
    }

    /** What a command may do with a path, a host, or altogether, and which rule says so. Nothing is run. */
    explain(what: { readonly path: string }, workspace: string, config?: SandboxConfig): Promise<PathExplanation>;
    explain(what: { readonly host: string }, workspace: string, config?: SandboxConfig): Promise<HostExplanation>;
    explain(what: { readonly command: readonly string[] }, workspace: string, config?: SandboxConfig):
        Promise<CommandExplanation>;
    async explain(what: { path?: string; host?: string; command?: readonly string[] }, workspace: string,
        config: SandboxConfig = {}): Promise<PathExplanation | HostExplanation | CommandExplanation> {
        const policy = policyOf(config);
        const checked = await this.checkPolicy(policy);
        if (!checked.valid) throw errorOf(checked);
        const path = what.path?.startsWith("~") ? what.path : resolve(workspace, what.path ?? "");
        const operands = what.path !== undefined ? ["path", path] :
            what.host !== undefined ? ["host", what.host] : ["--", ...(what.command ?? [])];
        const options = ["explain", "--json", "--workspace", resolve(workspace), "--policy-fd", "0"];
        return JSON.parse(await this.ask([...options, ...operands], JSON.stringify(policy))) as
            PathExplanation | HostExplanation | CommandExplanation;
    }

    on<Name extends keyof SandboxEvents>(name: Name, listener: SandboxEvents[Name]): this {
        if (name === "denial") {
            this.denied.add(listener as SandboxEvents["denial"]);
        } else if (name === "networkRequest") {
            // Of two answers one would have to win.
            if (this.asked && this.asked !== listener)
                throw new SandboxError("QSB_E_STATE", "there is a listener for networkRequest: take it `off` before");
            this.asked = listener as SandboxEvents["networkRequest"];
        } else {
            throw new SandboxError("QSB_E_UNKNOWN", `there is no event ${String(name)}`);
        }
        return this;
    }

    off<Name extends keyof SandboxEvents>(name: Name, listener: SandboxEvents[Name]): this {
        if (name === "denial") this.denied.delete(listener as SandboxEvents["denial"]);
        else if (this.asked === listener) this.asked = undefined;
        return this;
    }

    private channel(): Channel {
        return this.found ??= channelAt(this.options.nativePath);
    }

    private run(command: Command, options: SpawnOptions, how: Pick<Launch, "stdio" | "flags">) {
        const workspace = folderOf(options.workspace ?? ".");
        const launch = {
            ...how,
            ...words(command),
            flags: how.flags | (this.asked ? SPAWN.askNetwork : 0),
            workspace,
            cwd: options.cwd === undefined ? workspace : resolve(workspace, options.cwd),
            policy: JSON.stringify(policyOf(options, options.env)),
            ...(typeof options.pty === "object" ? checkSize(options.pty) : undefined),
            tool: false,
        };
        const start: Start = {
            channel: this.channel(),
            launch,
            encoding: options.encoding,
            signal: options.signal,
            denied: (denial) => this.hearDenial(denial),
            asked: (request) => this.answer(request),
            advise: (error) => this.advise(error),
        };
        return new SandboxProcess<string | Buffer>(start);
    }

    private hearDenial(denial: Denial): void {
        for (const listener of [...this.denied]) {
            try {
                listener(denial);
            } catch (error) {
                // What is told behind it must still be heard, a question above all.
                throwLater(error);
            }
        }
    }

    private async answer(request: NetworkRequest): Promise<number> {
        const given: unknown = await this.asked?.(request);
        if (given === "run") return APPROVE.run;
        return given === true || given === "once" ? APPROVE.once : APPROVE.deny;
    }

    /** Where the machine is at fault, the doctor knows what helps. */
    private async advise(error: SandboxError): Promise<SandboxError> {
        if (error.code !== "QSB_E_UNSUPPORTED" || error.hint) return error;
        const report = await this.check().catch(() => undefined);
        const fact = report?.backends.flatMap(({ facts }) => facts).find(({ ok, needed, fix }) => !ok && needed && fix);
        const { code, message, where, errno, cause } = error;
        return new SandboxError(code, message, { hint: fact?.fix ?? "", where, errno, cause });
    }

    private async checkPolicy(policy: Policy): Promise<PolicyCheck> {
        const text = await this.ask(["policy", "check", "--json", "--policy-fd", "0"], JSON.stringify(policy), true);
        const { valid, error } = JSON.parse(text) as { valid: boolean; error?: ToldError };
        if (valid || !error) return { valid: true };
        const { code, where, message } = errorOf(error);
        return { valid: false, code, where, message };
    }

    /** What the program prints; with `anyway` also where its status is not 0. */
    private async ask(words: readonly string[], input = "", anyway = false): Promise<string> {
        try {
            const { status, stdout, stderr } = await runTool(this.channel(), words, input);
            if (stdout && (anyway || status === 0)) return stdout;
            const message = stderr.trim().replace(/^qiming-sandbox: /, "");
            throw errorOf({ code: "invalid", where: words[0] ?? "", message: message || `status ${status}` });
        } catch (error) {
            throw wrapped(error);
        }
    }
}

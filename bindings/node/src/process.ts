import { constants } from "node:os";
import { StringDecoder } from "node:string_decoder";
import type { Readable, Writable } from "node:stream";
import { APPROVE, EVENT, SPAWN, STREAM, type Channel, type Hearer, type Launch } from "./channel.js";
import { SandboxError, errorOf, wrapped, type ToldError } from "./errors.js";
import { KILLED, neverBegun, type Denial, type ExecuteResult, type Finding } from "./result.js";
import { Input, Output } from "./streams.js";

/** What a process tells, in the order it happens. The last one is `exit`. */
export type ProcessEvent<Data extends string | Buffer = string | Buffer> =
    | { readonly type: "stdout" | "stderr"; readonly data: Data }
    | { readonly type: "denial"; readonly denial: Denial }
    | { readonly type: "finding"; readonly finding: Finding }
    | { readonly type: "exit"; readonly result: ExecuteResult };

/** A connection to a host under no rule. */
export interface NetworkRequest {
    readonly host: string;
    readonly port: number;
    /** How it was asked for: "direct", "http", "connect", "socks", "dns". */
    readonly way: string;
}

export interface TerminalSize {
    readonly rows: number;
    readonly columns: number;
}

export function checkSize(size: TerminalSize): TerminalSize {
    for (const [name, value] of [["rows", size.rows], ["columns", size.columns]] as const)
        if (!Number.isInteger(value) || value < 1 || value > 65535)
            throw new SandboxError("QSB_E_RANGE", `${name} must be from 1 to 65535; it is ${String(value)}`);
    return size;
}

/** What a process is started with, and who is told what. */
export interface Start {
    readonly channel: Channel;
    readonly launch: Omit<Launch, "program">;
    readonly encoding?: BufferEncoding | undefined;
    readonly signal?: AbortSignal | undefined;
    readonly denied: (denial: Denial) => void;
    readonly asked: (request: NetworkRequest) => Promise<number>;
    /** Adds to an error what a person can do. */
    readonly advise: (error: SandboxError) => Promise<SandboxError>;
}

interface Line {
    readonly event: string;
    readonly denial?: Denial;
    readonly finding?: Finding;
    readonly id?: number;
    readonly host?: string;
    readonly port?: number;
    readonly way?: string;
}

function signalNumber(signal: NodeJS.Signals | number): number {
    const number = typeof signal === "number" ? signal : constants.signals[signal];
    if (Number.isInteger(number) && number > 0 && number <= 64) return number;
    throw new SandboxError("QSB_E_RANGE", `${String(signal)} is no signal`);
}

/** A command that runs in a sandbox of its own. When this process ends, by whatever, so does it. */
export class SandboxProcess<Data extends string | Buffer = Buffer> implements AsyncIterable<ProcessEvent<Data>> {
    /** null where the stream is not a pipe. */
    readonly stdin: Writable | null = null;
    readonly stdout: Readable | null = null;
    readonly stderr: Readable | null = null;
    /**
     * How it ended; rejected only where it could not run as asked, with a SandboxError. It settles after the last byte
     * of both streams was heard. A stream that is a pipe must be read: a command whose pipe is full does not end.
     */
    readonly result: Promise<ExecuteResult>;

    private readonly input: Input | undefined;
    private readonly outputs = new Map<number, Output>();
    private id = 0;
    private number: number | undefined;
    private over = false;
    private aborted = false;
    private text = new StringDecoder("utf8");
    private rest = "";
    private settle!: { resolve(result: ExecuteResult): void; reject(error: unknown): void };
    /** Of the iteration. */
    private readonly denials: Denial[] = [];
    private readonly findings: Finding[] = [];
    private iterated = false;
    private wake: () => void = () => undefined;

    /** @internal */
    constructor(private readonly start: Start) {
        const { channel, launch, encoding, signal } = start;
        this.result = new Promise((resolve, reject) => {
            this.settle = { resolve, reject };
        });
        // Who iterates hears of a failure there: it is not unhandled.
        this.result.catch(() => undefined);
        const id = () => this.id;
        if (launch.stdio[0] === STREAM.pipe) this.stdin = this.input = new Input(channel, id);
        this.stdout = this.output(launch, 1, encoding);
        this.stderr = this.output(launch, 2, encoding);
        if (signal?.aborted) {
            this.finish(() => this.settle.resolve(neverBegun()));
            return;
        }
        this.id = channel.start(launch, this.hearer());
        signal?.addEventListener("abort", this.abort, { once: true });
    }

    /** The program's process; undefined where it was not started. Waits a moment for the start, as soon as asked. */
    get pid(): number | undefined {
        if (this.number === undefined && this.id > 0 && !this.over) this.number = this.start.channel.addon.pid(this.id);
        return this.number || undefined;
    }

    /**
     * Sends a signal to the command; "SIGKILL" ends every process of the sandbox at once. false: it has ended.
     */
    kill(signal: NodeJS.Signals | number = "SIGTERM"): boolean {
        const number = signalNumber(signal);
        if (this.over) return false;
        this.start.channel.addon.kill(this.id, number);
        return true;
    }

    /** Tells a command with a pty the size of its terminal. */
    resize(size: TerminalSize): void {
        checkSize(size);
        if (!this.over) this.start.channel.addon.resize(this.id, size.rows, size.columns);
    }

    /**
     * Everything it tells, until `exit`, which is the last. Leaving the loop before kills the process. Throws the
     * SandboxError where the command could not run as asked.
     */
    async *[Symbol.asyncIterator](): AsyncGenerator<ProcessEvent<Data>, void, undefined> {
        const sources = ([["stdout", this.stdout], ["stderr", this.stderr]] as const).flatMap(([type, stream]) =>
            stream ? [{ type, stream }] : []);
        const wake = () => this.wake();
        let ended: { result: ExecuteResult } | { error: unknown } | undefined;
        this.iterated = true;
        for (const { stream } of sources) stream.on("readable", wake).on("end", wake).on("close", wake);
        void this.result.then((result) => (ended = { result }), (error: unknown) => (ended = { error })).then(wake);
        try {
            for (;;) {
                // Made before the look around: what comes meanwhile is not missed.
                const news = new Promise<void>((resolve) => (this.wake = resolve));
                const found = this.next(sources);
                if (found) {
                    yield found;
                } else if (ended && sources.every(({ stream }) => stream.readableEnded || stream.destroyed)) {
                    if ("error" in ended) throw ended.error;
                    yield { type: "exit", result: ended.result };
                    return;
                } else {
                    await news;
                }
            }
        } finally {
            this.kill("SIGKILL");
        }
    }

    private next(sources: { type: "stdout" | "stderr"; stream: Readable }[]): ProcessEvent<Data> | undefined {
        const denial = this.denials.shift();
        if (denial) return { type: "denial", denial };
        const finding = this.findings.shift();
        if (finding) return { type: "finding", finding };
        for (const source of sources) {
            const data = source.stream.read() as Data | null;
            if (data === null) continue;
            // The other stream's turn is next: a busy one must not keep it from being heard.
            sources.push(...sources.splice(sources.indexOf(source), 1));
            return { type: source.type, data };
        }
        return undefined;
    }

    private output(launch: Omit<Launch, "program">, which: 1 | 2, encoding?: BufferEncoding): Readable | null {
        if (launch.stdio[which] !== STREAM.pipe) return null;
        const kind = which === 1 ? EVENT.stdout : EVENT.stderr;
        const output = new Output(this.start.channel, kind, () => this.id);
        this.outputs.set(kind, output);
        return encoding ? output.setEncoding(encoding) : output;
    }

    private hearer(): Hearer {
        return {
            started: (pid) => {
                this.number = pid;
            },
            output: (kind, bytes) => this.outputs.get(kind)?.hear(bytes),
            outputEnd: (kind) => this.outputs.get(kind)?.hearEnd(),
            lines: (bytes) => this.hearLines(bytes),
            written: (errno) => this.input?.hear(errno),
            ended: (answer, error) => this.finish(() => this.hearEnd(answer, error)),
        };
    }

    private hearLines(bytes: Buffer): void {
        const lines = (this.rest + this.text.write(bytes)).split("\n");
        this.rest = lines.pop() ?? "";
        for (const text of lines) {
            const line = JSON.parse(text) as Line;
            if (line.event === "denial" && line.denial) this.hearDenial(line.denial);
            else if (line.event === "finding" && line.finding) this.hearFinding(line.finding);
            else if (line.event === "networkRequest") this.ask(line);
        }
    }

    private hearDenial(denial: Denial): void {
        this.denials.push(denial);
        // Who does not iterate has them in the result.
        if (!this.iterated && this.denials.length > 1000) this.denials.shift();
        this.wake();
        this.start.denied(denial);
    }

    /** Bounded by the program. */
    private hearFinding(finding: Finding): void {
        this.findings.push(finding);
        this.wake();
    }

    /** Whatever goes wrong on the way to an answer, the answer is no. */
    private ask({ id = 0, host = "", port = 0, way = "" }: Line): void {
        const answer = (given: number) => {
            if (!this.over) this.start.channel.addon.approve(this.id, id, given);
        };
        this.start.asked({ host, port, way }).then(answer, (error: unknown) => {
            answer(APPROVE.deny);
            process.emitWarning(error instanceof Error ? error : String(error), "SandboxWarning");
        });
    }

    private readonly abort = (): void => {
        this.aborted = this.kill("SIGKILL");
    };

    private finish(settle: () => void): void {
        this.over = true;
        this.start.signal?.removeEventListener("abort", this.abort);
        for (const output of this.outputs.values()) output.hearEnd();
        settle();
        this.wake();
        // Last: it calls what the application waits for its writes with, which may throw.
        this.input?.over();
    }

    private hearEnd(answer: Buffer | undefined, error: ToldError | undefined): void {
        const told = answer ? JSON.parse(answer.toString("utf8")) as ExecuteResult & { error?: ToldError } : undefined;
        const failure = told?.error ?? error;
        if (told && !failure) {
            // A command that ended by itself before the signal came to it was not aborted.
            this.settle.resolve({ ...told, aborted: this.aborted && told.exitCode === KILLED });
        } else if (this.aborted) {
            // Ended before it had begun, or before it could answer.
            this.settle.resolve(neverBegun());
        } else {
            const lost = { code: "protocol", where: "result", message: "the program gave no answer" };
            this.start.advise(errorOf(failure ?? lost)).then(this.settle.reject, this.settle.reject);
        }
    }
}

/** A run of the program as a tool: what it printed. */
export interface ToolAnswer {
    readonly status: number;
    readonly stdout: string;
    readonly stderr: string;
}

/** Runs the program with arguments of its own, `input` on its standard input. */
export function runTool(channel: Channel, words: readonly string[], input = ""): Promise<ToolAnswer> {
    return new Promise((resolve, reject) => {
        const text = { [EVENT.stdout]: "", [EVENT.stderr]: "" } as Record<number, string>;
        const decoders: Record<number, StringDecoder> = {
            [EVENT.stdout]: new StringDecoder("utf8"), [EVENT.stderr]: new StringDecoder("utf8"),
        };
        let id = 0;
        const stdin = new Input(channel, () => id);
        const hearer: Hearer = {
            started: () => undefined,
            output: (kind, bytes) => {
                text[kind] += decoders[kind]?.write(bytes) ?? "";
                channel.addon.credit(id, kind, bytes.length);
            },
            outputEnd: () => undefined,
            lines: () => undefined,
            written: (errno) => stdin.hear(errno),
            ended: (_answer, error, status) => {
                stdin.over();
                if (error) reject(errorOf(error));
                else resolve({ status, stdout: text[EVENT.stdout] ?? "", stderr: text[EVENT.stderr] ?? "" });
            },
        };
        try {
            const argv = ["qiming-sandbox", ...words];
            const { ignore, pipe } = STREAM;
            id = channel.start({ argv, stdio: [input ? pipe : ignore, pipe, pipe], flags: 0, tool: true }, hearer);
        } catch (error) {
            reject(wrapped(error));
            return;
        }
        if (input) stdin.end(input);
    });
}

export { SPAWN };

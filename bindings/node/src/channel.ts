import { isMainThread } from "node:worker_threads";
import { wrapped, type ToldError } from "./errors.js";

/** Where a stream goes: the C header's QSB_STREAM_*. */
export const STREAM = { inherit: -1, ignore: -2, pipe: -3 } as const;

/** The C header's QSB_SPAWN_*. */
export const SPAWN = { capture: 1, tty: 2, events: 4, askNetwork: 8 } as const;

/** The C header's QSB_APPROVE_*. */
export const APPROVE = { deny: 0, once: 1, run: 2 } as const;

export interface Launch {
    readonly program: string;
    readonly argv?: readonly string[] | undefined;
    readonly command?: string | undefined;
    readonly workspace?: string | undefined;
    readonly cwd?: string | undefined;
    readonly policy?: string | undefined;
    readonly backend?: string | undefined;
    /** "NAME=VALUE"; without it, the process's own of this moment. */
    readonly environment?: readonly string[] | undefined;
    readonly stdio: readonly [number, number, number];
    readonly flags: number;
    /** Of the terminal. */
    readonly rows?: number | undefined;
    readonly columns?: number | undefined;
    readonly tool: boolean;
}

/** Four values an event: id, kind, value, data. */
type Events = readonly (number | Buffer | ToldError | undefined)[];

/** What the addon exports: src/addon/calls.c. */
export interface Addon {
    readonly version: string;
    listen(turn: () => void): void;
    take(): Events | undefined;
    start(launch: Launch): number;
    write(id: number, bytes: Buffer, from: number): number;
    endInput(id: number): void;
    kill(id: number, signal: number): void;
    resize(id: number, rows: number, columns: number): void;
    approve(id: number, request: number, answer: number): void;
    credit(id: number, kind: number, bytes: number): void;
    forget(id: number): void;
    pid(id: number): number;
    tryOut(program: string): string;
}

/** The kinds of events: src/addon/addon.h. */
export const EVENT = {
    started: 0, failed: 1, stdout: 2, stderr: 3, lines: 4, stdoutEnd: 5, stderrEnd: 6, written: 7, ended: 8,
} as const;

/** Who hears of a process. `stdout` and `stderr` are followed by their ends, all of it by `ended` or `failed`. */
export interface Hearer {
    started(pid: number): void;
    output(kind: number, bytes: Buffer): void;
    outputEnd(kind: number): void;
    lines(bytes: Buffer): void;
    written(errno: number): void;
    ended(answer: Buffer | undefined, error: ToldError | undefined, status: number): void;
}

interface Told {
    readonly kind: number;
    readonly value: number;
    readonly data: Buffer | ToldError | undefined;
}

/** Uncaught, as it would be in any callback of Node, but nothing that stands behind it is left out. */
export function throwLater(error: unknown): void {
    queueMicrotask(() => {
        throw error;
    });
}

/** A worker's `process.env` is its own, which C does not see. */
function workersOwn(): string[] | undefined {
    if (isMainThread) return undefined;
    return Object.entries(process.env).map(([name, value]) => `${name}=${value ?? ""}`);
}

/** The way to the addon of this environment. */
export class Channel {
    private readonly hearers = new Map<number, Hearer>();

    constructor(readonly addon: Addon, readonly program: string) {
        addon.listen(() => this.turn());
    }

    start(launch: Omit<Launch, "program">, hearer: Hearer): number {
        try {
            const id = this.addon.start({ ...launch, program: this.program, environment: workersOwn() });
            this.hearers.set(id, hearer);
            return id;
        } catch (error) {
            throw wrapped(error);
        }
    }

    /** One batch for each turn of the event loop, so that timers and other sockets have theirs between. */
    private turn(): void {
        const events = this.addon.take();
        if (!events) return;
        for (let at = 0; at < events.length; at += 4) {
            const [id, kind, value] = [events[at] as number, events[at + 1] as number, events[at + 2] as number];
            const hearer = this.hearers.get(id);
            if (!hearer) continue;
            try {
                this.tell(hearer, id, { kind, value, data: events[at + 3] as Buffer | ToldError | undefined });
            } catch (error) {
                // Thrown by a listener of the application: the events behind it must still be heard.
                throwLater(error);
            }
        }
        setImmediate(() => this.turn());
    }

    private tell(hearer: Hearer, id: number, { kind, value, data }: Told): void {
        const bytes = Buffer.isBuffer(data) ? data : undefined;
        const error = data === bytes ? undefined : data as ToldError;
        if (kind === EVENT.started) {
            hearer.started(value);
        } else if (kind === EVENT.stdout || kind === EVENT.stderr) {
            hearer.output(kind, bytes ?? Buffer.alloc(0));
        } else if (kind === EVENT.lines) {
            if (!bytes) return;
            this.addon.credit(id, kind, bytes.length);
            hearer.lines(bytes);
        } else if (kind === EVENT.stdoutEnd || kind === EVENT.stderrEnd) {
            hearer.outputEnd(kind === EVENT.stdoutEnd ? EVENT.stdout : EVENT.stderr);
        } else if (kind === EVENT.written) {
            hearer.written(value);
        } else {
            this.hearers.delete(id);
            this.addon.forget(id);
            hearer.ended(bytes, error, value);
        }
    }
}

import { Readable, Writable } from "node:stream";
import type { Channel } from "./channel.js";

/** The addon is told of what was read in pieces of this size: well below the bytes that it may send ahead. */
const CREDIT = 256 * 1024;

/** What a process writes. It is read no faster than its reader takes it. */
export class Output extends Readable {
    /** Read, and the addon not told yet; kept back until the reader asks for more. */
    private taken_ = 0;
    private held = 0;

    constructor(private readonly channel: Channel, private readonly kind: number, private readonly id: () => number) {
        super({ highWaterMark: 64 * 1024 });
    }

    hear(bytes: Buffer): void {
        let more = true;
        try {
            // Calls the reader's listener, which may throw: the bytes are its own all the same.
            more = this.destroyed || this.push(bytes);
        } finally {
            if (more) this.taken_ += bytes.length;
            else this.held += bytes.length;
            this.tell();
        }
    }

    hearEnd(): void {
        if (!this.destroyed) this.push(null);
    }

    override _read(): void {
        this.taken_ += this.held;
        this.held = 0;
        this.tell();
    }

    /** Nobody will read it: what is held is out of the way, and so is what comes. */
    override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
        this._read();
        done(error);
    }

    private tell(): void {
        if (this.taken_ < CREDIT || this.id() === 0) return;
        this.channel.addon.credit(this.id(), this.kind, this.taken_);
        this.taken_ = 0;
    }
}

/** What a process reads. What it does not read is dropped without an error: it is free to end before. */
export class Input extends Writable {
    private waiting: (() => void) | undefined;

    constructor(private readonly channel: Channel, private readonly id: () => number) {
        super({ highWaterMark: 64 * 1024 });
    }

    override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
        this.piece(chunk, 0, done);
    }

    private piece(chunk: Buffer, from: number, done: (error?: Error | null) => void): void {
        if (this.destroyed || from >= chunk.length) {
            done();
            return;
        }
        const taken = this.channel.addon.write(this.id(), chunk, from);
        this.waiting = () => this.piece(chunk, from + taken, done);
    }

    /** The piece is gone; with an errno, nobody reads any more. */
    hear(errno: number): void {
        const next = this.waiting;
        this.waiting = undefined;
        if (errno) this.destroy();
        next?.();
    }

    /** The process has ended. */
    over(): void {
        this.destroy();
        this.hear(0);
    }

    override _final(done: (error?: Error | null) => void): void {
        this.close_();
        done();
    }

    override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
        this.close_();
        done(error);
    }

    private close_(): void {
        if (this.id() > 0) this.channel.addon.endInput(this.id());
    }
}

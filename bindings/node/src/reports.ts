import type { SandboxErrorCode } from "./errors.js";

/** What a back end needs, and whether this machine has it. */
export interface DoctorFact {
    readonly name: string;
    readonly ok: boolean;
    readonly needed: boolean;
    readonly detail: string;
    /** The smallest change of this machine that helps. */
    readonly fix: string | null;
}

export interface DoctorReport {
    readonly version: string;
    /** A command can be run in a sandbox here. */
    readonly usable: boolean;
    readonly backend: string | null;
    /** Why not. */
    readonly cause: string | null;
    readonly backends: readonly {
        readonly name: string;
        readonly summary: string;
        readonly usable: boolean;
        readonly chosen: boolean;
        readonly refuses: string | null;
        readonly facts: readonly DoctorFact[];
    }[];
    readonly enforced: Readonly<Record<string, boolean | string>>;
    readonly limits: readonly { readonly name: string; readonly value: string; readonly by: string }[];
    readonly notEnforced: readonly { readonly what: string; readonly why: string }[];
    readonly files: readonly {
        readonly layer: string;
        readonly path: string;
        readonly state: string;
        readonly problem: string | null;
    }[];
}

export interface PathExplanation {
    readonly path: string;
    readonly resolved: string;
    readonly read: boolean;
    readonly readRule: string;
    readonly write: boolean;
    readonly writeRule: string;
    /** An option of the command line that would allow it; "" where it is allowed. */
    readonly fix: string;
    /** The sandbox's own, as its private /tmp: what is written there is gone afterwards. */
    readonly own: boolean;
}

export interface HostExplanation {
    readonly host: string;
    readonly port: number;
    readonly allowed: boolean;
    readonly rule: string;
    readonly fix: string;
}

export interface CommandExplanation {
    readonly preset: string;
    readonly workspace: string;
    readonly startsIn: string;
    readonly readsEverything: boolean;
    readonly files: readonly {
        readonly kind: string;
        readonly path: string;
        readonly rule: string;
        readonly reason: string;
    }[];
    readonly network: Readonly<Record<string, unknown>>;
    readonly limits: Readonly<Record<string, unknown>>;
    readonly environment: Readonly<Record<string, unknown>>;
    readonly notEnforced: readonly { readonly what: string; readonly rule: string }[];
    readonly notes: readonly unknown[];
    readonly command?: { readonly name: string; readonly path: string | null };
}

export type PolicyCheck =
    | { readonly valid: true }
    | {
        readonly valid: false;
        readonly code: SandboxErrorCode;
        /** JSON pointer of the place. */
        readonly where: string;
        readonly message: string;
    };

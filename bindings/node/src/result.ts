/** Something the sandbox refused, or a limit that was reached. */
export interface Denial {
    /** "file", "network", "call", "limit". */
    readonly kind: string;
    /**
     * Of files "create", "write", "remove", "rename", "link", "change" (mode, owner, times, attributes), "read",
     * "list", "enter"; of the network "connect", "lookup"; the call's name; the limit's.
     */
    readonly operation: string;
    /** A path, a host, what a call asked for; "" where there is none. "FOLDER/*" stands for further names in it. */
    readonly target: string;
    /** What of the target, where it was not all of it. */
    readonly detail?: string;
    /** As `explain` says it: a JSON pointer, an option, a built-in list; "" where there is none. */
    readonly rule: string;
    /** Inside the sandbox; null where it is not known. */
    readonly pid: number | null;
    readonly process: string | null;
    /** Of the first one: "2026-01-31T12:00:00.000Z". */
    readonly time: string;
    /** An option of the command line, or a line of the policy, that would allow it; "" where there is none. */
    readonly suggestion: string;
    readonly count: number;
}

/**
 * A hook or a dangerous setting that the host's git would run: in a git folder that the command made, or put by it into
 * one that was there and that no rule held.
 */
export interface Finding {
    /** "gitHook", "gitConfig". */
    readonly kind: string;
    readonly path: string;
    /** The hook's name; the keys. */
    readonly what: string;
    readonly reason: string;
    /** Where it was put out of reach: PATH.quarantined, or with a number behind; null where it is as it was. */
    readonly movedTo: string | null;
    /** Why it could not be moved. */
    readonly error: string | null;
}

/** What the operating system was asked to hold, and did. */
export interface SandboxReport {
    /** The mechanism; "" where the command never started. */
    readonly backend: string;
    /** "files": true; a word where a part of it is held. */
    readonly enforced: Readonly<Record<string, boolean | string>>;
    /** Which refusals `denials` would have: "files", "secretReads", "calls"; "not asked" where none are wanted. */
    readonly reported: Readonly<Record<string, boolean | string>>;
    /** "memory": "cgroup". */
    readonly limitsBy: Readonly<Record<string, string>>;
    /** What the policy asks for and is not held. */
    readonly notEnforced: readonly { readonly what: string; readonly rule: string }[];
    /** With a filtered network. */
    readonly network?: {
        readonly mode: string;
        readonly connections: number;
        readonly denied: number;
        readonly failed: number;
        readonly sent: number;
        readonly received: number;
    };
    /** The broker died, and every connection with it. */
    readonly brokerLost?: boolean;
}

/** How a command ended. */
export interface ExecuteResult {
    /** The command's own; 128 + n for a signal; 124 after the timeout; 126 not executable; 127 not found. */
    readonly exitCode: number;
    /** The command died of it: "SIGTERM". */
    readonly signal: string | null;
    /** Of `execute`: head and tail where there was more than the policy's limits.output. Of `spawn`: "". */
    readonly stdout: string;
    readonly stderr: string;
    readonly timedOut: boolean;
    readonly outOfMemory: boolean;
    /** The AbortSignal ended it. */
    readonly aborted: boolean;
    readonly truncated: { readonly stdout: boolean; readonly stderr: boolean };
    readonly durationMs: number;
    readonly usage: {
        readonly userMs: number;
        readonly sysMs: number;
        readonly maxRssBytes: number;
        /** Most at one time; 0 where it is not known. */
        readonly processes: number;
    };
    readonly denials: readonly Denial[];
    /** How many there were beyond those. */
    readonly denialsLeftOut: number;
    /** What the command left behind that the host's git would run; the policy says whether it is moved aside. */
    readonly findings: readonly Finding[];
    /** How many there were beyond those, moved like them, or places that could not be looked at. */
    readonly findingsLeftOut: number;
    readonly sandbox: SandboxReport;
}

/** The exit code of what SIGKILL ended. */
export const KILLED = 137;

/** The end of a command that was aborted before it began. */
export function neverBegun(): ExecuteResult {
    return {
        exitCode: KILLED,
        signal: "SIGKILL",
        stdout: "",
        stderr: "",
        timedOut: false,
        outOfMemory: false,
        aborted: true,
        truncated: { stdout: false, stderr: false },
        durationMs: 0,
        usage: { userMs: 0, sysMs: 0, maxRssBytes: 0, processes: 0 },
        denials: [],
        denialsLeftOut: 0,
        findings: [],
        findingsLeftOut: 0,
        sandbox: { backend: "", enforced: {}, reported: {}, limitsBy: {}, notEnforced: [] },
    };
}

import { constants } from "node:os";

const { errno } = constants;

/** What went wrong, as a class: the names of the C header's QSB_E_*. */
export type SandboxErrorCode =
    | "QSB_E_MEMORY"
    | "QSB_E_OS"
    | "QSB_E_INVALID"
    | "QSB_E_RANGE"
    | "QSB_E_UNKNOWN"
    | "QSB_E_NOT_FOUND"
    | "QSB_E_UNSUPPORTED"
    | "QSB_E_DENIED"
    | "QSB_E_PROTOCOL"
    | "QSB_E_STATE";

// In the order of the C header, from -1 on.
const CODES: readonly SandboxErrorCode[] = [
    "QSB_E_MEMORY", "QSB_E_OS", "QSB_E_INVALID", "QSB_E_RANGE", "QSB_E_UNKNOWN", "QSB_E_NOT_FOUND",
    "QSB_E_UNSUPPORTED", "QSB_E_DENIED", "QSB_E_PROTOCOL", "QSB_E_STATE",
];

/** An error as the program and the addon write it. */
export interface ToldError {
    readonly code: string | number;
    readonly where: string;
    readonly message: string;
    readonly errno?: number | null;
}

export interface SandboxErrorDetails {
    readonly hint?: string;
    readonly where?: string;
    readonly errno?: number;
    readonly cause?: unknown;
}

/** The command could not run as asked: it did not run at all. */
export class SandboxError extends Error {
    override readonly name = "SandboxError";
    readonly code: SandboxErrorCode;
    /** What a person can do; "" where nothing is known. */
    readonly hint: string;
    /** The step that failed, or the JSON pointer of the policy's key; "" where it is neither. */
    readonly where: string;
    /** The operating system's number for it; 0 where it did not come from there. */
    readonly errno: number;

    constructor(code: SandboxErrorCode, message: string, details: SandboxErrorDetails = {}) {
        super(message, details.cause === undefined ? undefined : { cause: details.cause });
        this.code = code;
        this.hint = details.hint ?? "";
        this.where = details.where ?? "";
        this.errno = details.errno ?? 0;
    }
}

/** "not-found" and -6 are QSB_E_NOT_FOUND. */
export function codeOf(told: string | number): SandboxErrorCode {
    const word = typeof told === "number" ? CODES[-told - 1] : told.toUpperCase().replace(/-/g, "_");
    return CODES.find((code) => code === word || code === `QSB_E_${word}`) ?? "QSB_E_PROTOCOL";
}

/** What helps where the system gave no more of something: the names are those of `os.constants.errno`. */
const HINTS = new Map<number, string>([
    [errno.EMFILE, "raise this process's limit of open files (ulimit -n), or run fewer commands at a time"],
    [errno.ENFILE, "raise the machine's limit of open files, or run fewer commands at a time"],
    [errno.EAGAIN, "raise the user's limit of processes (ulimit -u), or run fewer commands at a time"],
    [errno.ENOMEM, "free memory, or run fewer commands at a time"],
    [errno.E2BIG, "give long text by stdin or in a file: the system bounds arguments and environment"],
]);

export function errorOf(told: ToldError, details: SandboxErrorDetails = {}): SandboxError {
    const number = told.errno ?? 0;
    const hint = told.where.startsWith("/") ? `change ${told.where} of the policy` : HINTS.get(number) ?? "";
    // Which descriptor the policy went through is nobody's business.
    const message = told.message.replace(/^--policy-fd \d+: /, "");
    return new SandboxError(codeOf(told.code), message, { hint, where: told.where, errno: number, ...details });
}

/** An exception of the addon, whose code is a word, as a SandboxError; any other as it is. */
export function wrapped(error: unknown): unknown {
    if (!(error instanceof Error) || error instanceof SandboxError) return error;
    const code = (error as NodeJS.ErrnoException).code ?? "";
    const known = CODES.includes(`QSB_E_${code.toUpperCase().replace(/-/g, "_")}` as SandboxErrorCode);
    return known ? new SandboxError(codeOf(code), error.message, { cause: error }) : error;
}

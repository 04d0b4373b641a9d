export { QimingSandbox } from "./sandbox.js";
export { SandboxError } from "./errors.js";
export { SandboxProcess } from "./process.js";
export type {
    Command, NetworkAnswer, RunOptions, SandboxEvents, SandboxOptions, SpawnOptions, StreamMode,
} from "./sandbox.js";
export type { NetworkRequest, ProcessEvent, TerminalSize } from "./process.js";
export type { SandboxConfig } from "./config.js";
export type { Policy } from "./policy.js";
export type { SandboxErrorCode } from "./errors.js";
export type { Denial, ExecuteResult, Finding, SandboxReport } from "./result.js";
export type {
    CommandExplanation, DoctorFact, DoctorReport, HostExplanation, PathExplanation, PolicyCheck,
} from "./reports.js";

import type { Policy } from "./policy.js";
import { SandboxError } from "./errors.js";

/** What a command may do. What is left out has the default of the policy's preset, `workspace`. */
export interface SandboxConfig {
    /**
     * Whether the command has a network. Default: false.
     *
     * `true` with no lists is the whole internet, through the broker, which names every connection and keeps this
     * machine, its neighbours and cloud metadata out of reach. With `allowedDomains` it is these only.
     */
    readonly networkEnabled?: boolean;
    /**
     * The domains that may be reached where `networkEnabled` is true: `example.com`, `*.example.com`, `*`, with an
     * optional `:port`; addresses and CIDR ranges. An empty list allows nothing; no list allows everything.
     */
    readonly allowedDomains?: readonly string[];
    /** The domains that may not be reached, whatever else allows them. */
    readonly deniedDomains?: readonly string[];
    /** Memory of all processes together: bytes or "512m", "2g". Default: "2g". */
    readonly memoryLimit?: string | number;
    /** Processors. Default: 2. */
    readonly cpuLimit?: number;
    /** Seconds after which every process is killed. Default: 300. */
    readonly timeout?: number;
    /** Everything else. What the fields above say may not be said here again. */
    readonly policy?: Policy;
}

// What stands here and in RunOptions and SpawnOptions.
const FIELDS: readonly string[] = [
    "networkEnabled", "allowedDomains", "deniedDomains", "memoryLimit", "cpuLimit", "timeout", "policy",
    "cwd", "env", "signal", "workspace", "stdin", "stdout", "stderr", "pty", "encoding",
];

/**
 * Refuses a field that is none: a restriction that was misspelt would be no restriction. What the values may be is for
 * the program to say; but this one is only used here.
 */
function checkFields(config: SandboxConfig): void {
    const unknown = Object.keys(config).find((field) => !FIELDS.includes(field));
    if (unknown !== undefined) {
        const hint = `the fields are ${FIELDS.join(", ")}; everything else is said by policy`;
        throw new SandboxError("QSB_E_UNKNOWN", `there is no field ${unknown}`, { hint, where: unknown });
    }
    const { networkEnabled } = config;
    if (networkEnabled !== undefined && typeof networkEnabled !== "boolean") {
        const message = `networkEnabled is true or false; it is ${JSON.stringify(networkEnabled)}`;
        throw new SandboxError("QSB_E_INVALID", message, { hint: "give true or false", where: "networkEnabled" });
    }
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

function once(group: string, key: string, given: unknown, field: string): void {
    if (given === undefined) return;
    const where = `/${group}/${key}`;
    throw new SandboxError("QSB_E_INVALID", `${field} and ${where} of the policy say the same thing`, {
        where,
        hint: `give ${field} or ${where}, not both`,
    });
}

function networkOf(config: SandboxConfig): Policy["network"] {
    const given = config.policy?.network ?? {};
    const network: Mutable<NonNullable<Policy["network"]>> = { ...given };
    if (config.networkEnabled !== undefined) {
        once("network", "mode", given.mode, "networkEnabled");
        network.mode = config.networkEnabled ? "filtered" : "off";
    }
    if (config.allowedDomains !== undefined) {
        once("network", "allowedDomains", given.allowedDomains, "allowedDomains");
        network.allowedDomains = config.allowedDomains;
    } else if (config.networkEnabled && given.allowedDomains === undefined) {
        network.allowedDomains = ["*"];
    }
    if (config.deniedDomains !== undefined) {
        once("network", "deniedDomains", given.deniedDomains, "deniedDomains");
        network.deniedDomains = config.deniedDomains;
    }
    return network;
}

function limitsOf(config: SandboxConfig): Policy["limits"] {
    const given = config.policy?.limits ?? {};
    const limits: Mutable<NonNullable<Policy["limits"]>> = { ...given };
    if (config.memoryLimit !== undefined) {
        once("limits", "memory", given.memory, "memoryLimit");
        limits.memory = config.memoryLimit;
    }
    if (config.cpuLimit !== undefined) {
        once("limits", "cpus", given.cpus, "cpuLimit");
        limits.cpus = config.cpuLimit;
    }
    if (config.timeout !== undefined) {
        once("limits", "timeout", given.timeout, "timeout");
        limits.timeout = config.timeout;
    }
    return limits;
}

/**
 * The policy that a config stands for. Nothing is decided here, only renamed: `networkEnabled` without
 * `allowedDomains` is mode "filtered" with `["*"]`; an empty `allowedDomains` stays empty, which allows nothing.
 */
export function policyOf(config: SandboxConfig, set: Readonly<Record<string, string>> = {}): Policy {
    checkFields(config);
    const policy: Mutable<Policy> = { ...config.policy };
    const [network, limits] = [networkOf(config), limitsOf(config)];
    if (network && Object.keys(network).length > 0) policy.network = network;
    if (limits && Object.keys(limits).length > 0) policy.limits = limits;
    if (Object.keys(set).length > 0)
        policy.environment = { ...policy.environment, set: { ...policy.environment?.set, ...set } };
    return policy;
}

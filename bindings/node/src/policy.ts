// Made by scripts/policy-types.mjs from `qiming-sandbox policy schema`: change it there.

/** What a command of an AI agent may do on this machine. Defaults are those of the preset workspace. */
export interface Policy {
    /** Version of the policy's format. Default: 1. */
    readonly version?: 1;
    /** The preset whose values hold where nothing else is said. Default: "workspace". */
    readonly extends?: "read-only" | "workspace" | "workspace-online" | "locked-down" | "full-access";
    /** Remarks for people, a text or a list of texts; they change nothing. */
    readonly $comment?: string | readonly string[];
    readonly filesystem?: {
        /** Files and folders that may be read: paths or globs. Default: ["/"]. */
        readonly allowRead?: readonly string[];
        /** Files and folders that may be neither read nor written. Default: ["@secrets"]. */
        readonly denyRead?: readonly string[];
        /** Files and folders that may be written: paths or globs. Default: ["."]. */
        readonly allowWrite?: readonly string[];
        /** Files and folders that may not be written. Default: []. */
        readonly denyWrite?: readonly string[];
        /**
         * Keeps files that other programs run or trust (git hooks, shell start-up files, editor tasks) from being
         * written, at any depth. Default: true.
         */
        readonly protectNames?: boolean;
        /**
         * With protectNames: also names that do not exist yet, in folders made later, too. With false only files
         * that are found at the start are kept, and the result says so. Default: true.
         */
        readonly protectNewNames?: boolean;
        /**
         * What becomes of hooks and of settings that run programs in git folders that a run made or wrote to: moved
         * aside to NAME.quarantined, or only reported. Default: "quarantine".
         */
        readonly gitFindings?: "quarantine" | "report";
        /**
         * Whether the result names files that were refused. It costs a little time at each call that changes a
         * file, as protectNewNames does anyway. Default: true.
         */
        readonly reportDenials?: boolean;
        /** Whether /tmp is the sandbox's own or the host's. Default: "private". */
        readonly tmp?: "private" | "host";
        /** Devices beyond the harmless ones. Default: []. */
        readonly devices?: readonly ("gpu" | "kvm" | "fuse")[];
    };
    readonly network?: {
        /** No network (its own loopback works), only allowed domains, or the host's network. Default: "off". */
        readonly mode?: "off" | "filtered" | "host";
        /**
         * Domains that may be reached: example.com, *.example.com, *, with an optional :port; addresses and CIDR
         * ranges. Default: [].
         */
        readonly allowedDomains?: readonly string[];
        /** Domains that may not be reached, whatever else allows them. Default: []. */
        readonly deniedDomains?: readonly string[];
        /** Ports of the sandbox that are opened on the host's loopback. Default: []. */
        readonly publishPorts?: readonly number[];
        /** Ports of the host's loopback that are opened in the sandbox. Default: []. */
        readonly reachPorts?: readonly number[];
        /** Sockets of the host that may be connected to, by path. Default: []. */
        readonly unixSockets?: readonly string[];
        /**
         * The proxy through which a filtered network leaves this machine: http://[user:password@]host:port,
         * socks5://…, none, or environment for the caller's HTTPS_PROXY and NO_PROXY. Default: "none".
         */
        readonly upstreamProxy?: string;
        /**
         * Who turns names into addresses before an upstream proxy: this machine, which judges them, or the proxy,
         * which is given the name; then only addresses that were asked for by themselves are judged. Default:
         * "proxy".
         */
        readonly upstreamResolve?: "local" | "proxy";
    };
    readonly limits?: {
        /** Memory of all processes together. Default: "2g". */
        readonly memory?: number | string;
        /** Processors. Default: 2. */
        readonly cpus?: number | string;
        /** Time after which every process is killed. Default: 300. */
        readonly timeout?: number | string;
        /** Processes and threads together. Default: 512. */
        readonly processes?: number | "none";
        /** Open files of one process. Default: 4096. */
        readonly openFiles?: number | "none";
        /** Output that is kept, of each of stdout and stderr. Default: "10m". */
        readonly output?: number | string;
        /** What happens beyond that: the middle is left out, or the run ends. Default: "truncate". */
        readonly outputAction?: "truncate" | "kill";
        /** Room in the private /tmp, /var/tmp, /dev/shm and /run together. Default: "1g". */
        readonly tmpSize?: number | string;
        /** The largest file that may be written. Default: "none". */
        readonly fileSize?: number | string;
        /** Room that the run must leave on every file system it may write. Default: "256m". */
        readonly diskReserve?: number | string;
    };
    readonly environment?: {
        /**
         * Which of the caller's variables the command gets: none, all but secrets and sockets, or all. Default:
         * "safe".
         */
        readonly inherit?: "none" | "safe" | "all";
        /** Names of variables that are passed on in any case, also with a * at the end. Default: []. */
        readonly pass?: readonly string[];
        /** Variables that are set. Default: {}. */
        readonly set?: Readonly<Record<string, string>>;
    };
    /** Lets the command make namespaces of its own, as browsers and other sandboxes do. Default: false. */
    readonly allowNestedSandbox?: boolean;
    /** Lets a caller that asks for it run a command outside the sandbox. Default: false. */
    readonly allowUnsandboxed?: boolean;
    /** Folders whose .qiming-sandbox.json may also loosen the policy. Only the user's own file can say it. */
    readonly trustedFolders?: readonly string[];
}

// The measurements of the Node package. Prints one JSON object: node bench/node.mjs WHAT PACKAGE WORKSPACE RUNS
//   blocked  milliseconds of JavaScript's thread for one start, in a process of 1.5 GB
//   total    milliseconds from the call to the result
//   stream   seconds for 1 GiB of output
//   drift    how late a timer of 5 ms is at worst while 64 commands run
//   growth   what is left after many commands; RUNS is how many
import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [what, folder, workspace, runs] = process.argv.slice(2);
const { QimingSandbox } = await import(pathToFileURL(`${folder}/index.mjs`).href);
const sandbox = new QimingSandbox();
const now = () => Number(process.hrtime.bigint()) / 1e6;

const ours = (command) => sandbox.execute(command, workspace);
function plain(command) {
    const child = spawn(command, [], { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.resume();
    child.stderr.resume();
    return new Promise((resolve) => child.on("close", resolve));
}

/**
 * Times of both ways, taken in turns of a few each: a fork leaves all memory to be copied on the next write to it,
 * which would be counted as the other's.
 */
async function times(count, ...ways) {
    const got = ways.map(() => []);
    while (got[0].length < count)
        for (const [number, way] of ways.entries())
            for (let run = 0; run < 6; run++) {
                const time = await way();
                if (run > 0 || count < 5) got[number].push(time);
            }
    return { ours: got[0], plain: got[1] };
}

async function blocked(way) {
    const start = now();
    const running = way("true");
    const time = now() - start;
    await running;
    return time;
}

async function total(way) {
    const start = now();
    await way("true");
    return now() - start;
}

async function stream(child, end) {
    const start = now();
    let length = 0;
    child.stdout.on("data", (data) => { length += data.length; });
    await end(child);
    if (length !== 2 ** 30) throw new Error(`${length} bytes of output`);
    return (now() - start) / 1000;
}

const GIB = ["head", "-c", String(2 ** 30), "/dev/zero"];
const streamOurs = () => stream(sandbox.spawn(GIB, { workspace, stdin: "ignore" }), ({ result }) => result);
const streamPlain = () => stream(spawn(GIB[0], GIB.slice(1), { stdio: ["ignore", "pipe", "pipe"] }),
    (child) => new Promise((resolve) => child.on("close", resolve)));

async function drift(way) {
    let worst = 0;
    let last = now();
    const look = () => {
        const at = now();
        worst = Math.max(worst, at - last - 5);
        last = at;
    };
    const timer = setInterval(look, 5);
    await sleep(20);
    worst = 0;
    await Promise.all(Array.from({ length: 64 }, () => way("true")));
    // It may not have come to its turn at all.
    look();
    clearInterval(timer);
    return worst;
}

function held() {
    const tasks = readdirSync("/proc/self/task");
    const children = tasks.flatMap((task) =>
        readFileSync(`/proc/self/task/${task}/children`, "latin1").split(" ").filter(Boolean));
    return { things: readdirSync("/proc/self/fd").length + tasks.length + children.length };
}

/**
 * Memory in use. Not what is resident: of that V8 keeps some 10 MB more or less, as it likes. C's is one heap here
 * (MALLOC_ARENA_MAX=1).
 */
function inUse() {
    const { heapUsed, external } = process.memoryUsage();
    const mapped = readFileSync("/proc/self/smaps", "latin1");
    return heapUsed + external + 1024 * Number(/\[heap\]\n(?:.*\n)*?Rss:\s+(\d+)/.exec(mapped)[1]);
}

/** Of several looks the lowest counts. */
async function growth(count) {
    const looks = [];
    while (looks.length < 10) {
        for (let done = 0; done < count / 10; done += 8)
            await Promise.all(Array.from({ length: 8 }, () => ours("true")));
        await sleep(200);
        globalThis.gc();
        looks.push({ ...held(), memory: inUse() });
    }
    const lowest = (some) => Math.min(...some.map(({ memory }) => memory));
    return {
        early: { things: looks[1].things, memory: lowest(looks.slice(1, 5)) },
        late: { things: looks[9].things, memory: lowest(looks.slice(5)) },
    };
}

function ballast() {
    const size = 1500e6 - process.memoryUsage.rss();
    return Array.from({ length: 15 }, () => Buffer.alloc(size / 15, 1));
}

const ACTIONS = {
    async blocked() {
        const held = ballast();
        const got = await times(Number(runs), () => blocked(ours), () => blocked(plain));
        return { ...got, resident: process.memoryUsage.rss(), held: held.length };
    },
    total: () => times(Number(runs), () => total(ours), () => total(plain)),
    stream: () => times(Number(runs), streamOurs, streamPlain),
    drift: () => times(Number(runs), () => drift(ours), () => drift(plain)),
    growth: () => growth(Number(runs)),
};
process.stdout.write(JSON.stringify(await ACTIONS[what]()));

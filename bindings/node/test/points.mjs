// A reporter of node --test: each test is one point of TAP, whatever file or suite it stands in.
const notes = (text) => text.split("\n").map((line) => `# ${line}`).join("\n");

export default async function* points(source) {
    let count = 0;
    for await (const { type, data } of source) {
        if (type !== "test:pass" && type !== "test:fail") continue;
        if (data.details?.type === "suite" || data.name.endsWith(".test.mjs")) {
            // A file that fails by itself has no test to say so.
            const error = data.details?.error;
            if (type === "test:pass" || error?.failureType === "subtestsFailed") continue;
        }
        const skip = data.skip === undefined ? "" : ` # SKIP ${data.skip === true ? "" : data.skip}`;
        yield `${type === "test:fail" ? "not ok" : "ok"} ${++count} - ${data.name}${skip}\n`;
        if (type === "test:fail") {
            const { error } = data.details;
            yield `${notes(String(error?.cause?.stack ?? error?.cause ?? error?.stack ?? error))}\n`;
        }
    }
    yield `1..${count}\n`;
}

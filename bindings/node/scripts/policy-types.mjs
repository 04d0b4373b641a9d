// Writes src/policy.ts, the types of a policy, from what the program says of itself:
//   node scripts/policy-types.mjs PROGRAM [FILE]
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

const WIDTH = 116;

function wrap(text, indent) {
    const lines = [];
    let line = "";
    for (const word of text.split(/\s+/)) {
        if (line && indent.length + 3 + line.length + 1 + word.length > WIDTH) {
            lines.push(line);
            line = word;
        } else {
            line = line ? `${line} ${word}` : word;
        }
    }
    return [...lines, line];
}

function comment(schema, indent) {
    const said = [schema.description];
    if (schema.default !== undefined) said.push(`Default: ${JSON.stringify(schema.default)}.`);
    const lines = wrap(said.filter(Boolean).join(" "), indent);
    if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
    return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}

function type(schema, indent) {
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(" | ");
    if (schema.anyOf) {
        const kinds = [...new Set(schema.anyOf.map((one) => type(one, indent)))];
        // Any string takes the words in.
        return kinds.filter((kind) => !kind.startsWith('"') || !kinds.includes("string")).join(" | ");
    }
    if (schema.type === "array") {
        const item = type(schema.items, indent);
        return item.includes("|") ? `readonly (${item})[]` : `readonly ${item}[]`;
    }
    if (schema.type === "integer" || schema.type === "number") return "number";
    if (schema.type !== "object") return schema.type;
    return schema.properties ? block(schema, indent) : `Readonly<Record<string, ${type(schema.additionalProperties)}>>`;
}

function block(schema, indent) {
    const deeper = `${indent}    `;
    const keys = Object.entries(schema.properties).map(([name, value]) =>
        `${value.description ? comment(value, deeper) : ""}${deeper}readonly ${name}?: ${type(value, deeper)};\n`);
    return `{\n${keys.join("")}${indent}}`;
}

const [program, file] = process.argv.slice(2);
const schema = JSON.parse(execFileSync(program, ["policy", "schema"], { encoding: "utf8" }));
const text = "// Made by scripts/policy-types.mjs from `qiming-sandbox policy schema`: change it there.\n\n" +
    `${comment(schema, "")}export interface Policy ${block(schema, "")}\n`;
if (file) writeFileSync(file, text);
else process.stdout.write(text);

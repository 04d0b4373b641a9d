// The same module for `import` as for `require`: classes and the addon's thread are there once.
export { QimingSandbox, SandboxError, SandboxProcess } from "./index.js";
export type * from "./index.js";

// The same package by `require`.
import { expectTypeOf } from "expect-type";
import sandboxNative = require("@qiming/sandbox-native");

const sandbox: sandboxNative.QimingSandbox = new sandboxNative.QimingSandbox();
expectTypeOf(sandbox.execute(["x"], ".")).toEqualTypeOf<Promise<sandboxNative.ExecuteResult>>();
// @ts-expect-error: a number is no command
void sandbox.execute(5, ".");

import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { withoutEngineFrames } from "../../../src/core/source-line.ts";

const library = new URL("../../../src/", import.meta.url);
const user = "    at charge (file:///shop/order.ts:4:9)";
const engine = `    at runAttempt (${library.href}runtime/activity-run.js:140:19)`;
const byPath = `    at async enter (${fileURLToPath(library)}core/run.js:1:1)`;
const node =
  "    at AsyncLocalStorage.run (node:internal/async_local_storage/async_context_frame:63:14)";
const native = "    at new Promise (<anonymous>)";
const stack = (...lines: readonly string[]): string => ["Error: no", ...lines].join("\n");

describe("a stack", () => {
  test("ends with the user's last frame; the frames of the library and of Node below it are cut", () => {
    const full = stack("    at Array.map (<anonymous>)", user, engine, native, node, byPath);
    expect(withoutEngineFrames(full)).toBe(stack("    at Array.map (<anonymous>)", user));
  });

  test("keeps the library's frames above and between the user's", () => {
    const full = stack(engine, user, engine, node, user, byPath);
    expect(withoutEngineFrames(full)).toBe(stack(engine, user, engine, node, user));
  });

  test("keeps every line of the message", () => {
    const full = `Error: two\nlines at once\n${user}\n${engine}`;
    expect(withoutEngineFrames(full)).toBe(`Error: two\nlines at once\n${user}`);
  });

  test.each([
    ["without a frame of user code", stack(engine, node, byPath)],
    ["without a frame of the library", stack(user, node)],
    ["without frames", "Error: no"],
    ["without a text", ""],
  ])("%s is unchanged", (_, text) => {
    expect(withoutEngineFrames(text)).toBe(text);
  });
});

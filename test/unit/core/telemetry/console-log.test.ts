import { afterEach, beforeEach, expect, test, vi, type MockInstance } from "vitest";
import { consoleLog, type ConsoleLogOptions } from "../../../../src/core/telemetry/console-log.ts";
import { LOG_LEVELS, type LogFields } from "../../../../src/core/telemetry/log.ts";

const METHODS = ["log", "warn", "error"] as const;
let spies: readonly MockInstance[] = [];
let written: [method: string, ...line: unknown[]][] = [];

beforeEach(() => {
  written = [];
  spies = METHODS.map((method) =>
    vi.spyOn(console, method).mockImplementation((...line) => void written.push([method, ...line])),
  );
});
afterEach(() => {
  for (const spy of spies) spy.mockRestore();
});

function line(options: ConsoleLogOptions, message: string, fields: LogFields = {}): string {
  consoleLog(options)("warn", message, fields);
  return String(written[0]?.[1]);
}

test("levels below the chosen level are left out; warnings and errors go to standard error", () => {
  for (const level of LOG_LEVELS) consoleLog()(level, level, {});
  expect(written).toEqual([
    ["log", "[perdure] info info"],
    ["warn", "[perdure] warn warn"],
    ["error", "[perdure] error error"],
  ]);
  written = [];
  for (const level of LOG_LEVELS) consoleLog({ level: "trace" })(level, level, {});
  expect(written).toHaveLength(5);
  written = [];
  for (const level of LOG_LEVELS) consoleLog({ level: "error" })(level, level, {});
  expect(written).toHaveLength(1);
});

test("pretty writes fields as name=value on one line and quotes ambiguous values", () => {
  const fields = {
    instance: "order-7",
    tags: ["gpu"],
    text: "a b",
    forged: "x=1",
    none: undefined,
  };
  expect(line({}, "100%s", fields)).toBe(
    '[perdure] warn 100%s instance=order-7 tags=["gpu"] text="a b" forged="x=1"',
  );
});

test("pretty shows stacks and causes of errors below the line", () => {
  const error = new Error("outer", { cause: new TypeError("inner") });
  const lines = line({ format: "pretty" }, "failed", { error }).split("\n");
  expect(lines[0]).toBe("[perdure] warn failed");
  expect(lines[1]).toBe("    Error: outer");
  expect(lines).toContain("    caused by TypeError: inner");
});

test("pretty escapes control characters, so that a text cannot forge a line", () => {
  const text = line({}, "x\u001b[2J\n[perdure] error forged", { note: "a\nb" });
  expect(text).toBe('[perdure] warn x\\u001b[2J\\n[perdure] error forged note="a\\nb"');
});

test("json writes one document per line for any field values", () => {
  const loop: Record<string, unknown> = { big: 12n, not: Number.NaN, at: new Date(0) };
  loop["self"] = loop;
  const error = Object.assign(new Error("outer", { cause: "text" }), { code: "ECONNREFUSED" });
  const document: unknown = JSON.parse(
    line({ format: "json" }, "two\nlines", { loop, error, map: new Map([[1, 2]]) }),
  );
  expect(document).toMatchObject({
    time: expect.stringMatching(/^\d{4}-/),
    level: "warn",
    message: "two\nlines",
    pid: process.pid,
    fields: {
      loop: { big: "12", not: "NaN", at: "1970-01-01T00:00:00.000Z", self: "[…]" },
      error: { name: "Error", message: "outer", code: "ECONNREFUSED", cause: "text" },
      map: [[1, 2]],
    },
  });
  expect(String(written[0]?.[1])).not.toContain("\n");
});

test.each<[string, unknown]>([
  ["an unknown option", { colour: true }],
  ["an unknown level", { level: "loud" }],
  ["an unknown format", { format: "xml" }],
])("%s is INVALID_ARGUMENT", (_, options) => {
  expect(() => consoleLog(options as ConsoleLogOptions)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT" }),
  );
});

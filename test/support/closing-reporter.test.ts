import { expect, test } from "vitest";
import { closingLines, MAIN_PROJECT, type RanModule } from "./closing-reporter.ts";

test("the last line counts tests, not files", () => {
  const modules = [ran("a.test.ts", { passed: 3 }), ran("b.test.ts", { passed: 4, failed: 2 })];
  expect(closingLines(modules, []).at(-1)).toBe("7 passed, 2 failed");
});

test("an error outside a test counts as a failure (closing-reporter.1)", () => {
  const unloadable = ran("a.test.ts", { errors: 1 });
  const brokenHook = ran("b.test.ts", { passed: 1, suiteErrors: 1 });
  expect(closingLines([unloadable, brokenHook], [new Error("stray")]).at(-1)).toBe(
    "1 passed, 3 failed",
  );
});

test("the ten slowest files are listed first, the slowest on top", () => {
  const modules = Array.from({ length: 12 }, (_, i) => ran(`f${i}.test.ts`, { ms: i * 1_000 }));
  const lines = closingLines(modules, []);
  expect(lines[0]).toBe("Slowest files (seconds):");
  expect(lines[1]).toBe("   11.0  f11.test.ts");
  expect(lines[10]).toBe("    2.0  f2.test.ts");
  expect(lines.slice(11)).toEqual(["", "0 passed, 0 failed"]);
});

test("a file of another project is listed with the project's name", () => {
  const lines = closingLines([ran("a.test.ts", { project: "postgres" })], []);
  expect(lines[1]).toBe("    0.0  a.test.ts (postgres)");
});

test("a run without files still has the last line", () => {
  expect(closingLines([], [])).toEqual(["0 passed, 0 failed"]);
});

interface Ran {
  passed?: number;
  failed?: number;
  errors?: number;
  suiteErrors?: number;
  ms?: number;
  project?: string;
}

function ran(file: string, what: Ran) {
  const { passed = 0, failed = 0, errors = 0, suiteErrors = 0, ms = 0 } = what;
  const module: RanModule = {
    relativeModuleId: file,
    project: { name: what.project ?? MAIN_PROJECT },
    errors: () => new Array<unknown>(errors).fill("error"),
    diagnostic: () => ({ collectDuration: 0, duration: ms }),
    children: {
      allTests: (state) => new Array<unknown>(state === "passed" ? passed : failed).fill("test"),
      allSuites: () => [{ errors: () => new Array<unknown>(suiteErrors).fill("error") }],
    },
  };
  return module;
}

// The end of a test run: the ten slowest files, then `N passed, N failed` as the last line.
//   - closing-reporter.1: An error outside a test (a file that does not load, a failed hook, an unhandled rejection) counts
//       as one failure, so that `0 failed` always means that nothing failed.
//   - The line is written as the process exits, because Vitest may still print after its reporters.

import { writeSync } from "node:fs";
import type { Reporter, TestModule, Vitest } from "vitest/node";

const SLOWEST_MAX = 10;
/** Files of this project are listed without the project's name. */
export const MAIN_PROJECT = "all";

export class ClosingReporter implements Reporter {
  #lines: readonly string[] = [];

  onInit(vitest: Vitest): void {
    if (vitest.config.watch) return;
    process.once("exit", () => {
      if (this.#lines.length > 0) writeSync(1, this.#lines.join("\n") + "\n");
    });
  }

  onTestRunEnd(modules: readonly RanModule[], unhandledErrors: readonly unknown[]): void {
    this.#lines = closingLines(modules, unhandledErrors);
  }
}

/** The part of Vitest's `TestModule` that the closing lines use. */
export interface RanModule {
  readonly relativeModuleId: string;
  readonly project: { readonly name: string };
  errors(): readonly unknown[];
  diagnostic(): Pick<ReturnType<TestModule["diagnostic"]>, "collectDuration" | "duration">;
  readonly children: {
    allTests(state: "passed" | "failed"): Iterable<unknown>;
    allSuites(): Iterable<{ errors(): readonly unknown[] }>;
  };
}

export function closingLines(
  modules: readonly RanModule[],
  unhandledErrors: readonly unknown[],
): string[] {
  let passed = 0;
  let failed = unhandledErrors.length;
  for (const module of modules) {
    passed += count(module.children.allTests("passed"));
    failed += count(module.children.allTests("failed"));
    for (const scope of [module, ...module.children.allSuites()]) {
      if (scope.errors().length > 0) failed += 1;
    }
  }
  return [...slowestFiles(modules), `${passed} passed, ${failed} failed`];
}

function slowestFiles(modules: readonly RanModule[]): string[] {
  const timed = modules.map((module) => {
    const { collectDuration, duration } = module.diagnostic();
    const { name } = module.project;
    const file = `${module.relativeModuleId}${name === MAIN_PROJECT ? "" : ` (${name})`}`;
    return { file, seconds: (collectDuration + duration) / 1_000 };
  });
  timed.sort((a, b) => b.seconds - a.seconds);
  const slowest = timed.slice(0, SLOWEST_MAX);
  if (slowest.length === 0) return [];
  return [
    "Slowest files (seconds):",
    ...slowest.map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)}  ${file}`),
    "",
  ];
}

function count(items: Iterable<unknown>): number {
  let total = 0;
  for (const _ of items) total += 1;
  return total;
}

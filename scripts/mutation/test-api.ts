// Under mutation, test files import this instead of "vitest": the same `expect`, and a registry of tests that can run
// again and again without reloading a module.
//   - A missing export is an error: a file that imports it does not load, and the first run fails.

import { pathToFileURL } from "node:url";
import { format } from "node:util";
import type * as Vitest from "vitest";

type Work = (...args: never[]) => unknown;

export interface RegisteredTest {
  readonly id: string;
  readonly name: string;
  readonly file: string;
  run(): Promise<void>;
}
interface Suite {
  readonly names: readonly string[];
  readonly after: (() => unknown)[];
}

/** Every test of the loaded files, in order. */
export const registered: RegisteredTest[] = [];

const ids = new Set<string>();
let file = "";
let suite: Suite = { names: [], after: [] };
let finishers: (() => unknown)[] = [];

export function forgetTests(which: (test: RegisteredTest) => boolean): void {
  const kept = registered.filter((test) => !which(test));
  registered.splice(0, Infinity, ...kept);
  ids.clear();
}

/** Loads a test file and registers its tests. */
export async function load(path: string): Promise<void> {
  file = path;
  suite = { names: [], after: [] };
  await import(pathToFileURL(path).href);
}

export function describe(name: string, body: () => void): void {
  const outer = suite;
  suite = { names: [...outer.names, name], after: [...outer.after] };
  body();
  suite = outer;
}

/** Takes a name and a function, with options or a timeout among them; the runner has its own timeouts. */
export function test(name: string, ...rest: readonly unknown[]): void {
  const work = rest.find((one) => typeof one === "function") as () => unknown;
  const { names, after } = suite;
  const fullName = [...names, name].join(" > ");
  let id = `${file}#${fullName}`;
  for (let count = 2; ids.has(id); count++) id = `${file}#${fullName} (${count})`;
  ids.add(id);
  registered.push({ id, name: fullName, file, run: () => runTest(work, after) });
}

test.each = (table: readonly unknown[]) => (title: string, work: Work) => {
  for (const row of table) {
    const args = (Array.isArray(row) ? row : [row]) as never[];
    test(format(title, ...args).split("\n", 1)[0] ?? title, () => work(...args));
  }
};

export function afterEach(work: () => unknown): void {
  suite.after.push(work);
}

export function onTestFinished(work: () => unknown): void {
  finishers.push(work);
}

async function runTest(work: () => unknown, after: readonly (() => unknown)[]): Promise<void> {
  finishers = [];
  try {
    await work();
  } finally {
    const last = finishers.toReversed();
    for (const finish of [...last, ...after]) await finish();
  }
}

/** Vitest's own `expect`, which works without a Vitest worker. */
const vitest: typeof Vitest = await import(import.meta.resolve("vitest"));
export const expect = vitest.expect;

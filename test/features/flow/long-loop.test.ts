// A very long loop on a real store: memory and time per round stay constant (semantics 26).
//   2,000 rounds, or 100,000 with PERDURE_FULL, which also checks the times.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { Perdure } from "../../../src/index.ts";
import { flow, again, done } from "../../../src/flow/index.ts";

const isFull = process.env["PERDURE_FULL"] !== undefined;
const ROUNDS = isFull ? 100_000 : 2_000;
const QUARTER = ROUNDS / 4;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

interface Mark {
  readonly atMs: number;
  readonly heapMb: number;
}

test(`a loop of ${ROUNDS} rounds uses constant memory`, { timeout: 600_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-loop-"));
  const marks: Mark[] = [];
  const mark = (): void => {
    const atMs = performance.now();
    collectGarbage();
    marks.push({ atMs, heapMb: process.memoryUsage().heapUsed / 2 ** 20 });
  };
  const step = (n: number) => {
    if (n % QUARTER === 0) mark();
    return n < ROUNDS ? again(n + 1) : done(n);
  };
  const long = flow<number>("long")
    .loop("l", (f) => f.then("s", step), { maxIterations: ROUNDS + 1 })
    .build();
  try {
    await using perdure = await Perdure.open(`sqlite:${join(folder, "loop.db")}`, {
      register: [long],
    });
    const handle = await perdure.client.start(long, 0, { id: "i" });
    expect(await handle.result()).toBe(ROUNDS);
    const executions = (await handle.executions()).length;
    expect(executions).toBe(Math.ceil((ROUNDS + 1) / 500)); // two events per round, 1,000 per execution
    const quarters = marks.slice(1).map((each, index) => each.atMs - (marks[index]?.atMs ?? 0));
    const heaps = marks.map(({ heapMb }) => heapMb);
    console.log(
      `${ROUNDS} rounds in ${executions} executions; ` +
        `ms per round by quarter: ${quarters.map((ms) => (ms / QUARTER).toFixed(3)).join(", ")}; ` +
        `heap in MB: ${heaps.map((mb) => mb.toFixed(1)).join(", ")}`,
    );
    expect(Math.max(...heaps) - (heaps[1] ?? 0)).toBeLessThan(10);
    const [first = 0] = quarters;
    if (isFull) expect(quarters.at(-1)).toBeLessThan(2 * first);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

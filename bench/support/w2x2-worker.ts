// A worker process of W2x2, with its parent's side: it takes whatever is due, and notes its own turns and steps.
//   It exits when its parent disconnects or is gone.

import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { activity, orchestration } from "../../src/index.ts";
import { STEPS } from "../sizes.ts";
import type { Setting } from "../subject.ts";
import { withPerdure } from "./open.ts";

/** A turn or a step run: its instance, and the time by the machine's clock. */
export interface Note {
  readonly instance: string;
  readonly index: number;
  readonly at: number;
}
export interface Report {
  readonly turns: readonly Note[];
  readonly steps: readonly Note[];
  readonly refusedTurns: number;
  readonly providerErrors: number;
}
type News = { readonly kind: "ready" } | { readonly kind: "report"; readonly report: Report };

export interface Worker {
  readonly process: ChildProcess;
  readonly ready: Promise<void>;
  /** Sent when the parent requests it with a message. */
  readonly report: Promise<Report>;
}

/** The instance of W2; the starter needs only its name. */
export const FIVE = "noted-five";

export function startWorker(setting: Setting): Worker {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(setting)]);
  const ready = Promise.withResolvers<void>();
  const report = Promise.withResolvers<Report>();
  child.on("message", (news: News) => {
    if (news.kind === "ready") ready.resolve();
    else report.resolve(news.report);
  });
  child.on("exit", () => {
    ready.reject(new Error("A worker ended early."));
    report.reject(new Error("A worker ended early."));
  });
  return { process: child, ready: ready.promise, report: report.promise };
}

/** Runs in the worker process. */
async function work(setting: Setting): Promise<void> {
  const clock = Date.now; // the host's clock, not the guarded one
  const turns: Note[] = [];
  const steps: Note[] = [];
  const increment = activity("increment", (value: number, { info }) => {
    steps.push({ instance: info.instanceId, index: info.sequence, at: clock() });
    return value + 1;
  });
  const five = orchestration(FIVE, async (ctx, value: number) => {
    const note = (index: number): void => {
      const { instanceId, isReplaying } = ctx.info;
      if (!isReplaying) turns.push({ instance: instanceId, index, at: clock() });
    };
    note(0);
    for (let i = 1; i <= STEPS; i++) {
      value = await ctx.run(increment, value);
      note(i);
    }
    return value;
  });
  const tell = (news: News): void => void process.send?.(news);
  await withPerdure(setting, { register: [five, increment] }, async ({ runtime }) => {
    const letGo = new Promise<void>((resolve) => process.once("disconnect", resolve));
    process.once("message", () => {
      const { refusedTurns, providerErrors } = runtime.stats();
      tell({ kind: "report", report: { turns, steps, refusedTurns, providerErrors } });
    });
    tell({ kind: "ready" });
    await letGo;
  });
}

if (import.meta.main) await work(JSON.parse(process.argv[2] ?? "") as Setting); // from `startWorker`

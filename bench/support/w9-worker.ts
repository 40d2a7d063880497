// A worker process of W9, with its parent's side: it runs the instances, and is killed or finishes them.
//   "start" starts the instances; "finish" waits for them at once; "stand by" waits for them after a message.
//   It exits when its parent disconnects or is gone.

import { fork, type ChildProcess } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { activity, orchestration } from "../../src/index.ts";
import type { Setting } from "../subject.ts";
import { withPerdure } from "./open.ts";

export const INSTANCES = 200;
export const STEPS = 10;
const WORK_MS = 20;

type Role = "start" | "finish" | "stand by";
type News =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly results: readonly number[] }
  | { readonly kind: "failed"; readonly message: string };

export interface Worker {
  readonly process: ChildProcess;
  /** Resolves when the worker runs and has started its instances. */
  readonly ready: Promise<void>;
  readonly done: Promise<readonly number[]>;
}

export function idOf(index: number): string {
  return `w9-${index}`;
}

/** The file with one line per step run: process, instance, the step's position in its history. */
export function logOf({ directory }: Setting): string {
  return join(directory, "steps.log");
}

export function startWorker(role: Role, setting: Setting): Worker {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify({ role, setting })]);
  const ready = Promise.withResolvers<void>();
  const done = Promise.withResolvers<readonly number[]>();
  child.on("message", (news: News) => {
    if (news.kind === "ready") ready.resolve();
    else if (news.kind === "done") done.resolve(news.results);
    else done.reject(new Error(news.message));
  });
  child.on("exit", () => {
    ready.reject(new Error(`The worker with the role "${role}" ended early.`));
    done.reject(new Error(`The worker with the role "${role}" ended early.`));
  });
  done.promise.catch(() => {}); // the parent does not wait for the killed worker
  return { process: child, ready: ready.promise, done: done.promise };
}

/** Runs in the worker process. */
async function work(role: Role, setting: Setting): Promise<void> {
  const log = logOf(setting);
  const slow = activity("slow", async (value: number, { info }) => {
    appendFileSync(log, `${process.pid} ${info.instanceId} ${info.sequence}\n`);
    await pause(WORK_MS);
    return value + 1;
  });
  const ten = orchestration("ten", async (ctx, value: number) => {
    for (let i = 0; i < STEPS; i++) value = await ctx.run(slow, value);
    return value;
  });
  const indexes = Array.from({ length: INSTANCES }, (_, i) => i);
  const tell = (news: News): void => void process.send?.(news);
  await withPerdure(setting, { register: [ten, slow] }, async ({ client }) => {
    const letGo = new Promise<void>((resolve) => process.once("disconnect", resolve));
    const finish = (): void => {
      const results = Promise.all(indexes.map((i) => client.get(ten, idOf(i)).result()));
      results.then(
        (values) => tell({ kind: "done", results: values }),
        (error: unknown) => tell({ kind: "failed", message: String(error) }),
      );
    };
    if (role === "start") {
      await Promise.all(indexes.map((i) => client.start(ten, i, { id: idOf(i) })));
    }
    if (role === "finish") finish();
    process.once("message", finish);
    tell({ kind: "ready" });
    await letGo;
  });
}

if (import.meta.main) {
  const { role, setting } = JSON.parse(process.argv[2] ?? "") as { role: Role; setting: Setting };
  await work(role, setting);
}

// A worker process of W9, with its parent's side: it starts the instances and is killed, or gets their keys and waits
// for them. It exits when its parent disconnects or is gone.

import { fork, type ChildProcess } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { adapterOf } from "../catalogue.ts";
import type { Place } from "../peer.ts";
import { PLAIN_WORK } from "../run.ts";

export const INSTANCES = 200;
export const STEPS = 10;
const WORK_MS = 20;

interface Task {
  readonly peer: string;
  readonly place: Place;
  /** Null if the instances must be started. */
  readonly keys: readonly string[] | null;
}
type News =
  | { readonly kind: "started"; readonly keys: readonly string[] }
  | { readonly kind: "done"; readonly results: readonly number[] }
  | { readonly kind: "failed"; readonly message: string };

export interface Worker {
  readonly process: ChildProcess;
  readonly started: Promise<readonly string[]>;
  readonly done: Promise<readonly number[]>;
}

/** The file with one line per step run: instance and position. */
export function logOf({ directory }: Place): string {
  return join(directory, "steps.log");
}

export function startWorker(task: Task): Worker {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(task)]);
  const started = Promise.withResolvers<readonly string[]>();
  const done = Promise.withResolvers<readonly number[]>();
  const fail = (message: string): void => {
    started.reject(new Error(message));
    done.reject(new Error(message));
  };
  child.on("message", (news: News) => {
    if (news.kind === "started") started.resolve(news.keys);
    else if (news.kind === "done") done.resolve(news.results);
    else fail(news.message);
  });
  child.on("exit", () => fail("The worker ended early."));
  for (const { promise } of [started, done]) promise.catch(() => {}); // the parent may wait for only one of them
  return { process: child, started: started.promise, done: done.promise };
}

/** In the worker's process. */
async function work({ peer, place, keys }: Task): Promise<void> {
  const letGo = new Promise<void>((resolve) => process.once("disconnect", resolve));
  const tell = (news: News): void => void process.send?.(news);
  const { open } = await adapterOf(peer);
  const engine = await open(place, {
    ...PLAIN_WORK,
    step: async (value, { id, index }) => {
      appendFileSync(logOf(place), `${id} ${index}\n`);
      await pause(WORK_MS);
      return value + 1;
    },
  });
  if (keys === null) {
    const indexes = Array.from({ length: INSTANCES }, (_, i) => i);
    const start = (i: number): Promise<string> =>
      engine.start("row", { id: `w9-${i}`, n: STEPS, value: i });
    tell({ kind: "started", keys: await Promise.all(indexes.map(start)) });
  } else {
    const results = await Promise.all(keys.map((key) => engine.result(key)));
    tell({ kind: "done", results });
  }
  await letGo;
  await engine.close();
}

if (import.meta.main) {
  try {
    await work(JSON.parse(process.argv[2] ?? "") as Task);
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.send?.({ kind: "failed", message } satisfies News, () => process.exit(1));
  }
}

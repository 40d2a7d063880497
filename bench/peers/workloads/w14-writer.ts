// The writing process of W14-across, with its parent's side: it starts instances that write tokens at a fixed rate.
//   It exits when its parent disconnects or is gone.

import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { AcrossSize } from "../../sizes.ts";
import { writeTokens } from "../../tokens.ts";
import { adapterOf } from "../catalogue.ts";
import type { Place } from "../peer.ts";
import { PLAIN_WORK } from "../run.ts";

interface Task {
  readonly peer: string;
  readonly place: Place;
}
type News =
  | { readonly kind: "ready" }
  | { readonly kind: "started"; readonly key: string }
  | { readonly kind: "failed"; readonly message: string };

export interface Writer {
  readonly process: ChildProcess;
  readonly ready: Promise<void>;
  /** Rejects if the writer fails or ends before the parent disconnects. */
  readonly ended: Promise<never>;
  /** Starts the instances of a size, and calls `onStarted` with the key of each. */
  start(size: AcrossSize, onStarted: (key: string) => void): void;
}

export function startWriter(task: Task): Writer {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify(task)]);
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<never>();
  let started: (key: string) => void = () => {};
  child.on("message", (news: News) => {
    if (news.kind === "ready") ready.resolve();
    else if (news.kind === "started") started(news.key);
    else ended.reject(new Error(news.message));
  });
  child.once("exit", () => ended.reject(new Error("The writer ended early.")));
  ended.promise.catch(() => {}); // the parent waits for it only while it reads
  return {
    process: child,
    ready: ready.promise,
    ended: ended.promise,
    start(size, onStarted) {
      started = onStarted;
      child.send(size);
    },
  };
}

/** Runs in the writing process. */
async function work({ peer, place }: Task): Promise<void> {
  const letGo = new Promise<void>((resolve) => process.once("disconnect", resolve));
  const { open } = await adapterOf(peer);
  const engine = await open(place, {
    ...PLAIN_WORK,
    produce: async ({ n, value }, write) => {
      await writeTokens(value, (index) => index < n, write);
    },
  });
  let instances = 0;
  const start = async (phase: number, n: number): Promise<void> => {
    const key = await engine.startStream?.({ id: `w14-${instances++}`, n, value: phase });
    if (key === undefined) throw new Error("The peer has no streams.");
    tell({ kind: "started", key });
  };
  process.on("message", ({ streams, tokens }: AcrossSize) => {
    for (let i = 0; i < streams; i++) start(i / streams, tokens).catch(fail);
  });
  tell({ kind: "ready" });
  await letGo;
  await engine.close();
}

function tell(news: News): void {
  process.send?.(news);
}

function fail(error: unknown): void {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.send?.({ kind: "failed", message } satisfies News, () => process.exit(1));
}

if (import.meta.main) await work(JSON.parse(process.argv[2] ?? "") as Task).catch(fail); // from `startWriter`

// Unhandled rejections of user code: logged once with a name, and no reason for the process to die.
//   UR1. Only rejections whose async context is an orchestration, step or activity are ours; any other goes on
//        as Node would treat it.

import { asyncContext, type Frame } from "../core/async-context.ts";
import type { LogFields, LogSink } from "../core/log.ts";
import { Run } from "../core/run.ts";

let watchers: LogSink[] = [];

/** Begins to watch; the returned function ends it. */
export function watchRejections(log: LogSink): () => void {
  if (watchers.length === 0) process.on("unhandledRejection", onRejection);
  watchers.push(log);
  return () => {
    const index = watchers.indexOf(log);
    if (index >= 0) watchers = watchers.toSpliced(index, 1);
    if (watchers.length === 0) process.off("unhandledRejection", onRejection);
  };
}

function onRejection(reason: unknown): void {
  const frame = asyncContext.getStore();
  if (frame === undefined) return passOn(reason);
  if (frame.kind === "scope" && frame.run instanceof Run && isRepetition(frame.run)) return;
  watchers[0]?.("warn", "a promise was rejected and nobody was waiting for it", {
    ...ownerOf(frame),
    error: reason,
  });
}

/** It was told when the code ran for the first time. */
function isRepetition(run: Run): boolean {
  return run.isReplaying || run.options.isShadow === true;
}

function ownerOf(frame: Frame): LogFields {
  if (frame.kind !== "scope") return { [frame.kind]: frame.name, instance: frame.instanceId };
  const { run } = frame;
  if (!(run instanceof Run)) return { orchestration: "unknown" };
  return { orchestration: run.started.name, instance: run.instanceId };
}

/** Our listener alone must not change what Node does about other people's rejections. */
function passOn(reason: unknown): void {
  if (process.listenerCount("unhandledRejection") > 1) return;
  // Thrown outside of any promise it becomes what Node makes of an unhandled rejection: an uncaught exception.
  queueMicrotask(() => {
    throw reason;
  });
}

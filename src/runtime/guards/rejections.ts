// Unhandled rejections of user code: logged with their origin, and the process continues.
//   - Only rejections with the async context of an orchestration, step or activity are handled here. Node
//     treats all others as usual.

import { asyncContext, type Frame } from "../../core/context/async-context.ts";
import type { LogFields, LogSink } from "../../core/telemetry/log.ts";
import { Run } from "../../core/replay/run.ts";

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
  watchers[0]?.("warn", "unhandled promise rejection in user code", {
    ...ownerOf(frame),
    error: reason,
  });
}

/** A replay repeats the code, and the rejection was logged when the code first ran. */
function isRepetition(run: Run): boolean {
  return run.isReplaying || run.options.isShadow === true;
}

function ownerOf(frame: Frame): LogFields {
  if (frame.kind !== "scope") return { [frame.kind]: frame.name, instance: frame.instanceId };
  const { run } = frame;
  if (!(run instanceof Run)) return { orchestration: "unknown" };
  return { orchestration: run.started.name, instance: run.instanceId };
}

/** This listener must not change how Node treats rejections of other code. */
function passOn(reason: unknown): void {
  if (process.listenerCount("unhandledRejection") > 1) return;
  // Thrown outside of any promise, it becomes an uncaught exception, as Node does with an unhandled
  // rejection.
  queueMicrotask(() => {
    throw reason;
  });
}

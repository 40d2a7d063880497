// Nodes that run another level, once or several times: calls, children, routes, loops, catches.

import type { ChildNode, LoopNode, RouteNode } from "./definition.ts";
import { isCancel, named, nodeError, told } from "./flow-errors.ts";
import {
  begin,
  type CallFrame,
  type CatchFrame,
  type LoopFrame,
  type RouteFrame,
} from "./frames.ts";
import type { FlowRun, Place } from "./interpreter.ts";
import { parseLoopResult, type LoopResult } from "./loop-result.ts";
import { branchPrefix, keyPath, OTHERWISE, roundPrefix } from "./paths.ts";
import type { Prepared } from "./prepared.ts";

export async function runChild(
  run: FlowRun,
  node: ChildNode,
  { target }: Prepared,
  { frame, path }: Place,
): Promise<unknown> {
  if (run.compaction.isDue) await run.compaction.pass(path);
  const { orchestration, version, onParentClose, priority } = node;
  const options = {
    ...(version === undefined ? {} : { version }),
    ...(onParentClose === undefined ? {} : { onParentClose }),
    ...(priority === undefined ? {} : { priority }),
  };
  try {
    const child = run.calls.child(path, target ?? orchestration, frame.value, options);
    return await run.threads.work(child);
  } catch (error) {
    throw named(error, path);
  }
}

export async function runCall(
  run: FlowRun,
  { levels }: Prepared,
  { frame, path }: Place,
): Promise<unknown> {
  const own = (frame.inner ??= { level: begin(frame.value) }) as CallFrame;
  return run.level(levels[0] ?? [], own.level, `${path}/`);
}

export async function runRoute(
  run: FlowRun,
  node: RouteNode,
  { work, levels }: Prepared,
  { frame, path }: Place,
): Promise<unknown> {
  if (frame.inner === undefined) {
    const key = String(await run.run(keyPath(path), work, frame.value));
    frame.inner = { key, level: begin(frame.value) };
  }
  const own = frame.inner as RouteFrame;
  const index = node.cases.findIndex(({ key }) => key === own.key);
  if (index < 0 && node.otherwise === undefined) {
    const known = node.cases.map(({ key }) => `"${key}"`).join(", ");
    const message = `Route "${path}" has no case for the key "${own.key}"; it has ${known}.`;
    throw nodeError("INVALID_ARGUMENT", message, path);
  }
  const nodes = levels.at(index) ?? []; // otherwise stands last
  const prefix = branchPrefix(path, index < 0 ? OTHERWISE : own.key);
  const result = await run.level(nodes, own.level, prefix);
  return node.envelope === true ? { branch: own.key, result } : result;
}

export async function runLoop(
  run: FlowRun,
  node: LoopNode,
  { levels }: Prepared,
  { frame, path }: Place,
): Promise<unknown> {
  const own = (frame.inner ??= { iteration: 0, level: begin(frame.value) }) as LoopFrame;
  for (;;) {
    if (run.compaction.isDue) await run.compaction.pass(path);
    const ended = await run.level(levels[0] ?? [], own.level, roundPrefix(path, own.iteration));
    const { loop, value } = resultOf(ended, path);
    if (loop === "done") return value;
    if (own.iteration + 1 >= node.maxIterations) {
      if (node.onMax === "exitWithLast") return value;
      const message = `Loop "${path}" has run ${node.maxIterations} times and is not done.`;
      throw nodeError("LIMIT_EXCEEDED", message, path);
    }
    own.iteration++;
    own.level = begin(value);
  }
}

function resultOf(ended: unknown, path: string): LoopResult {
  try {
    return parseLoopResult(ended, path);
  } catch (error) {
    throw named(error, path);
  }
}

export async function runCatch(
  run: FlowRun,
  { levels }: Prepared,
  { frame, path, prefix }: Place,
): Promise<unknown> {
  const own = (frame.inner ??= { phase: "watched", level: begin(frame.value) }) as CatchFrame;
  if (own.phase === "watched") {
    try {
      return await run.level(levels[0] ?? [], own.level, prefix);
    } catch (error) {
      if (isCancel(error)) throw error;
      const failures = await run.compensations.undo(prefix);
      const listed = failures.length === 0 ? {} : { compensationFailures: failures };
      own.level = begin({ ...told(error, path), input: frame.value, ...listed });
      own.phase = "handler";
    }
  }
  return run.level(levels[1] ?? [], own.level, `${path}/`);
}

// The size of a commit item: an estimate of the payload bytes that a store writes for it.
//   - The estimate counts the characters of texts from users. Columns of fixed size are not counted: the
//        bound on the number of items covers them.

import type { CommitItem, InstanceChange, NewInstance, TurnItem } from "../provider/commit.ts";
import type { StateChange } from "../provider/state.ts";

export function commitSize(item: CommitItem): number {
  switch (item.kind) {
    case "turn":
      return turnSize(item);
    case "start":
      return (
        item.started.length +
        sum(item.events, dataSize) +
        (item.firstTurn === undefined ? 0 : turnSize(item.firstTurn))
      );
    case "enqueue":
      return commitSize(item.start);
    case "enqueueMany":
      return sum(item.starts, commitSize);
    case "send":
    case "callback":
      return item.data.length;
    case "callTask":
      return JSON.stringify(item.call).length;
    case "defer":
      return (item.heartbeat?.length ?? 0) + (item.progress?.length ?? 0);
    case "ask":
      return item.data.length + (item.start?.started.length ?? 0);
    case "completion":
    case "stepOutcome":
      return item.outcome.length;
    case "retry":
      return item.failure.length + (item.heartbeat?.length ?? 0);
    case "fork":
      return sum(item.rows, dataSize) + sum(item.keyValues, ([, value]) => value.length);
    case "rewind":
      return sum(
        item.targets,
        ({ rows, keyValues, events, outcomes }) =>
          sum(rows, dataSize) +
          sum(keyValues, ([, value]) => value.length) +
          sum([...events, ...outcomes], dataSize),
      );
    case "pause":
      return item.info.length;
    case "cancel":
      return item.request.length;
    case "terminate":
      return item.terminated.length;
    case "block":
      return item.reason.length;
    case "append":
      return sum(item.values, textSize);
    case "trim":
    case "withdraw":
    case "resume":
    case "unblock":
    case "releaseTask":
    case "releaseInstance":
      return 0;
  }
}

function turnSize(item: TurnItem): number {
  const { row, tasks, starts, sends, answers, dispatched, streams, change, state } = item;
  return (
    (row?.data.length ?? 0) +
    sum(tasks, ({ input }) => input.length) +
    sum(starts, startSize) +
    sum(sends, dataSize) +
    (answers === undefined ? 0 : sum(answers, ({ answer }) => answer.length)) +
    (dispatched === undefined ? 0 : sum(dispatched, ({ item }) => commitSize(item))) +
    (streams === undefined ? 0 : sum(streams, ({ values }) => sum(values, textSize))) +
    changeSize(change) +
    (state === null ? 0 : stateSize(state))
  );
}

function changeSize(change: InstanceChange): number {
  if (change.kind === "continued") return change.started.length + sum(change.unread, dataSize);
  if (change.kind === "none") return 0;
  return (change.output?.length ?? 0) + (change.error?.length ?? 0);
}

function stateSize({ status, keyValues }: StateChange): number {
  return (status?.value?.length ?? 0) + sum(keyValues, ({ value }) => value?.length ?? 0);
}

function startSize({ started }: NewInstance): number {
  return started.length;
}

function dataSize({ data }: { readonly data: string }): number {
  return data.length;
}

function textSize(text: string): number {
  return text.length;
}

function sum<T>(list: readonly T[], sizeOf: (each: T) => number): number {
  let total = 0;
  for (const each of list) total += sizeOf(each);
  return total;
}

// Call text: describes a call to the store in words, so that a failed check can name the write.

import { decodeRow } from "../../core/history/rows.ts";
import { requestNameOf } from "../../core/ids/request-messages.ts";
import type { CommitItem, TurnItem } from "../../core/provider/commit.ts";
import type { StoreCall } from "./store-methods.ts";

/** Example: `commit of a turn (ActivityCompleted 4, TimerCreated 5)`. */
export function textOfCall(call: StoreCall): string {
  switch (call.method) {
    case "commit":
      return `commit of ${call.args[0].map(itemText).join(" and ")}`;
    case "leaseInstances":
      return "leaseInstances, which leases instances that are due";
    case "leaseTasks":
      return `leaseTasks for ${call.args[0].names.join(", ")}`;
    default:
      return call.method;
  }
}

function itemText(item: CommitItem): string {
  switch (item.kind) {
    case "turn":
      return turnText(item);
    case "start": {
      const start = `the start of "${item.id}"`;
      return item.firstTurn === undefined ? start : `${start} with ${turnText(item.firstTurn)}`;
    }
    case "enqueue":
      return `${item.key.kind} enqueue of "${item.start.name}"`;
    case "enqueueMany":
      return `${item.starts.length} jobs`;
    case "completion":
    case "retry":
    case "releaseTask":
    case "defer":
      return `${item.kind} of the task scheduled by event ${item.task.sequence}`;
    case "stepOutcome":
      return `the outcome of the step scheduled by event ${item.sequence}`;
    case "send":
      return `event "${item.name}" to "${item.id}"`;
    case "ask":
      return `request "${requestNameOf(item.name) ?? item.name}" to "${item.id}"`;
    case "callback":
      return `the value of callback ${item.sequence} to "${item.id}"`;
    case "callTask":
      return `${item.call.kind} of activity ${item.sequence} of "${item.id}"`;
    case "withdraw":
      return `the withdrawal of a request to "${item.id}"`;
    case "append":
      return `an append of the task scheduled by event ${item.task.sequence} to stream "${item.name}"`;
    case "trim":
      return `trim of stream "${item.name}" of "${item.id}"`;
    case "fork":
      return `the fork "${item.instance.id}"`;
    case "rewind":
      return `rewind of ${item.targets.map(({ id }) => `"${id}"`).join(" and ")}`;
    case "block":
    case "releaseInstance":
      return item.kind;
    case "pause":
    case "resume":
    case "unblock":
    case "cancel":
    case "terminate":
      return `${item.kind} of "${item.id}"`;
  }
}

function turnText({ row }: TurnItem): string {
  const events = row === null ? [] : decodeRow(row);
  const list = events.map(({ kind, sequence }) => `${kind} ${sequence}`).join(", ");
  return list === "" ? "a turn without events" : `a turn (${list})`;
}

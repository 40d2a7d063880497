// A call of the store in words, so that a failed check names the write it is about.

import { decodeRow } from "../../core/history-row.ts";
import type { CommitItem } from "../../core/provider/commit.ts";
import type { StoreCall } from "./store-methods.ts";

/** Such as `commit of turn (ActivityCompleted 4, TimerCreated 5)`. */
export function textOfCall(call: StoreCall): string {
  switch (call.method) {
    case "commit":
      return `commit of ${call.args[0].map(itemText).join(" and ")}`;
    case "leaseInstances":
      return "leaseInstances, which takes instances that are due";
    case "leaseTasks":
      return `leaseTasks for ${call.args[0].names.join(", ")}`;
    default:
      return call.method;
  }
}

function itemText(item: CommitItem): string {
  switch (item.kind) {
    case "turn": {
      const events = item.row === null ? [] : decodeRow(item.row);
      const list = events.map(({ kind, sequence }) => `${kind} ${sequence}`).join(", ");
      return list === "" ? "a turn without events" : `a turn (${list})`;
    }
    case "start":
      return `the start of "${item.id}"`;
    case "completion":
    case "retry":
    case "releaseTask":
      return `${item.kind} of the task scheduled by event ${item.task.sequence}`;
    case "stepOutcome":
      return `the outcome of the step scheduled by event ${item.sequence}`;
    case "send":
      return `event "${item.name}" to "${item.id}"`;
    case "fork":
      return `the fork "${item.instance.id}"`;
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

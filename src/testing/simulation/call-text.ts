// Call text: describes a store call in one line of a trace.

import type { CommitItem, CommitResult } from "../../core/provider/commit.ts";
import { decodeRow } from "../../core/history/rows.ts";
import type { Carried } from "./calls.ts";

/** Returns null if the call is not worth a line, for example a poll that found nothing. */
export function callText(call: Carried): string | null {
  switch (call.method) {
    case "commit":
      return call.args[0]
        .map((item, i) => `${itemText(item)} ${resultText(call.result[i])}`)
        .join("; ");
    case "leaseInstances": {
      const taken = call.result.instances.map(
        ({ id, fresh, messages, lastEvent }) =>
          `${fresh ? "leases" : "receives messages of"} ${id} at ${lastEvent} (${messages.map(({ kind }) => kind).join()})`,
      );
      return taken.length === 0 ? null : taken.join("; ");
    }
    case "leaseTasks": {
      const taken = call.result.tasks.map(
        ({ instanceId, sequence, name, attempt, suspect }) =>
          `leases ${name} of ${instanceId}/${sequence} (${attempt + 1}${suspect ? ", suspect" : ""})`,
      );
      return taken.length === 0 ? null : taken.join("; ");
    }
    case "takeMessages": {
      const taken = [...call.result.values()].flat().map(({ kind }) => kind);
      return taken.length === 0 ? null : `reads messages ${taken.join()}`;
    }
    case "settle":
      return `settles ${itemText(call.args[0])} ${call.result === null ? "unknown" : resultText(call.result)}`;
    case "registerRuntime":
      return `registers ${call.args[0].id}`;
    case "expireRuntime":
      return call.result.expired ? `declares ${call.args[0].id} dead` : null;
    case "removeRuntime":
      return `deregisters ${call.args[0]}`;
    case "beat":
      return call.result ? null : "heartbeat refused";
    case "renewInstances":
    case "renewTasks":
      return call.result.length === 0 ? null : `${call.method}: ${call.result.length} lost`;
    case "lostTasks":
      return call.result.length === 0 ? null : `finds ${call.result.length} tasks lost`;
    default:
      return null;
  }
}

function itemText(item: CommitItem): string {
  switch (item.kind) {
    case "turn":
      return `turn ${item.key}#${item.execution}${rowText(item)}${item.release ? " with release" : ""}`;
    case "start":
      return `start ${item.id}${item.lease === null ? "" : " with lease"}${item.firstTurn === undefined ? "" : rowText(item.firstTurn)}`;
    case "enqueue":
      return `enqueue ${item.start.id} by ${item.key.kind} key ${item.key.key}`;
    case "enqueueMany":
      return `enqueue ${item.starts.length} jobs`;
    case "completion":
    case "retry":
    case "releaseTask":
    case "defer":
      return `${item.kind} ${item.task.key}#${item.task.execution}/${item.task.sequence}`;
    case "stepOutcome":
      return `${item.kind} ${item.key}#${item.execution}/${item.sequence}`;
    case "send":
      return `send ${item.name} to ${item.id}`;
    case "ask":
      return `ask ${item.name} of ${item.id}`;
    case "callback":
      return `callback ${item.execution}/${item.sequence} to ${item.id}`;
    case "callTask":
      return `${item.call.kind} ${item.id}#${item.execution}/${item.sequence} from outside`;
    case "withdraw":
      return `withdraw ${item.requestId} from ${item.id}`;
    case "append":
      return `append ${item.task.key}#${item.task.execution}/${item.task.sequence} to ${item.name} at ${item.position}`;
    case "trim":
      return `trim ${item.name} of ${item.id}`;
    case "fork":
      return `fork to ${item.instance.id}`;
    case "rewind":
      return `rewind ${item.targets.map(({ id }) => id).join(" and ")}`;
    case "block":
    case "releaseInstance":
      return `${item.kind} ${item.key}`;
    case "pause":
    case "resume":
    case "unblock":
    case "cancel":
    case "terminate":
      return `${item.kind} ${item.id}`;
  }
}

function rowText(item: Extract<CommitItem, { kind: "turn" }>): string {
  if (item.row === null) return "";
  const events = decodeRow(item.row).map(({ kind }) => kind);
  return ` ${item.row.first}–${item.row.last} ${events.join()}`;
}

function resultText(result: CommitResult | undefined): string {
  if (result === undefined) return "without a reply";
  if (result.kind === "refused") return `refused (${result.code})`;
  if (result.kind === "error") return `failed (${result.error.code})`;
  return result.kind;
}

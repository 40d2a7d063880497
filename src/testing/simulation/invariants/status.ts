// 13. What an instance's row says of it follows from its history: status, result, state, version.

import { isTerminalStatus } from "../../../core/provider/instances.ts";
import { visibleState } from "./fold.ts";
import type { InstanceSnapshot } from "./snapshot.ts";

export function statusFollows(now: InstanceSnapshot): string[] {
  const { record, events } = now;
  if (events.length === 0) {
    // Between two executions it goes on; before the first it has not begun.
    const isFit = record.status === (record.execution === 1 ? "pending" : record.status);
    return isFit && !isTerminalStatus(record.status)
      ? []
      : [`without history it is ${record.status}`];
  }
  return [...ending(now), ...state(now), ...version(now)];
}

function ending({ record, events }: InstanceSnapshot): string[] {
  const { status, output, error } = record;
  const last = events.at(-1);
  switch (last?.kind) {
    case "OrchestrationCompleted":
      if (status === "completed" && output === last.output) return [];
      return [`its history ends in a result, its row says ${status}`];
    case "OrchestrationFailed": {
      const told = error === null ? null : (JSON.parse(error) as { outcome?: unknown });
      if (status === last.outcome && told?.outcome === last.outcome) return [];
      return [`its history ends as ${last.outcome}, its row says ${status}`];
    }
    case "OrchestrationContinuedAsNew":
      return ["its newest execution continued, and no other began"];
    default:
      return status === "running" ? [] : [`its history is open, its row says ${status}`];
  }
}

function state({ record, events, keyValues }: InstanceSnapshot): string[] {
  const expected = visibleState(events);
  const found: string[] = [];
  if (record.customStatus !== expected.status) {
    found.push(`its custom status is ${record.customStatus}, not ${expected.status}`);
  }
  const stored = new Map(keyValues.map(({ key, value }) => [key, value]));
  if (!sameMap(stored, expected.keyValues)) {
    found.push(`its keys are ${shown(stored)}, not ${shown(expected.keyValues)}`);
  }
  const attributes = new Map(Object.entries(record.attributes));
  const wanted = new Map(Object.entries(expected.attributes));
  if (!sameMap(attributes, wanted)) {
    found.push(`its attributes are ${shown(attributes)}, not ${shown(wanted)}`);
  }
  return found;
}

function version({ record, events }: InstanceSnapshot): string[] {
  const [started] = events;
  if (started?.kind !== "OrchestrationStarted") return [];
  const found: string[] = [];
  // Ended from outside before it ran, it never learnt which version would have.
  const isUnknown = started.orchestrationVersion === "" && isTerminalStatus(record.status);
  if (!isUnknown && record.version !== started.orchestrationVersion) {
    found.push(`its version is ${record.version}, it started as ${started.orchestrationVersion}`);
  }
  if (record.runId !== started.runId) found.push("its run id is not that of its start");
  return found;
}

function sameMap(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

function shown(map: ReadonlyMap<string, string>): string {
  return `{ ${[...map.keys()].sort().join(", ")} }`;
}

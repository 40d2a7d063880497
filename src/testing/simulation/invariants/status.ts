// Invariant 13: the row of an instance matches its history: status, result, state and version.

import type { StoredAttributes } from "../../../core/define/attributes.ts";
import { isTerminalStatus } from "../../../core/provider/instances.ts";
import { visibleState } from "./fold.ts";
import type { InstanceSnapshot } from "./snapshot.ts";

export function statusFollows(now: InstanceSnapshot): string[] {
  const { record, events } = now;
  if (events.length === 0) {
    // Before its first execution the instance is pending. Between two executions any live status is valid.
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
      return [`its history ends with a result, but its row says ${status}`];
    case "OrchestrationFailed": {
      const stored = error === null ? null : (JSON.parse(error) as { outcome?: unknown });
      if (status === last.outcome && stored?.outcome === last.outcome) return [];
      return [`its history ends as ${last.outcome}, but its row says ${status}`];
    }
    case "OrchestrationContinuedAsNew":
      return ["its newest execution continued as new, but no other began"];
    default:
      return status === "running" ? [] : [`its history has no end, but its row says ${status}`];
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
  const attributes = texts(record.attributes);
  const wanted = texts(expected.attributes);
  if (!sameMap(attributes, wanted)) {
    found.push(`its attributes are ${shown(attributes)}, not ${shown(wanted)}`);
  }
  return found;
}

function texts(attributes: StoredAttributes): ReadonlyMap<string, string> {
  return new Map(Object.entries(attributes).map(([name, value]) => [name, JSON.stringify(value)]));
}

function version({ record, events }: InstanceSnapshot): string[] {
  const [started] = events;
  if (started?.kind !== "OrchestrationStarted") return [];
  const found: string[] = [];
  // An instance that was ended from outside before its first turn has no version.
  const isUnknown = started.orchestrationVersion === "" && isTerminalStatus(record.status);
  if (!isUnknown && record.version !== started.orchestrationVersion) {
    found.push(
      `its version is ${record.version}, but it started as ${started.orchestrationVersion}`,
    );
  }
  if (record.runId !== started.runId) found.push("its run id does not match its start");
  return found;
}

function sameMap(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}

function shown(map: ReadonlyMap<string, string>): string {
  return `{ ${[...map.keys()].sort().join(", ")} }`;
}

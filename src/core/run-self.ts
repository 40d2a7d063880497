// Calls by which an orchestration says something about itself. They take effect at once and are commands like
// any other, in call order; they work after a cancel too (19b).

import type { CommandBody } from "./history-events.ts";
import { parseKey } from "./ids.ts";
import { parseAttributes } from "./attributes.ts";
import type { Run } from "./run.ts";

export function setStatus(run: Run, value: unknown): void {
  run.enter();
  const body = {
    kind: "StatusSet",
    status: value === null ? null : run.codec.encode(value),
  } as const;
  within(run, body, () => {
    if (body.status !== null) run.state.checkStatus(body.status, run.limits);
  });
  record(run, body, (set) => (run.state.status = set.status));
}

export function setKeyValue(run: Run, key: string, value: unknown): void {
  run.enter();
  parseKey(key);
  const body = { kind: "KeyValueSet", key, value: run.codec.encode(value) } as const;
  within(run, body, () => run.state.checkKeyValue(key, body.value, run.limits));
  record(run, body, ({ value: recorded }) => run.state.set(key, recorded, run.at));
}

export function deleteKeyValue(run: Run, key: string): void {
  run.enter();
  parseKey(key);
  record(run, { kind: "KeyValueCleared", key }, () => run.state.delete(key));
}

export function clearKeyValues(run: Run): void {
  run.enter();
  record(run, { kind: "KeyValueCleared" }, () => run.state.clear());
}

/** Deletes what was set longer ago than that; how many there were. */
export function pruneKeyValues(run: Run, ageMs: number): number {
  run.enter();
  const old = run.state.olderThan(run.at - ageMs);
  for (const key of old) deleteKeyValue(run, key);
  return old.length;
}

export function setAttributes(run: Run, attributes: Readonly<Record<string, string | null>>): void {
  run.enter();
  const parsed = parseAttributes(attributes, { mayBeNull: true });
  record(run, { kind: "AttributesSet", attributes: parsed }, (set) =>
    run.state.merge(set.attributes),
  );
}

/** What is applied is what history holds: a text that is not compared may have changed since (RS1). */
function record<Body extends CommandBody>(
  run: Run,
  body: Body,
  apply: (recorded: Body) => void,
): void {
  const command = run.command(body);
  if (command !== null) apply(command.body);
}

/** What history holds was within the limits then; what it does not hold was refused then, and is now. */
function within(run: Run, body: CommandBody, check: () => void): void {
  if (!run.isRecorded(body)) check();
}

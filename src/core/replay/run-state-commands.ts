// Calls that change the visible state of an orchestration: status, key-values, attributes.
//   - They take effect at once and are commands in call order. They also work after a cancel (19b).

import type { CommandBody } from "../history/events.ts";
import { parseKey } from "../ids/ids.ts";
import { parseAttributes, type AttributeValue } from "../define/attributes.ts";
import type { Run } from "./run.ts";

export function setStatus(run: Run, value: unknown): void {
  run.currentScope();
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
  run.currentScope();
  parseKey(key);
  const body = { kind: "KeyValueSet", key, value: run.codec.encode(value) } as const;
  within(run, body, () => run.state.checkKeyValue(key, body.value, run.limits));
  record(run, body, ({ value: recorded }) => run.state.set(key, recorded, run.eventTime));
}

export function deleteKeyValue(run: Run, key: string): void {
  run.currentScope();
  parseKey(key);
  record(run, { kind: "KeyValueCleared", key }, () => run.state.delete(key));
}

export function clearKeyValues(run: Run): void {
  run.currentScope();
  record(run, { kind: "KeyValueCleared" }, () => run.state.clear());
}

/** Deletes the keys that were set longer ago than `ageMs`. Returns their number. */
export function pruneKeyValues(run: Run, ageMs: number): number {
  run.currentScope();
  const old = run.state.olderThan(run.eventTime - ageMs);
  for (const key of old) deleteKeyValue(run, key);
  return old.length;
}

export function setAttributes(
  run: Run,
  attributes: Readonly<Record<string, AttributeValue | null>>,
): void {
  run.currentScope();
  const parsed = parseAttributes(attributes, { mayBeNull: true });
  const body = { kind: "AttributesSet", attributes: parsed } as const;
  within(run, body, () => run.state.checkAttributes(parsed));
  record(run, body, (set) => run.state.merge(set.attributes));
}

/**
 * Applies the recorded body: replay does not compare all of its texts, so the code may issue others
 * (run-state.1).
 */
function record<Body extends CommandBody>(
  run: Run,
  body: Body,
  apply: (recorded: Body) => void,
): void {
  const command = run.command(body);
  if (command !== null) apply(command.body);
}

/**
 * Checks the limits unless the history holds the command: a recorded command was within the limits
 * (limits.2).
 */
function within(run: Run, body: CommandBody, check: () => void): void {
  if (!run.isRecorded(body)) check();
}

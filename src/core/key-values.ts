// `ctx.kv`: an instance's key-values, and one key of another instance.

import type { KeyValues, Task } from "./context-types.ts";
import type { DurableTask } from "./durable-task.ts";
import { parseDuration, type Duration } from "./duration.ts";
import { PerdureError } from "./errors.ts";
import { parseInstanceReference, parseKey } from "./ids.ts";
import { callStep } from "./run-calls.ts";
import { decodeNow } from "./run-delivery.ts";
import { clearKeyValues, deleteKeyValue, pruneKeyValues, setKeyValue } from "./run-self.ts";
import type { Run } from "./run.ts";

/** The name under which a read of another instance's key is recorded. */
const READ_STEP = "perdure.kv.get";

export function keyValues(run: Run): KeyValues {
  const members = {
    get: (key: string) => {
      const text = run.state.get(parseKey(key));
      return text === undefined ? undefined : decodeNow(run, text);
    },
    set: (key: string, value: unknown) => setKeyValue(run, key, value),
    delete: (key: string) => deleteKeyValue(run, key),
    clear: () => clearKeyValues(run),
    entries: () => run.state.entries().map(([key, text]) => [key, decodeNow(run, text)] as const),
    get size() {
      return run.state.size;
    },
    pruneOlderThan: (age: Duration) => pruneKeyValues(run, parseDuration(age, "age")),
    of: (instanceId: string) => {
      const id = parseInstanceReference(instanceId);
      return { get: (key: string) => readOther(run, id, parseKey(key)) };
    },
  };
  // What a key holds is the caller's to know: the public type lets them say it.
  return members as KeyValues;
}

/** The value is encoded already; it is recorded as text and decoded where it is awaited. */
function readOther(run: Run, id: string, key: string): Task<unknown> {
  const { readKeyValue } = run.options;
  if (readKeyValue === undefined) {
    throw new PerdureError(
      "INVALID_ARGUMENT",
      "Another instance's key-values cannot be read here.",
    );
  }
  const read: DurableTask<unknown> = callStep(run, { kind: "StepScheduled", name: READ_STEP }, () =>
    readKeyValue(id, key),
  );
  return read.map((text) => (typeof text === "string" ? decodeNow(run, text) : undefined));
}

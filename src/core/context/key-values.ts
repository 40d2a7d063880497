// `ctx.kv`: the key-values of the instance, and reads of single keys of other instances.

import type { KeyValues, Task } from "./types.ts";
import type { DurableTask } from "./durable-task.ts";
import { parseDuration, type Duration } from "../time/duration.ts";
import { invalidArgument } from "../checks.ts";
import { parseInstanceReference, parseKey } from "../ids/ids.ts";
import { callStep } from "../replay/calls.ts";
import { decodeNow } from "../replay/delivery.ts";
import {
  clearKeyValues,
  deleteKeyValue,
  pruneKeyValues,
  setKeyValue,
} from "../replay/run-state-commands.ts";
import type { Run } from "../replay/run.ts";

/** The name of the recorded step that reads a key of another instance. */
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
  // The public type lets the caller choose the type of a value.
  return members as KeyValues;
}

/** The step returns the stored codec text. It is recorded as text and decoded for the caller. */
function readOther(run: Run, id: string, key: string): Task<unknown> {
  const { readKeyValue } = run.options;
  if (readKeyValue === undefined) {
    throw invalidArgument("ctx.kv.of needs a store; this run has none.");
  }
  const read: DurableTask<unknown> = callStep(run, { kind: "StepScheduled", name: READ_STEP }, () =>
    readKeyValue(id, key),
  );
  return read.map((text) => (typeof text === "string" ? decodeNow(run, text) : undefined));
}

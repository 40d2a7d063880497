// Errors that the engine throws into orchestration code. They must be equal in every replay (semantics 8).

import { defineHidden } from "./error-classes.ts";

/** Removes the stack frames: they belong to the engine, and differ between a first delivery and a replay. */
export function withoutEngineStack<E extends Error>(error: E): E {
  defineHidden(error, "stack", `${error.name}: ${error.message}`);
  return error;
}

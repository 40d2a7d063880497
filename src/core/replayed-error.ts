// Errors that a run hands to its code: the same at every replay (semantics 8).

import { defineHidden } from "./error-classes.ts";

/** Without a stack: it would show the engine's frames, which differ between a first delivery and a replay. */
export function replayed<E extends Error>(error: E): E {
  defineHidden(error, "stack", `${error.name}: ${error.message}`);
  return error;
}

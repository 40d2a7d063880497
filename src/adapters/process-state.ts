// What all copies of these modules in one process share: the slots, and the context of the current request.
//   - A framework may load a module several times: hot reload evaluates it again, and Next.js has a copy per bundle. Each
//       copy has its own variables, so the state is on `globalThis`, under a registered symbol.

import { AsyncLocalStorage } from "node:async_hooks";
import type { ContextInput } from "../core/context/app-types.ts";
import type { Slot } from "./slot.ts";

interface ProcessState {
  /** By name: see `AppOptions.name`. */
  readonly slots: Map<string, Slot>;
  /** The context of the current request. Undefined: no request, or no context. */
  readonly requests: AsyncLocalStorage<ContextInput | undefined>;
}

const KEY = Symbol.for("perdure.adapters");

export function processState(): ProcessState {
  const holder = globalThis as { [KEY]?: ProcessState }; // only this function sets the member
  return (holder[KEY] ??= { slots: new Map(), requests: new AsyncLocalStorage() });
}

// Rejections that nobody handled, as the host reports them: outside of user code they are the engine's fault.

import { asyncContext } from "../../core/async-context.ts";

/** Begins to listen; the returned function ends it. */
export function watchHostRejections(found: (reason: unknown) => void): () => void {
  const listener = (reason: unknown): void => {
    if (asyncContext.getStore() === undefined) found(reason); // user code's are logged by the runtime
  };
  process.on("unhandledRejection", listener);
  return () => void process.off("unhandledRejection", listener);
}

// Host rejections: reports unhandled promise rejections outside user code. They are bugs of the engine.

import { asyncContext } from "../../../core/context/async-context.ts";

/** Starts listening; the returned function stops it. */
export function watchHostRejections(found: (reason: unknown) => void): () => void {
  const listener = (reason: unknown): void => {
    if (asyncContext.getStore() === undefined) found(reason); // the runtime logs those of user code
  };
  process.on("unhandledRejection", listener);
  return () => void process.off("unhandledRejection", listener);
}

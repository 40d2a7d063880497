// Guarded run: finds the orchestration whose code runs at this moment. Guards apply only to that code.

import { asyncContext, drain, inRootContext } from "../../core/context/async-context.ts";
import { defaultCodec, type Codec } from "../../core/values/codec.ts";
import type { GuardName } from "../../core/define/guard-names.ts";
import { Run } from "../../core/replay/run.ts";

/** The orchestration whose code is running, if it has that guard on. */
export function guardedRun(name: GuardName): Run | null {
  const { run } = drain;
  if (!(run instanceof Run) || run.options.guards?.has(name) !== true) return null;
  // A drain may settle a promise of other code, and the continuation of that promise then runs within the
  // drain. Only the code of the orchestration itself runs in its async context (async-context.2).
  const frame = asyncContext.getStore();
  return frame?.kind === "scope" && frame.run === run ? run : null;
}

/**
 * Runs a codec outside the guards, also when a call of `ctx` uses it: a codec that encrypts needs random
 * bytes.
 */
export function unguarded(codec: Codec): Codec {
  if (codec === defaultCodec) return codec;
  return {
    encode: (value) => inRootContext(() => codec.encode(value)),
    decode: (text) => inRootContext(() => codec.decode(text)),
    sealsFailures: codec.sealsFailures === true,
    ...(codec.rowSeal === undefined ? {} : { rowSeal: codec.rowSeal }),
  };
}

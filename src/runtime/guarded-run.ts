// Whose code a guard watches: the orchestration that is running at this moment, and nobody else.

import { asyncContext, drain, inRootContext } from "../core/async-context.ts";
import { defaultCodec, type Codec } from "../core/codec.ts";
import type { GuardName } from "../core/guard-names.ts";
import { Run } from "../core/run.ts";

/** The orchestration whose code is running, if it has that guard on. */
export function guardedRun(name: GuardName): Run | null {
  const { run } = drain;
  if (!(run instanceof Run) || run.options.guards?.has(name) !== true) return null;
  // Somebody else's promise may be settled from inside a drain, and its continuation runs there too. Only the
  // orchestration's own code is in its context (A2).
  const frame = asyncContext.getStore();
  return frame?.kind === "scope" && frame.run === run ? run : null;
}

/** A codec works for the engine, also when a call of `ctx` asks it: one that encrypts draws random bytes. */
export function unguarded(codec: Codec): Codec {
  if (codec === defaultCodec) return codec;
  return {
    encode: (value) => inRootContext(() => codec.encode(value)),
    decode: (text) => inRootContext(() => codec.decode(text)),
    sealsFailures: codec.sealsFailures === true,
    ...(codec.rowSeal === undefined ? {} : { rowSeal: codec.rowSeal }),
  };
}

// A codec that refuses what is over the limit to whoever produced it (semantics 9). For values that come from
// outside a replay: inputs and events from clients, outcomes of activities and steps.

import type { Codec } from "./codec.ts";
import { checkPayload, type Limits } from "./limits.ts";

export function limitedCodec(codec: Codec, limits: Limits): Codec {
  return {
    encode(value) {
      const text = codec.encode(value);
      checkPayload(text, "The value", limits);
      return text;
    },
    decode: (text) => codec.decode(text),
    sealsFailures: codec.sealsFailures === true,
    ...(codec.rowSeal === undefined ? {} : { rowSeal: codec.rowSeal }),
  };
}

// A codec that throws for a value above the payload limit (semantics 9). It encodes values that come from
// outside a replay: inputs and events from clients, and the results of activities and steps.

import type { Codec } from "./codec.ts";
import { defined } from "./defined.ts";
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
    ...defined({ rowSeal: codec.rowSeal }),
  };
}

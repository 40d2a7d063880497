// Carries out a repair in a worker, for a client without the code (core/repair/repair-calls.ts).

import type { CallbackSettings } from "../../core/define/callback.ts";
import { isPerdureError } from "../../core/errors/errors.ts";
import type { Provider } from "../../core/provider/provider.ts";
import type { RepairAnswer, RepairCall, RewoundOrRefused } from "../../core/repair/repair-calls.ts";
import type { Codec } from "../../core/values/codec.ts";
import { limitedCodec } from "../../core/values/limited-codec.ts";
import type { Limits } from "../../core/values/limits.ts";
import { ClientCallbacks } from "../callbacks/complete.ts";
import { Store } from "../store.ts";
import { notRegistered } from "./delegate.ts";
import { forkInstance, type ForkOptions } from "./fork.ts";
import { refusedForCode, rewindPage } from "./rewind-page.ts";
import { tryRewind, type RewindOptions } from "./rewind.ts";

/** Never rejects, except if the store is closed or cannot be reached. */
export async function carryOutRepair(
  provider: Provider,
  options: {
    readonly codec: Codec;
    readonly limits: Limits;
    readonly callbacks?: CallbackSettings;
  },
  call: RepairCall,
): Promise<RepairAnswer> {
  const store = new Store(provider, limitedCodec(options.codec, options.limits));
  try {
    const result = await resultOf(store, new ClientCallbacks(store, options.callbacks), call);
    return { kind: "done", result };
  } catch (error) {
    if (!isPerdureError(error) || error.code === "STORE_UNAVAILABLE") throw error;
    const { code, message } = error;
    return { kind: "refused", code, message };
  }
}

/** A client has checked the options. */
async function resultOf(
  store: Store,
  callbacks: ClientCallbacks,
  call: RepairCall,
): Promise<unknown> {
  switch (call.kind) {
    case "rewind": {
      const tried = await tryRewind(store, call.id, call.options as RewindOptions);
      if (tried.kind === "noCode") throw notRegistered(tried.missing);
      return tried.report;
    }
    case "rewindMany": {
      const { rewound, missing } = await rewindPage(store, call.ids, call.options as RewindOptions);
      return [...rewound, ...missing.flatMap(refusedForCode)] satisfies RewoundOrRefused[];
    }
    case "fork":
      return forkInstance(store, callbacks, call.id, call.options as ForkOptions, call.runId);
  }
}

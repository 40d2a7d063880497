// What a runtime is created with: the options of its user, and functions of higher layers that it must
// not import.

import type { ActivityClient } from "../core/context/activity-context.ts";
import type { CallbackSettings, CallbackSigner } from "../core/define/callback.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { ResolvedOptions, RuntimeOptions } from "./options.ts";
import type { Registrable } from "../core/define/registrable.ts";

/** Creates the client that activities use. */
export type MakeClient = (
  provider: Provider,
  options: Pick<ResolvedOptions, "codec" | "limits" | "telemetry" | "keepFor"> & {
    readonly callbacks?: CallbackSettings;
  },
) => ActivityClient;

export interface RuntimeStart extends RuntimeOptions {
  readonly register: readonly Registrable[];
  /** The settings of callbacks. Without them, an orchestration that calls `ctx.callback` is blocked. */
  readonly callbacks?: CallbackSettings;
}

export interface RuntimeWiring {
  readonly makeClient: MakeClient;
  readonly makeSigner: (provider: Provider, settings: CallbackSettings) => CallbackSigner;
  /** The entry file of an activity thread. */
  readonly threadEntry: URL;
}

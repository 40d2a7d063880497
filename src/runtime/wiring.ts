// What a runtime is created with: the options of its user, and functions of higher layers that it must
// not import.

import type { ActivityClient } from "../core/context/activity-context.ts";
import type { SomeServices } from "../core/context/app-types.ts";
import type { CallbackSettings, CallbackSigner } from "../core/define/callback.ts";
import type { Middleware } from "../core/middleware/middleware.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { RepairAnswer, RepairCall } from "../core/repair/repair-calls.ts";
import type { ResolvedOptions, RuntimeOptions } from "./options.ts";
import type { Registrable } from "../core/define/registrable.ts";

/** Creates the client that activities use. */
export type MakeClient = (
  provider: Provider,
  options: Pick<ResolvedOptions, "codec" | "limits" | "telemetry" | "keepFor"> & {
    readonly callbacks?: CallbackSettings;
    readonly middleware?: readonly Middleware[];
  },
) => ActivityClient;

export interface RuntimeStart extends RuntimeOptions {
  readonly register: readonly Registrable[];
  /** The settings of callbacks. Without them, an orchestration that calls `ctx.callback` is blocked. */
  readonly callbacks?: CallbackSettings;
  /** The services of activities and steps: `ctx.services`. */
  readonly services?: SomeServices;
  /** Functions around the attempts of activities and steps, and around the calls of `ctx.client`. */
  readonly middleware?: readonly Middleware[];
}

/** Carries out a repair for a client without the code (core/repair/repair-calls.ts). Never rejects. */
export type CarryOutRepair = (
  provider: Provider,
  options: Parameters<MakeClient>[1],
  call: RepairCall,
) => Promise<RepairAnswer>;

export interface RuntimeWiring {
  readonly carryOutRepair: CarryOutRepair;
  readonly makeClient: MakeClient;
  readonly makeSigner: (provider: Provider, settings: CallbackSettings) => CallbackSigner;
  /** The entry file of an activity thread. */
  readonly threadEntry: URL;
}

// What a runtime is created with: the options of its user, and functions of higher layers that it must
// not import.

import type { ActivityClient } from "../core/context/activity-context.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { ResolvedOptions, RuntimeOptions } from "./options.ts";
import type { Registrable } from "../core/define/registrable.ts";

/** Creates the client that activities use. */
export type MakeClient = (
  provider: Provider,
  options: Pick<ResolvedOptions, "codec" | "limits" | "telemetry" | "keepFor">,
) => ActivityClient;

export interface RuntimeStart extends RuntimeOptions {
  readonly register: readonly Registrable[];
}

export interface RuntimeWiring {
  readonly makeClient: MakeClient;
  /** The entry file of an activity thread. */
  readonly threadEntry: URL;
}

// What a runtime is made with: by its user, and by the layers above, which it may not import.

import type { ActivityClient } from "../core/activity-context.ts";
import type { Codec } from "../core/codec.ts";
import type { Limits } from "../core/limits.ts";
import type { Telemetry } from "../core/telemetry.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { RuntimeOptions } from "./options.ts";
import type { Registrable } from "../core/registrable.ts";

/** Makes the client that activities see. */
export type MakeClient = (
  provider: Provider,
  options: {
    readonly codec: Codec;
    readonly limits: Partial<Limits>;
    readonly telemetry: Telemetry | null;
  },
) => ActivityClient;

export interface RuntimeStart extends RuntimeOptions {
  readonly register: readonly Registrable[];
}

export interface RuntimeWiring {
  readonly makeClient: MakeClient;
  /** The file that an activity thread begins with. */
  readonly threadEntry: URL;
}

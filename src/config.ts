// The settings of a project, as `perdure.config.ts` passes them to the command line.

import type { CallbackSettings } from "./core/define/callback.ts";
import type { Provider } from "./core/provider/provider.ts";
import type { RuntimeOptions } from "./runtime/options.ts";
import type { Registrable } from "./core/define/registrable.ts";

/** The settings of a project, as `perdure.config.ts` exports them. */
export interface PerdureConfig {
  /**
   * The store: an address such as `sqlite:./orders.db`, relative to the config file, or a function that
   * opens a store. The command line closes the store that it opened.
   */
  readonly store?: string | (() => Provider | Promise<Provider>);
  /**
   * What `perdure worker` and `perdure dev` run, and what `perdure check` replays with: definitions, and
   * modules that export definitions.
   */
  readonly register?: readonly Registrable[];
  readonly runtime?: RuntimeOptions;
  /** The secrets and the address of callbacks, as for `Perdure.open`. */
  readonly callbacks?: CallbackSettings;
}

/** Adds types to a config and returns it unchanged. */
export function defineConfig(config: PerdureConfig): PerdureConfig {
  return config;
}

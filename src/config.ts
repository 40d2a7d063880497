// The project's own settings, as `perdure.config.ts` gives them to the command line.

import type { Provider } from "./core/provider/provider.ts";
import type { RuntimeOptions } from "./runtime/options.ts";
import type { Registrable } from "./core/registrable.ts";

/** The settings of a project, as `perdure.config.ts` gives them. */
export interface PerdureConfig {
  /**
   * The store: an address such as `sqlite:./orders.db`, relative to the config file; or a function that opens one.
   * The command line closes what it opens.
   */
  readonly store?: string | (() => Provider | Promise<Provider>);
  /**
   * What `perdure worker` and `perdure dev` run, and what `perdure check` replays with: definitions, and modules that
   * export some.
   */
  readonly register?: readonly Registrable[];
  readonly runtime?: RuntimeOptions;
}

/** Types a config; gives it back as it is. */
export function defineConfig(config: PerdureConfig): PerdureConfig {
  return config;
}

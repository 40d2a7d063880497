// What the handlers of routes work with.

import type { Client } from "../client/client.ts";
import type { Codec } from "../core/codec.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { Access } from "./access.ts";
import type { Settings } from "./options.ts";
import type { Sampler } from "./sampler.ts";
import type { Slots } from "./slots.ts";
import type { TroubleGroups } from "./trouble-groups.ts";

export interface Services {
  readonly client: Client;
  readonly provider: Provider;
  readonly codec: Codec;
  readonly settings: Settings;
  readonly access: Access;
  readonly slots: Slots;
  readonly sampler: Sampler;
  readonly troubles: TroubleGroups;
  /** The OpenAPI document, made when first asked for. */
  readonly document: () => object;
}
